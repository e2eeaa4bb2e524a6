"""Rotary position embedding."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64

from xonnc.dialects.onnx.ops.nn import RotaryEmbeddingOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.checks import check_numbers, index_within
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static

supports_dynamic_shapes(RotaryEmbeddingOp)


@lowers(RotaryEmbeddingOp)
def rotary_embedding(op: RotaryEmbeddingOp, builder: LoweringBuilder) -> str | None:
    """
    Rotate pairs of elements of each head by the angles of its position.

    Pairs are the first and the second half of the rotated elements, or neighbours (`interleaved`). Elements
    after the rotated ones stay as they are. Angles of one batch are those of all.
    """
    kind, shape = compute_type(builder.element(op.X)), builder.sizes(op.X)
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
    inputs: list[Operand] = [(op.X, sizes)]
    for cache in (op.cos_cache, op.sin_cache):
        given = builder.sizes(cache)
        batches = 1 if given[0] == 1 else batch
        angles = table if len(table) == 2 else [batches, length, half]
        builder.require_same_volume(given, angles, op)
        inputs.append((cache, angles))
    if op.position_ids.type != NONE:
        builder.require_same_volume(builder.sizes(op.position_ids), [batch, length], op)
        check_numbers(op, op.position_ids, 0, table[0] - 1, "position_ids has", builder)
        inputs.append((op.position_ids, [batch, length]))
    kernel = Kernel(builder, "rotaryembedding", [(op.Y, sizes)], inputs)
    out, x, cosines, sines, *positions = kernel.buffers
    is_interleaved = bool(op.interleaved.value.data)
    with kernel.loops(sizes[:3]) as outer:
        row = [outer[0], outer[1 if len(shape) == 3 else 2]]
        if positions:
            row = [index_within(positions[0][*row], table[0], wraps=False)]
        with kernel.loops([half]) as (pair,):
            first, second = (
                pair.scaled_by(2 if is_interleaved else 1).offset_by(offset)
                for offset in ((0, 1) if is_interleaved else (0, half))
            )
            a, b = x[*outer, first], x[*outer, second]
            cosine, sine = (each[each.broadcast((*row, pair))] for each in (cosines, sines))
            out[*outer, first] = a * cosine - b * sine
            out[*outer, second] = a * sine + b * cosine
        if rest := size - 2 * half:
            with kernel.loops([rest]) as (number,):
                at = (*outer, number.offset_by(2 * half))
                out.copy(at, x, at)
    kernel.call()
    return None
