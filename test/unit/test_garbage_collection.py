"""Reference cycles are freed although Python's cycle collector is off or slow."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from typing import TypeAlias
from unittest.mock import Mock
from weakref import ref

import pytest

from xonnc import garbage_collection
from xonnc.garbage_collection import without_cycle_collection


class Node:
    """Holds itself."""

    def __init__(self) -> None:
        self.own = self


Program: TypeAlias = Callable[[pytest.MonkeyPatch], None]

PROGRAMS: list[Program] = []
"""Run in processes of their own: a worker has the objects of all tests, which take seconds to search."""


def in_a_process_of_its_own(program: Program) -> Program:
    PROGRAMS.append(program)
    return program


def run_program(name: str) -> None:
    """Run the program of a name, in a process that has just started."""
    assert not gc.get_freeze_count()
    with pytest.MonkeyPatch.context() as patch:
        next(program for program in PROGRAMS if program.__name__ == name)(patch)
    assert gc.isenabled()
    assert not gc.get_freeze_count()


@in_a_process_of_its_own
def the_collector_pauses(patch: pytest.MonkeyPatch) -> None:
    with without_cycle_collection():
        assert not gc.isenabled()
        with without_cycle_collection():
            pass
        assert not gc.isenabled()


@in_a_process_of_its_own
def garbage_is_found_once_it_is_as_much_as_what_lives(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(garbage_collection, "SPARE_OBJECTS", 100)
    with without_cycle_collection():
        early = ref(Node())
    assert early() is not None, "not for a few objects"
    living = len(gc.get_objects())
    with without_cycle_collection():
        for _ in range(living // 2 + 1000):
            Node()
            Node()
    assert early() is None


@in_a_process_of_its_own
def imports_make_no_collection_due(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(garbage_collection, "SPARE_OBJECTS", 100)
    with without_cycle_collection(keeps_all=True):
        kept = [Node() for _ in range(2 * len(gc.get_objects()) + 1000)]
        garbage = ref(Node())
    with without_cycle_collection():
        pass
    assert kept
    assert garbage() is not None


@in_a_process_of_its_own
def living_objects_are_not_counted_for_a_few(patch: pytest.MonkeyPatch) -> None:
    def count() -> int:
        raise AssertionError("a full walk of the heap")

    patch.setattr(garbage_collection, "_count", count)
    with without_cycle_collection():
        Node()


@in_a_process_of_its_own
def a_program_that_collects_nothing_is_heeded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(garbage_collection, "SPARE_OBJECTS", -(10**9))
    gc.disable()
    try:
        with without_cycle_collection():
            kept = ref(Node())
        assert not gc.isenabled()
        assert kept() is not None
    finally:
        gc.enable()


@in_a_process_of_its_own
def frozen_objects_are_counted_once(patch: pytest.MonkeyPatch) -> None:
    """A server that froze its objects before it forked: each count walks them all."""
    counts: list[int] = []

    def count() -> int:
        counts.append(1000)
        return 1000

    patch.setattr(gc, "get_freeze_count", count)
    patch.setattr(gc, "unfreeze", Mock(side_effect=AssertionError("undoes what the host program did")))
    for _ in range(3):
        with without_cycle_collection():
            Node()
    assert len(counts) == 1
    patch.undo()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_collector(program: Program):
    started = f"from runpy import run_path; run_path({__file__!r})['run_program']({program.__name__!r})"
    done = subprocess.run([sys.executable, "-c", started], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_tools_end_without_a_search_for_cycles():
    last = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    program = f"{last}; import xonnc.tools.process"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
