"""
Specifications of the models of the conformance set: each writes a model and valid inputs for it.

They run in the virtual environments of `bench/conformance/environment.py`, so this module imports only NumPy
and onnx.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import onnx

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]
Built = tuple[onnx.ModelProto, Feeds]
"""A model in memory, and inputs for it."""

WriteModel = Callable[[Path], Feeds]
"""Write a model to a path; return inputs for it."""


@dataclass(frozen=True)
class ModelSpec:
    """How to generate one model."""

    name: str
    source: str
    """The exporter, for the table."""
    make: WriteModel
    is_convolutional: bool = False
    """Whether it is also compiled for NVDLA."""


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def write_feeds(path: Path, feeds: Feeds) -> None:
    """Write inputs as an `.npz` file; strings as fixed-width Unicode."""
    arrays = {
        f"{index}:{name}": array.astype(np.str_) if array.dtype == object else array
        for index, (name, array) in enumerate(feeds.items())
    }
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_feeds(path: Path) -> dict[str, Array]:
    """Read the output of `write_feeds`."""
    with np.load(path) as archive:
        return {
            key.partition(":")[2]: value.astype(object) if value.dtype.kind == "U" else value
            for key, value in archive.items()
        }
