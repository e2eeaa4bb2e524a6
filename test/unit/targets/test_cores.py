"""Cores: those that are described, and what is wrong with a description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from xonnc.errors import XonncError
from xonnc.targets.cores import core_called, core_names, core_of, load_core
from xonnc.targets.cpu import cpu_names, load_cpu

GOOD: Mapping[str, Any] = {
    "description": "a test",
    "fma_bytes": 64,
    "bf16_bytes": 64,
    "load_bytes": 64,
    "fma_latency": 4,
    "l1_bytes": 32768,
    "l1_ways": 8,
    "l2_bytes": 1 << 20,
    "l2_ways": 8,
    "l3_bytes": 0,
    "l3_ways": 0,
    "line_bytes": 64,
    "prefetch_bytes": 0,
    "panel_prefetch_bytes": 0,
    "write_prefetch_bytes": 0,
    "next_panel_bytes": 0,
}


def error(**changes: object) -> str:
    table = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    with pytest.raises(XonncError) as caught:
        core_of("mine", table, "mine.toml")
    return str(caught.value)


@pytest.mark.parametrize("name", core_names())
def test_every_core_that_comes_with_the_compiler(name: str):
    core = load_core(name)
    assert core.name == name
    assert core.description
    assert core.prefetchers
    # Sizes are whole lines in each of the ways.
    assert core.l1_bytes % (core.l1_ways * core.line_bytes) == 0
    assert core.l2_bytes % (core.l2_ways * core.line_bytes) == 0
    for llvm_name in core.llvm_names:
        assert core_called(llvm_name) == core


@pytest.mark.parametrize("name", cpu_names())
def test_a_kind_of_processor_has_a_core(name: str):
    target = load_cpu(name)
    assert target.core.fmas(target.vector_bytes) >= 1
    assert target.core.loads(target.vector_bytes) >= 1


def test_a_processor_that_is_not_described():
    assert core_called("i486") is None


def test_throughputs_are_of_vectors():
    core = core_of("mine", GOOD, "mine.toml")
    assert (core.fmas(64), core.fmas(32), core.loads(16)) == (1, 2, 4)


def test_errors():
    assert error(l1_byte=1) == "mine.toml: no property 'l1_byte'; did you mean 'l1_bytes'?"
    assert error(fma_latency="4") == "mine.toml: fma_latency = '4'; it is an integer"
    assert error(fma_latency=True) == "mine.toml: fma_latency = True; it is an integer"
    assert error(llvm_names=[1]) == "mine.toml: llvm_names = [1]; it is a list of names"
    assert error(l1_ways=None, l2_ways=None) == "mine.toml: l1_ways, l2_ways must be given"
    assert error(l1_ways=0) == "core mine: l1_ways = 0; it is 1 to 1024"
    assert error(line_bytes=48) == "core mine: line_bytes = 48; it is a power of two"
    assert error(l2_bytes=16384) == "core mine: l1_bytes = 32768; it is at most l2_bytes = 16384"
    with pytest.raises(XonncError, match="no core 'znver'; did you mean 'znver5'"):
        load_core("znver")


def test_all_problems_are_told_at_once():
    assert len(error(prefetch_bytes=-1, fma_bytes=0).splitlines()) == 2
