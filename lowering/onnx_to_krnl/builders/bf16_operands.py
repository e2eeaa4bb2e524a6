"""Operands of products, rounded to bfloat16."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, volume


def bf16_operand(
    value: SSAValue, buffer: SSAValue, shape: Sequence[Size], builder: LoweringBuilder
) -> SSAValue:
    """Return a copy of a float32 buffer of a value in bfloat16, which all products of the value share."""
    if buffer not in builder.bf16_buffers:
        with builder.insertion_after(value, buffer):
            count = [volume(shape)]
            made = builder.allocate(shape, bf16)
            kernel = KernelBuilder([buffer_type(count, bf16), buffer_type(count, f32)])
            out, read = kernel.buffers
            with kernel.loops(count) as indices:
                rounded = kernel.to_storage_type(kernel.load(read, indices), bf16)
                kernel.store(rounded, out, indices)
            builder.call("to_bf16", kernel, [made], [buffer])
        builder.bf16_buffers[buffer] = made
    return builder.bf16_buffers[buffer]
