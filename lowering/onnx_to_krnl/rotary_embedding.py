"""Rotary position embedding."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops.nn import RotaryEmbeddingOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.checks import check_numbers, index_in
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers, supports_dynamic_shapes
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_static

supports_dynamic_shapes(RotaryEmbeddingOp)


@lowers(RotaryEmbeddingOp)
def rotary_embedding(op: RotaryEmbeddingOp, builder: LoweringBuilder) -> str | None:
    """
    Rotate pairs of elements of each head by the angles of its position.

    Pairs are the first and the second half of the rotated elements, or neighbours (`interleaved`). Elements
    after the rotated ones stay as they are.
    """
    element, shape = builder.element(op.X), builder.sizes(op.X)
    kind = compute_type(element)
    table = builder.sizes(op.cos_cache)
    half = table[-1]
    if kind not in (f32, f64) or not is_static(half):
        return "not of floats, or as many rotated elements as a dynamic dimension says"
    if len(shape) == 3:
        count, width = 0 if op.num_heads is None else op.num_heads.value.data, shape[2]
        if not is_static(width) or not count or width % count:
            return "heads of a dynamic size"
        batch, length, size = shape[0], shape[1], width // count
        sizes: list[Size] = [batch, length, count, size]
    else:
        batch, count, length, size = shape
        sizes = [batch, count, length, size]
    if not is_static(size) or 2 * half > size:
        return "heads of a dynamic size, or with fewer elements than are rotated"
    types = [buffer_type(sizes, element)] * 2
    read = [op.X, op.cos_cache, op.sin_cache]
    angles = table if len(table) == 2 else [batch, length, half]
    types += [buffer_type(angles, element)] * 2
    for cache in (op.cos_cache, op.sin_cache):
        builder.require_same_volume(builder.sizes(cache), angles, op)
    if op.position_ids.type != NONE:
        builder.require_same_volume(builder.sizes(op.position_ids), [batch, length], op)
        check_numbers(op, op.position_ids, 0, table[0] - 1, "position_ids has", builder)
        types.append(buffer_type([batch, length], builder.element(op.position_ids)))
        read.append(op.position_ids)
    kernel = KernelBuilder(types)
    out, x, cosines, sines, *positions = kernel.buffers

    def load(buffer: SSAValue, indices: list[SSAValue]) -> Scalar:
        return Scalar(kernel, kernel.read(buffer, indices, element))

    is_interleaved = bool(op.interleaved.value.data)
    with kernel.loops(sizes[:3]) as outer:
        image, token = outer[0], outer[1 if len(shape) == 3 else 2]
        row = [image, token]
        if positions:
            row = [index_in(kernel, kernel.load(positions[0], row), table[0], wraps=False)]
        with kernel.loops([half]) as (pair,):
            first, second = (
                kernel.affine(pair, 2 if is_interleaved else 1, offset)
                for offset in ((0, 1) if is_interleaved else (0, half))
            )
            a, b = load(x, [*outer, first]), load(x, [*outer, second])
            cosine, sine = load(cosines, [*row, pair]), load(sines, [*row, pair])
            kernel.write((a * cosine - b * sine).value, out, [*outer, first], element)
            kernel.write((a * sine + b * cosine).value, out, [*outer, second], element)
        if rest := size - 2 * half:
            with kernel.loops([rest]) as (number,):
                indices = [*outer, kernel.affine(number, 1, 2 * half)]
                kernel.store(kernel.load(x, indices), out, indices)
    buffers = [builder.buffer(value) for value in read]
    builder.call("rotaryembedding", kernel, [builder.result(op.Y)], buffers)
    return None
