"""What the tiles of a convolution ask of memory, from its shapes."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import pytest

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.cycles import ConvWork, Demand, conv_cycles, row_cycles
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.timeline import Timeline
from xonnc.lowering.dla_planning.convolution_tiling import ConvolutionPlan, candidate_plans
from xonnc.lowering.dla_planning.feasibility import buffer_demand, buffer_of
from xonnc.lowering.dla_planning.plan_cycles import PassDemand, plan_cycles, tile_demands
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget, load_target

SOURCE, KERNELS, WINDOW = CubeShape(70, 90, 40), 200, Window2D((3, 5), (1, 2), pads=(1, 2, 1, 2))


def planned(target: NvdlaTarget, precision: Precision) -> Iterator[tuple[ConvolutionPlan, list[Demand]]]:
    rows = buffer_demand(target, precision, SOURCE, KERNELS, WINDOW)
    for plan in candidate_plans(rows, buffer_of(target)):
        yield plan, [*tile_demands(target, precision, SOURCE, KERNELS, WINDOW, rows, plan)]


@pytest.mark.parametrize(
    ("name", "precision"),
    [("nv_full", Precision.INT8), ("nv_full", Precision.FP16), ("nv_small", Precision.INT8)],
)
def test_demands_of_tiles_add_up_to_the_plans_traffic(name: str, precision: Precision):
    target = load_target(name)
    seen: set[tuple[bool, bool]] = set()
    bank = target.cbuf_entries * target.cbuf_entry_bytes
    outputs, columns = WINDOW.output_size(SOURCE)
    groups = ceil(KERNELS * precision.bytes / target.memory_atom_bytes)
    for plan, demands in planned(target, precision):
        seen.add((plan.weights_resident, len(plan.tiles) > 1))
        assert sum(each.data + each.weights for each in demands) == plan.traffic
        assert sum(each.results for each in demands) == groups * outputs * columns * target.memory_atom_bytes
        reads = [each.weights > 0 for each in demands]
        assert reads == [index == 0 or not plan.weights_resident for index in range(len(demands))]
        for each, tile in zip(demands, plan.tiles, strict=True):
            assert each.first_weights <= each.weights
            assert (each.first_weights > 0) == (each.weights > 0)
            assert each.operands == KERNELS * (4 if precision is Precision.INT8 else precision.bytes)
            assert each.data == each.held_data == demands[0].data // plan.tiles[0].inputs * tile.inputs
            assert (each.data_bank_bytes, each.weight_bank_bytes) == (
                plan.data_banks * bank,
                plan.weight_banks * bank,
            )
            assert each.held_weights <= each.weight_bank_bytes
            assert each.streamed == 0
    assert (True, True) in seen or (False, True) in seen


def test_the_pass_behind_says_what_it_takes():
    target, precision = load_target("nv_full"), Precision.INT8
    rows = buffer_demand(target, precision, SOURCE, KERNELS, WINDOW)
    passed = PassDemand(11, 13, 17, 16.0)
    for plan in candidate_plans(rows, buffer_of(target)):
        demands = tile_demands(target, precision, SOURCE, KERNELS, WINDOW, rows, plan, passed)
        for tile, each in zip(plan.tiles, demands, strict=True):
            assert (each.operands, each.streamed, each.results) == (11, 13 * tile.outputs, 17 * tile.outputs)


def test_columns_of_a_kernel_over_pixels_are_channels():
    target, precision, source = load_target("nv_full"), Precision.INT8, CubeShape(4, 64, 60)
    window = Window2D((3, 5), pixel_bytes=4)
    rows = buffer_demand(target, precision, source, 32, window)
    plan = next(plan for plan in candidate_plans(rows, buffer_of(target)) if len(plan.tiles) == 1)
    (demand,) = tile_demands(target, precision, source, 32, window, rows, plan)
    work = ConvWork(precision, 32, 4 * 5, 3, 1, 62, 56, is_image=True)
    assert demand.conv == conv_cycles(target, work, target.sdp_elements_per_cycle)
    assert demand.row_cycles == 64 * row_cycles(1, 60)


def test_the_cycles_of_a_plan_are_those_of_its_demands_in_a_row():
    target = load_target("nv_small")
    rows = buffer_demand(target, Precision.INT8, SOURCE, KERNELS, WINDOW)
    for plan, demands in planned(target, Precision.INT8):
        timeline = Timeline(target)
        for each in demands:
            timeline.add(each, ("CONV", "SDP"))
        cycles = plan_cycles(target, Precision.INT8, SOURCE, KERNELS, WINDOW, rows, plan)
        assert cycles == timeline.end
        assert cycles >= plan.traffic / (target.dram_gb_per_s * 1e9) * target.clock_mhz * 1e6 * 0.99
