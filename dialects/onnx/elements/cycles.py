"""When Python looks for objects that only hold each other."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

SPARE_OBJECTS = 100_000
"""Objects beyond twice those that lived after the last collection before the next is due: some 15 MB."""


@contextmanager
def without_cycle_collection() -> Generator[None]:
    """
    Pause Python's cycle collector, which costs up to a third of the time while many objects are made.

    Objects that die in cycles, as erased ops and whole modules do, wait until afterwards; the constants that
    they held have been let go by then (`drop_attributes`). Survivors go to the oldest generation unseen, so
    that no collection of the young starts with all of them. Python then does not count them either, and would
    collect the oldest generation much too late: this does so once there are twice as many objects as lived
    after the last time.
    """
    enabled = gc.isenabled()
    gc.disable()
    if enabled and not _LIVING:
        _LIVING.append(_age())
    try:
        yield
    finally:
        if enabled:
            if _age() > 2 * _LIVING[0] + SPARE_OBJECTS:
                gc.collect()
                _LIVING[0] = _age()
            gc.enable()


_LIVING: list[int] = []
"""How many objects there were before the first pause, or after the last collection here."""


def _age() -> int:
    """
    Move all objects to the oldest generation, by splicing lists; return how many there are.

    Objects that a program froze itself stay so; nothing is counted then.
    """
    if gc.get_freeze_count():
        return 0
    gc.freeze()
    count = gc.get_freeze_count()
    gc.unfreeze()
    return count
