"""Verification rules for scales and zero points: per tensor, per axis, or blocked."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, i32
from xdsl.ir import Operation

from xonnc.dialects.onnx.checks.values import require_range
from xonnc.dialects.onnx.checks.verifier import (
    DYNAMIC,
    Rule,
    constant_of,
    differ,
    element_of,
    integer_of,
    is_absent,
    refuse,
    shape_of,
    shown,
)
from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE


def quantization(data: str, scale: str, zero_point: str) -> Rule:
    """
    A scale per tensor (rank 0 or one element), per axis `[x.shape[axis]]`, or blocked with `block_size`.

    The zero point has the same shape.
    """

    def rule(op: Operation) -> None:
        x, s = shape_of(op, data), shape_of(op, scale)
        block = integer_of(op, "block_size") or 0
        if block < 0:
            refuse(op, f"block_size is {block}; it is at least 0")
        if x is not None and s is not None:
            _check_scale(op, x, s, block, (scale, zero_point))
        _check_zero_point(op, s, scale, zero_point)
        if element_of(op, data) == i32:
            _check_accumulator(op, zero_point)

    return rule


def _check_accumulator(op: Operation, zero_point: str) -> None:
    constant = None if is_absent(op, zero_point) else constant_of(op, zero_point)
    if constant is not None and constant.any():
        refuse(op, f"{zero_point} must be 0 for data type int32")


def _check_scale(
    op: Operation, x: tuple[int, ...], s: tuple[int, ...], block: int, fields: tuple[str, str]
) -> None:
    scale, zero_point = fields
    if not block and len(s) > 1:
        refuse(op, f"{scale} must be a scalar or 1-D tensor without blocks; it has rank {len(s)}")
    count = s[0] if s else 1
    # One number is for the whole tensor, whatever the axis says.
    if not block and count == 1:
        return
    axis, rank = integer_of(op, "axis") or 0, len(x)
    require_range(op, "axis", axis, -rank, rank - 1)
    if not block:
        if differ(count, x[axis]):
            lengths = f"{scale} and {zero_point} 1-D tensor length must match the input axis dim size"
            refuse(op, f"{lengths}: {count} for {x[axis]}")
        return
    if len(s) != rank:
        refuse(op, f"{scale} has rank {len(s)}; for blocks it has the rank of the data, {rank}")
    for index, (size, count) in enumerate(zip(x, s, strict=True)):
        expected = -(-size // block) if index == axis % rank and size != DYNAMIC else size
        if differ(expected, count):
            refuse(op, f"{scale} has {count} elements along axis {index}; {expected} are needed")


def _check_zero_point(op: Operation, s: tuple[int, ...] | None, scale: str, zero_point: str) -> None:
    z = None if is_absent(op, zero_point) else shape_of(op, zero_point)
    if z is not None and len(z) > 1 and not (integer_of(op, "block_size") or 0):
        refuse(op, f"{zero_point} must be a scalar or 1-D tensor without blocks; it has rank {len(z)}")
    # One element has either shape.
    if s is None or z is None or all(size in (1, DYNAMIC) for size in (*s, *z)):
        return
    if len(s) != len(z) or any(differ(a, b) for a, b in zip(s, z, strict=True)):
        refuse(op, f"{scale} and {zero_point} must have the same shape, not {shown(s)} and {shown(z)}")


def parameter_of(field: str, data: str, axis: int) -> Rule:
    """
    A scale or zero point of an operand of a matrix product: per tensor, or per element of `axis`.

    For matrices in a stack it may have their rank, with 1 in place of the other axis of each matrix.
    """

    def rule(op: Operation) -> None:
        z, x = None if is_absent(op, field) else shape_of(op, field), shape_of(op, data)
        if z is None or prod(z) == 1 or DYNAMIC in z:
            return
        if x is not None and len(z) == 1 and len(x) >= -axis:
            if differ(z[0], x[axis]):
                refuse(op, f"{field} has {z[0]} elements; {data} has {x[axis]} along axis {axis}")
            return
        other = -3 - axis
        expected = None if x is None else [1 if index - len(x) == other else n for index, n in enumerate(x)]
        fits = expected is None or (
            len(z) == len(expected) and not any(differ(a, b) for a, b in zip(z, expected, strict=True))
        )
        if len(z) > 1 and not fits:
            refuse(op, f"{field} has the shape {shown(z)}, which fits no axis of {data} {shown(x or ())}")

    return rule


def one_for_each(field: str, data: str, axis: int) -> Rule:
    """A scalar, or one value per element of an axis of `data`."""

    def rule(op: Operation) -> None:
        z, x = None if is_absent(op, field) else shape_of(op, field), shape_of(op, data)
        if z is None or z in ((), (1,)):
            return
        if len(z) != 1:
            refuse(op, f"{field} has rank {len(z)}; it holds one number, or one for each along axis {axis}")
        if x is not None and len(x) > axis and differ(z[0], x[axis]):
            refuse(op, f"{field} has {z[0]} elements; {data} has {x[axis]} along axis {axis}")

    return rule


def computed_as(op: Operation) -> None:
    """`QuantizeLinear`: the precision of the division and the result type agree with the operands."""
    code = integer_of(op, "precision") or 0
    computed = ELEMENT_TYPES_BY_CODE.get(code)
    if code and not isinstance(computed, Float32Type | Float16Type | BFloat16Type):
        refuse(op, f"precision is {code}; it is 0, 1 (f32), 10 (f16) or 16 (bf16)")


def comes_out_as(op: Operation) -> None:
    """The result has the element type of `output_dtype`, if that is given."""
    code = integer_of(op, "output_dtype") or 0
    if code and ELEMENT_TYPES_BY_CODE.get(code) != element_of(op, "y"):
        expected = ELEMENT_TYPES_BY_CODE.get(code, "no element type")
        refuse(op, f"output_dtype is {code}, {expected}; the result is {element_of(op, 'y')}")
