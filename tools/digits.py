"""
The demo's trained network: a classifier of 8x8 images of digits, with held-out images and their labels.

`examples/digits/train.py` trains it on scikit-learn's digits and writes the files in `demo_data`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Images = npt.NDArray[np.float32]

DATA = Path(__file__).parent / "demo_data"

INPUT = "image"
"""The input of the network."""

LARGEST_PIXEL = 16
"""The files have pixels from 0 to 16, the network takes them from 0 to 1."""


@dataclass(frozen=True)
class DigitImages:
    """Images for calibration, from the training set, and held-out ones with labels; all `[N,1,8,8]`."""

    calibration: Images
    held_out: Images
    labels: npt.NDArray[np.uint8]

    def first(self, digit: int) -> Images:
        """Return the first held-out image of a digit, `[1,1,8,8]`."""
        index = int(np.flatnonzero(self.labels == digit)[0])
        return self.held_out[index : index + 1]


def read_images() -> DigitImages:
    """Read the images."""
    with np.load(DATA / "digits.npz") as arrays:
        return DigitImages(_scaled(arrays["calibration"]), _scaled(arrays["images"]), arrays["labels"])


def read_model() -> bytes:
    """Return the ONNX file of the trained network."""
    return (DATA / "digits.onnx").read_bytes()


def pgm(image: Images) -> bytes:
    """Return an image `[1,1,H,W]` as a PGM file, as a camera would give it: bytes from 0 to 255."""
    pixels = np.rint(image[0, 0] * 255).astype(np.uint8)
    return b"P5 %d %d 255 " % pixels.shape[::-1] + pixels.tobytes()


def drawn(image: Images) -> list[str]:
    """Return an image `[1,1,H,W]` as lines of text."""
    shades = " .:-=+*#%@"
    return ["".join(2 * shades[round(float(pixel) * 9)] for pixel in row) for row in image[0, 0]]


def _scaled(pixels: npt.NDArray[Any]) -> Images:
    return (pixels / LARGEST_PIXEL).astype(np.float32)
