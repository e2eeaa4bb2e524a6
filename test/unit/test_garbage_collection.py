"""Reference cycles are freed although Python's cycle collector is off or slow."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import Mock
from weakref import ref

import pytest

from xonnc import garbage_collection
from xonnc.garbage_collection import without_cycle_collection


class Node:
    """Holds itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(garbage_collection, "_HEAP", garbage_collection.Heap())
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    gc.collect()
    yield
    assert gc.isenabled()
    assert not gc.get_freeze_count()
    if frozen:
        gc.collect()
        gc.freeze()


def test_the_collector_pauses():
    with without_cycle_collection():
        assert not gc.isenabled()
        with without_cycle_collection():
            pass
        assert not gc.isenabled()


def test_garbage_is_found_once_it_is_as_much_as_what_lives(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(garbage_collection, "SPARE_OBJECTS", 100)
    with without_cycle_collection():
        early = ref(Node())
    assert early() is not None, "not for a few objects"
    living = len(gc.get_objects())
    with without_cycle_collection():
        for _ in range(living // 2 + 1000):
            Node()
            Node()
    assert early() is None


def test_imports_make_no_collection_due(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(garbage_collection, "SPARE_OBJECTS", 100)
    with without_cycle_collection(keeps_all=True):
        kept = [Node() for _ in range(2 * len(gc.get_objects()) + 1000)]
        garbage = ref(Node())
    with without_cycle_collection():
        pass
    assert kept
    assert garbage() is not None


def test_tools_end_without_a_search_for_cycles():
    last = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    program = f"{last}; import xonnc.tools.process"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_living_objects_are_not_counted_for_a_few(monkeypatch: pytest.MonkeyPatch):
    def count() -> int:
        raise AssertionError("a full walk of the heap")

    monkeypatch.setattr(garbage_collection, "_count", count)
    with without_cycle_collection():
        Node()


def test_a_program_that_collects_nothing_is_heeded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(garbage_collection, "SPARE_OBJECTS", -(10**9))
    gc.disable()
    try:
        with without_cycle_collection():
            kept = ref(Node())
        assert not gc.isenabled()
        assert kept() is not None
    finally:
        gc.enable()


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch):
    """A server that froze its objects before it forked: each count walks them all."""
    counts: list[int] = []

    def count() -> int:
        counts.append(1000)
        return 1000

    monkeypatch.setattr(gc, "get_freeze_count", count)
    monkeypatch.setattr(gc, "unfreeze", Mock(side_effect=AssertionError("undoes what the host program did")))
    for _ in range(3):
        with without_cycle_collection():
            Node()
    assert len(counts) == 1
    monkeypatch.undo()
