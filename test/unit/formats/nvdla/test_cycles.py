"""Cycles of the engines on layers worked out by hand (docs/internals/nvdla-hardware.md §8.3, §8.4)."""

from __future__ import annotations

import pytest

from xonnc.formats.nvdla.constants import Precision
from xonnc.formats.nvdla.cycles import (
    ConvWork,
    conv_cycles,
    element_cycles,
    memory_cycles,
    multipliers,
    stripes,
)
from xonnc.targets import load_target

INT8, INT16, FP16 = Precision.INT8, Precision.INT16, Precision.FP16


@pytest.mark.parametrize(
    ("target", "positions", "expected"),
    [
        # Configurable design, 8 kernels: 16 at a time from 32 on, then 8 while more than 16 are left.
        ("nv_small", 1, [(1, 1)]),
        ("nv_small", 16, [(16, 1)]),
        ("nv_small", 17, [(8, 1), (9, 1)]),
        ("nv_small", 31, [(8, 2), (15, 1)]),
        ("nv_small", 32, [(16, 1), (16, 1)]),
        ("nv_small", 64, [(16, 3), (16, 1)]),
        ("nv_small", 49, [(16, 2), (8, 1), (9, 1)]),
        ("nv_large", 49, [(49, 1)]),
        ("nv_large", 100, [(32, 2), (36, 1)]),
        # First design: 16 while more than 32 are left.
        ("nv_full", 32, [(32, 1)]),
        ("nv_full", 33, [(16, 1), (17, 1)]),
        ("nv_full", 49, [(16, 2), (17, 1)]),
    ],
)
def test_stripes(target: str, positions: int, expected: list[tuple[int, int]]):
    found = list(stripes(load_target(target), positions))
    assert found == expected
    assert sum(length * times for length, times in found) == positions


@pytest.mark.parametrize(
    ("target", "work", "expected"),
    [
        # One stripe of 16, one step: 16, and 48 to drain and the stripe again.
        ("nv_small", ConvWork(INT8, 8, 8, 1, 1, 4, 4), 16 + 48 + 16),
        # Three channel blocks of nine taps for 64 positions, by three groups of kernels.
        ("nv_small", ConvWork(INT8, 20, 20, 3, 3, 8, 8), 3 * 27 * 64 + 48 + 16),
        # One position: a step lasts as long as the weights of its group take to load, 32 or 8 cycles.
        ("nv_large", ConvWork(INT8, 1000, 2048, 1, 1, 1, 1), 32 * (31 * 32 + 8) + 48 + 1),
        # Groups of 16 kernels of 16 bits in 16 cells; 49 positions in stripes of 16, 16, 17.
        ("nv_full", ConvWork(FP16, 64, 64, 3, 3, 7, 7), 4 * 9 * 49 + 48 + 17),
        # Groups of 32 kernels of 8 bits, two to a cell: 10 positions are bound by 16 cells.
        ("nv_full", ConvWork(INT8, 32, 64, 1, 1, 2, 5), 16 + 48 + 10),
        # Five kernels of 8 bits take three cells.
        ("nv_full", ConvWork(INT8, 5, 64, 1, 1, 1, 1), 3 + 48 + 1),
        # Pixels: every row of 112 ends a stripe, 64 and 48.
        ("nv_large", ConvWork(INT8, 32, 28, 7, 1, 112, 112, is_image=True), 7 * 112 * 112 + 48 + 48),
        # Four rows of the kernel at once: two steps for seven.
        ("nv_large", ConvWork(INT8, 32, 12, 7, 1, 1, 64, is_image=True, rows_at_once=4), 2 * 64 + 48 + 64),
        # Winograd: 64 results at 4 a step, 16 products of each channel.
        ("nv_full", ConvWork(FP16, 16, 64, 4, 4, 8, 8, is_winograd=True), 16 * 16 + 48 + 16),
        # Three images, 27 positions in one stripe.
        ("nv_full", ConvWork(FP16, 16, 64, 1, 1, 3, 3, batch=3), 27 + 48 + 27),
    ],
)
def test_convolutions(target: str, work: ConvWork, expected: int):
    assert conv_cycles(load_target(target), work) == expected


@pytest.mark.parametrize(
    ("target", "precision", "expected"),
    [
        ("nv_full", INT8, 2048),
        ("nv_full", FP16, 1024),
        ("nv_full", INT16, 1024),
        ("nv_large", INT8, 2048),
        ("nv_small", INT8, 64),
        ("nv_small_256", INT8, 256),
        ("nv_small_256_full", INT8, 256),
        ("nv_medium_512", INT8, 512),
        ("nv_medium_1024_full", INT8, 1024),
    ],
)
def test_multipliers_of_the_specification(target: str, precision: Precision, expected: int):
    assert multipliers(load_target(target), precision) == expected


def test_multiplications():
    assert ConvWork(INT8, 20, 20, 3, 3, 8, 8).macs == 20 * 20 * 9 * 64
    # 36 multiplications make 4 results directly, 16 by winograd.
    assert ConvWork(FP16, 1, 1, 4, 4, 2, 2, is_winograd=True).macs == 16


def test_engines_work_on_whole_atoms():
    # 33 channels of 8 bits are two surfaces of 32; 6400 elements at 16 a cycle.
    assert element_cycles(load_target("nv_large"), INT8, 33, 100, 16.0) == 400
    assert element_cycles(load_target("nv_small"), INT8, 9, 10, 1.0) == 160
    assert element_cycles(load_target("nv_full"), FP16, 17, 10, 8.0) == 40


def test_memory():
    assert memory_cycles(load_target("nv_full"), 1001) == 101
    assert memory_cycles(load_target("nv_small"), 1001) == 1001
