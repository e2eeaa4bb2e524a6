"""
Correction of int8 products whose weights exceed 8 bits by an offset per output channel:
`Σ x (w + d) = Σ x w + d Σ x`.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.int8.int8_layout import int8_buffer
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import QuantizedMatmul


def window_sums(product: QuantizedMatmul, builder: LoweringBuilder) -> SSAValue:
    """Return the sums of `x` over the window of each pixel, [images][rows][columns]."""
    source = int8_buffer(product.x, builder)
    window = product.window
    images, channels, _, _ = builder.int8.sizes_of(product.x)
    _, _, rows, columns = builder.int8.sizes_of(product.result)
    _, height, width, _ = source.extents
    pixels = builder.allocate([images, height, width], i32)
    kernel = KernelBuilder([buffer_type([images, height, width], i32), buffer_type(source.extents, i8)])
    with kernel.loops([images, height, width]) as pixel:
        with kernel.reducing([channels], [kernel.constant(0, i32)]) as ((channel,), accumulators, results):
            byte = kernel.add(arith.ExtUIOp(kernel.load(kernel.buffers[1], [*pixel, channel]), i32))
            results.append(kernel.add(arith.AddiOp(accumulators[0], byte)))
        kernel.store(results[0], kernel.buffers[0], pixel)
    builder.call("channel_sums", kernel, [pixels], [source.buffer])
    seen = builder.allocate([images, rows, columns], i32)
    kernel = KernelBuilder(
        [buffer_type([images, rows, columns], i32), buffer_type([images, height, width], i32)]
    )
    first = window.first(source.start)
    with kernel.loops([images, rows, columns]) as (image, *pixel):
        total: SSAValue | None = None
        for position in itertools.product(*(range(size) for size in window.kernel)):
            at = [
                kernel.affine(index, stride, start + step * dilation)
                for index, stride, start, step, dilation in zip(
                    pixel, window.strides, first, position, window.dilations, strict=True
                )
            ]
            number = kernel.load(kernel.buffers[1], [image, *at])
            total = number if total is None else kernel.add(arith.AddiOp(total, number))
        assert total is not None
        kernel.store(total, kernel.buffers[0], [image, *pixel])
    builder.call("window_sums", kernel, [seen], [pixels])
    return seen


def add_weight_offsets(
    product: QuantizedMatmul, offsets: npt.NDArray[np.int32], sums: SSAValue, builder: LoweringBuilder
) -> None:
    """Correct row-major i32 sums; `offsets` has one `d` per output channel."""
    seen = window_sums(product, builder)
    images, filters, rows, columns = builder.int8.sizes_of(product.result)
    # Images are stored as [N][C][HW], matrices as [rows][C].
    is_image = len(builder.sizes(product.result)) == 4
    count = rows * columns
    sizes = [images, filters, count] if is_image else [images, count, filters]
    kernel = KernelBuilder(
        [buffer_type(sizes, i32), buffer_type([images, count], i32), buffer_type([filters], i32)]
    )
    with kernel.loops(sizes) as indices:
        channel, pixel = (indices[1], indices[2]) if is_image else (indices[2], indices[1])
        number = Scalar(kernel, kernel.load(kernel.buffers[1], [indices[0], pixel]))
        number = number * Scalar(kernel, kernel.load(kernel.buffers[2], [channel]))
        number = number + Scalar(kernel, kernel.load(kernel.buffers[0], indices))
        kernel.store(number.value, kernel.buffers[0], indices)
    builder.call("weight_offsets", kernel, [sums], [seen, builder.constant_buffer(offsets)])
