"""Checks of the declarations of operators, made when a plug-in is registered."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from xonnc.dialects.onnx.types import element_type_of
from xonnc.plugins.declarations import AttributeDeclaration, ParameterDeclaration
from xonnc.plugins.op_class import PluginOp
from xonnc.plugins.operators import BoundOperator, OperatorSpec, PluginError

BODIES = ("infer", "reference", "decompose", "kernel", "lookup", "layers", "samples")
"""The functions that the class of an operator may have."""

ELEMENTS: Mapping[str, tuple[type, ...]] = {
    "INT": (int,),
    "FLOAT": (int, float),
    "STRING": (str,),
}
"""The Python types of values of an attribute, by ONNX's kind without the S of lists."""

OF_OPS = {
    *dir(PluginOp),
    *(name for kind in PluginOp.__mro__ for name in inspect.get_annotations(kind)),
}
"""Names that ops in IR have already."""

OF_NODES = {*dir(BoundOperator), *BoundOperator.__annotations__}
"""Names that what functions get as `op` has already."""


def require_valid_declaration(spec: OperatorSpec) -> None:
    """Raise `PluginError` for the first fault of a declaration."""
    problem = next(_problems(spec), None)
    if problem is not None:
        raise PluginError(f"plug-in {spec.plugin.name}: {spec}: {problem}")


def _problems(spec: OperatorSpec) -> Iterator[str]:
    if not spec.name.isidentifier():
        yield f"the name '{spec.name}' must be an identifier, as AddN"
    automatic = getattr(spec.body, "attributes", "auto")
    if automatic != "auto":
        yield f"attributes is {automatic!r}; write attributes = 'auto', or declare each by attribute(…)"
    yield from _wrong_functions(spec)
    yield from _wrong_names(spec)
    for port in (*spec.inputs, *spec.outputs):
        yield from _wrong_port(port)
    yield from _wrong_variables(spec)
    for attribute in spec.attributes:
        yield from _wrong_attribute(attribute)


def _wrong_functions(spec: OperatorSpec) -> Iterator[str]:
    for name in BODIES:
        body = getattr(spec.body, name, None)
        if body is not None and not callable(body):
            yield f"{name} is {body!r}; it is a function of the node"


def _wrong_names(spec: OperatorSpec) -> Iterator[str]:
    """Operands, results and attributes are members of one op, and of what the functions get as `op`."""
    ports = [each.name for each in (*spec.inputs, *spec.outputs)]
    members = [*ports, *(each.onnx_name for each in spec.attributes)]
    reserved = {each for each in members if each in OF_OPS}
    reserved |= {each for each in (*ports, *(each.name for each in spec.attributes)) if each in OF_NODES}
    for name in members:
        if not name.isidentifier():
            yield f"'{name}' must be an identifier, as it is a member of the operator"
        if members.count(name) > 1:
            yield f"two operands, results or attributes are called '{name}'; rename one"
    for name in sorted(reserved):
        yield f"'{name}' is a member of every operator; rename the operand, result or attribute"


def _wrong_port(port: ParameterDeclaration) -> Iterator[str]:
    if port.at_least < 0 or (port.at_most is not None and port.at_most < max(port.at_least, 1)):
        yield f"'{port.name}' has at_least={port.at_least} and at_most={port.at_most}, which no node can have"
    if not isinstance(port.types, str):
        yield from _wrong_types(port.types, f"'{port.name}'")


def _wrong_variables(spec: OperatorSpec) -> Iterator[str]:
    variables = cast("object", spec.variables)
    if not isinstance(variables, Mapping):
        yield f"types is {variables!r}; write types = type_variables(T=[np.float32])"
        return
    used = {port.types for port in (*spec.inputs, *spec.outputs) if isinstance(port.types, str)}
    for name, types in spec.variables.items():
        if name not in used:
            yield f"types restricts '{name}', which no operand or result has"
        yield from _wrong_types(types, f"type variable '{name}'")


def _wrong_types(types: Any, where: str) -> Iterator[str]:
    listed: Sequence[Any] = [types] if isinstance(types, type) else types
    for each in listed:
        try:
            element_type_of(np.dtype(each))
        except (KeyError, TypeError):
            yield f"{where} has the type {each!r}; element types are NumPy's, as np.float32"


def _wrong_attribute(attribute: AttributeDeclaration[Any]) -> Iterator[str]:
    where = f"attribute '{attribute.name}'"
    for choice in attribute.choices:
        if not _is_of(attribute.kind, choice):
            yield f"{where} is of kind {attribute.kind}; a choice is {choice!r}"
    default = attribute.default
    if default is None:
        return
    if attribute.kind == "TENSOR":
        yield f"{where} is a tensor, which has no default but None"
    elif not _is_of(attribute.kind, default):
        yield f"{where} is of kind {attribute.kind}; its default is {default!r}"
    elif attribute.choices and default not in attribute.choices:
        choices = ", ".join(map(repr, attribute.choices))
        yield f"{where} takes {choices}; its default is {default!r}"


def _is_of(kind: str, value: Any) -> bool:
    """Whether a value is of one of ONNX's kinds of attributes."""
    if kind in ELEMENTS:
        return isinstance(value, ELEMENTS[kind]) and (kind != "INT" or -(2**63) <= value < 2**63)
    return isinstance(value, list | tuple) and all(
        _is_of(kind.removesuffix("S"), each) for each in cast("Sequence[object]", value)
    )
