"""Concat, Reshape, Transpose, Identity, Cast, Dropout and Softmax."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from xonnc.dialects.dla.engines import SoftmaxOp as DlaSoftmaxOp
from xonnc.dialects.dla.storage import ConcatOp as DlaConcatOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.math import SoftmaxOp, SoftmaxV11Op
from xonnc.dialects.onnx.ops.nn import DropoutOp, DropoutV10Op, FlattenOp
from xonnc.dialects.onnx.ops.tensor import (
    CastOp,
    ConcatOp,
    IdentityOp,
    ReshapeOp,
    SqueezeOp,
    SqueezeV11Op,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.formats.nvdla.quantization import INT8_MAX, QuantizationParameters
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import FLOATS, Array, Cube, DlaBuilder, cube_shape
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.fp16.fp16_builder import Fp16Builder, lowers_fp16
from xonnc.lowering.onnx_to_dla.int8.computed_weights import feeds_products
from xonnc.lowering.onnx_to_dla.int8.quantized_builder import Quantized, QuantizedBuilder, lowers_int8
from xonnc.targets.limits import lacks_emulator


@lowers(ConcatOp)
def concat(op: ConcatOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower Concat. Producers write into one surface, integers with the parameters of the result; nothing is
    copied if channels fill whole atoms.
    """
    shape = builder.result_shape(op)
    axis = op.axis.value.data % len(shape)
    parts = [builder.tensor(value) for value in op.inputs]

    def join(values: list[SSAValue]) -> SSAValue:
        cubes = [Cube(value, part.shape) for value, part in zip(values, parts, strict=True)]
        return side_by_side(cubes, axis, shape, builder)

    return builder.joined(parts, shape, join)


SOFTMAX_QPARAMS = QuantizationParameters(float(np.float32(1 / INT8_MAX)))
"""The CPU emulator supports no zero point: probabilities use [0, 127]."""

MAX_PARTS = 64
"""Most slices of channels in one concatenation."""


def side_by_side(sources: Sequence[Cube], axis: int, shape: tuple[int, ...], builder: DlaBuilder) -> SSAValue:
    """Concatenate tensors to one of `shape` along an axis."""
    values = [source.value for source in sources]
    is_moved = any(source.cube != cube_shape(source.shape) for source in sources)
    if is_moved and prod(shape[:axis]) == 1 and all(source.cube.positions == 1 for source in sources):
        # Elements that are channels of one position stay channels, whatever their shape.
        return builder(DlaConcatOp(values, 1, builder.cube_type(CubeShape(prod(shape), 1, 1))))
    for source in sources:
        builder.check_spatial(source)
    if len(sources) == 1:
        return sources[0].value
    cube = cube_shape(shape)
    if cube is None:
        builder.refuse(f"an empty result of shape {list(shape)}")
    if is_position(axis, shape):
        return builder(DlaConcatOp(values, 3 if axis == len(shape) - 1 else 2, builder.cube_type(cube)))
    outer = prod(shape[:axis])
    if outer * len(values) > MAX_PARTS:
        builder.refuse(
            f"a concatenation of {outer * len(values)} slices (up to {MAX_PARTS}); use a smaller batch"
        )
    steps = [cube_of(value.type).channels // outer for value in values]
    if outer > 1:
        values = [
            builder.channels(value, index * step, (index + 1) * step)
            for index in range(outer)
            for value, step in zip(values, steps, strict=True)
        ]
    return builder(DlaConcatOp(values, 1, builder.cube_type(cube)))


def is_position(axis: int, shape: Sequence[int]) -> bool:
    """Whether an axis of a tensor is the rows or columns of its cube, not part of the channels."""
    return axis >= max(len(shape) - 2, 2)


@lowers(ReshapeOp, SqueezeOp, SqueezeV11Op, UnsqueezeOp, UnsqueezeV11Op)
def reshape(
    op: ReshapeOp | SqueezeOp | SqueezeV11Op | UnsqueezeOp | UnsqueezeV11Op,
    builder: OperatorBuilder[TensorT],
) -> TensorT:
    """Lower Reshape, Squeeze and Unsqueeze as views where the cube layout allows it."""
    return builder.reshaped(op.data, builder.result_shape(op))


@lowers(FlattenOp)
def flatten(op: FlattenOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Flatten as a view where the cube layout allows it."""
    return builder.reshaped(op.input, builder.result_shape(op))


@lowers(IdentityOp)
def identity(op: IdentityOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Identity as its operand."""
    return builder.reshaped(op.input, builder.result_shape(op))


@lowers_int8(CastOp)
def cast(op: CastOp, builder: QuantizedBuilder) -> Quantized:
    """Lower Cast between floats as its operand: their precision is that of the integers."""
    if element_type(op.input.type) not in FLOATS or element_type(op.output.type) not in FLOATS:
        builder.refuse("the DLA has no int8 form of this operator")
    return builder.reshaped(op.input, builder.result_shape(op))


@lowers_fp16(DropoutOp, DropoutV10Op)
def dropout(op: DropoutOp | DropoutV10Op, builder: Fp16Builder) -> Cube:
    """Lower Dropout, the identity at inference."""
    if op.mask.type != NONE and any(op.mask.uses):
        builder.refuse("the mask output is used; remove its uses")
    if isinstance(op, DropoutOp) and op.training_mode.type != NONE:
        if np.any(builder.weights(op.training_mode, "training_mode")):
            builder.refuse("training_mode 1 (random numbers are not supported); set it to 0")
    return builder.cube(op.data)


@lowers(TransposeOp)
def transpose(op: TransposeOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower Transpose: nothing if only dimensions of size 1 move, a one-hot 1x1 convolution if only channels do,
    as in a channel shuffle, or a convolution by the tensor as weights if rows of positions become channels.
    """
    source, shape = builder.source(op.data), builder.result_shape(op)
    order = int_values(op.perm) or tuple(reversed(range(len(shape))))
    if feeds_products(op.transposed) and (found := builder.exchanged(source, order, shape)) is not None:
        return found
    picked = channels_picked(op, source, builder)
    if picked is None:
        return builder.reshaped(op.data, shape)
    kernels = picking(picked, builder.weight_type)
    value = builder.one_hot_convolution(source.value, kernels, Window2D((1, 1)))
    return builder.stored(value, shape, source.qparams)


def picking(picked: Array, dtype: npt.DTypeLike) -> Array:
    """Return one-hot 1x1 kernels that select the channels `picked`."""
    # Zeros take no memory until they are read or converted.
    weights = np.zeros((picked.size, picked.size, 1, 1), dtype)
    weights[np.arange(picked.size), picked] = 1
    return weights


def channels_picked(op: TransposeOp, source: Cube, builder: DlaBuilder) -> Array | None:
    """Return the channels of the result in their new order, `None` if nothing moves in memory."""
    rank = len(source.shape)
    order = int_values(op.perm) or tuple(reversed(range(rank)))
    moved = [dimension for dimension in order if source.shape[dimension] != 1]
    if moved == sorted(moved):
        return None
    channels = source.cube.channels
    leading = max((end for end in range(rank + 1) if prod(source.shape[:end]) == channels), default=0)
    inner, outer = list(order[:leading]), list(order[leading:])
    if sorted(inner) != list(range(leading)) or outer != sorted(outer):
        builder.refuse(
            f"perm {list(order)} of {list(source.shape)} moves rows or columns (the core permutes channels)"
        )
    return np.arange(channels).reshape(source.shape[:leading]).transpose(inner).reshape(-1)


@lowers(SoftmaxOp)
def softmax(op: SoftmaxOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Softmax over the channels of one position, on the CPU emulator."""
    return _softmax(op, op.axis.value.data, False, builder)


@lowers(SoftmaxV11Op)
def softmax_11(op: SoftmaxV11Op, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Softmax of opset 11 and before, over all dimensions from `axis` on."""
    return _softmax(op, op.axis.value.data, True, builder)


def _softmax(
    op: SoftmaxOp | SoftmaxV11Op, axis: int, flattens: bool, builder: OperatorBuilder[TensorT]
) -> TensorT:
    """Softmax is invariant to a constant added to all inputs, so the zero point may be ignored."""
    source = builder.source(op.input)
    check_softmax(source, axis, flattens, builder)
    if source.qparams is None:
        made, qparams = DlaSoftmaxOp(source.value, source.value.type), None
    else:
        qparams = _softmax_qparams(op.output, builder)
        made = DlaSoftmaxOp(
            source.value, source.value.type, input_scale=source.qparams.scale, output_scale=qparams.scale
        )
    return builder.stored(builder(made), source.shape, qparams)


def _softmax_qparams(value: SSAValue, builder: OperatorBuilder[TensorT]) -> QuantizationParameters:
    """
    Return the parameters of the only QuantizeLinear that reads a softmax if they are symmetric, else 1/127.
    """
    qparams = builder.reader_qparams(value)
    return SOFTMAX_QPARAMS if qparams is None or qparams.zero_point else qparams


def check_softmax(source: Cube, axis: int, flattens: bool, builder: DlaBuilder) -> None:
    """
    Refuse a softmax (`flattens`: over all dimensions from `axis` on) that the emulator does not support.
    """
    builder.check(lacks_emulator(builder.target))
    axis %= len(source.shape)
    elements = prod(source.shape[axis:] if flattens else (source.shape[axis],))
    if source.cube != CubeShape(elements, 1, 1):
        builder.refuse(
            f"softmax over {elements} elements of {list(source.shape)} (the emulator takes the channels of a "
            "single position)"
        )
