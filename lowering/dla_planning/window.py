"""Windows of convolutions and poolings."""

from __future__ import annotations

from dataclasses import dataclass

from xonnc.dialects.dla.engines import window_count
from xonnc.dialects.dla.types import CubeShape


@dataclass(frozen=True)
class Window2D:
    """
    Height and width of kernel, stride and dilation; pads are top, left, bottom, right.

    `pixel_bytes` are those of a pixel where the source is an image, 0 for a feature cube.
    """

    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    pixel_bytes: int = 0

    @property
    def dilated_kernel(self) -> tuple[int, int]:
        """Height and width of the dilated kernel."""
        return (
            self.dilations[0] * (self.kernel[0] - 1) + 1,
            self.dilations[1] * (self.kernel[1] - 1) + 1,
        )

    def output_size(self, source: CubeShape) -> tuple[int, int]:
        """Return rows and columns of the result; 0 or less if the window does not fit."""
        top, left, bottom, right = self.pads
        return (
            window_count(source.height, self.kernel[0], self.strides[0], self.dilations[0], top, bottom),
            window_count(source.width, self.kernel[1], self.strides[1], self.dilations[1], left, right),
        )
