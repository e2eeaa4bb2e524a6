"""Groups at a time: the cheaper of zeros between groups and more layers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.lowering.dla_planning.feasibility import convolution_cycles
from xonnc.lowering.dla_planning.group_merging import merged_groups
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import load_target

INT8 = Precision.INT8
PADDED = Window2D((3, 3), pads=(1, 1, 1, 1))


def chosen(target: str, channels: int, size: int, groups: int) -> int:
    source = CubeShape(channels, size, size)
    return merged_groups(load_target(target), INT8, source, channels, PADDED, groups)


@pytest.mark.parametrize("target", ["nv_small", "nv_large", "nv_medium_512"])
@pytest.mark.parametrize(("channels", "size", "groups"), [(64, 14, 64), (96, 56, 96), (128, 7, 4)])
def test_nothing_else_that_fits_is_faster(target: str, channels: int, size: int, groups: int):
    hardware, merged = load_target(target), chosen(target, channels, size, groups)

    def cycles(count: int) -> float:
        shape, kernels = CubeShape(channels * count // groups, size, size), channels * count // groups
        return groups // count * convolution_cycles(hardware, INT8, shape, kernels, PADDED)

    atom = hardware.memory_atom_bytes
    fitting = [
        count
        for count in range(1, groups + 1)
        if groups % count == 0 and (count == groups or channels * count // groups % atom == 0)
    ]
    assert cycles(merged) == min(map(cycles, fitting))


def test_zeros_are_dear_where_memory_is_slow():
    # Twice the groups at a time read twice the weights, half as many make twice the layers.
    target, source = load_target("nv_large"), CubeShape(128, 8, 8)
    found = [
        merged_groups(replace(target, dram_gb_per_s=speed), INT8, source, 128, PADDED, 128)
        for speed in (10.0, 32.0)
    ]
    assert found == [32, 64]


def test_slow_memory_makes_layers_dear():
    target = load_target("nv_small")
    source = CubeShape(64, 16, 16)
    quick = merged_groups(target, INT8, source, 64, PADDED, 64)
    late = replace(target, memory_latency_cycles=100_000, reads_in_flight=1_000_000)
    slow = merged_groups(late, INT8, source, 64, PADDED, 64)
    assert (quick, slow) == (8, 64)
