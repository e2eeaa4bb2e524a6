"""LayerNormalization in general form, InstanceNormalization and LpNormalization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, volume


@dataclass(frozen=True)
class _Row:
    """A row of a tensor, computed in a type."""

    kernel: Kernel
    source: Buffer
    indices: Sequence[Scalar]
    size: Size
    kind: Attribute

    def __getitem__(self, index: Scalar) -> Scalar:
        return self.source.read_as(self.kind, *self.indices, index)

    def mean_and_variance(self) -> tuple[Scalar, Scalar]:
        """
        Return the mean of the elements, and that of their squared deviations.

        mean(x²) - mean(x)² would cancel where the mean is large against the deviation.
        """
        zero, count = self.kernel.constant(0.0, self.kind), self.kernel.count([self.size], self.kind)

        def add_square(total: Scalar, index: Scalar) -> Scalar:
            deviation = self[index] - mean
            return total + deviation * deviation

        mean = self.kernel.reduce(self.size, zero, lambda total, index: total + self[index]) / count
        return mean, self.kernel.reduce(self.size, zero, add_square) / count


def generic_layer_normalization(op: nn.LayerNormalizationOp, builder: LoweringBuilder) -> str | None:
    """
    `(x - mean) / sqrt(variance + epsilon) Scale + B`, with mean and inverse deviation as optional results.
    """
    element, shape = builder.element(op.X), builder.sizes(op.X)
    kind = compute_type(element)
    axis = op.axis.value.data % len(shape)
    sizes = [volume(shape[:axis]), volume(shape[axis:])]
    factors = [value for value in (op.Scale, op.B) if value.type != NONE]
    held_shapes = [_row_shape(builder.sizes(value), shape, axis) for value in factors]
    shapes = [each for each in held_shapes if each is not None]
    if kind not in (f32, f64) or len(shapes) != len(factors):
        return "not of floats, or Scale or B broadcast along some of the normalized axes"
    results = [value for value in (op.Y, op.Mean, op.InvStdDev) if value.type != NONE]
    kernel = Kernel(
        builder,
        "layernormalization",
        [(value, sizes if value is op.Y else sizes[:1]) for value in results],
        [(op.X, sizes), *zip(factors, shapes, strict=True)],
    )
    out, *others = kernel.buffers[: len(results)]
    source, *parameters = kernel.buffers[len(results) :]
    with kernel.loops(sizes[:1]) as (row,):
        elements = _Row(kernel, source, [row], sizes[1], kind)
        mean, variance = elements.mean_and_variance()
        factor = 1.0 / (variance + op.epsilon.value.data).sqrt()
        known = {op.Mean: mean, op.InvStdDev: factor}
        for value, buffer in zip(results[1:], others, strict=True):
            buffer[row] = known[value]
        with kernel.loops(sizes[1:]) as (index,):
            x = (elements[index] - mean) * factor
            for number, (buffer, each) in enumerate(zip(parameters, shapes, strict=True)):
                at = [0 if size == 1 else own for own, size in zip([row, index], each, strict=True)]
                y = buffer.read_as(kind, *at)
                x = x * y if number == 0 else x + y
            out[row, index] = x
    kernel.call()
    return None


def _row_shape(shape: Sequence[Size], full_shape: Sequence[Size], axis: int) -> list[Size] | None:
    """Return a scale's shape as rows and columns of the normalized tensor; None if it is broadcast partly."""
    own = [*(1,) * (len(full_shape) - len(shape)), *shape]
    found: list[Size] = []
    for expected, actual in ((full_shape[:axis], own[:axis]), (full_shape[axis:], own[axis:])):
        if volume(actual) not in (1, volume(expected)):
            return None
        found.append(volume(actual))
    return found


supports_dynamic_shapes(nn.InstanceNormalizationOp)


@lowers(nn.InstanceNormalizationOp)
def instance_normalization(op: nn.InstanceNormalizationOp, builder: LoweringBuilder) -> str | None:
    """Normalize each channel of each image by its mean and deviation, then apply `scale` and `B`."""
    element, shape = builder.element(op.input), builder.sizes(op.input)
    kind = compute_type(element)
    if kind not in (f32, f64):
        return "not of floats"
    sizes = [shape[0], shape[1], volume(shape[2:])]
    inputs = [(op.input, sizes), (op.scale, [shape[1]]), (op.B, [shape[1]])]
    kernel = Kernel(builder, "instancenormalization", [(op.output, sizes)], inputs)
    out, source, scale, bias = kernel.buffers
    with kernel.loops(sizes[:2]) as (image, channel):
        row = _Row(kernel, source, [image, channel], sizes[2], kind)
        mean, variance = row.mean_and_variance()
        factor = scale.read_as(kind, channel) / (variance + op.epsilon.value.data).sqrt()
        offset = bias.read_as(kind, channel)
        with kernel.loops(sizes[2:]) as (index,):
            out[image, channel, index] = (row[index] - mean) * factor + offset
    kernel.call()
    return None


@lowers(nn.LpNormalizationOp)
def lp_normalization(op: nn.LpNormalizationOp, builder: LoweringBuilder) -> str | None:
    """Divide by the L1 or L2 norm along an axis; 0 where the norm is 0."""
    element, shape = builder.element(op.input), builder.shape(op.input)
    kind = compute_type(element)
    if kind not in (f32, f64):
        return "not of floats"
    axis = op.axis.value.data % len(shape)
    sizes = [prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])]
    kernel = Kernel(builder, "lpnormalization", [(op.output, sizes)], [(op.input, sizes)])
    out, source = kernel.buffers
    with kernel.loops([sizes[0], sizes[2]]) as (before, after):

        def add(total: Scalar, index: Scalar) -> Scalar:
            x = source.read_as(kind, before, index, after)
            return total + (x.abs() if op.p.value.data == 1 else x * x)

        length = kernel.reduce(sizes[1], kernel.constant(0.0, kind), add)
        length = length if op.p.value.data == 1 else length.sqrt()
        is_none = length.equals(0.0)
        with kernel.loops([sizes[1]]) as (index,):
            x = source.read_as(kind, before, index, after) / length
            out[before, index, after] = is_none.select(0.0, x)
    kernel.call()
    return None
