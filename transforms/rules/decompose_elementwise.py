"""Decompose Sum, CastLike, Scaler, HardSwish and Constant forms (docs/internals/onnx-rules.md §5.2, §5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.types import element_type, numpy_dtype
from xonnc.rewriting.attribute_conversion import Decoded
from xonnc.rewriting.onnx import (
    Add,
    Cast,
    CastLike,
    Constant,
    ConstantOfShape,
    Expand,
    HardSwish,
    Max,
    Min,
    Mul,
    Scaler,
    Sub,
    Sum,
    broadcast_type,
)
from xonnc.rewriting.patterns import (
    ImperativeRewrite,
    MatchFailure,
    Node,
    OperandSpec,
    RewriteResult,
    attr,
    compute,
    rest,
    value,
)
from xonnc.rewriting.rules import Condition, Rule, rule, rules
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.op_builder import OpBuilder

x = value.x


@rule(CastLike(x, value.target).named("old"))
def cast_like(old: Operation, x: SSAValue, target: SSAValue) -> RewriteResult:
    """cast_like(x, y) = cast(x) to the element type of y"""
    element = element_type(target.type)
    if element is None:
        return MatchFailure("the target is no tensor")
    return Cast(x, like=old, to=element)


@rule(Sum(rest.terms))
def sum_to_add(root: Operation, terms: Sequence[SSAValue]) -> RewriteResult:
    """sum(a, b, c) = (a + b) + c, cast if its inferred type is not the type of the Sum"""
    types = [term.type for term in terms]
    made: OperandSpec = terms[0]
    known = types[0]
    for term in terms[1:]:
        element = element_type(known)
        assert element is not None
        known = broadcast_type(known, term.type, element)
        made = Add(made, term).typed(known)
    result_type = root.results[0].type
    if known == result_type:
        return made
    element = element_type(result_type)
    assert element is not None
    return Cast(made, saturate=1, to=element)


def is_single(x: SSAValue) -> str | None:
    """x is float32."""
    return None if element_type(x.type) == f32 else "x holds no 32-bit floats"


def no_offset(offset: Decoded) -> str | None:
    """The offset is absent."""
    return None if offset is None else "there is an offset"


def no_scale(scale: Decoded) -> str | None:
    """The scale is absent."""
    return None if scale is None else "there is a scale"


def listed(numbers: Sequence[float] | None) -> RewriteResult:
    """The values of an attribute as a float32 tensor"""
    return MatchFailure("the property is absent") if numbers is None else np.array(numbers, np.float32)


def scalings() -> Iterator[tuple[str, Rule]]:
    """Yield the rules scaler(x) = (x - offset) scale, without absent attributes, of x cast to float32."""
    offset, scale = compute(listed, attr.offset), compute(listed, attr.scale)
    pattern = Scaler(x, offset=attr.offset, scale=attr.scale)
    forms: tuple[tuple[str, tuple[Condition, ...], Callable[[OperandSpec], OperandSpec]], ...] = (
        ("Null", (no_offset, no_scale), lambda data: data),
        ("NoScale", (no_scale,), lambda data: Sub(data, offset)),
        ("NoOffset", (no_offset,), lambda data: Mul(data, scale)),
        ("", (), lambda data: Mul(Sub(data, offset), scale)),
    )
    for index, (name, where, form) in enumerate(forms):
        bonus = 2 * (len(forms) - index)
        yield f"Scaler{name}", rule(pattern, form(x), where=(*where, is_single), bonus=bonus)
        yield (
            f"Scaler{name}Cast",
            rule(pattern, form(Cast(x, saturate=1, to=f32)), where=where, bonus=bonus - 1),
        )


NOT_EXPANDED = ("float8", "float6", "float4", "int4", "uint4", "int2", "uint2")
"""Prefixes of element types that ConstantOfShape supports and Expand does not."""


@rule(ConstantOfShape(value.shape, value=attr.elements))
def expanded(shape: SSAValue, elements: Attribute | None) -> RewriteResult:
    """constant_of_shape(s) = expand(v, s), v = 0.0 if absent; only for element types that Expand supports"""
    if elements is None:
        return Expand(np.array(0, np.float32), shape)
    array = elements_array(elements)
    if array is None:
        return MatchFailure("the value is not known")
    if array.dtype.name.startswith(NOT_EXPANDED):
        return MatchFailure(f"Expand takes no {array.dtype}")
    return Expand(array.reshape(()), shape)


def constant_to_tensor(name: str) -> Rule:
    """Constant with a scalar, string or list property = Constant with a tensor"""

    def is_given(root: Operation) -> str | None:
        """The Constant has this property."""
        return None if name in root.properties else f"the constant has no {name}"

    @rule(Node(Constant, (), {name: attr.given}), where=(is_given,))
    def tensor(root: Operation, given: Decoded) -> RewriteResult:
        """Constant with a scalar, string or list property = Constant with a tensor"""
        element = element_type(root.results[0].type)
        assert element is not None
        return np.array(given, numpy_dtype(element))

    return tensor


@rule(HardSwish(x))
def hard_swish(root: Operation, x: SSAValue) -> RewriteResult:
    """
    hard_swish(x) = x max(min(x / 6 + 0.5, 1), 0)

    Constants have the element type of x, and rank 0 unless x is known to have axes; those of onnx-mlir are
    always float32 of shape [1].
    """
    element = element_type(x.type)
    assert element is not None
    dtype, shape = numpy_dtype(element), (1,) if rank(x) else ()

    def write(op: Operation) -> Sequence[SSAValue]:
        builder, type_ = OpBuilder(op), (op.results[0].type,)
        sixth, half, one, zero = (builder.constant(np.full(shape, n, dtype)) for n in (1 / 6, 0.5, 1.0, 0.0))
        inner = builder(Add, builder(Mul, x, sixth, types=type_), half, types=type_)
        gate = builder(Max, builder(Min, inner, one, types=type_), zero, types=type_)
        return builder.last(Mul, x, gate)

    return ImperativeRewrite(write)


KINDS = ("float", "int", "string", "floats", "ints", "strings")

NORMALIZED_CONSTANTS = rules(
    **{
        f"ConstantNormalize{index}": constant_to_tensor(f"value_{kind}")
        for index, kind in enumerate(KINDS, 1)
    }
)
"""Constant nodes with scalar, list or string properties become tensors, which all other rules handle."""

RULES = NORMALIZED_CONSTANTS | rules(
    CastLike=cast_like,
    ConstantOfShape=expanded,
    **dict(scalings()),
    SumToAdd=sum_to_add,
)

ON_DEMAND = {"HardSwish": rules(HardSwish=hard_swish)}
"""Rules for ops that are decomposed on request only, by op name."""
