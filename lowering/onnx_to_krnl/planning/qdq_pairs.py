"""QDQ pairs in f32: dequantized constants become float constants, pairs become fake quantization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp, constant_elements
from xonnc.dialects.onnx.ops.math import AddOp, ClipOp, DivOp, MulOp, RoundOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.lowering.onnx_to_krnl.planning.element_types import integer_range
from xonnc.rewriting.patterns import Array

CLIPS_NAN = "krnl.clips_nan"
"""Attribute of an `onnx.Clip` that makes its lower bound of NaN, as quantization does."""


def expand_qdq_pairs(block: Block, pool: DisposablePool, excluded: set[Operation]) -> None:
    """
    Fold DequantizeLinear of constants, and expand `DequantizeLinear(QuantizeLinear(x))` to float arithmetic.

    The pair is `clip(round(x / scale), low - zero, high - zero) scale + 0`, bit for bit the same. The clip
    makes `low` of NaN, the integer that onnxruntime makes of it. So convolutions have constant weights, and
    the pairs join elementwise groups. Ops that are `excluded`, and their readers, stay.
    """
    for op in list(block.ops):
        if (
            isinstance(op, DequantizeLinearOp)
            and excluded.isdisjoint((op, op.x.owner))
            and element_type(op.y.type) == f32
            and not op.block_size.value.data
        ):
            _expand(op, pool)


def _expand(op: DequantizeLinearOp, pool: DisposablePool) -> None:
    scale = constant_elements(op.x_scale)
    zero = None if op.x_zero_point.type == NONE else constant_elements(op.x_zero_point)
    element = element_type(op.x.type)
    if (
        scale is None
        or element_type(op.x_scale.type) != f32
        or (zero is None and op.x_zero_point.type != NONE)
    ):
        return
    if element is None or not is_integer(element):
        return
    integers, quantize = constant_elements(op.x), op.x.owner
    if integers is not None:
        _replace(op, _constants(op, [_reals(integers, scale, zero, op.axis.value.data)], pool), [])
    elif isinstance(quantize, QuantizeLinearOp) and scale.size == 1 and _same(op, quantize):
        least, greatest = integer_range(element)
        offset = 0 if zero is None else int(zero.reshape(-1)[0])
        ends = (least - offset, greatest - offset, 0)
        constants = _constants(op, [scale.reshape(()), *(np.array(end, np.float32) for end in ends)], pool)
        step, low, high, positive_zero = (constant.output for constant in constants)
        type_ = [op.y.type]
        divided = DivOp.create(operands=[quantize.x, step], result_types=type_)
        rounded = RoundOp.create(operands=[divided.results[0]], result_types=type_)
        clipped = ClipOp.create(
            operands=[rounded.results[0], low, high],
            result_types=type_,
            attributes={CLIPS_NAN: UnitAttr()},
        )
        real = MulOp.create(operands=[clipped.results[0], step], result_types=type_)
        # Rounding keeps the sign of a small negative number as -0, which integers do not have: -0 + 0 is +0.
        unsigned = AddOp.create(operands=[real.results[0], positive_zero], result_types=type_)
        _replace(op, constants, [divided, rounded, clipped, real, unsigned])
        if not quantize.y.uses.get_length():
            quantize.detach()
            quantize.erase()


def _reals(integers: Array, scale: Array, zero: Array | None, axis: int) -> Array:
    """Return `(x - zero) scale` in f32, with parameters per tensor or per axis."""
    shape = [1] * integers.ndim
    if scale.size > 1:
        shape[axis] = scale.size
    numbers = integers.astype(np.float32)
    if zero is not None:
        numbers -= zero.astype(np.float32).reshape(shape if zero.size > 1 else [1] * integers.ndim)
    numbers *= scale.reshape(shape)
    return numbers


def _same(op: DequantizeLinearOp, quantize: QuantizeLinearOp) -> bool:
    """Whether a pair quantizes f32 and dequantizes with the same parameters."""
    if element_type(quantize.x.type) != f32 or quantize.precision.value.data:
        return False
    pairs = ((op.x_scale, quantize.y_scale), (op.x_zero_point, quantize.y_zero_point))
    return all(_equal(one, other) for one, other in pairs)


def _equal(one: SSAValue, other: SSAValue) -> bool:
    if one is other or (one.type == NONE and other.type == NONE):
        return True
    first, second = constant_elements(one), constant_elements(other)
    return first is not None and second is not None and np.array_equal(first, second)


def _constants(op: Operation, arrays: Sequence[Array], pool: DisposablePool) -> list[ConstantOp]:
    return [ConstantOp.from_attr(pool.create(array), derived(op.location)) for array in arrays]


def _replace(op: DequantizeLinearOp, constants: Sequence[ConstantOp], made: Sequence[Operation]) -> None:
    """Replace an op; the last new op computes its result."""
    for each in made:
        each.location = derived(op.location)
    added: list[Operation] = [*constants, *made]
    added[-1].location = op.location
    assert op.parent is not None
    op.parent.insert_ops_before(added, op)
    op.y.replace_all_uses_with(added[-1].results[0])
    op.detach()
    op.erase()
