"""Windows of convolutions and poolings."""

from __future__ import annotations

from dataclasses import dataclass

from xonnc.dialects.dla.engines import window_count
from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.enumerations import Precision


@dataclass(frozen=True)
class Window2D:
    """
    Height and width of kernel, stride and dilation; pads are top, left, bottom, right.

    `pixel_bytes` are those of a pixel where the source is an image, 0 for a feature cube. `is_winograd`:
    the convolution is computed by Winograd's algorithm.
    """

    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    pixel_bytes: int = 0
    is_winograd: bool = False

    @property
    def dilated_kernel(self) -> tuple[int, int]:
        """Height and width of the dilated kernel."""
        return (
            self.dilations[0] * (self.kernel[0] - 1) + 1,
            self.dilations[1] * (self.kernel[1] - 1) + 1,
        )

    def kernel_shape(self, precision: Precision, channels: int) -> tuple[int, int, int]:
        """
        Return channels, rows and columns of the kernels by which the core multiplies an input of `channels`
        (docs/internals/nvdla-hardware.md §3.4).
        """
        if self.is_winograd:
            side = geometry.WINOGRAD_SIDE
            return geometry.winograd_channels(precision, channels), side, side
        if self.pixel_bytes:
            # The columns of a kernel over pixels are folded into its channels.
            return channels * self.kernel[1], self.kernel[0], 1
        return channels, *self.kernel

    def output_size(self, source: CubeShape) -> tuple[int, int]:
        """Return rows and columns of the result; 0 or less if the window does not fit."""
        top, left, bottom, right = self.pads
        return (
            window_count(source.height, self.kernel[0], self.strides[0], self.dilations[0], top, bottom),
            window_count(source.width, self.kernel[1], self.strides[1], self.dilations[1], left, right),
        )
