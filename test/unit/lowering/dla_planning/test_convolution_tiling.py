"""
Shares of the convolution buffer: every class of the spec's preference list, and pieces that cover the
output.
"""

from __future__ import annotations

import random
from dataclasses import replace
from math import ceil
from typing import Any

from xonnc.lowering.dla_planning.convolution_tiling import (
    ConvBuffer,
    ConvBufferDemand,
    ConvolutionPlan,
    candidate_plans,
    plan_convolution,
)

FULL = ConvBuffer(banks=16, entries=256, entry_bytes=128)
BANK = FULL.bank_bytes


def traffic(plan: ConvolutionPlan) -> float:
    return plan.traffic


def rows(**changes: int) -> ConvBufferDemand:
    values: dict[str, Any] = {
        "height": 32,
        "output_height": 32,
        "kernel_height": 3,
        "stride": 1,
        "pad_top": 1,
        "entries_per_slice": 32,
        "row_bytes": 4096,
        "weight_bytes": 2 * BANK,
        "group_bytes": BANK // 2,
    }
    values.update(changes)
    return ConvBufferDemand(**values)


def test_everything_fits():
    plan = plan_convolution(rows(), FULL, traffic)
    assert plan is not None
    assert (plan.data_banks, plan.weight_banks, plan.weights_resident, len(plan.tiles)) == (14, 2, True, 1)
    assert plan.traffic == 32 * 4096 + 2 * BANK
    assert (plan.tiles[0].pad_top, plan.tiles[0].pad_bottom) == (1, 1)


def test_many_kernels_stream_two_groups_at_a_time():
    plan = plan_convolution(rows(weight_bytes=40 * BANK, group_bytes=2 * BANK), FULL, traffic)
    assert plan is not None
    assert (plan.data_banks, plan.weight_banks, plan.weights_resident, len(plan.tiles)) == (12, 4, False, 1)


def test_one_group_at_a_time_where_two_do_not_fit():
    plan = plan_convolution(rows(weight_bytes=40 * BANK, group_bytes=9 * BANK), FULL, traffic)
    assert plan is not None
    assert (plan.data_banks, plan.weight_banks, len(plan.tiles)) == (7, 9, 1)


def test_rows_in_pieces_with_all_weights_resident():
    plan = plan_convolution(rows(height=224, output_height=224, entries_per_slice=224), FULL, traffic)
    assert plan is not None
    assert (plan.data_banks, plan.weight_banks, plan.weights_resident) == (14, 2, True)
    assert all(tile.inputs * 224 <= 14 * 256 for tile in plan.tiles)


def test_one_piece_beats_weights_read_twice():
    # All weights resident leaves three of four data banks: two pieces; with streaming all rows fit.
    case = rows(weight_bytes=13 * BANK, group_bytes=BANK)
    plan = plan_convolution(case, FULL, lambda plan: plan.traffic + (len(plan.tiles) << 20))
    assert plan is not None
    assert (plan.weight_banks, len(plan.tiles)) == (2, 1)


def test_a_group_larger_than_the_buffer_does_not_fit():
    assert plan_convolution(rows(weight_bytes=40 * BANK, group_bytes=16 * BANK), FULL, traffic) is None


def test_a_window_higher_than_the_data_banks_does_not_fit():
    assert plan_convolution(rows(entries_per_slice=2000, kernel_height=7), FULL, traffic) is None


def test_a_window_as_high_as_the_data_banks_fits():
    # 15 banks of 256 entries hold three rows of 1280.
    for entries, fits in ((1280, True), (1281, False)):
        plan = plan_convolution(rows(entries_per_slice=entries, group_bytes=BANK), FULL, traffic)
        assert (plan is not None) == fits
        if plan is not None:
            assert {tile.outputs for tile in plan.tiles[1:-1]} == {1}


def test_pieces_cover_the_output_and_read_only_what_is_there():
    generator = random.Random(5)
    split = 0
    for _ in range(500):
        height, reach, stride = generator.randint(1, 200), generator.randint(1, 11), generator.randint(1, 4)
        top, bottom = generator.randrange(reach), generator.randrange(reach)
        if height + top + bottom < reach:
            continue
        output = (height + top + bottom - reach) // stride + 1
        case = rows(
            height=height,
            output_height=output,
            kernel_height=reach,
            stride=stride,
            pad_top=top,
            entries_per_slice=generator.randint(1, 300),
        )
        plan = plan_convolution(case, FULL, traffic)
        if plan is None:
            continue
        split += len(plan.tiles) > 1
        position = 0
        for tile in plan.tiles:
            assert tile.first_output == position
            assert tile.rows == range(position, position + tile.outputs)
            assert tile.first_input == max(position * stride - top, 0)
            assert 0 < tile.inputs <= height - tile.first_input
            assert ceil(tile.inputs * case.entries_per_slice / FULL.entries) <= plan.data_banks
            span = tile.inputs + tile.pad_top + tile.pad_bottom - reach
            assert span == (tile.outputs - 1) * stride
            position += tile.outputs
        assert position == output
    assert split > 50


def test_candidates_are_the_bank_splits_given_first_and_tiles_that_load_beside_others():
    case = rows(height=224, output_height=224, entries_per_slice=16)
    plans = list(candidate_plans(case, FULL, [(10, 6), (17, 1), (16, 0)]))
    splits = list(dict.fromkeys((plan.data_banks, plan.weight_banks) for plan in plans))
    # More banks than there are, or none for weights, do not fit.
    assert splits == [(10, 6), (14, 2), (15, 1)]
    tiles = [plan.tiles for plan in plans if plan.data_banks == 14]
    # All rows fit; of three tiles two fit at once; the first or the last may be shorter.
    assert [tile.outputs for tile in tiles[0]] == [224]
    assert [tile.outputs for tile in tiles[1]] == [74, 75, 75]
    assert [tile.outputs for tile in tiles[2]] == [45, 89, 90]
    assert {len(one) for one in tiles} == {1, 3, 6, 12}
    for one in tiles:
        assert sum(tile.outputs for tile in one) == 224
        assert max(tile.inputs for tile in one) * 16 <= 14 * 256


def test_tiles_take_as_many_rows_as_fit():
    # 14 rows at a stride of 2: four results from the first 8 rows, three from the others.
    case = rows(height=14, output_height=7, stride=2, entries_per_slice=448)
    plans = list(candidate_plans(case, FULL, [(14, 2)]))
    assert [tile.outputs for tile in plans[0].tiles] == [2, 2, 3]
    assert [tile.outputs for tile in plans[1].tiles] == [4, 3]


def test_tiles_of_winograd_are_in_the_buffer_with_the_padding():
    generator = random.Random(6)
    several = 0
    for _ in range(200):
        height, top = generator.randint(4, 200), generator.randrange(3)
        # The padding at the bottom grows until the rows are a multiple of 4.
        output = -(-(height + top - generator.randrange(3)) // 4) * 4
        case = replace(
            rows(
                height=height,
                output_height=output,
                pad_top=top,
                entries_per_slice=generator.randint(1, 300),
                weight_bytes=generator.randint(1, 20) * BANK,
            ),
            is_winograd=True,
        )
        for plan in candidate_plans(case, FULL):
            several += len(plan.tiles) > 1
            position = 0
            for tile in plan.tiles:
                assert tile.first_output == position
                assert tile.outputs % 4 == 0
                assert tile.outputs > 0
                held = (tile.outputs + 4) * case.entries_per_slice
                assert held <= plan.data_banks * FULL.entries
                assert case.held_bytes(tile, 128) == held * 128
                assert tile.pad_top + tile.inputs + tile.pad_bottom == tile.outputs + 2
                position += tile.outputs
            assert position == output
    assert several > 100


def test_tiles_of_winograd_need_eight_rows():
    for entries, fits in ((480, True), (481, False)):
        case = replace(rows(entries_per_slice=entries, group_bytes=BANK), is_winograd=True)
        assert (plan_convolution(case, FULL, traffic) is not None) == fits
