"""Layers after one another, by hand (docs/internals/nvdla-hardware.md §9.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xonnc.formats.nvdla.cycles import ConvCycles, Demand
from xonnc.formats.nvdla.timeline import FIRST_STEP, LAYER_ACCESSES, NEXT_STEP, START_ACCESSES, Timeline
from xonnc.targets import load_target

SMALL = load_target("nv_small")
LATENCY = SMALL.memory_latency_cycles
ENGINES = ("CONV", "SDP")
BANK = SMALL.cbuf_entries * SMALL.cbuf_entry_bytes

CONV = Demand(
    data=1000,
    weights=64,
    first_weights=64,
    conv=ConvCycles(5000, 5000, 5000, 175),
    data_bank_bytes=BANK,
    weight_bank_bytes=BANK,
    held_data=1000,
    held_weights=64,
)


def test_a_convolution_loads_then_computes():
    span = Timeline(SMALL).add(CONV, ENGINES)
    # Requests for data and weights alternate.
    assert span.start == 1000 + 64 + LATENCY + FIRST_STEP
    assert span.end == span.start + 5000 + 175


def test_a_queued_convolution_loads_while_the_one_before_computes():
    timeline = Timeline(SMALL)
    first = timeline.add(CONV, ENGINES)
    second = timeline.add(CONV, ENGINES)
    assert second.start == first.computed + NEXT_STEP
    assert second.prefetched == 1064


def test_on_chip_bytes_take_less_time():
    """A byte of on-chip memory takes a quarter of one of DRAM, whichever stream it is in."""
    rates = {"memory_bits": 512, "dram_gb_per_s": 1.0, "cvsram_gb_per_s": 4.0}
    target = replace(SMALL, cvsram_bytes=1 << 20, **rates)
    (in_dram, on_chip) = (
        Timeline(target).add(CONV._replace(on_chip_data=size), ENGINES) for size in (0, 1000)
    )
    assert (in_dram.start, on_chip.start) == tuple(cost + 64 + LATENCY + FIRST_STEP for cost in (1000, 250))
    assert Timeline(SMALL).add(CONV._replace(on_chip_data=1000), ENGINES).start == in_dram.start
    results = Demand(streamed=4000, results=8000, elements=10, depth=1)
    ends = [
        Timeline(target).add(results._replace(on_chip_streamed=read, on_chip_results=written), ("SDP",)).end
        for read, written in ((0, 0), (4000, 0), (0, 8000))
    ]
    assert [end - LATENCY - 7 for end in ends] == [12000, 9000, 6000]


def test_a_queued_convolution_loads_more_from_the_on_chip_memory():
    rates = {"memory_bits": 512, "dram_gb_per_s": 1.0, "cvsram_gb_per_s": 4.0}
    target = replace(SMALL, cvsram_bytes=1 << 20, **rates)
    written = CONV._replace(results=4500)
    prefetched: list[float] = []
    for on_chip in (0, 1):
        timeline = Timeline(target)
        demand = written._replace(on_chip_data=1000 * on_chip, on_chip_results=4500 * on_chip)
        timeline.add(demand, ENGINES)
        prefetched.append(timeline.add(demand, ENGINES).prefetched)
    assert prefetched[0] < prefetched[1]


def test_a_dependent_one_does_not():
    timeline = Timeline(SMALL)
    first = timeline.add(CONV, ENGINES)
    second = timeline.add(CONV, ENGINES, [0])
    assert second.enabled == first.end
    assert (second.start, second.prefetched) == (first.end + 1064 + LATENCY + FIRST_STEP, 0)


@pytest.mark.parametrize("banks", ["data_bank_bytes", "weight_bank_bytes"])
def test_nothing_is_loaded_into_other_banks(banks: str):
    timeline = Timeline(SMALL)
    first = timeline.add(CONV, ENGINES)
    second = timeline.add(CONV._replace(**{banks: 2 * BANK}), ENGINES)
    assert second.start == first.computed + 1064 + LATENCY + FIRST_STEP


def test_what_does_not_fit_beside_the_layer_before_comes_after_it():
    timeline = Timeline(SMALL)
    first = timeline.add(CONV._replace(held_data=BANK - 300), ENGINES)
    second = timeline.add(CONV, ENGINES)
    assert second.prefetched == 300 + 64
    assert second.start == first.computed + 700 + LATENCY + FIRST_STEP


def test_memory_bounds_queued_layers():
    timeline = Timeline(SMALL)
    short = CONV._replace(conv=ConvCycles(100, 100, 100, 175))
    first = timeline.add(short, ENGINES)
    second = timeline.add(short, ENGINES)
    assert second.prefetched == 100
    assert second.start == pytest.approx(first.start + 1064 + FIRST_STEP)


def test_at_most_one_layer_is_queued():
    timeline = Timeline(SMALL)
    first, _, third = (timeline.add(CONV, ENGINES) for _ in range(3))
    assert third.enabled == first.end


def test_weights_that_stream_are_computed_group_by_group():
    streamed = CONV._replace(
        weights=10_000, first_weights=1000, weight_bank_bytes=4096, conv=ConvCycles(2000, 2000, 200, 20)
    )
    span = Timeline(SMALL).add(streamed, ENGINES)
    # Beside the data as many weights are loaded; the last group is bound by its own loads.
    assert span.start == 2000 + LATENCY + FIRST_STEP
    assert span.computed == span.start + 9000 + 200


def test_weight_banks_for_one_group_alternate_loading_and_computing():
    streamed = CONV._replace(
        weights=10_000, first_weights=1000, weight_bank_bytes=1500, conv=ConvCycles(20_000, 20_000, 2000, 20)
    )
    span = Timeline(SMALL).add(streamed, ENGINES)
    # Half of each group's weights have no place until the group before is computed.
    assert span.computed == span.start + 20_000 + 9 * 500


def test_results_bound_a_convolution():
    span = Timeline(SMALL).add(CONV._replace(results=8000), ENGINES)
    assert span.computed == span.start + 8000


def test_operands_beyond_the_head_start_of_the_sdp():
    plain = Timeline(SMALL).add(CONV, ENGINES)
    span = Timeline(SMALL).add(CONV._replace(operands=100), ENGINES)
    assert span.start == plain.start + 46
    # No more than 170 beats of 8 bytes are fetched ahead.
    span = Timeline(SMALL).add(CONV._replace(operands=10_000), ENGINES)
    assert span.start == plain.start + 170 * 8 - 54


def test_data_alone_is_written_slower_than_a_beat_a_cycle():
    fast = replace(SMALL, dram_gb_per_s=8.0, memory_latency_cycles=10)
    span = Timeline(fast).add(CONV._replace(row_cycles=100.0), ENGINES)
    # 133 beats; the rows' share without weights beside them.
    assert span.start == pytest.approx((1064 / 8) + 100 * 936 / 1000 + 10 + FIRST_STEP)


def test_an_engine_that_reads_memory():
    relu = Demand(streamed=100, results=100, elements=1000, depth=63)
    assert Timeline(SMALL).add(relu, ("SDP",)).end == LATENCY + 1000 + 63
    slow = relu._replace(streamed=1000, results=1000)
    assert Timeline(SMALL).add(slow, ("SDP",)).end == LATENCY + 2000 + 7


def test_engines_side_by_side_share_memory():
    timeline = Timeline(SMALL)
    pool = Demand(streamed=5000, results=5000, elements=100, depth=62)
    timeline.add(pool, ("PDP",))
    span = timeline.add(CONV._replace(results=3000), ENGINES)
    assert span.enabled == 0
    assert span.end == 10_000 + 1064 + 3000


def test_tasks_do_not_overlap():
    timeline = Timeline(SMALL)
    first = timeline.add(CONV, ENGINES)
    timeline.barrier()
    assert timeline.add(CONV, ENGINES).enabled == first.end


def test_the_firmware_between_dependent_layers():
    timeline = Timeline(SMALL, register_cycles=3)
    first = timeline.add(CONV, ENGINES)
    assert timeline.add(CONV, ENGINES, [0]).enabled == first.end + 3 * START_ACCESSES


def test_the_firmware_programs_one_layer_after_the_other():
    timeline = Timeline(SMALL, register_cycles=100)
    timeline.add(CONV, ENGINES)
    second = timeline.add(CONV, ENGINES)
    assert second.enabled == 100 * LAYER_ACCESSES


def test_a_timeline_goes_back_to_a_mark():
    timeline = Timeline(SMALL)
    timeline.add(CONV, ENGINES)
    mark, end = timeline.mark(), timeline.end
    expected = timeline.copy().add(CONV, ENGINES)
    timeline.add(CONV._replace(data=5), ENGINES)
    timeline.add(Demand(elements=10_000), ("PDP",))
    timeline.rewind(mark)
    assert timeline.end == end
    assert timeline.add(CONV, ENGINES) == expected


def test_a_timeline_goes_back_to_a_mark_in_another_task():
    timeline = Timeline(SMALL)
    timeline.add(CONV, ENGINES)
    mark = timeline.mark()
    expected = timeline.copy().add(CONV, ENGINES)
    timeline.add(CONV._replace(data=5), ENGINES)
    timeline.barrier()
    timeline.add(CONV, ENGINES)
    timeline.rewind(mark)
    assert timeline.add(CONV, ENGINES) == expected
