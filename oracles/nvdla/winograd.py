"""
Winograd convolution F(2x2, 3x3) in FP16 as docs/internals/nvdla-hardware.md §4.1 states it: the rounding of
the transformed input and kernels, and exact sums of their products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

INPUT = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float64)
KERNEL = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float64)
OUTPUT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float64)

MAX_FP16 = 65504.0
SIGNIFICANT_BITS = 11
"""Of FP16 and of FP17, whose exponents differ."""

FP16_STEP, FP17_STEP = 2.0**-24, 2.0**-40
"""Steps of the denormals."""


def rounded(values: Numbers, step: float) -> Numbers:
    """Round to 11 significant bits, ties to even, in steps of at least `step`."""
    exponents = np.frexp(values)[1] - SIGNIFICANT_BITS
    steps = np.maximum(np.exp2(exponents.astype(np.float64)), step)
    return np.rint(values / steps) * steps


def half(values: Numbers) -> Numbers:
    """Round to FP16, at most its largest number."""
    return np.clip(rounded(values, FP16_STEP), -MAX_FP16, MAX_FP16)


def transformed_input(window: Numbers) -> Numbers:
    """`B^T d B` of a window `[channels, 4, 4]`: over rows and over columns in FP17, then in FP16."""
    rows = rounded(INPUT @ window, FP17_STEP)
    return half(rounded(rows @ INPUT.T, FP17_STEP))


def transformed_kernels(kernels: Numbers) -> Numbers:
    """`G g G^T` of kernels `[kernels, channels, 3, 3]` in FP16."""
    return half(KERNEL @ kernels @ KERNEL.T)


def convolution(image: Numbers, kernels: Numbers, pads: Sequence[int]) -> Numbers:
    """
    Return the sums `[kernels, rows, columns]` of an image `[channels, rows, columns]` with pads at top, left,
    bottom and right.
    """
    top, left, bottom, right = pads
    rows, columns = image.shape[1] + top + bottom - 2, image.shape[2] + left + right - 2
    # Whole tiles of 2 x 2 results take the windows beyond the last row and column too.
    padded = np.pad(image, ((0, 0), (top, bottom + rows % 2), (left, right + columns % 2)))
    factors = transformed_kernels(kernels)
    result = np.zeros((len(kernels), rows + rows % 2, columns + columns % 2))
    for row in range(0, rows, 2):
        for column in range(0, columns, 2):
            data = transformed_input(padded[:, row : row + 4, column : column + 4])
            products = np.einsum("kcij,cij->kij", factors, data)
            result[:, row : row + 2, column : column + 2] = OUTPUT @ products @ OUTPUT.T
    return result[:, :rows, :columns]
