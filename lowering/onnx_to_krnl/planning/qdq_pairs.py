"""
QDQ in f32: dequantized constants become float constants, pairs become fake quantization, and others beside
elementwise operators become arithmetic, which joins the kernels of those.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr, f32, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp, constant_elements
from xonnc.dialects.onnx.ops.math import AddOp, ClipOp, DivOp, MulOp, RoundOp, SubOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import CastOp
from xonnc.dialects.onnx.types import NONE, element_type, with_element
from xonnc.lowering.onnx_to_krnl.planning.element_types import integer_range
from xonnc.rewriting.patterns import Array
from xonnc.transforms.constant_dequantization import dequantized_constant

IS_BOUNDED = "krnl.bounded"
"""Attribute of an `onnx.Div` of finite numbers by a constant, whose quotients become integers."""

ROUNDS = "krnl.rounds"
"""Attribute of an `onnx.Cast` of f32 within ±2²² to i32 that rounds to nearest instead of towards 0."""

CLIPS_NAN = "krnl.clips_nan"
"""Attribute of an `onnx.Clip` that makes its lower bound of NaN, as quantization does."""


def fold_dequantized_operands(
    block: Block, pool: DisposablePool, elementwise: Container[type[Operation]]
) -> None:
    """
    Make float constants of DequantizeLinear of constants that are operands of `elementwise` operators.

    Others are computed, so that these constants are no weights: a bias, for example.
    """
    for op in list(block.ops):
        if isinstance(op, DequantizeLinearOp) and (known := dequantized_constant(op.y)) is not None:
            users = [use.operation for use in op.y.uses]
            if all(type(user) in elementwise and _reads_computed(user) for user in users):
                _replace(op, _constants(op, [known], pool), [])


def _reads_computed(op: Operation) -> bool:
    """Whether an operand of an operator is no constant."""
    return any(value.type != NONE and dequantized_constant(value) is None for value in op.operands)


def expand_qdq_pairs(
    block: Block,
    pool: DisposablePool,
    excluded: set[Operation],
    elementwise: Container[type[Operation]],
    has_fma: bool,
    kept: Container[SSAValue] = (),
) -> None:
    """
    Fold DequantizeLinear of constants, and expand `DequantizeLinear(QuantizeLinear(x))` to float arithmetic.

    The pair is `round(clip(x, low scale, high scale) / scale) scale + 0` with ends less the zero point, bit
    for bit the same. The clip makes `low` of NaN, the integer that onnxruntime makes of it. So convolutions
    have constant weights, and the pairs join elementwise groups. Ops that are `excluded`, and their readers,
    stay, and so do pairs of bytes that are `kept`. Then DequantizeLinear of 8 bits before `elementwise`
    operators or QuantizeLinear, and QuantizeLinear after them, are expanded.
    """
    for op in list(block.ops):
        if (
            isinstance(op, DequantizeLinearOp)
            and excluded.isdisjoint((op, op.x.owner))
            and op.x not in kept
            and element_type(op.y.type) == f32
            and not op.block_size.value.data
        ):
            _expand(op, pool, has_fma)
    for op in list(block.ops):
        if isinstance(op, DequantizeLinearOp) and op not in excluded:
            users = [use.operation for use in op.y.uses]
            if any(type(user) in elementwise or isinstance(user, QuantizeLinearOp) for user in users):
                _expand_dequantize(op, pool)
        elif isinstance(op, QuantizeLinearOp) and op not in excluded:
            made = op.x.owner
            if isinstance(made, Operation) and type(made) in elementwise:
                _expand_quantize(op, pool, has_fma)


def _of_tensor(op: QuantizeLinearOp | DequantizeLinearOp) -> tuple[Array, int] | None:
    """Return the constant scale and zero point of a conversion between 8 bits and f32, for a whole tensor."""
    if isinstance(op, QuantizeLinearOp):
        real, integer, scale, zero = op.x, op.y, op.y_scale, op.y_zero_point
    else:
        real, integer, scale, zero = op.y, op.x, op.x_scale, op.x_zero_point
    element, step = element_type(integer.type), constant_elements(scale)
    offset = np.zeros((), np.int8) if zero.type == NONE else constant_elements(zero)
    is_byte = element is not None and is_integer(element) and element.width.data == 8
    if not is_byte or element_type(real.type) != f32 or element_type(scale.type) != f32:
        return None
    if step is None or step.size != 1 or offset is None or offset.size != 1 or op.block_size.value.data:
        return None
    if isinstance(op, QuantizeLinearOp) and op.precision.value.data:
        return None
    return step.reshape(()), int(offset.reshape(-1)[0])


def _expand_dequantize(op: DequantizeLinearOp, pool: DisposablePool) -> None:
    """`(float(x) - zero) scale`"""
    found = _of_tensor(op)
    if found is None:
        return
    scale, zero = found
    constants = _constants(op, [scale, np.array(zero, np.float32)], pool)
    step, offset = (constant.output for constant in constants)
    real = _cast(op.x, op.y.type)
    centred = SubOp.create(operands=[real.results[0], offset], result_types=[op.y.type])
    scaled = MulOp.create(operands=[centred.results[0], step], result_types=[op.y.type])
    _replace(op, constants, [real, centred, scaled])


def _expand_quantize(op: QuantizeLinearOp, pool: DisposablePool, has_fma: bool) -> None:
    """`byte(round(clip(x, (low - zero) scale, (high - zero) scale) / scale) + zero)`"""
    found, element = _of_tensor(op), element_type(op.y.type)
    if found is None or element is None:
        return
    scale, zero = found
    if not _has_reciprocal(scale):
        return
    constants = _constants(op, [scale, *_ends(scale, element, zero), np.array(zero, np.int32)], pool)
    step, low, high, offset = (constant.output for constant in constants)
    clipped, divided = _divided(op.x, step, (low, high), has_fma)
    rounded = _cast(divided.results[0], with_element(op.x.type, i32))
    rounded.attributes[ROUNDS] = UnitAttr()
    added = AddOp.create(operands=[rounded.output, offset], result_types=[rounded.output.type])
    _replace(op, constants, [clipped, divided, rounded, added, _cast(added.results[0], op.y.type)])


def _divided(x: SSAValue, step: SSAValue, ends: tuple[SSAValue, SSAValue], has_fma: bool) -> list[Operation]:
    """
    Return the ops of `clip(x, low step, high step) / step`, `ends` being the products.

    NaN becomes the lower end.
    """
    clipped = ClipOp.create(operands=[x, *ends], result_types=[x.type], attributes={CLIPS_NAN: UnitAttr()})
    attributes: dict[str, Attribute] = {IS_BOUNDED: UnitAttr()} if has_fma else {}
    divided = DivOp.create(operands=[clipped.results[0], step], result_types=[x.type], attributes=attributes)
    return [clipped, divided]


def _has_reciprocal(scale: Array) -> bool:
    """Whether one over a scale, and its products with the integers, are normal numbers."""
    return 2.0**-100 < float(scale) < 2.0**100


def _ends(scale: Array, element: Attribute, zero: int) -> list[Array]:
    """Return the numbers that the least and the greatest integer stand for."""
    return [np.asarray(np.float32(end - zero) * scale, np.float32) for end in integer_range(element)]


def _cast(value: SSAValue, type_: Attribute) -> CastOp:
    element = element_type(type_)
    assert element is not None
    return CastOp.build(operands=[value], result_types=[type_], properties={"to": element})


def _expand(op: DequantizeLinearOp, pool: DisposablePool, has_fma: bool) -> None:
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
    known, quantize = dequantized_constant(op.y), op.x.owner
    if known is not None:
        _replace(op, _constants(op, [known], pool), [])
    elif isinstance(quantize, QuantizeLinearOp) and scale.size == 1 and _same(op, quantize):
        step = scale.reshape(())
        if not _has_reciprocal(step):
            return
        ends = _ends(step, element, 0 if zero is None else int(zero.reshape(-1)[0]))
        constants = _constants(op, [step, *ends, np.array(0, np.float32)], pool)
        step, low, high, positive_zero = (constant.output for constant in constants)
        made = _divided(quantize.x, step, (low, high), has_fma)
        made.append(RoundOp.create(operands=[made[-1].results[0]], result_types=[op.y.type]))
        made.append(MulOp.create(operands=[made[-1].results[0], step], result_types=[op.y.type]))
        # Rounding keeps the sign of a small negative number as -0, which integers do not have: -0 + 0 is +0.
        made.append(AddOp.create(operands=[made[-1].results[0], positive_zero], result_types=[op.y.type]))
        _replace(op, constants, made)
        if not quantize.y.uses.get_length():
            quantize.detach()
            quantize.erase()


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


def _replace(
    op: QuantizeLinearOp | DequantizeLinearOp, constants: Sequence[ConstantOp], made: Sequence[Operation]
) -> None:
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
