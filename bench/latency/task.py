"""What a peer is asked to do, and what it gives: a function that runs the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Feeds = Mapping[str, Array]
"""Arrays by the names of inputs, in the order that the model has them."""
Run = Callable[[Feeds], Sequence[Array]]


@dataclass(frozen=True)
class Task:
    """A model to compile, how many threads share a run, and what it will be fed with."""

    path: Path
    threads: int
    feeds: Feeds
    folder: Path
    """What a peer keeps of its work, it finds here when it is asked again."""

    def cached(self, name: str) -> Path:
        """The path of a file that is kept."""
        return self.folder / name
