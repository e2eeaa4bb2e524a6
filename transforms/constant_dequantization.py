"""Elements of DequantizeLinear of constants, which stays in the IR, since it marks what is quantized."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.rewriting.patterns import Array


def dequantized_constant(value: SSAValue) -> Array | None:
    """
    Return the elements of a float32 constant, or of a DequantizeLinear of constants; None for other values.

    Scales are those of a tensor, or of the indices of an axis.
    """
    if element_type(value.type) != f32:
        return None
    op = value.owner
    if not isinstance(op, DequantizeLinearOp):
        return constant_elements(value)
    integers, scale = constant_elements(op.x), constant_elements(op.x_scale)
    zero = None if op.x_zero_point.type == NONE else constant_elements(op.x_zero_point)
    element = element_type(op.x.type)
    if integers is None or scale is None or (zero is None and op.x_zero_point.type != NONE):
        return None
    if op.block_size.value.data or element_type(op.x_scale.type) != f32:
        return None
    if element is None or not is_integer(element):
        return None
    shape = [1] * integers.ndim
    if scale.size > 1:
        shape[op.axis.value.data] = scale.size
    numbers = integers.astype(np.float32)
    if zero is not None:
        numbers -= zero.astype(np.float32).reshape(shape if zero.size > 1 else [1] * integers.ndim)
    # The least number of float32, which masks have, is -127.5 times its scale: -128 gives -inf.
    with np.errstate(over="ignore", invalid="ignore"):
        numbers *= scale.reshape(shape)
    return numbers
