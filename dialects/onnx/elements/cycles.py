"""When Python looks for objects that only hold each other."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_cycle_collection() -> Generator[None]:
    """
    Python's cycle collector costs up to a third of the time while many objects are made and few die.

    Those that die in cycles, as erased ops do, wait until afterwards; the constants that they held have been
    let go by then (`drop_attributes`). What was made then goes to the oldest generation unseen (`freeze` and
    `unfreeze` splice lists), so that no collection of the young starts with all of it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
