"""The interface between the worker process and a peer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Feeds = Mapping[str, Array]
"""Arrays by input name, in the order of the model's inputs."""
Run = Callable[[Feeds], Sequence[Array]]


@dataclass(frozen=True)
class Task:
    """A model to compile, its number of threads and its inputs."""

    path: Path
    threads: int
    feeds: Feeds
    folder: Path
    """The peer's compilation cache."""

    def cached(self, name: str) -> Path:
        """Path of a file in the cache."""
        return self.folder / name
