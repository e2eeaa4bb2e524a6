"""Quantization parameters of a loadable's inputs and outputs, which a blob carries (`json_blobs.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.formats.nvdla.json_blobs import json_blob, read_json_blob
from xonnc.formats.nvdla.loadable import Blob, Loadable

BLOB_NAME = "xonnc-quantization"
INT8_MIN, INT8_MAX = -128, 127

ASYMMETRY = 0.9
"""A zero point is used where steps become at most this fraction of those of symmetric integers."""


@dataclass(frozen=True)
class QuantizationParameters:
    """Affine quantization of a tensor to int8: `real = scale * (stored - zero_point)`."""

    scale: float
    zero_point: int = 0

    def unrounded(self, value: float) -> float:
        """Return `value / scale + zero_point` before rounding and saturation."""
        return value / self.scale + self.zero_point

    def quantize(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """Quantize as QuantizeLinear does: round half to even, saturate to [-128, 127]. NaN gives 0."""
        rounded = np.nan_to_num(np.rint(values.astype(np.float32) / np.float32(self.scale)))
        return np.clip(rounded + self.zero_point, INT8_MIN, INT8_MAX).astype(np.int8)

    def dequantize(self, stored: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the real values of stored integers, as DequantizeLinear does."""
        return (stored.astype(np.float32) - np.float32(self.zero_point)) * np.float32(self.scale)


def covering(least: float, largest: float, is_symmetric: bool = False) -> QuantizationParameters:
    """
    Return the parameters with which int8 covers a range and 0.

    The zero point differs from 0 where this makes steps at most `ASYMMETRY` of the symmetric ones.
    """
    least, largest = min(least, 0.0), max(largest, 0.0)
    symmetric = max(-least, largest) / INT8_MAX or 1.0 / INT8_MAX
    step = (largest - least) / (INT8_MAX - INT8_MIN)
    if is_symmetric or not 0 < step <= ASYMMETRY * symmetric:
        return QuantizationParameters(symmetric)
    return QuantizationParameters(step, INT8_MIN + round(-least / step))


QuantizationByName = Mapping[str, QuantizationParameters]
"""Quantization parameters by the name of the input or output."""


def quantization_blob(qparams_by_name: QuantizationByName) -> Blob:
    """Return the blob with the parameters."""
    table = {
        name: {"scale": qparams.scale, "zero_point": qparams.zero_point}
        for name, qparams in qparams_by_name.items()
    }
    return json_blob(BLOB_NAME, table)


def quantization_of(loadable: Loadable) -> QuantizationByName:
    """Return the parameters in a loadable; empty for other compilers. `XonncError` if the blob is damaged."""
    return read_json_blob(loadable, BLOB_NAME, _qparams)


def _qparams(entry: Mapping[str, Any]) -> QuantizationParameters:
    scale, zero_point = float(entry["scale"]), int(entry["zero_point"])
    if not (isfinite(scale) and scale > 0):
        raise ValueError(f"scale {scale:g}; scales are above 0")
    return QuantizationParameters(scale, zero_point)
