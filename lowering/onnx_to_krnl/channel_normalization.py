"""BatchNormalization in inference mode, and local response normalization (LRN)."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64

from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.nn import LRNOp
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers, supports_dynamic_shapes
from xonnc.lowering.onnx_to_krnl.padding import padded
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import volume

MAX_UNROLLED = 32
"""Largest window of LRN whose channels are unrolled."""


supports_dynamic_shapes(BatchNormalizationInferenceModeOp)


@lowers(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, builder: LoweringBuilder) -> str | None:
    """`(x - mean) scale / sqrt(variance + epsilon) + B`, with parameters per channel."""
    elements, shape = [builder.element(value) for value in op.operands], builder.sizes(op.X)
    kinds = {compute_type(each) for each in elements}
    if len(kinds) > 1 or not kinds <= {f32, f64}:
        return "not all operands are f64, nor all of types that kernels compute with as f32"
    if len(shape) < 2:
        return "the input has less than two axes"
    channels = shape[1]
    sizes = [shape[0], channels, volume(shape[2:])]
    types = [buffer_type([channels], each) for each in elements[1:]]
    kernel = KernelBuilder([*(buffer_type(sizes, elements[0]) for _ in range(2)), *types])
    out, source, *parameters = kernel.buffers
    with kernel.loops(sizes[:2]) as (image, channel):
        scale, bias, mean, variance = (
            Scalar(kernel, kernel.read(buffer, [channel], each))
            for buffer, each in zip(parameters, elements[1:], strict=True)
        )
        factor = scale / (variance + op.epsilon.value.data).sqrt()
        with kernel.loops(sizes[2:]) as (index,):
            x = Scalar(kernel, kernel.read(source, [image, channel, index], elements[0]))
            result = (x - mean) * factor + bias
            kernel.write(result.value, out, [image, channel, index], elements[0])
    buffers = [builder.buffer(value) for value in op.operands]
    builder.call("batchnormalization", kernel, [builder.result(op.results[0])], buffers)
    return None


@lowers(LRNOp)
def local_response_normalization(op: LRNOp, builder: LoweringBuilder) -> str | None:
    """
    `x / (bias + alpha / size · Σ x²)^beta`, the sum over `size` neighboring channels (Krizhevsky et al.,
    2012).
    """
    element, shape, size = builder.element(op.X), builder.shape(op.X), op.size.value.data
    if element not in (f32, f64):
        return "neither f32 nor f64"
    sizes = [shape[0], shape[1], prod(shape[2:])]
    longer = [sizes[0], sizes[1] + size - 1, sizes[2]]
    around = builder.allocate(longer, element)
    before = (size - 1) // 2
    source = builder.buffer(op.X)
    padded(around, longer, source, sizes, [0, before, 0], 0.0, builder)
    kernel = KernelBuilder([buffer_type(sizes, element), buffer_type(longer, element)])
    out, read = kernel.buffers
    with kernel.loops(sizes) as (image, channel, index):
        outer = size if size > MAX_UNROLLED else 1
        total = kernel.constant(0.0, element)
        with kernel.reducing([outer], [total]) as ((first,), (total,), totals):
            for step in range(size // outer):
                neighbor = kernel.affine(kernel.plus(channel, first), 1, step)
                x = kernel.load(read, [image, neighbor, index])
                total = kernel.add(arith.AddfOp(total, kernel.add(arith.MulfOp(x, x))))
            totals.append(total)
        total = totals[0]
        share = kernel.constant(op.alpha.value.data / size, element)
        total = kernel.add(arith.MulfOp(total, share))
        total = kernel.add(arith.AddfOp(total, kernel.constant(op.bias.value.data, element)))
        power = kernel.add(math.PowFOp(total, kernel.constant(op.beta.value.data, element)))
        x = kernel.load(read, [image, kernel.affine(channel, 1, before), index])
        kernel.store(kernel.add(arith.DivfOp(x, power)), out, [image, channel, index])
    builder.call("lrn", kernel, [builder.result(op.Y)], [around])
    return None
