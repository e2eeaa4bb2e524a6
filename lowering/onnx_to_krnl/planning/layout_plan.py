"""
Layouts of float images: which are channel-blocked (NCHWc), with how wide a halo, and convolution fusions.

Convolutions compute with blocks of as many channels as a vector has lanes (see
docs/internals/cpu-kernels.md), so their results are NCHWc, and elementwise operators on NCHWc give NCHWc.
Pads of a consumer become a halo of zeros around its operand. Operands of Concat are written into its result.
Tensors with one spatial axis, as of sound, are images of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.memory import shape_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import nn, tensor
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.dialects.onnx.window_ops import WindowOp
from xonnc.lowering.onnx_to_krnl.planning.element_types import largest_finite
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope
from xonnc.lowering.onnx_to_krnl.planning.layout_preferences import preferred_layout
from xonnc.lowering.onnx_to_krnl.planning.qdq_pairs import CLIPS_NAN
from xonnc.lowering.onnx_to_krnl.planning.subpixel_convolution import (
    MIN_SAVED,
    MIN_SAVED_DEPTHWISE,
    SubConvolution,
    dilated_sub_convolutions,
    transposed_sub_convolutions,
)
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, are_static, is_static, volume
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import (
    MAX_UNROLLED_WINDOW,
    WindowGeometry,
    has_pads,
    window_of,
)
from xonnc.rewriting.patterns import Array

ImageSizes: TypeAlias = tuple[Size, int, Size, Size]
"""Images, channels, rows and columns; all but channels may be dynamic."""


class Halo(NamedTuple):
    """Rows and columns of zeros around images."""

    top: int = 0
    left: int = 0
    bottom: int = 0
    right: int = 0

    def around(self, other: Halo) -> Halo:
        """Return the elementwise maximum of both halos."""
        return Halo(*map(max, self, other))


@dataclass(frozen=True)
class ImageBuffer:
    """A buffer of images with a halo."""

    buffer: SSAValue
    halo: Halo

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the buffer."""
        return shape_of(self.buffer)

    @property
    def start(self) -> tuple[int, int]:
        """Row and column of the first pixel."""
        return self.halo.top, self.halo.left


@dataclass(frozen=True)
class BlockedBuffer(ImageBuffer):
    """NCHWc images: a buffer `[N][C/L][H][W][L]`."""

    sizes: ImageSizes
    """Images, channels, rows and columns, without the halo."""

    @property
    def blocks(self) -> tuple[Size, int, Size, Size, int]:
        """The shape of the buffer, of which all but channels may be dynamic."""
        _, blocks, _, _, lanes = self.shape
        images, _, rows, columns = self.sizes
        top, left, bottom, right = self.halo
        return images, blocks, rows + (top + bottom), columns + (left + right), lanes


@dataclass
class ConvFusion:
    """A convolution and the operators fused into it, in order."""

    conv: nn.ConvOp | nn.ConvTransposeOp
    ops: list[Operation]
    sub_convolutions: Sequence[SubConvolution]
    window: WindowGeometry | None = None
    """Of a convolution that is not transposed."""
    residual: SSAValue | None = None
    """The operand of a fused Add."""
    low: float | None = None
    high: float | None = None
    """Bounds of a fused Relu or Clip."""
    is_depthwise: bool = False
    """Whether each channel is convolved by itself."""
    epilogue: Sequence[Operation] = ()
    """Fused elementwise operators; the last one's result is stored."""
    plane_step: int = 0
    """Planes from one image to the next, where images are windows of the planes of volumes."""

    @property
    def is_closed(self) -> bool:
        """Whether bounds or an epilogue were fused, after which nothing more can be."""
        return self.low is not None or self.high is not None or bool(self.epilogue)

    @property
    def takes_sum(self) -> bool:
        """Whether a residual can be fused: at most one, and not into a transposed convolution."""
        return self.residual is None and self.window is not None

    @property
    def groups(self) -> int:
        """Groups of channels that are convolved apart, of more than one channel."""
        return 1 if self.is_depthwise else self.conv.group.value.data

    @property
    def result(self) -> SSAValue:
        """The value that is stored."""
        return self.ops[-1].results[0]


@dataclass
class LayoutPlan:
    """Layouts and convolution fusions of a function."""

    lanes: int
    """Channels of a block."""
    sizes_of: Callable[[SSAValue], tuple[Size, ...] | None]
    """Returns the sizes of a value, or None if they are unknown."""
    scope: FusionScope
    blocked: set[SSAValue] = field(default_factory=set[SSAValue])
    fusions: dict[Operation, ConvFusion] = field(default_factory=dict[Operation, ConvFusion])
    """By the last op."""
    halos: dict[SSAValue, Halo] = field(default_factory=dict[SSAValue, Halo])
    joined: dict[SSAValue, tuple[SSAValue, int]] = field(default_factory=dict[SSAValue, tuple[SSAValue, int]])
    """Operands of Concat written in place: the result, and the first block in it."""

    fused_ops: set[Operation] = field(default_factory=set[Operation])
    """All ops of fusions."""
    in_epilogues: set[Operation] = field(default_factory=set[Operation])
    """Ops in epilogues of convolutions."""

    def halo(self, value: SSAValue) -> Halo:
        """Return the halo of a value."""
        return self.halos.get(value, Halo())

    def images_of(self, value: SSAValue) -> ImageSizes | None:
        """Return the sizes of non-empty f32 images, of known channels; None for other tensors."""
        sizes = self.sizes_of(value)
        if sizes is None or len(sizes) not in (3, 4) or 0 in sizes or element_type(value.type) != f32:
            return None
        images, channels, rows, columns = sizes if len(sizes) == 4 else (*sizes[:2], 1, sizes[2])
        return (images, channels, rows, columns) if is_static(channels) else None

    def shape(self, value: SSAValue) -> tuple[Size, int, Size, Size, int]:
        """Return the shape of the NCHWc buffer of a value, with the halo: `[N][C/L][H][W][L]`."""
        sizes, halo = self.images_of(value), self.halo(value)
        assert sizes is not None
        images, channels, rows, columns = sizes
        height, width = rows + (halo.top + halo.bottom), columns + (halo.left + halo.right)
        return images, -(-channels // self.lanes), height, width, self.lanes


def plan_layouts(
    ops: Sequence[Operation],
    lanes: int,
    points: Container[type[Operation]],
    sizes_of: Callable[[SSAValue], tuple[Size, ...] | None],
    scope: FusionScope,
) -> LayoutPlan:
    """
    Choose layouts and convolution fusions for the ops of a function in order.

    `lanes` is the number of f32 in a vector, `points` the kinds of elementwise op.
    """
    layouts = LayoutPlan(lanes, sizes_of, scope)
    ends: dict[SSAValue, ConvFusion] = {}
    for op in ops:
        if op in layouts.in_epilogues or preferred_layout(op) == "NCHW":
            continue
        match op:
            case nn.ConvOp():
                _begin_fusion(op, layouts, ends)
            case nn.ConvTransposeOp():
                _begin_transposed(op, layouts, ends)
            case nn.MaxPoolOp() | MaxPoolSingleOutOp() | nn.AveragePoolOp():
                _pool(op, layouts)
            case tensor.ConcatOp():
                _concat(op, layouts)
            case tensor.PadOp():
                _pad(op, layouts)
            case tensor.SplitOp() | tensor.SplitV11Op() | tensor.SplitV13Op():
                _split(op, layouts)
            case _ if type(op) in points:
                if not _extend_fusion(op, layouts, ends) and not _add_epilogue(op, layouts, ends):
                    _plan_elementwise(op, layouts)
            case _:
                pass
    for fusion in ends.values():
        layouts.fusions[fusion.ops[-1]] = fusion
        layouts.fused_ops |= set(fusion.ops)
        layouts.blocked.add(fusion.result)
    _propagate_halos(layouts)
    return layouts


def _begin_fusion(op: nn.ConvOp, layouts: LayoutPlan, ends: dict[SSAValue, ConvFusion]) -> None:
    x, y, weights = layouts.images_of(op.X), layouts.images_of(op.Y), _constant_weights(op)
    if x is None or y is None or weights is None:
        return
    is_depthwise = op.group.value.data == x[1] == y[1] > 1
    is_grouped = is_depthwise or _is_grouped_by_blocks(op.group.value.data, (x[1], y[1]), layouts.lanes)
    # Many terms in a window: the multiplications with padding take less time than im2col.
    is_long = x[1] >= layouts.lanes and prod(weights.shape[2:]) > 1 and preferred_layout(op) is None
    if not is_grouped or not (is_long or _fills_blocks(op, y[1], layouts)):
        return
    window = image_window(op, weights.shape[2:], x, y)
    if window is None:
        return
    sub_convolutions = None
    if not any(window.skipped):
        min_saved = MIN_SAVED_DEPTHWISE if is_depthwise else MIN_SAVED
        sub_convolutions = dilated_sub_convolutions(
            window.kernel, window.strides, window.dilations, window.begins, x[2:], y[2:], min_saved
        )
    if max(window.dilations) == 1 or sub_convolutions is None:
        first = -window.begins[0], -window.begins[1]
        rows, columns = (range(size) for size in window.kernel)
        sub_convolutions = [SubConvolution(rows, columns, first, (0, 0), y[2:])]
        if is_depthwise or x[1] >= layouts.lanes or op.X in layouts.blocked:
            _ask_halo(op.X, window, layouts)
    ends[op.Y] = ConvFusion(op, [op], sub_convolutions, window, is_depthwise=is_depthwise)
    layouts.blocked.add(op.Y)


def _constant_weights(op: nn.ConvOp | nn.ConvTransposeOp) -> Array | None:
    """Return the weights of a convolution if they and its bias are constants."""
    has_bias = op.B.type == NONE or constant_elements(op.B) is not None
    return constant_elements(op.W) if has_bias else None


def _is_grouped_by_blocks(groups: int, channels: tuple[int, int], lanes: int) -> bool:
    """Whether groups of channels are whole blocks, or equal parts of one block."""
    depth, filters = (count // groups for count in channels)
    is_part = 1 < depth == filters < lanes and not lanes % depth and not channels[0] % lanes
    return groups == 1 or is_part or not (depth % lanes or filters % lanes)


def image_window(op: WindowOp, kernel: Sequence[int], x: ImageSizes, y: ImageSizes) -> WindowGeometry | None:
    """
    Return the window of an op on images; that of an op with one spatial axis is a row.

    None if it crops dynamic sizes.
    """
    axes = slice(-len(kernel), None)
    if not has_pads(op, x[2:][axes]):
        return None
    return window_of(op, kernel, x[2:][axes], y[2:][axes]).of_image


def _fills_blocks(op: Operation, channels: int, layouts: LayoutPlan) -> bool:
    """Whether blocks have more output channels than padding; otherwise row-major is faster."""
    return 2 * channels >= layouts.lanes or preferred_layout(op) == "NCHWc"


def _begin_transposed(op: nn.ConvTransposeOp, layouts: LayoutPlan, ends: dict[SSAValue, ConvFusion]) -> None:
    x, y, weights = layouts.images_of(op.X), layouts.images_of(op.Y), _constant_weights(op)
    if x is None or y is None or weights is None:
        return
    is_plain = op.group.value.data == 1 and op.auto_pad.data == "NOTSET" and op.output_shape is None
    if not is_plain or set(int_values(op.dilations) or (1,)) != {1} or not _fills_blocks(op, y[1], layouts):
        return
    rank = weights.ndim - 2
    strides, begins = int_values(op.strides) or (1,) * rank, (int_values(op.pads) or (0,) * rank)[:rank]
    if prod(strides) > MAX_SUB_CONVOLUTIONS:
        return
    kernel, row = weights.shape[2:], 2 - rank
    sub_convolutions = transposed_sub_convolutions(
        (*(1,) * row, *kernel), (*(1,) * row, *strides), (*(0,) * row, *begins), y[2:]
    )
    halo = layouts.halo(op.X)
    for sub_convolution in sub_convolutions:
        beyond = sub_convolution.beyond(x[2:])
        if beyond is None:
            return
        halo = halo.around(Halo(*beyond))
    layouts.halos[op.X] = halo
    ends[op.Y] = ConvFusion(op, [op], sub_convolutions)
    layouts.blocked.add(op.Y)


MAX_SUB_CONVOLUTIONS = 16
"""Sub-convolutions that a transposed convolution is split into at most."""


def _ask_halo(value: SSAValue, window: WindowGeometry, layouts: LayoutPlan) -> None:
    layouts.halos[value] = layouts.halo(value).around(Halo(*window.begins, *window.ends))


def _extend_fusion(op: Operation, layouts: LayoutPlan, ends: dict[SSAValue, ConvFusion]) -> bool:
    """Fuse an Add, Relu or Clip into the convolution whose only reader it is."""
    result = op.results[0]
    if layouts.images_of(result) is None:
        return False
    for value in op.operands:
        fusion = ends.get(value)
        if fusion is None or fusion.is_closed or len(layouts.scope.users(value)) != 1:
            continue
        if not layouts.scope.may_join(op, fusion.conv):
            continue
        if layouts.sizes_of(value) != layouts.sizes_of(result) or op.parent is not fusion.conv.parent:
            continue
        if isinstance(op, onnx.AddOp | onnx.SumOp) and len(op.operands) == 2 and fusion.takes_sum:
            other = op.operands[1] if op.operands[0] is value else op.operands[0]
            if other not in layouts.blocked or layouts.sizes_of(other) != layouts.sizes_of(value):
                continue
            fusion.residual = other
        elif not _bound(op, value, fusion):
            continue
        fusion.ops.append(op)
        del ends[value]
        ends[result] = fusion
        layouts.blocked.discard(value)
        layouts.blocked.add(result)
        return True
    return False


EPILOGUES: tuple[type[Operation], ...] = (
    onnx.AddOp,
    onnx.ClipOp,
    onnx.DivOp,
    onnx.HardSigmoidOp,
    onnx.HardSwishOp,
    onnx.LeakyReluOp,
    onnx.MulOp,
    onnx.ReluOp,
    onnx.SubOp,
)
"""
Elementwise operators that are applied to the results of a convolution in registers.

Not those with exponentials: their constants compete with the accumulators for registers, which costs more
than a separate pass (measured on AVX2: 1.1 to 1.3 times the time).
"""

MAX_EPILOGUE_OPS = 6
"""Operators of an epilogue at most: it is unrolled for every vector of a tile."""


def _add_epilogue(op: Operation, layouts: LayoutPlan, ends: dict[SSAValue, ConvFusion]) -> bool:
    """Fuse the elementwise operators that follow a convolution, starting with `op`."""
    for value in op.operands:
        fusion = ends.get(value)
        if fusion is None or fusion.is_closed or op.parent is not fusion.conv.parent:
            continue
        if fusion.is_depthwise:
            # A depthwise sum has few terms, so the epilogue is as slow in registers as in a separate pass.
            continue
        if not layouts.scope.may_join(op, fusion.conv):
            continue
        fusion.epilogue = _epilogue_of(value, fusion.conv, layouts)
        if op in fusion.epilogue:
            layouts.in_epilogues |= set(fusion.epilogue)
            fusion.ops += fusion.epilogue
            del ends[value]
            ends[fusion.result] = fusion
            layouts.blocked.discard(value)
            layouts.blocked.add(fusion.result)
            return True
        fusion.epilogue = ()
    return False


def _epilogue_of(value: SSAValue, conv: Operation, layouts: LayoutPlan) -> Sequence[Operation]:
    """Return the longest sequence of elementwise ops on `value` and constants that has one result."""
    found: list[Operation] = []
    longest: list[Operation] = []
    inside = [value]
    while len(found) < MAX_EPILOGUE_OPS:
        users = dict.fromkeys(user for each in inside for user in layouts.scope.users(each))
        fits = (op for op in users if op not in found and _is_epilogue(op, inside, layouts))
        op = next((op for op in fits if layouts.scope.may_join(op, conv)), None)
        if op is None:
            break
        found.append(op)
        inside.append(op.results[0])
        if all(user in found for each in inside[:-1] for user in layouts.scope.users(each)):
            longest = list(found)
    return longest


def _block_of(value: SSAValue) -> Block | None:
    return value.owner.parent if isinstance(value.owner, Operation) else value.owner


def _is_epilogue(op: Operation, inside: Sequence[SSAValue], layouts: LayoutPlan) -> bool:
    """Whether an op is an elementwise function of values that are `inside` and of scalar constants."""
    if not isinstance(op, EPILOGUES) or op.parent is not _block_of(inside[0]):
        return False
    if preferred_layout(op) == "NCHW":
        return False
    if layouts.sizes_of(op.results[0]) != layouts.sizes_of(inside[0]):
        return False
    others = [each for each in op.operands if each not in inside and each.type != NONE]
    constants = [constant_elements(each) for each in others]
    return all(each is not None and each.size == 1 for each in constants)


def _bound(op: Operation, value: SSAValue, fusion: ConvFusion) -> bool:
    """Fuse the bounds of a Relu or Clip."""
    if isinstance(op, onnx.ReluOp):
        fusion.low = 0.0
        return True
    if not isinstance(op, onnx.ClipOp) or op.input is not value or CLIPS_NAN in op.attributes:
        return False
    bounds = [None if bound.type == NONE else constant_elements(bound) for bound in (op.min, op.max)]
    is_given = [bound.type != NONE for bound in (op.min, op.max)]
    if not any(is_given) or [bound is not None for bound in bounds] != is_given:
        return False
    limit = largest_finite(element_type(op.input.type))
    low, high = (
        default if bound is None else float(bound)
        for bound, default in zip(bounds, (-limit, limit), strict=True)
    )
    if low > high:
        return False
    fusion.low, fusion.high = low, high
    return True


PoolOp = nn.MaxPoolOp | MaxPoolSingleOutOp | nn.AveragePoolOp


def _pool(op: PoolOp, layouts: LayoutPlan) -> None:
    window = pool_window(op, layouts)
    if window is None:
        return
    if isinstance(op, nn.AveragePoolOp):
        _ask_halo(op.X, window, layouts)
    layouts.blocked.add(op.results[0])


def pool_window(op: PoolOp, layouts: LayoutPlan) -> WindowGeometry | None:
    """Return the window of a pool of NCHWc images; None if it is not lowered in that layout."""
    value = op.operands[0]
    x, y = layouts.images_of(value), layouts.images_of(op.results[0])
    if x is None or y is None or value not in layouts.blocked:
        return None
    if isinstance(op, nn.MaxPoolOp) and op.Indices.type != NONE:
        return None
    window = image_window(op, int_values(op.kernel_shape) or (), x, y)
    if window is None or not (is_static(volume(x[2:])) or has_static_counts(op, window)):
        return None
    # Padding is replaced by re-reading the edge, which is correct only if the window covers the edge: without
    # gaps (dilation), and not lying in the pads entirely.
    has_gaps = window.is_padded and max(window.dilations) > 1 and not isinstance(op, nn.AveragePoolOp)
    reaches = all(begin < size for begin, size in zip(window.begins, window.kernel, strict=True))
    return window if prod(window.kernel) <= MAX_UNROLLED_WINDOW and not has_gaps and reaches else None


def has_static_counts(op: PoolOp, window: WindowGeometry) -> bool:
    """Whether a pool is no mean, or one whose windows all count as many elements."""
    if not isinstance(op, nn.AveragePoolOp) or not window.is_padded:
        return True
    is_same = op.auto_pad.data.startswith("SAME")
    rounds_up = op.ceil_mode.value.data and not is_same and max(window.strides) > 1
    return bool(op.count_include_pad.value.data) and not rounds_up


def _concat(op: tensor.ConcatOp, layouts: LayoutPlan) -> None:
    shape, sizes = layouts.images_of(op.concat_result), layouts.sizes_of(op.concat_result)
    if shape is None or sizes is None or op.axis.value.data % len(sizes) != 1:
        return
    if not all(map(layouts.blocked.__contains__, op.inputs)):
        return
    channels = [each[1] for each in map(layouts.images_of, op.inputs) if each is not None]
    if len(channels) != len(op.inputs) or any(count % layouts.lanes for count in channels):
        return
    layouts.blocked.add(op.concat_result)
    # Views of a result lie at a static offset in it.
    is_one = shape[0] == 1 and are_static(shape)
    block = 0
    for value, count in zip(op.inputs, channels, strict=True):
        if is_one and value not in layouts.joined:
            layouts.joined[value] = op.concat_result, block
        block += count // layouts.lanes


def _pad(op: tensor.PadOp, layouts: LayoutPlan) -> None:
    """Images that get rows and columns of a constant stay channel-blocked."""
    sizes, number = layouts.sizes_of(op.data), constant_elements(op.constant_value)
    if op.data not in layouts.blocked or sizes is None or len(sizes) != 4 or op.axes.type != NONE:
        return
    if op.mode.data != "constant" or number is None or layouts.images_of(op.output) is None:
        return
    # Of a concatenation, which legalization makes of sizes, the operands are numbers.
    parts = list(op.pads.owner.inputs) if isinstance(op.pads.owner, tensor.ConcatOp) else []
    outer = [constant_elements(parts[index]) for index in (0, 1, 4, 5)] if len(parts) == 8 else []
    if outer and all(each is not None and not each.any() for each in outer):
        layouts.blocked.add(op.output)


SplitOp = tensor.SplitOp | tensor.SplitV11Op | tensor.SplitV13Op


def _split(op: SplitOp, layouts: LayoutPlan) -> None:
    """Parts of whole blocks of channels stay channel-blocked."""
    sizes = layouts.sizes_of(op.input)
    if op.input not in layouts.blocked or sizes is None or op.axis.value.data % len(sizes) != 1:
        return
    images = [layouts.images_of(part) for part in op.outputs]
    if all(each is not None and each[1] % layouts.lanes == 0 for each in images):
        layouts.blocked.update(op.outputs)


def _plan_elementwise(op: Operation, layouts: LayoutPlan) -> None:
    """Elementwise results take the layout of their operands, or the one that the operator prefers."""
    result = op.results[0]
    if layouts.images_of(result) is None:
        return
    operands = [value for value in op.operands if value.type != NONE]
    if not _fit(result, operands, layouts):
        return
    if preferred_layout(op) == "NCHWc" or any(
        is_like(value, result, layouts) and value in layouts.blocked for value in operands
    ):
        layouts.blocked.add(result)


def is_blocked(result: SSAValue, leaves: Sequence[SSAValue], layouts: LayoutPlan) -> bool:
    """Whether an elementwise group is computed in NCHWc."""
    return result in layouts.blocked and _fit(result, leaves, layouts)


def _fit(result: SSAValue, operands: Sequence[SSAValue], layouts: LayoutPlan) -> bool:
    return all(
        is_like(value, result, layouts) or _is_of_channels(value, result, layouts) for value in operands
    )


def is_like(value: SSAValue, result: SSAValue, layouts: LayoutPlan) -> bool:
    """Whether a tensor has the type and sizes of another."""
    return value.type == result.type and layouts.sizes_of(value) == layouts.sizes_of(result)


def _is_of_channels(value: SSAValue, result: SSAValue, layouts: LayoutPlan) -> bool:
    """Whether an f32 constant is a scalar, or a tensor has one value per channel, perhaps of each image."""
    array, shape, sizes = constant_elements(value), layouts.images_of(result), layouts.sizes_of(result)
    if shape is None or sizes is None or element_type(value.type) != f32:
        return False
    if array is None:
        # As rows, such a tensor has its elements in the order of NCHWc, if channels fill their blocks.
        return layouts.images_of(value) == (*shape[:2], 1, 1) and shape[1] % layouts.lanes == 0
    per_channel = shape[1], *(1,) * (len(sizes) - 2)
    return array.size == 1 or (array.size == shape[1] and array.shape[-len(per_channel) :] == per_channel)


def _propagate_halos(layouts: LayoutPlan) -> None:
    """Propagate halos between the operands of Concat and its result until they are equal."""
    # A fixed point: halos only grow, up to the maximum over connected values, so this terminates.
    has_changed = True
    while has_changed:
        has_changed = False
        for part, (joined, _) in layouts.joined.items():
            both = layouts.halo(part).around(layouts.halo(joined))
            for value in (part, joined):
                if layouts.halo(value) != both:
                    layouts.halos[value] = both
                    has_changed = True
