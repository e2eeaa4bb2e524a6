"""
Convolutions of NCHWc images with a fused residual, bounds and epilogue (`krnl.conv`).

Direct convolution in register tiles of pixels and channel vectors, without im2col; see
docs/internals/cpu-kernels.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    bf16,
    f32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from xonnc.dialects.krnl.loops import YieldOp
from xonnc.dialects.krnl.tiles import BF16_TERMS, ConvOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.nn import ConvTransposeOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.bf16_operands import bf16_operand
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import blocked, blocked_result, channel_constants
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import BufferType, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.nn.conv_epilogue import apply_epilogue
from xonnc.lowering.onnx_to_krnl.nn.winograd import WinogradOperands, lower_winograd
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import BlockedBuffer, ConvFusion, Halo, LayoutPlan
from xonnc.lowering.onnx_to_krnl.planning.select_bf16_onnx import has_bf16_operands
from xonnc.lowering.onnx_to_krnl.planning.select_winograd_onnx import winograd_tile
from xonnc.lowering.onnx_to_krnl.planning.subpixel_convolution import SubConvolution
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, static_or_dynamic
from xonnc.lowering.onnx_to_krnl.planning.tile_keys import conv_key, conv_kind
from xonnc.lowering.onnx_to_krnl.tensor.padding import with_pads
from xonnc.rewriting.patterns import Array


@dataclass(frozen=True)
class ConvInput:
    """The input of a convolution: row-major (NCHW), or channel-blocked with `step` channels a block."""

    buffer: SSAValue
    shape: Sequence[Size]
    start: tuple[int, int]
    """Row and column of the first pixel; row-major, of the first pad."""
    step: int
    halo: Halo | tuple[()] = ()
    """Rows and columns of zeros around the images; none if row-major."""


def lower_conv_fusion(fusion: ConvFusion, builder: LoweringBuilder) -> None:
    """Emit one `krnl.conv` for a convolution, or one per sub-convolution it is split into."""
    op = fusion.conv
    source = _source(fusion, builder)
    weights, bias = builder.constant(op.W), None if op.B.type == NONE else builder.constant(op.B)
    assert weights is not None
    if isinstance(op, ConvTransposeOp):
        weights = weights.swapaxes(0, 1)
    if weights.ndim == 3:
        weights = weights[:, :, np.newaxis]
    residual = None if fusion.residual is None else blocked(fusion.residual, builder)
    numbers = None if bias is None else channel_constants(bias, bias.size, builder)
    target = blocked_result(fusion.result, builder)
    tile = winograd_tile(op, builder.layouts.lanes)
    if tile is not None and source.step == builder.layouts.lanes:
        first = _moved(source.start, fusion.sub_convolutions[0].first)
        images = WinogradOperands(source.buffer, source.shape, first, weights, numbers, residual, target)
        lower_winograd(fusion, tile, images, builder)
        return
    for sub_convolution in fusion.sub_convolutions:
        lower_sub_convolution(fusion, sub_convolution, weights, (source, target, numbers, residual), builder)


def reads_rows(fusion: ConvFusion, layouts: LayoutPlan) -> bool:
    """Whether a convolution of few channels reads NCHW directly, broadcasting each element to all lanes."""
    image = layouts.images_of(fusion.conv.X)
    is_narrow = image is not None and image[1] < layouts.lanes and fusion.conv.X not in layouts.blocked
    is_dense = not fusion.is_depthwise and fusion.groups == 1
    return is_narrow and is_dense and fusion.window is not None


def _source(fusion: ConvFusion, builder: LoweringBuilder) -> ConvInput:
    op, lanes, sizes = fusion.conv, builder.layouts.lanes, builder.layouts.images_of(fusion.conv.X)
    assert sizes is not None
    images, channels = sizes[:2]
    if fusion.window is not None and reads_rows(fusion, builder.layouts):
        # Fewer channels than lanes: blocking would pad most of a vector, so elements of NCHW are broadcast.
        buffer = with_pads(op.X, sizes, fusion.window, 0.0, builder)
        rows, columns = fusion.window.begins
        return ConvInput(buffer, [images, channels, *fusion.window.padded], (rows, columns), 1)
    image = blocked(op.X, builder)
    buffer = image.buffer
    if has_bf16_operands(op):
        buffer = bf16_operand(op.X, buffer, image.blocks, builder)
    return ConvInput(buffer, image.blocks, image.start, lanes, image.halo)


def lower_sub_convolution(
    fusion: ConvFusion,
    sub_convolution: SubConvolution,
    weights: Array,
    images: tuple[ConvInput, BlockedBuffer, SSAValue | None, BlockedBuffer | None],
    builder: LoweringBuilder,
) -> None:
    """
    Emit one `krnl.conv`.

    Parameters:
        fusion: the convolution and what is fused into it.
        sub_convolution: the part of its results.
        weights: all weights.
        images: the input, the result, the bias and the residual.
        builder: where kernels and calls go.
    """
    source, target, bias, residual = images
    lanes, blocks = builder.layouts.lanes, target.blocks[1]
    shapes = [target.blocks, source.shape, *([] if residual is None else [residual.blocks])]
    # Tiles run along a row. An image of one column is transposed to one row, so that tiles are not 1 wide.
    is_transposed = sub_convolution.out[1] == sub_convolution.kernel[1] == 1 and all(
        shape[3] == 1 for shape in shapes
    )
    rows, columns = _ordered(is_transposed, sub_convolution.out)
    window = fusion.window
    kernel_shape = _ordered(is_transposed, sub_convolution.kernel)
    strides = (1, 1) if window is None else _ordered(is_transposed, window.strides)
    dilations = (1, 1) if window is None else _ordered(is_transposed, window.dilations)
    first: Sequence[Size] = _moved(source.start, sub_convolution.first)
    if window is not None:
        first = [start + skipped for start, skipped in zip(first, window.skipped, strict=True)]
    first = _ordered(is_transposed, first)
    channels = weights.shape[1], blocks * lanes
    key = conv_key(
        conv_kind(fusion.is_depthwise, fusion.groups),
        channels,
        (kernel_shape, strides, dilations),
        (rows, columns),
    )
    shares_blocks = fusion.groups > 1 and weights.shape[1] < lanes
    block_groups = 1 if shares_blocks else fusion.groups
    is_bf16 = has_bf16_operands(fusion.conv)
    taps = _taps(weights, sub_convolution)
    steps = prod(taps.shape[1:]) // (BF16_TERMS if is_bf16 else 1)
    if fusion.is_depthwise:
        tile = builder.tiles.depthwise(key, columns)
    else:
        shuffles = weights.shape[1] if shares_blocks else 0
        tile = builder.tiles.conv(key, columns, blocks // block_groups, steps, shuffles)

    packed = _packed(fusion, taps, (block_groups, tile[1], source.step), builder)
    properties: dict[str, Attribute] = {
        "depth": IntegerAttr(weights.shape[1], i64),
        "kernel": pair(kernel_shape),
        "strides": pair(strides),
        "dilations": pair(dilations),
        "start": pair(map(static_or_dynamic, first)),
        "out": pair(map(static_or_dynamic, (rows, columns))),
        "out_start": pair(_ordered(is_transposed, _moved(target.start, sub_convolution.out_first))),
        "out_strides": pair(_ordered(is_transposed, sub_convolution.out_strides)),
        "tile": pair(tile),
    }
    numbers = {"groups": fusion.groups if fusion.groups > 1 else 0, "plane_step": fusion.plane_step}
    properties |= {name: IntegerAttr(number, i64) for name, number in numbers.items() if number}
    if is_bf16:
        properties["products"] = StringAttr(builder.target.bf16_dot)
    if fusion.is_depthwise:
        properties["depthwise"] = UnitAttr()
    elif not shares_blocks:
        halo: Sequence[int] = source.halo
        if max(dilations) > 1 and any(halo):
            properties["halo"] = pair([halo[axis] for axis in (1, 0, 3, 2)] if is_transposed else halo)
        tiles = rows * -(-columns // tile[0]) if is_static(rows) and is_static(columns) else None
        piece = (
            builder.tiles.depth_piece(steps, weights.shape[1], tile[1])
            if source.step > 1 and tiles != 1
            else 0
        )
        steps_of_piece = steps * (piece or weights.shape[1]) // weights.shape[1]
        panel = builder.tiles.next_panel_prefetch(steps, blocks, tile[1], tiles, steps_of_piece)
        numbers = {
            "depth_piece": piece,
            "prefetch": builder.tiles.prefetched_line(kernel_shape, source.shape),
            "next_panel_prefetch": panel,
            "weight_prefetch": builder.tiles.weight_prefetch(4 * prod(taps.shape[1:]), tile),
        }
        properties |= {name: IntegerAttr(number, i64) for name, number in numbers.items() if number}
    for name, bound in (("low", fusion.low), ("high", fusion.high)):
        if bound is not None:
            properties[name] = FloatAttr(bound, f32)
    buffers = [target.buffer, source.buffer, packed]
    assert is_buffer(packed.type)
    types: list[BufferType] = [
        buffer_type([*shape[:2], *_ordered(is_transposed, shape[2:4]), *shape[4:]], element)
        for shape, element in ((target.blocks, f32), (source.shape, bf16 if is_bf16 else f32))
    ]
    types.append(packed.type)
    if bias is not None:
        buffers.append(bias)
        types.append(buffer_type([blocks, lanes], f32))
    if residual is not None:
        properties["residual_start"] = pair(
            _ordered(is_transposed, _moved(residual.start, sub_convolution.out_first))
        )
        buffers.append(residual.buffer)
        shape = residual.blocks
        types.append(buffer_type([*shape[:2], *_ordered(is_transposed, shape[2:4]), *shape[4:]], f32))
    kernel = KernelBuilder(types)
    y, x, w, *rest = kernel.buffers
    biases = rest[: bias is not None]
    panels = block_groups * -(-(blocks // block_groups) // tile[1])
    iterations = target.sizes[0] * (rows * panels)
    dynamic = [size for size in (target.sizes[0], rows, columns, *first) if not is_static(size)]
    counts = [kernel.size(size) for size in dynamic]
    # The call passes the number of iterations as an argument; make the kernel take it.
    kernel.size(iterations)
    operands = [y, x, w, biases, rest[len(biases) :], kernel.add_range_arguments(), counts]
    regions = [[_epilogue(fusion, kernel)] if fusion.epilogue else []]
    kernel.block.add_op(ConvOp(operands=operands, properties=properties, regions=regions))
    name = "depthwise" if fusion.is_depthwise else "conv"
    builder.call(name, kernel, buffers[:1], buffers[1:], iterations)


def _packed(
    fusion: ConvFusion, taps: Array, sizes: tuple[int, int, int], builder: LoweringBuilder
) -> SSAValue:
    """Return packed weights; `sizes` are groups of whole blocks, blocks of a panel, input channels of one."""
    groups, width, step = sizes
    lanes = builder.layouts.lanes
    if fusion.is_depthwise:
        return builder.packed(taps, "depthwise", {"lanes": lanes})
    panels = {"lanes": lanes, "width": width, "step": step}
    if groups > 1:
        return builder.packed(taps, "grouped_conv", {"groups": groups, **panels})
    return builder.packed(taps, "bf16_conv" if has_bf16_operands(fusion.conv) else "conv", panels)


def _epilogue(fusion: ConvFusion, kernel: KernelBuilder) -> Region:
    """The elementwise function that is applied to each result before it is stored."""
    block = Block(arg_types=[f32])
    outside, kernel.block = kernel.block, block
    result = apply_epilogue(fusion, Scalar(kernel, block.args[0]))
    block.add_op(YieldOp.create(operands=[result.value]))
    kernel.block = outside
    return Region(block)


SizeT = TypeVar("SizeT")


def _ordered(is_transposed: bool, sizes: Sequence[SizeT]) -> Sequence[SizeT]:
    """Return rows and columns, swapped if the image is transposed."""
    return sizes[::-1] if is_transposed else sizes


def _moved(start: tuple[int, int], by: tuple[int, int]) -> tuple[int, int]:
    return start[0] + by[0], start[1] + by[1]


def pair(sizes: Iterable[int]) -> Attribute:
    """Return sizes as a dense array attribute."""
    return DenseArrayBase.from_list(i64, list(sizes))


def _taps(weights: Array, sub_convolution: SubConvolution) -> Array:
    """Return the rows and columns of weights that a sub-convolution multiplies by."""
    if not sub_convolution.rows or not sub_convolution.columns:
        return np.zeros((*weights.shape[:2], *sub_convolution.kernel), weights.dtype)
    return weights[:, :, _slice(sub_convolution.rows), _slice(sub_convolution.columns)]


def _slice(indices: Sequence[int]) -> slice:
    """Return indices a step apart as a slice, so that the result is a view."""
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    end = indices[-1] + step
    assert list(indices) == list(range(indices[0], end, step))
    return slice(indices[0], end if end >= 0 else None, step)
