"""Normalization (mean, std) of a loadable's image inputs, which a blob carries (`json_blobs.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.formats.nvdla.json_blobs import json_blob, read_json_blob
from xonnc.formats.nvdla.loadable import Blob, Loadable

BLOB_NAME = "xonnc-images"
MAX_PIXEL = 255


@dataclass(frozen=True)
class Normalization:
    """Normalization per channel of the model: `(pixel - mean) / std`."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def channels(self) -> int:
        """Channels of the model's input; a pixel format may have one more."""
        return len(self.mean)

    @property
    def is_identity(self) -> bool:
        """Whether pixels are the model's values."""
        return not any(self.mean) and set(self.std) == {1.0}

    def numbers(self, pixels: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the model's values for pixels `[images, channels, height, width]`."""
        mean, std = self._along(self.mean), self._along(self.std)
        return ((pixels - mean) / std).astype(np.float32)

    def pixels(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the nearest 8-bit pixels, saturated."""
        levels = np.nan_to_num(np.rint(numbers * self._along(self.std) + self._along(self.mean)))
        return np.clip(levels, 0, MAX_PIXEL).astype(np.int64)

    def _along(self, numbers: tuple[float, ...]) -> npt.NDArray[np.float64]:
        return np.array(numbers, np.float64).reshape(1, -1, 1, 1)


Normalizations = Mapping[str, Normalization]
"""Normalizations by input name."""


def normalization_blob(found: Normalizations) -> Blob:
    """Return the blob with the normalizations."""
    table = {name: {"mean": list(one.mean), "std": list(one.std)} for name, one in found.items()}
    return json_blob(BLOB_NAME, table)


def normalizations_of(loadable: Loadable) -> Normalizations:
    """
    Return the normalizations in a loadable; empty for other compilers. `XonncError` if the blob is damaged.
    """
    return read_json_blob(loadable, BLOB_NAME, _one)


def _one(entry: Mapping[str, Any]) -> Normalization:
    mean, std = (tuple(float(number) for number in entry[what]) for what in ("mean", "std"))
    if not 1 <= len(mean) == len(std) <= 4:
        raise ValueError(
            f"{len(mean)} means and {len(std)} deviations; there is one for each of 1 to 4 channels"
        )
    if not all(map(isfinite, mean)) or not all(isfinite(number) and number > 0 for number in std):
        raise ValueError(f"mean {list(mean)}, std {list(std)}; means are finite and deviations above 0")
    return Normalization(mean, std)
