"""Dependency graphs: the pattern of LeNet, hazards, random programs played through a scheduler."""

from __future__ import annotations

import random
import time

from xonnc.formats.nvdla.enumerations import Event
from xonnc.lowering.dla_to_loadable.dependencies import (
    ConsumerSlot,
    DependencyEntry,
    DependencyLayer,
    dependency_graph,
    queue_heads,
)
from xonnc.lowering.dla_to_loadable.hazards import ByteRange, LaterAccesses, overlap

CONV, SDP, PDP = 1, 2, 3


def at(index: int) -> tuple[ByteRange, ...]:
    return (ByteRange(0, index, index + 1),)


def lenet() -> list[DependencyLayer]:
    return [
        DependencyLayer(CONV, at(0), ()),
        DependencyLayer(SDP, (), at(1), fused_parent=0),
        DependencyLayer(PDP, at(1), at(2)),
        DependencyLayer(CONV, at(2), ()),
        DependencyLayer(SDP, (), at(3), fused_parent=3),
        DependencyLayer(PDP, at(3), at(4)),
    ]


def test_the_pattern_of_lenet():
    entries = dependency_graph(lenet())
    completed, programmed = Event.OP_COMPLETED, Event.OP_PROGRAMMED
    assert entries[0] == DependencyEntry(
        {SDP: ConsumerSlot(1, programmed), CONV: ConsumerSlot(3, programmed)}, None, 1
    )
    assert entries[1] == DependencyEntry(
        {SDP: ConsumerSlot(4, programmed), PDP: ConsumerSlot(2, completed)}, 0, 1
    )
    assert entries[2] == DependencyEntry(
        {PDP: ConsumerSlot(5, programmed), CONV: ConsumerSlot(3, completed)}, None, 1
    )
    assert entries[3].dependency_count == 3
    assert queue_heads(lenet(), 6) == (-1, 0, 1, 2, -1, -1)


def test_the_next_layer_of_an_engine_depends_on_a_result_it_reads():
    entries = dependency_graph([DependencyLayer(SDP, at(0), at(1)), DependencyLayer(SDP, at(1), at(2))])
    assert entries[0].consumers == {SDP: ConsumerSlot(1, Event.OP_COMPLETED)}


def test_a_layer_with_other_settings_depends_on_the_one_before():
    layers = [DependencyLayer(CONV, at(0), (), settings=(index // 2,)) for index in range(4)]
    events = [entry.consumers[CONV].event for entry in dependency_graph(layers)[:-1]]
    assert events == [Event.OP_PROGRAMMED, Event.OP_COMPLETED, Event.OP_PROGRAMMED]


def test_reused_memory_depends_on_its_reader():
    # The SDP overwrites what the PDP reads.
    layers = [
        DependencyLayer(SDP, at(0), at(1)),
        DependencyLayer(PDP, at(1), at(2)),
        DependencyLayer(SDP, at(3), at(1)),
    ]
    entries = dependency_graph(layers)
    assert entries[1].consumers == {SDP: ConsumerSlot(2, Event.OP_COMPLETED)}
    assert entries[2].dependency_count == 2


def test_only_the_first_reader_of_an_engine_has_an_edge():
    layers = [
        DependencyLayer(SDP, at(0), at(1)),
        DependencyLayer(PDP, at(1), at(2)),
        DependencyLayer(PDP, at(1), at(3)),
    ]
    entries = dependency_graph(layers)
    assert entries[0].consumers == {PDP: ConsumerSlot(1, Event.OP_COMPLETED)}
    assert entries[2].dependency_count == 1


def test_only_the_last_writer_of_an_engine_has_an_edge():
    layers = [
        *(DependencyLayer(SDP, at(9), at(index)) for index in range(300)),
        DependencyLayer(PDP, (ByteRange(0, 0, 300),), at(400)),
    ]
    entries = dependency_graph(layers)
    assert [entry.dependency_count for entry in entries[1:]] == [1] * 300
    assert entries[299].consumers == {PDP: ConsumerSlot(300, Event.OP_COMPLETED)}


def behind_one_that_reads_nothing(*, reads_memory: bool) -> list[DependencyLayer]:
    """The PDP makes what the last layer reads; its edge goes to the SDP pass before, which writes over 1."""
    return [
        DependencyLayer(SDP, at(0), at(1)),
        DependencyLayer(PDP, at(1), at(2)),
        DependencyLayer(CONV, at(2), ()),
        DependencyLayer(SDP, (), at(1), fused_parent=2, reads_memory=reads_memory),
        DependencyLayer(SDP, at(2), at(3)),
    ]


def test_nothing_is_read_before_its_turn():
    # The SDP may fetch for the last layer while the convolution's results still come to the one before.
    entries = dependency_graph(behind_one_that_reads_nothing(reads_memory=False))
    assert entries[1].consumers[SDP] == ConsumerSlot(3, Event.OP_COMPLETED)
    assert entries[3].consumers == {SDP: ConsumerSlot(4, Event.OP_COMPLETED)}


def test_what_has_read_in_its_turn_holds_back_the_next():
    entries = dependency_graph(behind_one_that_reads_nothing(reads_memory=True))
    assert entries[3].consumers == {SDP: ConsumerSlot(4, Event.OP_PROGRAMMED)}


def run(layers: list[DependencyLayer], entries: tuple[DependencyEntry, ...]) -> list[int]:
    """
    Plays the firmware, two groups an engine, and returns the order of completion.

    Among those that may complete, the one latest in the program does first: the worst case for a hazard.
    """
    missing = [entry.dependency_count for entry in entries]
    queues = {engine: [i for i, layer in enumerate(layers) if layer.engine == engine] for engine in range(6)}
    programmed: set[int] = set()
    enabled: set[int] = set()
    completed: list[int] = []

    def tell(index: int, event: Event) -> None:
        for consumer in entries[index].consumers.values():
            if consumer.event == event:
                missing[consumer.index] -= 1
        parent = entries[index].fused_parent
        if event is Event.OP_ENABLED and parent is not None:
            missing[parent] -= 1

    def advance() -> bool:
        for queue in queues.values():
            for index in [i for i in queue if i not in completed][:2]:
                if index not in programmed:
                    programmed.add(index)
                    tell(index, Event.OP_PROGRAMMED)
                    return True
                if index not in enabled and missing[index] == 0:
                    enabled.add(index)
                    tell(index, Event.OP_ENABLED)
                    return True
        front = [next((i for i in queue if i not in completed), -1) for queue in queues.values()]
        done = [
            i
            for i in front
            if i in enabled and (layers[i].fused_parent is None or layers[i].fused_parent in completed)
        ]
        if not done:
            return False
        completed.append(max(done))
        tell(max(done), Event.OP_COMPLETED)
        return True

    while advance():
        assert min(missing) >= 0
    return completed


def random_program(generator: random.Random) -> list[DependencyLayer]:
    layers: list[DependencyLayer] = []
    for _ in range(generator.randint(2, 12)):
        source, target = generator.sample(range(4), 2)
        kind = generator.choice(("conv", "sdp", "pdp", "flow"))
        if kind == "sdp":
            layers.append(DependencyLayer(SDP, at(source), at(target)))
        if kind == "pdp":
            layers.append(DependencyLayer(PDP, at(source), at(target)))
        if kind in ("conv", "flow"):
            layers.append(DependencyLayer(CONV, at(source), ()))
            written = at(target) if kind == "conv" else ()
            layers.append(DependencyLayer(SDP, (), written, fused_parent=len(layers) - 1))
        if kind == "flow":
            layers.append(DependencyLayer(PDP, (), at(target), fused_parent=len(layers) - 1))
    return layers


def hazards(layers: list[DependencyLayer]) -> list[tuple[int, int]]:
    """Pairs of which the first must complete before the second, both in memory and not on one engine."""
    return [
        (i, j)
        for j, later in enumerate(layers)
        for i, earlier in enumerate(layers[:j])
        if earlier.engine != later.engine
        if set(earlier.writes) & set(later.reads) or set(earlier.reads + earlier.writes) & set(later.writes)
    ]


def test_random_programs_run_to_their_end_and_respect_every_hazard():
    generator = random.Random(11)
    for _ in range(300):
        layers = random_program(generator)
        completed = run(layers, dependency_graph(layers))
        assert sorted(completed) == list(range(len(layers)))
        rank = {index: position for position, index in enumerate(completed)}
        assert [pair for pair in hazards(layers) if rank[pair[0]] > rank[pair[1]]] == []


def test_strided_ranges_overlap_where_a_byte_is_shared():
    generator = random.Random(1)
    shared = 0
    for _ in range(2000):
        stride = generator.randint(4, 12)
        one, other = (
            ByteRange(
                0,
                begin := generator.randint(0, 60),
                begin + generator.randint(1, stride),
                stride,
                generator.randint(1, 5),
            )
            for _ in range(2)
        )
        expected = bool(_bytes(one) & _bytes(other))
        assert one.overlaps(other) == other.overlaps(one) == expected, (one, other)
        shared += expected
    assert 200 < shared < 1800


def _bytes(each: ByteRange) -> set[int]:
    return {
        index + repetition * each.stride
        for repetition in range(each.times)
        for index in range(each.begin, each.end)
    }


def test_ranges_of_different_strides_are_taken_without_gaps():
    one, other = ByteRange(0, 0, 2, 10, 3), ByteRange(0, 4, 6, 11, 2)
    assert one.overlaps(other)
    assert not one.overlaps(other._replace(memory=1))
    assert not one.overlaps(ByteRange(0, 22, 30))
    assert ByteRange(0, 0, 8).overlaps(ByteRange(0, 7, 9))


def test_row_tiles_of_a_cube_are_independent():
    """Two convolutions write rows of one cube; a third reads the rows of the first."""
    first, second = ByteRange(0, 0, 8, 32, 4), ByteRange(0, 8, 16, 32, 4)
    layers = [
        DependencyLayer(CONV, at(900), at(901)),
        DependencyLayer(SDP, (), (first,)),
        DependencyLayer(CONV, at(900), at(902)),
        DependencyLayer(SDP, (), (second,)),
        DependencyLayer(CONV, (first,), at(903)),
    ]
    entries = dependency_graph(layers)
    assert entries[1].consumers[CONV].index == 4
    assert CONV not in entries[3].consumers


def test_first_dependents_are_those_of_a_search_over_all_layers():
    generator = random.Random(7)
    for _ in range(100):
        layers = [
            (generator.choice((CONV, SDP, PDP)), _ranges(generator), _ranges(generator)) for _ in range(20)
        ]
        hazards = LaterAccesses()
        for index, (engine, reads, writes) in reversed(list(enumerate(layers))):
            expected: dict[int, int] = {}
            for later, (other, its_reads, its_writes) in list(enumerate(layers))[index + 1 :]:
                if overlap(writes, its_reads) or overlap(reads + writes, its_writes):
                    expected.setdefault(other, later)
            expected.pop(engine, None)
            assert hazards.first_dependents(engine, reads, writes) == expected
            hazards.add(index, engine, reads, writes)


def _ranges(generator: random.Random) -> tuple[ByteRange, ...]:
    """Up to two ranges in two memories, some repeated with gaps."""
    found: list[ByteRange] = []
    for _ in range(generator.randrange(3)):
        begin, stride = generator.randrange(40), generator.choice((0, 16, 24))
        times = generator.randint(1, 4) if stride else 1
        found.append(
            ByteRange(generator.randrange(2), begin, begin + generator.randint(1, 12), stride, times)
        )
    return tuple(found)


def test_time_grows_with_the_number_of_layers_alone():
    def seconds(count: int) -> float:
        layers = [DependencyLayer(index % 3 + 1, at(index), at(index + 1)) for index in range(count)]
        times: list[float] = []
        for _ in range(3):
            begun = time.process_time()
            dependency_graph(layers)
            times.append(time.process_time() - begun)
        # The least: collections of garbage that other tests left come in between.
        return min(times)

    # A search over all pairs of 8,000 layers takes 64 times as long as one of 1,000, and many seconds.
    assert seconds(8000) < 24 * max(seconds(1000), 0.02)
