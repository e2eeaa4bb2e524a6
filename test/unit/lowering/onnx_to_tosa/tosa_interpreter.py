"""TOSA in NumPy, as its specification says: what the ops emitted compute, without another compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import erf
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects import tosa
from xdsl.dialects.builtin import I64, DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.elements.dense import dense_array
from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.dialects.tosa import convolution, data_movement, elementwise
from xonnc.dialects.tosa.types import ResizeMode, element_of, shape_of

Array: TypeAlias = npt.NDArray[Any]
Compute: TypeAlias = Callable[..., Array]


def interpret(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    """Run the only function of a module; check each result against its type."""
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    values: dict[SSAValue, Array] = dict(zip(function.body.block.args, inputs, strict=True))
    for op in function.body.block.ops:
        arrays = [values[operand] for operand in op.operands]
        if isinstance(op, ReturnOp):
            return arrays
        if isinstance(op, tosa.ConstOp | data_movement.ConstShapeOp):
            values[op.results[0]] = dense_array(op.values)
            continue
        with np.errstate(all="ignore"):
            made = computed(op, arrays)
        expected = numpy_dtype(element_of(op.results[0]))
        assert made.shape == shape_of(op.results[0]), op.name
        values[op.results[0]] = made.astype(expected)
    raise AssertionError("the function returns nothing")


def computed(op: Operation, arrays: list[Array]) -> Array:
    """Return the result of one op."""
    kind = type(op)
    if kind in BY_PROPERTIES:
        return BY_PROPERTIES[kind](op, *arrays)
    if kind not in REDUCTIONS:
        return FUNCTIONS[kind](*arrays)
    axis = op.properties["axis"]
    assert isinstance(axis, IntegerAttr)
    return REDUCTIONS[kind](arrays[0], axis=axis.value.data, keepdims=True)


def clamp(op: tosa.ClampOp, x: Array) -> Array:
    """The elements within bounds."""
    assert isinstance(op.min_val, FloatAttr | IntegerAttr)
    assert isinstance(op.max_val, FloatAttr | IntegerAttr)
    return np.clip(x, op.min_val.value.data, op.max_val.value.data)


def concatenated(op: tosa.ConcatOp, *arrays: Array) -> Array:
    """Tensors one after another."""
    return np.concatenate(arrays, op.axis.value.data)


def multiplied(a: Array, b: Array, zero_a: Array, zero_b: Array) -> Array:
    """Products of matrices."""
    return np.matmul(a - zero_a, b - zero_b)


def reverse(op: data_movement.ReverseOp, x: Array) -> Array:
    """The elements along an axis in reverse order."""
    return np.flip(x, op.axis.value.data)


def transpose(op: data_movement.TransposeOp, x: Array) -> Array:
    """The dimensions in another order."""
    return x.transpose(op.order)


def quotient(a: Array, b: Array) -> Array:
    """The quotient of integers, towards zero."""
    return np.trunc(a / b)


def reciprocal_root(x: Array) -> Array:
    """`1 / sqrt(x)`."""
    return 1 / np.sqrt(x)


def sigmoid(x: Array) -> Array:
    """`1 / (1 + e^-x)`."""
    return 1 / (1 + np.exp(-x))


def from_table(x: Array, table: Array) -> Array:
    """The entries of a table of 256."""
    return table[x.astype(np.int64) + 128]


def gathered(x: Array, indices: Array) -> Array:
    """Rows of each batch."""
    return np.stack([rows[chosen] for rows, chosen in zip(x, indices, strict=True)])


def pad(x: Array, pads: Array, value: Array) -> Array:
    """A constant around a tensor."""
    return np.pad(x, [(int(low), int(high)) for low, high in pads.reshape(-1, 2)], constant_values=value[0])


def part(x: Array, start: Array, size: Array) -> Array:
    """A part of a tensor."""
    return x[tuple(slice(low, low + count) for low, count in zip(start, size, strict=True))]


def product_of(a: Array, b: Array, shift: Array) -> Array:
    """A product that is not shifted."""
    assert shift[0] == 0
    return a * b


def reciprocal(x: Array) -> Array:
    """`1 / x`."""
    return np.float32(1) / x


def cast(op: elementwise.CastOp, x: Array) -> Array:
    """Floats are rounded to the nearest, of two to the even one, and clamped."""
    expected = numpy_dtype(element_of(op.output))
    if expected.kind == "i" and x.dtype.kind == "f":
        bounds = np.iinfo(expected.name)
        return np.clip(np.rint(x.astype(np.float64)), bounds.min, bounds.max)
    return x


def rescaled(op: tosa.RescaleOp, x: Array, m: Array, s: Array, zero_in: Array, zero_out: Array) -> Array:
    """`(x - zero) m / 2^s` rounded half up, plus the other zero point, clamped."""
    shift = s.astype(np.int64)
    assert shift.min() >= 2
    assert shift.max() <= 62
    product_ = (x.astype(np.int64) - zero_in) * m.astype(np.int64)
    made = (product_ + (np.int64(1) << (shift - 1))) >> shift
    bounds = np.iinfo(numpy_dtype(element_of(op.output)).name)
    return np.clip(made + zero_out, bounds.min, bounds.max)


def windows(x: Array, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """Return the windows of an NHWC image: `NxHxWxKHxKWxC`."""
    rows, columns = (
        (x.shape[1 + axis] - (kernel[axis] - 1) * dilations[axis] - 1) // strides[axis] + 1 for axis in (0, 1)
    )
    made = np.empty((x.shape[0], rows, columns, *kernel, x.shape[3]), x.dtype)
    for i, j in product(range(kernel[0]), range(kernel[1])):
        top, left = i * dilations[0], j * dilations[1]
        held = x[:, top :: strides[0], left :: strides[1]]
        made[:, :, :, i, j] = held[:, :rows, :columns]
    return made


def _padded(x: Array, pads: Sequence[int], value: Any) -> Array:
    return np.pad(x, [(0, 0), (pads[0], pads[1]), (pads[2], pads[3]), (0, 0)], constant_values=value)


def _wide(x: Array, zero: Array) -> Array:
    """Return elements less their zero point in a type that holds their products' sums."""
    return x.astype(np.float64 if x.dtype.kind == "f" else np.int64) - zero


def convolved(op: convolution.Conv2DOp, x: Array, w: Array, b: Array, zx: Array, zw: Array) -> Array:
    """A convolution, padded with the zero point."""
    x = _padded(x, op.pad.get_values(), zx[0])
    found = windows(_wide(x, zx), w.shape[1:3], op.stride.get_values(), op.dilation.get_values())
    return np.einsum("nhwijc,oijc->nhwo", found, _wide(w, zw)) + b


def depthwise(op: convolution.DepthwiseConv2DOp, x: Array, w: Array, b: Array, zx: Array, zw: Array) -> Array:
    """A convolution of each channel."""
    x = _padded(x, op.pad.get_values(), zx[0])
    found = windows(_wide(x, zx), w.shape[:2], op.stride.get_values(), op.dilation.get_values())
    made = np.einsum("nhwijc,ijcm->nhwcm", found, _wide(w, zw))
    return made.reshape(*made.shape[:3], -1) + b


def transposed(
    op: convolution.TransposeConv2DOp, x: Array, w: Array, b: Array, zx: Array, zw: Array
) -> Array:
    """A transposed convolution; negative pads cut off."""
    strides, pads = op.stride.get_values(), op.out_pad.get_values()
    sizes = [(x.shape[1 + axis] - 1) * strides[axis] + w.shape[1 + axis] for axis in (0, 1)]
    whole = np.zeros((x.shape[0], *sizes, w.shape[0]))
    for i, j in product(range(x.shape[1]), range(x.shape[2])):
        part = np.einsum("nc,oijc->nijo", _wide(x[:, i, j], zx), _wide(w, zw))
        top, left = i * strides[0], j * strides[1]
        whole[:, top : top + w.shape[1], left : left + w.shape[2]] += part
    whole = _padded(whole, [max(pad, 0) for pad in pads], 0.0)
    top, left = max(-pads[0], 0), max(-pads[2], 0)
    out = shape_of(op.output)
    return whole[:, top : top + out[1], left : left + out[2]] + b


def _integers(held: Attribute) -> list[int]:
    assert isa(held, DenseArrayBase[I64])
    return list(held.get_values())


def pooled(op: tosa.MaxPool2DOp | tosa.AvgPool2DOp, x: Array, *_: Array) -> Array:
    """A pooling that leaves pads out."""
    pads, kernel, strides = map(_integers, (op.pad, op.kernel, op.stride))
    assert all(pad < size for pad, size in zip(pads, np.repeat(kernel, 2), strict=True))
    if isinstance(op, tosa.MaxPool2DOp):
        lowest = -128 if element_of(op.input) == i8 else -np.inf
        return windows(_padded(x, pads, lowest), kernel, strides, (1, 1)).max((3, 4))
    sums = windows(_padded(x.astype(np.float64), pads, 0.0), kernel, strides, (1, 1)).sum((3, 4))
    ones = windows(_padded(np.ones_like(x, np.float64), pads, 0.0), kernel, strides, (1, 1)).sum((3, 4))
    return sums / ones


def resized(op: data_movement.ResizeOp, x: Array, scale: Array, offset: Array, border: Array) -> Array:
    """A resize of rows, then of columns."""
    out = shape_of(op.output)
    for axis in (0, 1):
        x = _resized(x, 1 + axis, scale[2 * axis : 2 * axis + 2], offset[axis], out[1 + axis], op.mode.data)
    return x


def _resized(x: Array, axis: int, scale: Array, offset: int, made: int, mode: ResizeMode) -> Array:
    top = x.shape[axis] - 1
    indices = np.arange(made) * scale[1] + offset
    whole = indices // scale[0]
    part: Array = (indices - whole * scale[0]) / scale[0]
    low: Array = np.clip(whole, 0, top)
    high: Array = np.clip(whole + 1, 0, top)
    if mode == ResizeMode.NEAREST_NEIGHBOR:
        chosen: Array = np.where(part >= 0.5, high, low)
        return x.take(chosen, axis)
    sizes = [1] * x.ndim
    sizes[axis] = made
    part = part.reshape(sizes)
    return x.take(low, axis) * (1 - part) + x.take(high, axis) * part


BY_PROPERTIES: dict[type[Operation], Compute] = {
    convolution.Conv2DOp: convolved,
    convolution.DepthwiseConv2DOp: depthwise,
    convolution.TransposeConv2DOp: transposed,
    data_movement.ResizeOp: resized,
    data_movement.ReverseOp: reverse,
    data_movement.TransposeOp: transpose,
    elementwise.CastOp: cast,
    tosa.AvgPool2DOp: pooled,
    tosa.ClampOp: clamp,
    tosa.ConcatOp: concatenated,
    tosa.MaxPool2DOp: pooled,
    tosa.RescaleOp: rescaled,
}
"""Functions of ops with properties."""

REDUCTIONS: dict[type[Operation], Compute] = {
    tosa.ReduceMaxOp: np.max,
    tosa.ReduceMinOp: np.min,
    tosa.ReduceProductOp: np.prod,
    tosa.ReduceSumOp: np.sum,
}

FUNCTIONS: dict[type[Operation], Compute] = {
    convolution.MatMulOp: multiplied,
    data_movement.GatherOp: gathered,
    data_movement.PadOp: pad,
    data_movement.ReshapeOp: np.reshape,
    data_movement.SliceOp: part,
    data_movement.TileOp: np.tile,
    elementwise.AbsOp: np.abs,
    elementwise.CeilOp: np.ceil,
    elementwise.EqualOp: np.equal,
    elementwise.ErfOp: np.vectorize(erf, otypes=[np.float32]),
    elementwise.ExpOp: np.exp,
    elementwise.FloorOp: np.floor,
    elementwise.GreaterEqualOp: np.greater_equal,
    elementwise.GreaterOp: np.greater,
    elementwise.IntDivOp: quotient,
    elementwise.LogOp: np.log,
    elementwise.LogicalAndOp: np.logical_and,
    elementwise.LogicalNotOp: np.logical_not,
    elementwise.LogicalOrOp: np.logical_or,
    elementwise.LogicalXorOp: np.logical_xor,
    elementwise.MaximumOp: np.maximum,
    elementwise.MinimumOp: np.minimum,
    elementwise.PowOp: np.power,
    elementwise.RsqrtOp: reciprocal_root,
    elementwise.SelectOp: np.where,
    elementwise.SigmoidOp: sigmoid,
    elementwise.TableOp: from_table,
    elementwise.TanhOp: np.tanh,
    tosa.AddOp: np.add,
    tosa.CosOp: np.cos,
    tosa.MulOp: product_of,
    tosa.ReciprocalOp: reciprocal,
    tosa.SinOp: np.sin,
    tosa.SubOp: np.subtract,
}
"""Functions of operands only."""
