"""Integers that order as the elements of a tensor."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type, is_sub_byte, is_unsigned_element

KEY_BITS = 32


def has_keys(element: Attribute) -> bool:
    """Whether elements can be ordered by 32-bit integer keys."""
    return key_type(element) == i32


def key_type(element: Attribute) -> IntegerType | None:
    """Return the type of the integers that order as elements of a type; `None` if there are none."""
    if is_integer(element):
        return None if is_sub_byte(element) else i32 if element.width.data <= KEY_BITS else i64
    computed = compute_type(element)
    return i32 if computed == f32 else i64 if computed == f64 else None


def key_of(x: Scalar, element: Attribute, largest: bool, is_nan_last: bool = False) -> Scalar:
    """
    Return a signed integer that orders as the element; NaN sorts first, or last.

    Floats compare like their bits as sign-magnitude integers, so those of negative ones are inverted, except
    the sign; 0 is added since -0 equals 0.
    """
    kind = key_type(element)
    assert kind is not None, "the elements have keys"
    sign_bit = kind.width.data - 1
    least = -(1 << sign_bit)
    if not is_integer(x.type):
        bits = (x + 0.0).bitcast(kind)
        sign = bits.shift_right_signed(sign_bit)
        flipped = bits ^ (sign & sign.like(-least - 1))
        key = ~flipped if largest else flipped
        return x.differs(x).select(-least - 1 if is_nan_last else least, key)
    key = x.to(kind, is_unsigned_element(element))
    if is_integer(element) and is_unsigned_element(element) and element.width.data == kind.width.data:
        key = key ^ least
    return ~key if largest else key


def keys_of_rows(
    source: SSAValue,
    rows: AxisSplit,
    element: Attribute,
    largest: bool,
    builder: LoweringBuilder,
    is_nan_last: bool = False,
) -> SSAValue:
    """Return the keys of elements as `[before, after, size]`, transposed so that rows are contiguous."""
    kind = key_type(element)
    assert kind is not None, "the elements have keys"
    keys = builder.allocate([rows.before, rows.after, rows.size], kind)
    kernel = Kernel(builder, "sort_keys", [keys], [(source, rows.sizes)])
    out, read = kernel.buffers
    with kernel.loops([rows.before, rows.after, rows.size]) as (before, after, index):
        out[before, after, index] = key_of(read[before, index, after], element, largest, is_nan_last)
    kernel.call()
    return keys
