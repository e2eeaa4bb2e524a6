"""When Python looks for objects that only hold each other."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

SPARE_OBJECTS = 100_000
"""Objects made beyond those that lived after the last collection before the next is due: some 15 MB."""


@contextmanager
def without_cycle_collection() -> Generator[None]:
    """
    Pause Python's cycle collector, which costs up to a third of the time while many objects are made.

    Objects that die in cycles, as erased ops and whole modules do, wait until afterwards; the constants that
    they held have been let go by then (`drop_attributes`). Survivors go to the oldest generation unseen, so
    that no collection of the young starts with all of them. Python then does not count them either, and would
    collect the oldest generation much too late: this does so once pauses have made more objects than lived
    after the last time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _HEAP.end_of_pause()
            gc.enable()


@dataclass
class Heap:
    """The objects that the cycle collector knows of."""

    made: int = 0
    """Objects that outlived the pause in which they were made, since the last collection here."""
    living: int | None = None
    """Objects after the last collection, or before the first pause; counted late: that walks all of them."""

    def end_of_pause(self) -> None:
        # The youngest generation's count goes down with each object that reference counting frees.
        self.made += gc.get_count()[0]
        if gc.get_freeze_count():
            # A program froze objects itself; they stay so, and nothing can be moved.
            return
        if self.made > SPARE_OBJECTS and self.living is None:
            self.living = max(_count() - self.made, 0)
        if self.living is not None and self.made > self.living + SPARE_OBJECTS:
            gc.collect()
            self.made, self.living = 0, _count()
        else:
            # Moves all objects to the oldest generation, by splicing lists.
            gc.freeze()
            gc.unfreeze()


def _count() -> int:
    """All objects, moved to the oldest generation."""
    gc.freeze()
    count = gc.get_freeze_count()
    gc.unfreeze()
    return count


_HEAP = Heap()
