"""
What the 8-bit integers of a loadable's inputs and outputs stand for.

The format has no place for scales, so a blob that no memory object names carries them as JSON; NVIDIA's
runtime keeps such a blob and never looks at it (spec/nvdla.md §1.2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.nvdla.constants import Interface
from xonnc.formats.nvdla.loadable import Blob, Loadable

BLOB_NAME = "xonnc-quantization"
LEAST, LARGEST = -128, 127


@dataclass(frozen=True)
class Grid:
    """What stored 8-bit integers stand for: `scale * (stored - zero)`."""

    scale: float
    zero: int = 0

    def place(self, number: float) -> float:
        """Where a number lies, not rounded."""
        return number / self.scale + self.zero

    def stored(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """The nearest integers, half to even as ONNX rounds; what lies outside becomes the nearest end."""
        places = np.nan_to_num(np.rint(numbers.astype(np.float32) / np.float32(self.scale)))
        return np.clip(places + self.zero, LEAST, LARGEST).astype(np.int8)

    def numbers(self, stored: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """What stored integers stand for."""
        return (stored.astype(np.float32) - np.float32(self.zero)) * np.float32(self.scale)


Grids = Mapping[str, Grid]
"""By the name of the input or output."""


def quantization_blob(grids: Grids) -> Blob:
    """The blob that says them."""
    table = {name: {"scale": grid.scale, "zero_point": grid.zero} for name, grid in grids.items()}
    return Blob(name=BLOB_NAME, data=json.dumps(table).encode(), interface=Interface.NONE)


def quantization_of(loadable: Loadable) -> Grids:
    """What a loadable says; empty for one of other compilers. `XonncError` if the blob is damaged."""
    blob = loadable.by_name.get(BLOB_NAME)
    if blob is None:
        return {}
    try:
        table = json.loads(bytes(blob.data))
        return {name: _grid(entry) for name, entry in table.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise XonncError(f"blob '{BLOB_NAME}' is damaged: {error}") from None


def _grid(entry: Mapping[str, Any]) -> Grid:
    scale, zero_point = float(entry["scale"]), int(entry["zero_point"])
    if not (isfinite(scale) and scale > 0):
        raise ValueError(f"scale {scale:g}; scales are above 0")
    return Grid(scale, zero_point)
