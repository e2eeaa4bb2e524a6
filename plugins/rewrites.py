"""Rewrite rules of plug-ins, applied by passes of the compiler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from xdsl.ir import Operation, SSAValue

from xonnc.errors import XonncError, suggest
from xonnc.plugins.builder import Builder, Value
from xonnc.plugins.operators import JoiningRule, Plugin, PluginError
from xonnc.plugins.tensor_types import tensor_type_of
from xonnc.plugins.types import TensorType
from xonnc.rewriting.extensions import is_taken
from xonnc.rewriting.onnx import ONNX
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    Native,
    Node,
    RewriteResult,
    Template,
)
from xonnc.rewriting.rules import ROOT, Rule, RuleError, RuleSet, rule, rules
from xonnc.transforms.dims.expressions import DimSymbols

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

JOINABLE = (
    "canonicalize-onnx",
    "constprop-onnx",
    "decompose-onnx",
    "fuse-operators-onnx",
    "legalize-onnx",
    "recompose-onnx",
    "simplify-onnx",
)
"""The passes to which plug-ins can add rules."""


class Ops:
    """Operator patterns by name: `ops.Mul(value.x, ops.Sigmoid(value.x))`."""

    def __getattr__(self, name: str) -> Template:
        return Template(ONNX, name)

    def __getitem__(self, name: str) -> Template:
        """Return the pattern of a plug-in's operator, such as `ops["acme.AddN"]`."""
        return Template(ONNX, name)


ops = Ops()


def rewrite(
    plugin: Plugin,
    *,
    into: str,
    pattern: Node,
    name: str = "",
    where: Callable[..., bool] | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """
    Declare a function as a rewrite rule of the pass `into`.

    The function gets a builder and what the pattern captures, by parameter name: values, arrays of constants,
    attributes. It returns the values that replace the results of the pattern's root, its last operator.
    `where` is a condition: it gets captures by parameter name, without the builder, and returns whether the
    rule applies.
    """

    def declare(function: FunctionT) -> FunctionT:
        if into not in JOINABLE:
            hint = suggest(into, JOINABLE) or f"; rules join {', '.join(JOINABLE)}"
            kind = "applies no rules of plug-ins" if is_taken(into) else "is no pass"
            raise PluginError(f"plug-in {plugin.name}: '{into}' {kind}{hint}")
        title = name or f"{plugin.name}:{getattr(function, '__name__', 'rule')}"

        def table() -> RuleSet:
            try:
                return rules(**{title: _rule(function, pattern, where)})
            except RuleError as error:
                raise PluginError(f"plug-in {plugin.name}: {error}") from error

        plugin.rules.append(JoiningRule(into, title, table, function.__module__))
        return function

    return declare


def _rule(function: Callable[..., Any], pattern: Node, where: Callable[..., bool] | None) -> Rule:
    names = list(inspect.signature(function).parameters)[1:]
    needed = () if where is None else tuple(inspect.signature(where).parameters)

    def apply(root: Operation, *captured: Any) -> RewriteResult:
        symbols = DimSymbols()

        def described(ssa: SSAValue) -> TensorType | None:
            return tensor_type_of(ssa, symbols)

        given = [_given(each, described) for each in captured]
        if where is not None and not where(*(given[names.index(each)] for each in needed)):
            return MatchFailure("its condition does not hold")

        def write(op: Operation) -> list[SSAValue]:
            result = function(Builder(op, described), *given)
            results: list[Any] = [*cast("Any", result)] if isinstance(result, tuple | list) else [result]
            if len(results) != len(op.results) or not all(isinstance(each, Value) for each in results):
                raise XonncError(
                    f"a rule gave {len(results)} values for {len(op.results)} results of {op.name}"
                )
            return [each.ssa for each in results]

        return ImperativeRewrite(write)

    unknown = [each for each in needed if each not in names]
    if unknown:
        raise RuleError(f"the condition takes '{unknown[0]}'; the rule's function takes {', '.join(names)}")
    made = rule(pattern)(lambda: None)
    native = Native(apply, (ROOT, *names), arrays=False)
    return Rule(made.root, native, made.where, made.benefit, inspect.getdoc(function) or "")


def _given(captured: Any, described: Callable[[SSAValue], TensorType | None]) -> Any:
    if isinstance(captured, SSAValue):
        return Value(cast("SSAValue", captured), described)
    return captured.array if isinstance(captured, Constant) else captured
