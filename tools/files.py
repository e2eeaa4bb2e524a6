"""Files that commands read and write besides models: arrays, raw surfaces, dumps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.replacing import replacing
from xonnc.tools.portable_maps import read_portable_map

Array = npt.NDArray[Any]


def require_folder(path: Path) -> None:
    """Refuses an output whose folder does not exist, before any work is done."""
    if not path.parent.is_dir():
        raise XonncError(f"{path}: the folder {path.parent} does not exist")


def stage_file(folder: Path, stages: Sequence[str], stage: str) -> Path:
    """Where the IR after a stage is dumped: `01-onnx.mlir`, `02-simplified.mlir`, …"""
    return folder / f"{stages.index(stage) + 1:02}-{stage}.mlir"


def read_tensor(path: Path) -> Array | bytes:
    """
    An input for the simulator: the array in a `.npy` file, the pixels of a `.pgm` or `.ppm` as bytes `HxWxC`,
    or the raw bytes of any other file.
    """
    if not path.is_file():
        raise XonncError(f"{path}: no such file")
    if path.suffix in (".pgm", ".ppm"):
        return read_portable_map(path)
    if path.suffix != ".npy":
        return path.read_bytes()
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise XonncError(f"{path}: no array in it ({error})") from None


def as_bound(value: Array | bytes, shape: tuple[int, ...]) -> Array | bytes:
    """
    An array with the dimensions of one that a bound tensor has more (or fewer) than the model's.

    Pixels row by row, `HxWxC`, stay as they are.
    """
    is_rows = isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3
    if isinstance(value, bytes) or is_rows or value.size != prod(shape):
        return value
    return value.reshape(shape)


def write_tensor(path: Path, tensor: Array, raw: bytes) -> None:
    """Writes an output: as an array to `.npy`, as raw bytes to any other name."""
    with replacing(path) as file:
        if path.suffix == ".npy":
            np.save(file, tensor)
        else:
            file.write(raw)
