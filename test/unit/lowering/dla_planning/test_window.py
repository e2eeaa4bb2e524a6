"""Windows: what the arithmetic says equals what enumeration of the windows finds."""

from __future__ import annotations

import random

from xonnc.dialects.dla.types import CubeShape
from xonnc.lowering.dla_planning.window import Window2D


def enumerated_windows(size: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> int:
    """Count the windows whose taps all lie in the padded dimension, by trying every start."""
    padded = range(-before, size + after)
    starts = range(-before, size + after, stride)
    return sum(all(start + tap * dilation in padded for tap in range(kernel)) for start in starts)


def test_output_size_counts_the_windows():
    generator = random.Random(1)
    for _ in range(300):
        kernel, strides, dilations = (
            (generator.randint(1, 4), generator.randint(1, 4)),
            (generator.randint(1, 3), generator.randint(1, 3)),
            (generator.randint(1, 3), generator.randint(1, 3)),
        )
        top, left, bottom, right = (generator.randint(0, 3) for _ in range(4))
        source = CubeShape(5, generator.randint(9, 20), generator.randint(9, 20))
        window = Window2D(kernel, strides, dilations, (top, left, bottom, right))
        assert window.output_size(source) == (
            enumerated_windows(source.height, kernel[0], strides[0], dilations[0], top, bottom),
            enumerated_windows(source.width, kernel[1], strides[1], dilations[1], left, right),
        )
        assert window.dilated_kernel == tuple(
            1 + max(tap * dilation for tap in range(taps))
            for taps, dilation in zip(kernel, dilations, strict=True)
        )


def test_a_window_larger_than_the_source_fits_nowhere():
    assert Window2D((4, 3)).output_size(CubeShape(1, 3, 3)) == (0, 1)
