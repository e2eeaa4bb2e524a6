"""Arithmetic, comparisons and functions of elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import numpy as np
from xdsl.dialects import tosa
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import logical
from xonnc.dialects.onnx.ops.math import arithmetic, elementwise, rounding, trigonometry, variadic
from xonnc.dialects.onnx.ops.tensor import element_type
from xonnc.dialects.onnx.types import is_tensor, tensor_type
from xonnc.dialects.tosa.elementwise import (
    AbsOp,
    CastOp,
    CeilOp,
    EqualOp,
    ErfOp,
    ExpOp,
    FloorOp,
    GreaterEqualOp,
    GreaterOp,
    IntDivOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    LogicalXorOp,
    LogOp,
    MaximumOp,
    MinimumOp,
    PowOp,
    RsqrtOp,
    SelectOp,
)
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.tosa_builder import LOWERINGS, TosaBuilder, is_real, lowers

UNARY: dict[type[OnnxOp], type[IRDLOperation]] = {
    elementwise.AbsOp: AbsOp,
    elementwise.ErfOp: ErfOp,
    elementwise.ExpOp: ExpOp,
    elementwise.LogOp: LogOp,
    elementwise.ReciprocalOp: tosa.ReciprocalOp,
    logical.NotOp: LogicalNotOp,
    trigonometry.CosOp: tosa.CosOp,
    trigonometry.SinOp: tosa.SinOp,
    rounding.CeilOp: CeilOp,
    rounding.FloorOp: FloorOp,
}
"""Functions that TOSA has under another name or the same."""

BINARY: dict[type[OnnxOp], type[IRDLOperation]] = {
    arithmetic.AddOp: tosa.AddOp,
    arithmetic.MulOp: tosa.MulOp,
    arithmetic.SubOp: tosa.SubOp,
    logical.AndOp: LogicalAndOp,
    logical.OrOp: LogicalOrOp,
    logical.XorOp: LogicalXorOp,
    variadic.MaxOp: MaximumOp,
    variadic.MinOp: MinimumOp,
    variadic.SumOp: tosa.AddOp,
}
"""Functions of two operands, or of several from left to right."""

COMPARISONS: dict[type[OnnxOp], type[IRDLOperation]] = {
    logical.EqualOp: EqualOp,
    logical.GreaterOp: GreaterOp,
    logical.GreaterOrEqualOp: GreaterEqualOp,
}
"""Comparisons; those with `<` have their operands exchanged."""


def _unary(kind: type[IRDLOperation], op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    return builder.unary(kind, builder.value(op.operands[0]))


def _binary(kind: type[IRDLOperation], op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    return reduce(partial(builder.binary, kind), map(builder.value, op.operands))


def _comparison(kind: type[IRDLOperation], op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    return builder.binary(kind, *map(builder.value, op.operands), element=i1)


LOWERINGS.update({op: partial(_unary, kind) for op, kind in UNARY.items()})
LOWERINGS.update({op: partial(_binary, kind) for op, kind in BINARY.items()})
LOWERINGS.update({op: partial(_comparison, kind) for op, kind in COMPARISONS.items()})


@lowers(logical.LessOp)
def less(op: logical.LessOp, builder: TosaBuilder) -> SSAValue:
    """`a < b` is `b > a`."""
    return builder.binary(GreaterOp, builder.value(op.B), builder.value(op.A), i1)


@lowers(logical.LessOrEqualOp)
def less_or_equal(op: logical.LessOrEqualOp, builder: TosaBuilder) -> SSAValue:
    """`a <= b` is `b >= a`."""
    return builder.binary(GreaterEqualOp, builder.value(op.B), builder.value(op.A), i1)


@lowers(elementwise.NegOp)
def negation(op: elementwise.NegOp, builder: TosaBuilder) -> SSAValue:
    """`-x` is `x * -1`, which keeps the sign of zero."""
    return scaled(builder.value(op.X), -1.0, builder)


@lowers(elementwise.SqrtOp)
def square_root(op: elementwise.SqrtOp, builder: TosaBuilder) -> SSAValue:
    """`sqrt(x)` is `1 / rsqrt(x)`, for 0 and infinity too."""
    return builder.unary(tosa.ReciprocalOp, builder.unary(RsqrtOp, builder.value(op.X)))


@lowers(arithmetic.DivOp)
def division(op: arithmetic.DivOp, builder: TosaBuilder) -> SSAValue:
    """A product with the reciprocal, or the quotient of integers."""
    a = builder.value(op.A)
    if not is_real(a):
        return builder.binary(IntDivOp, a, builder.value(op.B))
    divisor = builder.constant(op.B)
    if divisor is not None:
        with np.errstate(divide="ignore"):
            return builder.binary(tosa.MulOp, a, builder.const((1 / divisor).astype(divisor.dtype)))
    return builder.binary(tosa.MulOp, a, builder.unary(tosa.ReciprocalOp, builder.value(op.B)))


@lowers(arithmetic.PowOp)
def power(op: arithmetic.PowOp, builder: TosaBuilder) -> SSAValue:
    """Squares and cubes as products, for which negative bases are allowed too."""
    base, exponent = builder.value(op.X), builder.constant(op.Y)
    if exponent is not None and exponent.size == 1 and float(exponent.reshape(-1)[0]) in (2.0, 3.0):
        factors = [base] * int(exponent.reshape(-1)[0])
        made = reduce(partial(builder.binary, tosa.MulOp), factors)
        rank = max(len(shape_of(base)), exponent.ndim)
        return builder.reshape(made, (1,) * (rank - len(shape_of(base))) + shape_of(made))
    if not is_real(base):
        builder.refuse(f"a power of {element_of(base)} (TOSA has powers of floats)")
    if exponent is not None:
        return builder.binary(PowOp, base, builder.const(exponent.astype(np.float32)))
    return builder.binary(PowOp, base, builder.value(op.Y))


@lowers(element_type.CastOp)
def cast(op: element_type.CastOp, builder: TosaBuilder) -> SSAValue:
    """A conversion; floats are rounded towards zero before they become integers, as ONNX does."""
    value, type_ = builder.value(op.input), op.output.type
    assert is_tensor(type_)
    made = tensor_type(shape_of(value), type_.element_type)
    builder.require_element(type_.element_type)
    if element_of(value) == type_.element_type:
        return value
    if type_.element_type == i1:
        equal = builder.binary(EqualOp, value, builder.scalar(0, element_of(value), len(shape_of(value))), i1)
        return builder.unary(LogicalNotOp, equal)
    if element_of(value) == i1 and is_real(op.output):
        # TOSA casts booleans to integers only.
        one, zero = (builder.scalar(each, type_.element_type, len(shape_of(value))) for each in (1, 0))
        return select(value, one, zero, builder)
    if is_real(value) and not is_real(op.output):
        value = _truncated(value, builder)
    return builder.emit(CastOp, [value], made)


def _truncated(value: SSAValue, builder: TosaBuilder) -> SSAValue:
    """Return real numbers rounded towards zero."""
    zero = builder.scalar(0.0, element_of(value), len(shape_of(value)))
    is_negative = builder.binary(GreaterOp, zero, value, i1)
    return select(is_negative, builder.unary(CeilOp, value), builder.unary(FloorOp, value), builder)


@lowers(element_type.IdentityOp)
def identity(op: element_type.IdentityOp, builder: TosaBuilder) -> SSAValue:
    """The operand."""
    return builder.value(op.input)


@lowers(element_type.WhereOp)
def where(op: element_type.WhereOp, builder: TosaBuilder) -> SSAValue:
    """A selection by a condition."""
    return select(*map(builder.value, (op.condition, op.X, op.Y)), builder=builder)


@lowers(variadic.MeanOp)
def mean(op: variadic.MeanOp, builder: TosaBuilder) -> SSAValue:
    """The sum of the operands by their number."""
    total = reduce(partial(builder.binary, tosa.AddOp), map(builder.value, op.operands))
    return scaled(total, 1 / len(op.operands), builder)


def select(condition: SSAValue, a: SSAValue, b: SSAValue, builder: TosaBuilder) -> SSAValue:
    """Return the elements of `a` where the condition holds, else of `b`."""
    operands = builder.aligned(condition, a, b)
    shape = np.broadcast_shapes(*map(shape_of, operands))
    return builder.emit(SelectOp, operands, tensor_type(shape, element_of(a)))


def scaled(value: SSAValue, factor: float, builder: TosaBuilder) -> SSAValue:
    """Return a TOSA value times a number."""
    return builder.binary(tosa.MulOp, value, builder.scalar(factor, element_of(value), len(shape_of(value))))


def shifted(value: SSAValue, addend: float, builder: TosaBuilder) -> SSAValue:
    """Return a TOSA value plus a number."""
    return builder.binary(tosa.AddOp, value, builder.scalar(addend, element_of(value), len(shape_of(value))))


def product(values: Sequence[SSAValue], builder: TosaBuilder) -> SSAValue:
    """Return the product of TOSA values."""
    return reduce(partial(builder.binary, tosa.MulOp), values)
