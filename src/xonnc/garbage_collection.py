"""Scheduling of Python's garbage collector for reference cycles."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

SPARE_OBJECTS = 100_000
"""New objects, beyond the number alive after the last collection, that make a collection due: about 15 MB."""


@contextmanager
def without_cycle_collection(keeps_all: bool = False) -> Generator[None]:
    """
    Pause Python's cycle collector, which costs up to a third of the time while many objects are made.

    Unreachable cycles (erased ops, whole modules) are freed later; their constants were already freed by
    `drop_attributes`. At the end, survivors move to the oldest generation without a scan, so that the next
    collection of the young generation does not traverse them. Python then does not count them and would
    collect the oldest generation much too late. So this function collects it, once pauses have created more
    objects than were alive after the last collection. Objects of a pause that `keeps_all`, such as what
    imported modules define, do not count.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _HEAP.end_of_pause(keeps_all)
            gc.enable()


@dataclass
class Heap:
    """Counts of the objects that the cycle collector tracks."""

    made: int = 0
    """Objects that survived the pause in which they were created, since the last collection."""
    living: int | None = None
    """Objects alive after the last collection, or before the first pause; counted on demand (a full walk)."""

    has_frozen_objects: bool = False
    """Whether the host program froze objects; looked up until it has, since counting them walks them all."""

    def end_of_pause(self, keeps_all: bool) -> None:
        """
        Collect if that is due, else move all objects to the oldest generation.

        Parameters:
            keeps_all: whether the objects made in the pause do not count.
        """
        # The youngest generation's count goes down with each object that reference counting frees.
        self.made += 0 if keeps_all else gc.get_count()[0]
        self.has_frozen_objects = self.has_frozen_objects or gc.get_freeze_count() > 0
        if self.has_frozen_objects:
            # `unfreeze` would undo what the host program did.
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
    """Return the number of tracked objects, all moved to the oldest generation."""
    gc.freeze()
    count = gc.get_freeze_count()
    gc.unfreeze()
    return count


_HEAP = Heap()
