"""
The models of the conformance set: a recipe each, which writes a model and inputs that it can take.

A recipe runs where its packages are: `bench/conformance/environment.py` makes that place. What is imported
here is numpy and onnx alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]

WriteModel = Callable[[Path], Feeds]
"""Writes a model to a path, and gives inputs for it."""


@dataclass(frozen=True)
class ModelSpec:
    """How one model is made."""

    name: str
    source: str
    """What writes it, as the table says."""
    make: WriteModel
    is_convolutional: bool = False
    """Whether NVDLA is asked too."""


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a list, of whatever."""
    return isinstance(value, list)


def write_feeds(path: Path, feeds: Feeds) -> None:
    """Writes inputs as `numpy.load` reads them; strings as fixed-width Unicode."""
    arrays = {
        f"{index}:{name}": array.astype(np.str_) if array.dtype == object else array
        for index, (name, array) in enumerate(feeds.items())
    }
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_feeds(path: Path) -> dict[str, Array]:
    """What `write_feeds` wrote."""
    with np.load(path) as archive:
        return {
            key.partition(":")[2]: value.astype(object) if value.dtype.kind == "U" else value
            for key, value in archive.items()
        }
