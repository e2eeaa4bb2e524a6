"""BatchNormalization in inference mode, and local response normalization (LRN)."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64

from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.nn import LRNOp
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.padding import padded

MAX_UNROLLED = 32
"""Largest window of LRN whose channels are unrolled."""


@lowers(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, builder: LoweringBuilder) -> str | None:
    """`(x - mean) scale / sqrt(variance + epsilon) + B`, with parameters per channel."""
    element, shape = builder.element(op.X), builder.shape(op.X)
    if any(builder.element(value) != element for value in op.operands) or element not in (f32, f64):
        return "not all operands are f32, nor all f64"
    if len(shape) < 2:
        return "the input has less than two axes"
    channels = shape[1]
    sizes = [shape[0], channels, prod(shape[2:])]
    kernel = KernelBuilder([buffer_type(sizes, element)] * 2 + [buffer_type([channels], element)] * 4)
    out, source, scale, bias, mean, variance = kernel.buffers
    with kernel.loops(sizes[:2]) as (image, channel):
        of_channel = [channel]
        raised = kernel.add(
            arith.AddfOp(kernel.load(variance, of_channel), kernel.constant(op.epsilon.value.data, element))
        )
        factor = kernel.add(arith.DivfOp(kernel.load(scale, of_channel), kernel.add(math.SqrtOp(raised))))
        middle, end = kernel.load(mean, of_channel), kernel.load(bias, of_channel)
        with kernel.loops(sizes[2:]) as (index,):
            x = kernel.load(source, [image, channel, index])
            x = kernel.add(arith.MulfOp(kernel.add(arith.SubfOp(x, middle)), factor))
            kernel.store(kernel.add(arith.AddfOp(x, end)), out, [image, channel, index])
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
