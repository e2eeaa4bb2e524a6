"""Integers of 32 bits that order as the elements of a tensor."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.lowering.onnx_to_krnl.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.element_types import compute_type, is_sub_byte, is_unsigned_element
from xonnc.lowering.onnx_to_krnl.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

KEY_BITS = 32


def has_keys(element: Attribute) -> bool:
    """Whether elements can be ordered by 32-bit integer keys."""
    if is_integer(element):
        return element.width.data <= KEY_BITS and not is_sub_byte(element)
    return compute_type(element) == f32


def key_of(x: Scalar, element: Attribute, largest: bool) -> Scalar:
    """
    Return a signed i32 that orders as the element; NaN sorts first.

    Floats compare like their bits as sign-magnitude integers, so those of negative ones are inverted, except
    the sign; 0 is added since -0 equals 0.
    """
    if x.type == f32:
        bits = (x + 0.0).bitcast(i32)
        sign = bits.shift_right_signed(31)
        flipped = bits ^ (sign & sign.like(0x7FFFFFFF))
        key = ~flipped if largest else flipped
        return x.differs(x).select(-(1 << 31), key)
    key = x.to(i32, is_unsigned_element(element))
    if is_integer(element) and is_unsigned_element(element) and element.width.data == KEY_BITS:
        key = key ^ -(1 << 31)
    return ~key if largest else key


def keys_of_rows(
    source: SSAValue, rows: AxisSplit, element: Attribute, largest: bool, builder: LoweringBuilder
) -> SSAValue:
    """Return the keys of elements as `i32[before, after, size]`, transposed so that rows are contiguous."""
    keys = builder.allocate([rows.before, rows.after, rows.size], i32)
    kernel = Kernel(builder, "sort_keys", [keys], [(source, rows.sizes)])
    out, read = kernel.buffers
    with kernel.loops([rows.before, rows.after, rows.size]) as (before, after, index):
        out[before, after, index] = key_of(read[before, index, after], element, largest)
    kernel.call()
    return keys
