"""Rules of the convolution core (docs/internals/nvdla-hardware.md §2.4, §3.3, §3.4, §3.7, §7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from xonnc.errors import XonncError
from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.accesses import precision_of
from xonnc.formats.nvdla.checks.problem import OperationContext, Violation, apply, not_in_memory, outside
from xonnc.formats.nvdla.checks.register_fields import illegal_values, missing_feature, missing_precision
from xonnc.formats.nvdla.enumerations import ConvMode, MemoryType, PixelFormat, Precision, WeightFormat
from xonnc.formats.nvdla.pixels import FLOAT_PIXELS, PIXEL_LAYOUTS
from xonnc.formats.nvdla.records import ConvOp, ConvSurface, DataCube
from xonnc.formats.nvdla.tasks import Address, static_bytes
from xonnc.targets import NvdlaTarget


class Conv(NamedTuple):
    """A convolution whose fields are valid individually."""

    op: ConvOp
    surface: ConvSurface
    site: OperationContext
    precision: Precision

    @property
    def target(self) -> NvdlaTarget:
        """The target of the loadable."""
        return self.site.target

    @property
    def is_image(self) -> bool:
        """Whether the input has a pixel format."""
        return self.op.data_format != PixelFormat.FEATURE

    @property
    def is_winograd(self) -> bool:
        """Whether the convolution uses Winograd's algorithm."""
        return self.op.conv_mode == ConvMode.WINOGRAD

    @property
    def window(self) -> tuple[int, int]:
        """Height and width of the dilated kernel, in pixels of the input."""
        op = self.op
        width = op.kernel_width_csc
        if self.is_image:
            width = op.kernel_channel_csc // max(self.surface.src_data.channel, 1)
        return (op.kernel_height_csc - 1) * op.dilation_y + 1, (width - 1) * op.dilation_x + 1

    @property
    def group_bytes(self) -> int:
        """Size of one kernel group, the kernels computed at once."""
        kernels = min(geometry.kernel_group(self.target, self.precision), self.surface.dst_data.channel)
        return geometry.weight_bytes(self.target, kernels, self.op.bytes_per_kernel)


def conv_problems(op: ConvOp, surface: ConvSurface, site: OperationContext) -> Iterator[Violation]:
    """Yield the problems of a convolution; rules that relate fields run only if each field is valid."""
    problems = list(apply(FIELD_RULES, site.location, op, surface, site))
    yield from problems
    precision = precision_of(op.in_precision)
    if not problems and precision is not None:
        yield from apply(CONV_RULES, site.location, Conv(op, surface, site, precision))


def conv_fields(op: ConvOp, surface: ConvSurface, site: OperationContext) -> Iterator[str]:
    """Fields fit their registers, enumerations have known values; counts are at least 1."""
    yield from illegal_values(op)
    yield from illegal_values(op.in_cvt, "in_cvt.")
    yield from illegal_values(surface.src_data, "src_data.")
    yield from illegal_values(surface.dst_data, "dst_data.")
    yield from outside("out_cvt.truncate", op.out_cvt.truncate, 0, 31)
    yield from outside("batch", op.batch, 1, site.target.batch)


def conv_memory_types(op: ConvOp, surface: ConvSurface, site: OperationContext) -> Iterator[str]:
    """Input and weights are in DRAM or the on-chip memory; the result goes to the SDP on the fly."""
    cubes = {"src_data": surface.src_data, "weight_data": surface.weight_data}
    if op.weight_format == WeightFormat.COMPRESSED:
        cubes |= {"wmb_data": surface.wmb_data, "wgs_data": surface.wgs_data}
    for field, cube in cubes.items():
        yield from not_in_memory(f"{field}.type", cube.type, site.target)
    yield from outside("dst_data.type", surface.dst_data.type, MemoryType.HW, MemoryType.HW)
    yield from outside("dst_data.address", surface.dst_data.address, -1, -1)


def conv_features(op: ConvOp, surface: ConvSurface, site: OperationContext) -> Iterator[str]:
    """The target supports the precision, and Winograd and compressed weights where used."""
    target = site.target
    yield from missing_precision("in_precision", op.in_precision, target)
    if op.conv_mode == ConvMode.WINOGRAD:
        yield from missing_feature("conv_mode 1 (WINOGRAD)", "winograd", target)
    if op.weight_format == WeightFormat.COMPRESSED:
        yield from missing_feature("weight_format 1 (COMPRESSED)", "weight_compression", target)


def one_conv_precision(op: ConvOp, surface: ConvSurface, site: OperationContext) -> Iterator[str]:
    """`in_precision` equals `out_precision`: the firmware programs both from the latter."""
    if op.in_precision != op.out_precision:
        yield f"out_precision {op.out_precision}; it is in_precision {op.in_precision}"


def only_clips(op: ConvOp, surface: ConvSurface, site: OperationContext) -> Iterator[str]:
    """The output converter of a convolution has scale 1 and offset 0: the hardware only truncates."""
    yield from outside("out_cvt.scale", op.out_cvt.scale, 1, 1)
    yield from outside("out_cvt.offset", op.out_cvt.offset, 0, 0)


FIELD_RULES = (conv_fields, conv_memory_types, conv_features, one_conv_precision, only_clips)


def input_size(conv: Conv) -> Iterator[str]:
    """
    The input size of the convolution sequencer is that of the source cube; for Winograd that of the
    output with the halo of its tiles.
    """
    op, src = conv.op, conv.surface.src_data
    width, height = src.width, src.height
    if conv.is_winograd:
        width = geometry.winograd_extended(op.input_width_cmac)
        height = geometry.winograd_extended(op.input_height_cmac)
        yield from _too_far("pad_x_right", width, src.width + op.pad_x_left + op.pad_x_right)
        yield from _too_far("pad_y_bottom", height, src.height + op.pad_y_top + op.pad_y_bottom)
    yield from outside("input_width_csc", op.input_width_csc, width, width)
    yield from outside("input_height_csc", op.input_height_csc, height, height)


def _too_far(field: str, extended: int, padded: int) -> Iterator[str]:
    if extended != padded:
        yield f"{field}: the padded input has {padded}; the tiles of the output take {extended}"


def channels_agree(conv: Conv) -> Iterator[str]:
    """
    Input and kernel channels equal those of the source cube, of the pixel format, or, for Winograd,
    the padded ones.
    """
    op, channels = conv.op, conv.surface.src_data.channel
    if conv.is_image:
        delivered = PIXEL_LAYOUTS[op.data_format].channels
        yield from outside("src_data.channel", channels, delivered, delivered)
        yield from outside("input_channel_csc", op.input_channel_csc, channels, channels)
        if op.kernel_channel_csc % channels:
            yield f"kernel_channel_csc {op.kernel_channel_csc}; it is a multiple of {channels}"
        return
    if conv.is_winograd:
        channels = geometry.winograd_channels(conv.precision, channels)
    yield from outside("input_channel_csc", op.input_channel_csc, channels, channels)
    yield from outside("kernel_channel_csc", op.kernel_channel_csc, channels, channels)


def image_kernels_are_flat(conv: Conv) -> Iterator[str]:
    """
    A kernel of an image convolution has its columns folded into channels: width 1, no dilation in x
    (§3.4).
    """
    op = conv.op
    if conv.is_image:
        yield from outside("kernel_width_csc", op.kernel_width_csc, 1, 1)
        yield from outside("dilation_x", op.dilation_x, 1, 1)
        if conv.is_winograd:
            yield "conv_mode 1 (WINOGRAD); it takes feature cubes, not pixels"
    elif op.post_extension:
        yield f"post_extension {op.post_extension}; it is for pixels, so 0"
    elif op.mean_format:
        yield f"mean_format {op.mean_format}; it is for pixels, so 0"


def image_lines_are_aligned(conv: Conv) -> Iterator[str]:
    """The line strides of an image are multiples of 32 bytes, in both planes."""
    if not conv.is_image:
        return
    strides = {"src_data.line_stride": conv.surface.src_data.line_stride}
    if len(PIXEL_LAYOUTS[conv.op.data_format].plane_bytes) > 1:
        strides["in_line_uv_stride"] = conv.surface.in_line_uv_stride
    for field, stride in strides.items():
        if stride % (alignment := geometry.IMAGE_LINE_ALIGNMENT):
            yield f"{field} {stride}; lines of pixels are multiples of {alignment} bytes apart"


def post_extension_fits(conv: Conv) -> Iterator[str]:
    """The rows processed at once fit the multiplier: §3.4's bounds on the flattened channels."""
    op, atomic = conv.op, conv.target.atomic_c
    flat, step = op.kernel_channel_csc, conv.surface.src_data.channel * op.conv_stride_x
    rows = 1 << op.post_extension
    if rows > 1 and (flat > atomic // rows or step * (rows - 1) + flat > atomic):
        yield f"post_extension {op.post_extension}; {rows} rows of {flat} flattened channels exceed {atomic}"


def pixels_fit_the_precision(conv: Conv) -> Iterator[str]:
    """Floating-point pixel formats require FP16, all others integer precision."""
    if conv.is_image and (conv.op.data_format in FLOAT_PIXELS) != (conv.precision is Precision.FP16):
        name = PixelFormat(conv.op.data_format).name
        yield f"data_format {conv.op.data_format} ({name}) with in_precision {conv.precision.name}"


def feature_converter_is_for_integers(conv: Conv) -> Iterator[str]:
    """The feature converter is off in FP16."""
    if conv.op.in_cvt.enable and conv.precision is Precision.FP16 and not conv.is_image:
        yield "in_cvt.enable 1; FP16 features are not converted, so 0"


def output_size(conv: Conv) -> Iterator[str]:
    """Output sizes are floor((input + pads - window) / stride) + 1; with Winograd multiples of 4."""
    op, src, dst = conv.op, conv.surface.src_data, conv.surface.dst_data
    yield from outside("input_width_cmac", op.input_width_cmac, dst.width, dst.width)
    yield from outside("input_height_cmac", op.input_height_cmac, dst.height, dst.height)
    if conv.is_winograd:
        for field, size in (("dst_data.width", dst.width), ("dst_data.height", dst.height)):
            if size % geometry.WINOGRAD_SIDE:
                yield f"{field} {size}; winograd's output is a multiple of {geometry.WINOGRAD_SIDE}"
        return
    height, width = conv.window
    columns = (src.width + op.pad_x_left + op.pad_x_right - width) // op.conv_stride_x + 1
    rows = (src.height + op.pad_y_top + op.pad_y_bottom - height) // op.conv_stride_y + 1
    if (dst.width, dst.height) != (columns, rows):
        yield (
            f"dst_data {dst.width}x{dst.height} (width x height); input, pads, kernel and stride give "
            f"{columns}x{rows}"
        )


def small_outputs_are_packed(conv: Conv) -> Iterator[str]:
    """The line stride of a result of one pixel is one atom (§2.4)."""
    dst, atom = conv.surface.dst_data, conv.target.memory_atom_bytes
    if (dst.width, dst.height) == (1, 1):
        yield from outside("dst_data.line_stride", dst.line_stride, atom, atom)


def winograd_shape(conv: Conv) -> Iterator[str]:
    """Winograd requires kernels transformed to 4x4, stride 1 and no dilation."""
    if not conv.is_winograd:
        return
    op = conv.op
    yield from outside(
        "kernel_width_csc", op.kernel_width_csc, geometry.WINOGRAD_SIDE, geometry.WINOGRAD_SIDE
    )
    yield from outside(
        "kernel_height_csc", op.kernel_height_csc, geometry.WINOGRAD_SIDE, geometry.WINOGRAD_SIDE
    )
    for field in ("conv_stride_x", "conv_stride_y", "dilation_x", "dilation_y"):
        yield from outside(field, getattr(op, field), 1, 1)


def entries_of(conv: Conv) -> int:
    """Entries of the convolution buffer that a row of the input takes (§3.7)."""
    op, src, target, precision = conv.op, conv.surface.src_data, conv.target, conv.precision
    if conv.is_image:
        padded = op.pad_x_left + src.width + op.pad_x_right
        return geometry.image_entries_per_slice(target, precision, padded, src.channel)
    if conv.is_winograd:
        width, channels = op.input_width_csc, op.input_channel_csc
        return geometry.winograd_entries_per_slice(target, precision, width, channels, 1, 1)
    return geometry.feature_entries_per_slice(target, precision, src.width, src.channel)


def entries_per_slice(conv: Conv) -> Iterator[str]:
    """
    `entry_per_slice` is exactly the number of buffer entries of a row; other values are undefined in
    hardware.
    """
    exact = entries_of(conv)
    yield from outside("entry_per_slice", conv.op.entry_per_slice, exact, exact)


def banks_hold_the_data(conv: Conv) -> Iterator[str]:
    """The data banks hold all rows of the input, the weight banks one group of kernels (§3.7)."""
    op, target = conv.op, conv.target
    data = geometry.data_banks(target, entries_of(conv), op.input_height_csc)
    bank = target.cbuf_entries * target.cbuf_entry_bytes
    weights = geometry.ceil_div(conv.group_bytes, bank)
    if op.data_bank < data:
        yield f"data_bank {op.data_bank}; the input takes {data}"
    if op.weight_bank < weights:
        yield f"weight_bank {op.weight_bank}; a group of kernels takes {weights}"


def banks_exist(conv: Conv) -> Iterator[str]:
    """
    Data and weight banks together do not exceed the target's banks; compressed weights reserve one
    for their masks.
    """
    op = conv.op
    mask = 1 if op.weight_format == WeightFormat.COMPRESSED else 0
    banks = conv.target.cbuf_banks - mask
    if op.data_bank + op.weight_bank > banks:
        yield f"data_bank {op.data_bank} and weight_bank {op.weight_bank}; there are {banks} in all"


def kernel_bytes(conv: Conv) -> Iterator[str]:
    """`bytes_per_kernel` is the kernel's width x height x channels in bytes, uncompressed."""
    op = conv.op
    exact = op.kernel_width_csc * op.kernel_height_csc * op.kernel_channel_csc * conv.precision.bytes
    yield from outside("bytes_per_kernel", op.bytes_per_kernel, exact, exact)


def weight_size(conv: Conv) -> Iterator[str]:
    """`weight_data.size` is exactly the size of all kernels, rounded up to whole buffer entries (§3.4)."""
    op, surface, target = conv.op, conv.surface, conv.target
    kernels = surface.dst_data.channel
    exact = geometry.weight_bytes(target, kernels, op.bytes_per_kernel)
    size = surface.weight_data.size
    if op.weight_format == WeightFormat.UNCOMPRESSED:
        yield from outside("weight_data.size", size, exact, exact)
        return
    entry = target.cbuf_entry_bytes
    if size % entry or not 0 < size <= exact:
        yield f"weight_data.size {size}; compressed weights take a multiple of {entry} up to {exact}"
    elements = kernels * op.bytes_per_kernel // conv.precision.bytes
    mask = geometry.round_up(geometry.ceil_div(elements, 8), entry)
    groups = geometry.ceil_div(kernels, geometry.kernel_group(target, conv.precision))
    yield from outside("wmb_data.size", surface.wmb_data.size, mask, mask)
    yield from outside("wgs_data.size", surface.wgs_data.size, 4 * groups, 4 * groups)


def compressed_tables_agree(conv: Conv) -> Iterator[str]:
    """
    The masks select as many weights as the table of kernel groups counts, and the stream contains
    them (§3.4).
    """
    if conv.op.weight_format != WeightFormat.COMPRESSED:
        return
    masks, groups = _constants(conv, conv.surface.wmb_data), _constants(conv, conv.surface.wgs_data)
    if masks is None or groups is None:
        yield "wmb_data and wgs_data; each is a constant of the file"
        return
    nonzero = int(np.bitwise_count(np.frombuffer(masks, np.uint8)).sum()) * conv.precision.bytes
    counted = int(np.frombuffer(groups[: len(groups) // 4 * 4], np.uint32).sum(dtype=np.uint64))
    if nonzero != counted:
        yield f"wgs_data counts {counted} bytes of weights; the masks of wmb_data keep {nonzero}"
    elif conv.surface.weight_data.size < nonzero:
        yield f"weight_data.size {conv.surface.weight_data.size}; the masks of wmb_data keep {nonzero}"


def _constants(conv: Conv, cube: DataCube) -> memoryview | None:
    """Return the bytes of a cube that is a constant of the file, or `None`."""
    addresses = conv.site.task.addresses
    if not 0 <= cube.address < len(addresses):
        return None
    at = addresses[cube.address]
    try:
        return static_bytes(conv.site.loadable, Address(at.memory, at.offset + cube.offset), cube.size, "")
    except XonncError:
        return None


def rows_are_fetched_and_released(conv: Conv) -> Iterator[str]:
    """`fetch_grain` and `release` are between 1 and the rows of the input."""
    op = conv.op
    yield from outside("fetch_grain", op.fetch_grain, 1, op.input_height_csc)
    yield from outside("release", op.release, 1, op.input_height_csc)


def reuse_follows_keeping(conv: Conv) -> Iterator[str]:
    """
    Data or weights are reused only if the previous convolution kept the same ones in the same banks,
    and all weights are in the buffer (§3.7).
    """
    op, surface = conv.op, conv.surface
    if not (op.data_reuse or op.weight_reuse):
        return
    before = _neighbour(conv, -1)
    if before is None:
        yield "data_reuse or weight_reuse 1; no convolution comes before this one"
        return
    banks = (before.op.data_bank, before.op.weight_bank)
    if (op.data_bank, op.weight_bank) != banks:
        yield (
            f"data_bank {op.data_bank}, weight_bank {op.weight_bank}; what is used again lies in the banks "
            f"of the convolution before, {banks[0]} and {banks[1]}"
        )
    if op.data_reuse and not before.op.skip_data_rls:
        yield "data_reuse 1; the convolution before has skip_data_rls 0, so its data is gone"
    elif op.data_reuse and not _same_data(surface.src_data, before.surface.src_data):
        yield "data_reuse 1; src_data is not that of the convolution before"
    if op.weight_reuse and not before.op.skip_weight_rls:
        yield "weight_reuse 1; the convolution before has skip_weight_rls 0, so its weights are gone"
    elif op.weight_reuse and not _same_data(surface.weight_data, before.surface.weight_data):
        yield "weight_reuse 1; weight_data is not that of the convolution before"
    weight_space = op.weight_bank * conv.target.cbuf_entries * conv.target.cbuf_entry_bytes
    if op.weight_reuse and surface.weight_data.size > weight_space:
        yield f"weight_reuse 1; weights of {surface.weight_data.size} bytes, the banks hold {weight_space}"


def what_is_kept_is_used(conv: Conv) -> Iterator[str]:
    """
    Data or weights that are not released are reused by the next convolution; otherwise the buffer
    fills up.
    """
    if not (conv.op.skip_data_rls or conv.op.skip_weight_rls):
        return
    after = _neighbour(conv, 1)
    if conv.op.skip_data_rls and not (after and after.op.data_reuse):
        yield "skip_data_rls 1; the next convolution has no data_reuse, so nothing would free the banks"
    if conv.op.skip_weight_rls and not (after and after.op.weight_reuse):
        yield "skip_weight_rls 1; the next convolution has no weight_reuse, so nothing would free the banks"


def _same_data(first: DataCube, second: DataCube) -> bool:
    return (first.address, first.offset) == (second.address, second.offset)


def _neighbour(conv: Conv, distance: int) -> Conv | None:
    """Return the convolution at `distance` in the core's queue, or `None`."""
    task, operation = conv.site.task, conv.site.operation
    if operation.index not in task.queue_positions:
        return None
    queue = task.queues[operation.engine]
    position = task.queue_positions[operation.index] + distance
    if not 0 <= position < len(queue):
        return None
    other = task.operations[queue[position]]
    if isinstance(other.op, ConvOp) and isinstance(other.surface, ConvSurface):
        return Conv(other.op, other.surface, conv.site, conv.precision)
    return None


CONV_RULES = (
    input_size,
    channels_agree,
    image_kernels_are_flat,
    image_lines_are_aligned,
    post_extension_fits,
    pixels_fit_the_precision,
    feature_converter_is_for_integers,
    output_size,
    small_outputs_are_packed,
    winograd_shape,
    entries_per_slice,
    banks_hold_the_data,
    banks_exist,
    kernel_bytes,
    weight_size,
    compressed_tables_agree,
    rows_are_fetched_and_released,
    reuse_follows_keeping,
    what_is_kept_is_used,
)
