"""
Templates for the ops of the onnx dialect: `from xonnc.rewriting.onnx import Add, Conv, SqueezeV11`.

Any op of the dialect can be imported by its class name without `Op`; a name without an op is an error when
the rule that uses it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from xdsl.dialects.builtin import NoneType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.registry import added_classes, op_classes
from xonnc.dialects.onnx.types import (
    AnyTensor,
    element_type,
    static_shape,
    tensor_type,
    unranked,
)
from xonnc.rewriting.patterns import DialectInterface, Template

ARITHMETIC = frozenset({"Add", "And", "Div", "Mul", "Or", "Pow", "Sub", "Xor"})
COMPARISONS = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})

NONE = NoneType()


@cache
def _classes() -> dict[str, type[Operation]]:
    return {op.name.removeprefix("onnx."): op for op in (*op_classes(), *added_classes())}


def forget_classes() -> None:
    """Look op classes up anew: a plug-in has added some."""
    _classes.cache_clear()


def op_class(name: str) -> type[Operation] | None:
    """The class of the op `onnx.<name>`."""
    return _classes().get(name)


def broadcast_type(left: Attribute, right: Attribute, element: Attribute) -> AnyTensor:
    """
    Return the type of a broadcast elementwise result: ranked only if both shapes are static
    (docs/internals/onnx-rules.md §1.2).
    """
    if element_type(left) == element_type(right):
        shapes = static_shape(left), static_shape(right)
        if shapes[0] is not None and shapes[1] is not None:
            try:
                return tensor_type(np.broadcast_shapes(shapes[0], shapes[1]), element)
            except ValueError:
                return unranked(element)
    return unranked(element)


def result_types(
    op: type[Operation], operands: Sequence[SSAValue], properties: Mapping[str, Attribute]
) -> Sequence[Attribute]:
    """
    Return the initial result types of a new inner op (docs/internals/onnx-rules.md §1.2); shape inference
    refines them.
    """
    name = op.name.removeprefix("onnx.")
    first = operands[0].type if operands else NONE
    element = element_type(first)
    if element is None:
        return [first]
    if name in ARITHMETIC:
        return [broadcast_type(first, operands[1].type, element)]
    if name in COMPARISONS:
        return [broadcast_type(first, operands[1].type, i1)]
    if name == "Cast":
        return [unranked(properties["to"])]
    return [unranked(element)]


ONNX = DialectInterface(op_class, ConstantOp, NoValueOp, result_types)
"""The onnx dialect, as the rewrite engine sees it."""


def __getattr__(name: str) -> Template:
    if name.startswith("__"):
        raise AttributeError(name)
    return Template(ONNX, name)
