"""
The convolution core: input, weights and accumulators of one CONV operation (docs/internals/nvdla-hardware.md
§4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from xonnc.formats.nvdla.enumerations import ConvMode, PixelFormat, Precision
from xonnc.formats.nvdla.geometry import MAX_CONV_PAD_AFTER, kernel_group
from xonnc.formats.nvdla.records import ConvOp, ConvSurface
from xonnc.runtime.nvdla import winograd
from xonnc.runtime.nvdla.array_types import F32, I64, AnyArray
from xonnc.runtime.nvdla.conv_checks import POST_EXTENSIONS, check
from xonnc.runtime.nvdla.conv_fp16 import convolve_exactly
from xonnc.runtime.nvdla.conv_weights import WeightShape
from xonnc.runtime.nvdla.cross_correlation import WindowMap, correlate, correlate_integers
from xonnc.runtime.nvdla.fixed_point import saturate, shift_right_rounding
from xonnc.runtime.nvdla.floating_point import half_to_single
from xonnc.runtime.nvdla.image_input import read_input
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.runtime.nvdla.weight_store import WeightStore

# Winograd rounds the output size up to a multiple of 4, so its windows reach up to 3 further.
_LARGEST_PAD_END = MAX_CONV_PAD_AFTER + 3
_LARGEST_OUTPUT = 1 << 28


@dataclass(frozen=True)
class Geometry:
    """An operation as correlation over a padded image; image input merges `flatten` pixels into channels."""

    windows: WindowMap
    weights: WeightShape
    flatten: int
    rows_at_once: int


@dataclass
class ConvolutionCore:
    """Runs CONV operations; holds the data and weights that stay in the convolution buffer between them."""

    _weights: WeightStore = field(default_factory=WeightStore)
    _resident_data: list[AnyArray] | None = None

    def run(self, op: ConvOp, surface: ConvSurface, scope: OperationContext) -> I64 | F32:
        """Return the accumulators `[images, height, width, kernels]`: float32, or int32 values as int64."""
        check(op, surface, scope)
        geometry = _geometry(op, surface, scope)
        images = [_prepared(op, image, geometry, scope) for image in self._input(op, surface, scope)]
        is_float = op.in_precision == Precision.FP16
        windows, kernels = geometry.windows, geometry.weights.kernels
        shape = (len(images), windows.out_height, windows.out_width, kernels)
        out = np.empty(shape, np.float32) if is_float else np.empty(shape, np.int64)
        for first, weights in self._weights.parts(
            op, surface, geometry.weights, geometry.rows_at_once, scope
        ):
            for number, image in enumerate(images):
                out[number, :, :, first : first + len(weights)] = _sums(op, image, weights, geometry, scope)
        return out

    def _input(self, op: ConvOp, surface: ConvSurface, scope: OperationContext) -> list[AnyArray]:
        src = surface.src_data
        if op.data_reuse:
            data = self._resident_data
            if data is None or len(data) != op.batch or data[0].shape != (src.height, src.width, src.channel):
                raise scope.refuse(
                    "data_reuse is set but no operation before it kept such data (skip_data_rls)"
                )
        else:
            data = [read_input(op, surface, image, scope) for image in range(op.batch)]
        self._resident_data = data if op.skip_data_rls else None
        return data


def _geometry(op: ConvOp, surface: ConvSurface, scope: OperationContext) -> Geometry:
    dst, src = surface.dst_data, surface.src_data
    is_image = op.data_format != PixelFormat.FEATURE
    flatten = op.kernel_channel_csc // src.channel if is_image else 0
    weights = WeightShape(
        kernels=dst.channel,
        rows=op.kernel_height_csc,
        columns=op.kernel_width_csc,
        channels=op.kernel_channel_csc,
        kernel_group=kernel_group(scope.target, Precision(op.in_precision)),
        channel_block=scope.target.atomic_c,
    )
    windows = WindowMap(
        out_height=dst.height,
        out_width=dst.width,
        rows=op.kernel_height_csc,
        columns=flatten if is_image else op.kernel_width_csc,
        stride_y=op.conv_stride_y,
        stride_x=op.conv_stride_x,
        dilation_y=op.dilation_y,
        dilation_x=op.dilation_x,
    )
    _check_reach(op, surface, windows, scope)
    return Geometry(windows, weights, flatten, POST_EXTENSIONS[op.post_extension])


def _check_reach(op: ConvOp, surface: ConvSurface, windows: WindowMap, scope: OperationContext) -> None:
    """Refuse windows that reach further past the input than the padding registers can express."""
    src = surface.src_data
    rows, columns = _covered(op, windows)
    reach_x = columns - op.pad_x_left - src.width
    reach_y = rows - op.pad_y_top - src.height
    if max(reach_x, reach_y) > _LARGEST_PAD_END:
        raise scope.refuse(
            f"dst_data {windows.out_width} x {windows.out_height} takes {reach_x} columns and {reach_y} rows "
            f"past the end of the input; the core pads up to {_LARGEST_PAD_END}"
        )
    if windows.out_width * windows.out_height * surface.dst_data.channel > _LARGEST_OUTPUT:
        raise scope.refuse(f"an output of over {_LARGEST_OUTPUT} elements; no memory would hold it")


def _covered(op: ConvOp, windows: WindowMap) -> tuple[int, int]:
    """Return the rows and columns of padded input under the windows; for Winograd, of a 3 x 3 kernel."""
    if op.conv_mode == ConvMode.WINOGRAD:
        return windows.out_height + 2, windows.out_width + 2
    return windows.height, windows.width


def _prepared(op: ConvOp, image: AnyArray, geometry: Geometry, scope: OperationContext) -> AnyArray:
    """Return the padded input, cropped to the windows: float32, fp16 bits, or int16."""
    if op.in_precision == Precision.FP16:
        bits = image.view(np.uint16)
        pad = np.array([op.pad_val], np.int16).view(np.uint16)
        if scope.exact:
            return _padded(op, bits, int(pad[0]), geometry)
        wide = half_to_single(bits, winograd.INFINITY)
        return _padded(op, wide, float(half_to_single(pad, winograd.INFINITY)[0]), geometry)
    return _padded(op, image.astype(np.int16), op.pad_val, geometry)


def _padded(op: ConvOp, image: AnyArray, pad: float, geometry: Geometry) -> AnyArray:
    height, width, channels = image.shape
    is_winograd = op.conv_mode == ConvMode.WINOGRAD
    windows = geometry.windows
    rows, columns = _covered(op, windows)
    top, left = op.pad_y_top, op.pad_x_left
    if (rows, columns, top, left) == (height, width, 0, 0) and not is_winograd and not geometry.flatten:
        return np.ascontiguousarray(image)
    out = np.full((rows, columns, channels), pad, image.dtype)
    height, width = max(0, min(height, rows - top)), max(0, min(width, columns - left))
    out[top : top + height, left : left + width] = image[:height, :width]
    if is_winograd:
        # Channels added to fill the last atom are 0, also where the image is padded.
        return np.pad(out, ((0, 0), (0, 0), (0, geometry.weights.channels - channels)))
    return _flattened(out, geometry) if geometry.flatten else out


def _flattened(image: AnyArray, geometry: Geometry) -> AnyArray:
    """Merge the image pixels under a kernel row into the channels of one pixel per output column."""
    windows = geometry.windows
    row, pixel, element = image.strides
    view = np.lib.stride_tricks.as_strided(
        image,
        (len(image), windows.out_width, geometry.flatten, image.shape[2]),
        (row, pixel * windows.stride_x, pixel * windows.dilation_x, element),
        writeable=False,
    )
    return view.reshape(len(image), windows.out_width, -1)


def _sums(
    op: ConvOp, image: AnyArray, weights: AnyArray, geometry: Geometry, scope: OperationContext
) -> AnyArray:
    """`[height, width, kernels]` of one image and some kernels, rounded as the accumulator delivers them."""
    windows = geometry.windows
    if geometry.flatten:
        windows = windows.one_column()
    if op.conv_mode == ConvMode.WINOGRAD:
        return _winograd_sums(op, image, weights, windows, scope)
    if op.in_precision != Precision.FP16:
        total = correlate_integers(image.view(np.int16), weights.view(np.int16), windows)
        return _clipped(op, total)
    if scope.exact:
        block = geometry.weights.channel_block
        bits = weights.view(np.uint16)
        return convolve_exactly(image.view(np.uint16), bits, windows, block, geometry.rows_at_once)
    return correlate(image.view(np.float32), weights.view(np.float32), windows)


def _winograd_sums(
    op: ConvOp, image: AnyArray, weights: AnyArray, windows: WindowMap, scope: OperationContext
) -> AnyArray:
    height, width = windows.out_height, windows.out_width
    tiles = winograd.tiles(image, height, width)
    if op.in_precision == Precision.FP16:
        if scope.exact:
            data = winograd.transform_fp16(tiles.view(np.uint16))
            return winograd.assemble(
                winograd.accumulate_exactly(data, weights.view(np.uint16)), height, width
            )
        data = half_to_single(winograd.transform_singles(tiles.view(np.float32)), winograd.INFINITY)
        products = winograd.multiply(data, weights.view(np.float32))
        return winograd.assemble(winograd.reduce_outputs(products), height, width)
    bits = 8 * Precision(op.in_precision).bytes
    data = winograd.transform_integers(tiles.view(np.int16), op.pra_truncate, bits)
    # 31-bit products of at most 8192 channels stay far below 2**53.
    exact = winograd.multiply(data.astype(np.float64), weights.astype(np.float64))
    total = winograd.reduce_outputs(exact).astype(np.int64)
    return _clipped(op, winograd.assemble(total, height, width))


def _clipped(op: ConvOp, total: I64) -> I64:
    return saturate(shift_right_rounding(total, op.out_cvt.truncate), 32)
