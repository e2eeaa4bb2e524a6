"""The table of optimization levels."""

from __future__ import annotations

from itertools import pairwise

import pytest

from xonnc.errors import UnknownNameError, XonncError
from xonnc.passes import PASSES
from xonnc.transforms.optimization_levels import (
    BY_NAME,
    DEFAULT_PASSES,
    FAST_MATH,
    LEVELED_PASSES,
    LEVELS,
    NAMES,
    passes_of,
    spelled,
)


def test_names_are_those_of_passes():
    for known in LEVELED_PASSES:
        assert known.name in PASSES
    assert len(set(NAMES)) == len(NAMES)


def test_each_level_has_the_passes_of_the_one_below():
    for below, level in pairwise(LEVELS):
        assert passes_of(below) <= passes_of(level)
    by_name = {known.name for known in LEVELED_PASSES if known.level == BY_NAME}
    assert passes_of(3) == {*NAMES, FAST_MATH} - by_name
    assert by_name == {"select-bf16-onnx", "select-winograd-onnx"}
    assert passes_of(2) == DEFAULT_PASSES
    assert passes_of(3) - passes_of(2) == {"unroll-loops-onnx"}
    assert {"constprop-onnx", "canonicalize-onnx"} <= passes_of(1) - passes_of(0)
    assert "fuse-onnx" in passes_of(2) - passes_of(1)


def test_a_pass_on_and_off():
    assert passes_of(0, enable=["constprop-onnx"]) == passes_of(0) | {"constprop-onnx"}
    assert passes_of(2, disable=["fuse-onnx"]) == DEFAULT_PASSES - {"fuse-onnx"}
    assert passes_of(0, enable=["fuse-onnx"], disable=["fuse-onnx"]) == passes_of(0)
    assert passes_of(2, enable=["legalize-onnx"]) == DEFAULT_PASSES
    assert passes_of(2, disable=[FAST_MATH]) == DEFAULT_PASSES - {FAST_MATH}


def test_the_order_is_that_of_the_table():
    assert spelled(frozenset({"legalize-onnx", "canonicalize-onnx"})) == "canonicalize-onnx, legalize-onnx"


@pytest.mark.parametrize("level", [-1, 4])
def test_a_level_that_there_is_not(level: int):
    with pytest.raises(XonncError, match=f"level: {level}; there are 0, 1, 2, 3"):
        passes_of(level)


def test_unknown_names():
    with pytest.raises(UnknownNameError, match=r"no pass 'fuse-onn' .*; did you mean 'fuse-onnx'"):
        passes_of(2, enable=["fuse-onn"])
    with pytest.raises(UnknownNameError, match="'dla-fuse' of the optimization levels; 'xonnc passes --lev"):
        passes_of(2, disable=["dla-fuse"])


@pytest.mark.parametrize("name", sorted(passes_of(0) - {FAST_MATH}))
def test_what_a_correct_result_needs_stays(name: str):
    with pytest.raises(XonncError, match=f"{name}: a correct result needs this pass; those that may be"):
        passes_of(3, disable=[name])
