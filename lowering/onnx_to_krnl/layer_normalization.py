"""LayerNormalization in general form, InstanceNormalization and LpNormalization."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers, supports_dynamic_shapes
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, volume


def _sum(kernel: KernelBuilder, size: Size, kind: Attribute, term: _Term) -> Scalar:
    """Return the sum of a term over `size` elements."""
    with kernel.reducing([size], [kernel.constant(0.0, kind)]) as (inner, accumulators, results):
        results.append((Scalar(kernel, accumulators[0]) + term(inner[0])).value)
    return Scalar(kernel, results[0])


class _Term:
    """An element of a row, or its squared deviation from the mean."""

    def __init__(
        self,
        kernel: KernelBuilder,
        source: SSAValue,
        indices: Sequence[SSAValue],
        elements: tuple[Attribute, Attribute],
        mean: Scalar | None = None,
    ) -> None:
        self.kernel, self.source, self.indices, self.elements, self.mean = (
            kernel,
            source,
            indices,
            elements,
            mean,
        )

    def __call__(self, index: SSAValue) -> Scalar:
        x = read_as(self.kernel, self.source, [*self.indices, index], *self.elements)
        if self.mean is None:
            return x
        x = x - self.mean
        return x * x


def generic_layer_normalization(op: nn.LayerNormalizationOp, builder: LoweringBuilder) -> str | None:
    """
    `(x - mean) / sqrt(variance + epsilon) Scale + B`, with mean and inverse deviation as optional results.

    Two-pass variance: the mean first, then the squared deviations.
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
    types = [buffer_type(sizes if value is op.Y else sizes[:1], builder.element(value)) for value in results]
    types.append(buffer_type(sizes, element))
    types += [buffer_type(each, builder.element(value)) for each, value in zip(shapes, factors, strict=True)]
    kernel = KernelBuilder(types)
    out, *others = kernel.buffers[: len(results)]
    source, *parameters = kernel.buffers[len(results) :]
    count = Scalar(kernel, kernel.count(sizes[1:], kind))
    with kernel.loops(sizes[:1]) as (row,):
        mean = _sum(kernel, sizes[1], kind, _Term(kernel, source, [row], (element, kind))) / count
        # mean(x²) - mean(x)² would cancel where the mean is large against the deviation.
        variance = _sum(kernel, sizes[1], kind, _Term(kernel, source, [row], (element, kind), mean)) / count
        factor = 1.0 / (variance + op.epsilon.value.data).sqrt()
        known = {op.Mean: mean, op.InvStdDev: factor}
        for value, buffer in zip(results[1:], others, strict=True):
            other = builder.element(value)
            kernel.write(known[value].to(compute_type(other)).value, buffer, [row], other)
        with kernel.loops(sizes[1:]) as (index,):
            x = (read_as(kernel, source, [row, index], element, kind) - mean) * factor
            for number, (buffer, value, each) in enumerate(zip(parameters, factors, shapes, strict=True)):
                indices = [
                    kernel.index(0) if size == 1 else at for at, size in zip([row, index], each, strict=True)
                ]
                y = read_as(kernel, buffer, indices, builder.element(value), kind)
                x = x * y if number == 0 else x + y
            kernel.write(x.value, out, [row, index], element)
    made = [builder.result(value) for value in results]
    builder.call("layernormalization", kernel, made, [builder.buffer(value) for value in (op.X, *factors)])
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
    kernel = KernelBuilder([buffer_type(sizes, element)] * 2 + [buffer_type([shape[1]], element)] * 2)
    out, source, scale, bias = kernel.buffers
    count = Scalar(kernel, kernel.count(sizes[2:], kind))
    with kernel.loops(sizes[:2]) as indices:
        mean = _sum(kernel, sizes[2], kind, _Term(kernel, source, indices, (element, kind))) / count
        variance = _sum(kernel, sizes[2], kind, _Term(kernel, source, indices, (element, kind), mean)) / count
        factor = (
            read_as(kernel, scale, indices[1:], element, kind) / (variance + op.epsilon.value.data).sqrt()
        )
        offset = read_as(kernel, bias, indices[1:], element, kind)
        with kernel.loops(sizes[2:]) as (index,):
            x = read_as(kernel, source, [*indices, index], element, kind)
            kernel.write(((x - mean) * factor + offset).value, out, [*indices, index], element)
    buffers = [builder.buffer(value) for value in (op.input, op.scale, op.B)]
    builder.call("instancenormalization", kernel, [builder.result(op.output)], buffers)
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
    kernel = KernelBuilder([buffer_type(sizes, element)] * 2)
    out, source = kernel.buffers
    with kernel.loops([sizes[0], sizes[2]]) as (before, after):
        with kernel.reducing([sizes[1]], [kernel.constant(0.0, kind)]) as (inner, accumulators, results):
            x = read_as(kernel, source, [before, inner[0], after], element, kind)
            part = x.abs() if op.p.value.data == 1 else x * x
            results.append((Scalar(kernel, accumulators[0]) + part).value)
        length = Scalar(kernel, results[0])
        length = length if op.p.value.data == 1 else length.sqrt()
        is_none = length.equals(0.0)
        with kernel.loops([sizes[1]]) as (index,):
            indices = [before, index, after]
            x = read_as(kernel, source, indices, element, kind) / length
            kernel.write(is_none.select(0.0, x).value, out, indices, element)
    builder.call("lpnormalization", kernel, [builder.result(op.output)], [builder.buffer(op.input)])
    return None
