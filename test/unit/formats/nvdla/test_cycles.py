"""Cycles of the engines on layers worked out by hand (docs/internals/nvdla-hardware.md §8.3, §8.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xonnc.formats.nvdla.cycles import (
    ConvWork,
    conv_cycles,
    element_cycles,
    memory_rate,
    multipliers,
    row_cycles,
    stripes,
)
from xonnc.formats.nvdla.enumerations import Precision
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
        # One stripe of 16, one step: 16 to multiply, 8 elements a position for the SDP, which drain.
        ("nv_small", ConvWork(INT8, 8, 8, 1, 1, 4, 4), (16, 16, 47 + 128)),
        # Four stripes: three last until 16 places are free, 8 * 16 + 54 each.
        ("nv_small", ConvWork(INT8, 8, 8, 1, 1, 8, 8), (64, 3 * 182 + 16, 47 + 128)),
        # Three channel blocks of nine taps for 64 positions, by three groups of kernels, the last of 4.
        ("nv_small", ConvWork(INT8, 20, 20, 3, 3, 8, 8), (3 * 27 * 64, 3 * 27 * 64, 47 + 128)),
        # One position: a step lasts as long as the weights of a group take to load, 32 cycles; the SDP takes
        # 16 elements a cycle.
        ("nv_large", ConvWork(INT8, 1000, 2048, 1, 1, 1, 1), (32 * 32 * 32, 32 * 32 * 32, 47 + 2)),
        # Groups of 16 kernels of 16 bits in 16 cells; 49 positions in stripes of 16, 16, 17.
        ("nv_full", ConvWork(FP16, 64, 64, 3, 3, 7, 7), (4 * 9 * 49, 4 * 9 * 49, 47 + 17)),
        # Five kernels load weights as long as a whole group.
        ("nv_full", ConvWork(INT8, 5, 64, 1, 1, 1, 1), (16, 16, 47 + 2)),
        # Pixels: every row of 112 ends a stripe, 64 and 48.
        (
            "nv_large",
            ConvWork(INT8, 32, 28, 7, 1, 112, 112, is_image=True),
            (7 * 112 * 112, 7 * 112 * 112, 47 + 96),
        ),
        # Four rows of the kernel at once: two steps for seven.
        (
            "nv_large",
            ConvWork(INT8, 32, 12, 7, 1, 1, 64, is_image=True, rows_at_once=4),
            (2 * 64, 2 * 64, 47 + 128),
        ),
        # Winograd: 64 results at 4 a step, 16 products of each channel.
        (
            "nv_full",
            ConvWork(FP16, 16, 64, 4, 4, 8, 8, is_winograd=True),
            (16 * 16, 16 * 16, 47 + 64),
        ),
        # 48 channels are 12 steps of 4.
        (
            "nv_full",
            ConvWork(FP16, 16, 48, 4, 4, 8, 8, is_winograd=True),
            (12 * 16, 12 * 16, 47 + 64),
        ),
        # Three images, 27 positions in one stripe.
        ("nv_full", ConvWork(FP16, 16, 64, 1, 1, 3, 3, batch=3), (27, 27, 47 + 27)),
    ],
)
def test_convolutions(target: str, work: ConvWork, expected: tuple[int, int, int]):
    hardware = load_target(target)
    found = conv_cycles(hardware, work, hardware.sdp_elements_per_cycle)
    assert (found.multiply, found.compute, found.drain) == expected
    assert found.last_group <= found.compute


def test_rows_of_the_buffer():
    assert row_cycles(1, 56) == 1
    assert row_cycles(3, 56) == 30
    assert row_cycles(10, 56) == 2 * 57.3 + 2


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
    assert memory_rate(load_target("nv_full")) == 10
    assert memory_rate(load_target("nv_small")) == 1
    # 256 beats of 8 bytes are in flight for 407 cycles.
    assert memory_rate(replace(load_target("nv_small"), dram_gb_per_s=8.0, memory_latency_cycles=400)) == (
        256 * 8 / 407
    )
