from __future__ import annotations

from collections.abc import Sequence

import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import Event, OpType
from xonnc.formats.nvdla.event_scheduling import GraphNode, Scheduler, WakeUp


def node(
    engine: OpType,
    count: int = 0,
    *,
    to: dict[OpType, tuple[int, Event]] | None = None,
    parent: int | None = None,
    lut: int | None = None,
    source: bool = False,
    sink: bool = False,
) -> GraphNode:
    consumers: list[WakeUp | None] = [None] * len(OpType)
    for slot, (index, event) in (to or {}).items():
        consumers[slot] = WakeUp(index, event)
    fused = None if parent is None else WakeUp(parent, Event.OP_ENABLED)
    return GraphNode(engine, count, consumers, fused, lut, source, sink)


def heads(**first: int) -> list[int]:
    return [first.get(engine.name.lower(), -1) for engine in OpType]


def order(nodes: Sequence[GraphNode], first: list[int]) -> list[list[int]]:
    ran: list[list[int]] = []
    Scheduler(nodes, first, "task 0").run(lambda chain: ran.append(list(chain)))
    return ran


LENET = [
    node(
        OpType.CONV,
        1,
        to={OpType.CONV: (3, Event.OP_PROGRAMMED), OpType.SDP: (1, Event.OP_PROGRAMMED)},
        sink=True,
    ),
    node(
        OpType.SDP,
        1,
        to={OpType.SDP: (4, Event.OP_PROGRAMMED), OpType.PDP: (2, Event.OP_COMPLETED)},
        parent=0,
        source=True,
    ),
    node(OpType.PDP, 1, to={OpType.CONV: (3, Event.OP_COMPLETED)}),
    node(OpType.CONV, 3, to={OpType.SDP: (4, Event.OP_PROGRAMMED)}, sink=True),
    node(OpType.SDP, 2, parent=3, source=True),
]


def test_the_pattern_of_the_lenet_golden_file():
    assert order(LENET, heads(conv=0, sdp=1, pdp=2)) == [[0, 1], [2], [3, 4]]


def test_counts_end_at_zero():
    scheduler = Scheduler(LENET, heads(conv=0, sdp=1, pdp=2), "task 0")
    scheduler.run(lambda chain: None)
    assert scheduler.counts == [0] * 5


def test_a_stream_through_three_engines_is_one_chain():
    nodes = [
        node(OpType.PDP, 1, parent=1, source=True),
        node(
            OpType.SDP,
            2,
            to={OpType.PDP: (0, Event.OP_PROGRAMMED)},
            parent=2,
            source=True,
            sink=True,
        ),
        node(OpType.CONV, 1, to={OpType.SDP: (1, Event.OP_PROGRAMMED)}, sink=True),
    ]
    assert order(nodes, heads(conv=2, sdp=1, pdp=0)) == [[2, 1, 0]]


@pytest.mark.parametrize(
    ("count", "listed"), [(2, "0 .CONV. for 1 more events"), (0, "0 .CONV. for -1 more")]
)
def test_a_wrong_count_hangs_or_not_as_on_the_hardware(count: int, listed: str):
    nodes = [
        node(OpType.CONV, count, to={OpType.SDP: (1, Event.OP_PROGRAMMED)}, sink=True),
        node(OpType.SDP, 1, parent=0, source=True),
    ]
    if count == 0:
        # Enabled before the SDP: works, by luck (docs/internals/nvdla-hardware.md §7).
        assert order(nodes, heads(conv=0, sdp=1)) == [[0, 1]]
        return
    with pytest.raises(XonncError, match=f"task 0 deadlocks; blocked operations: {listed}"):
        order(nodes, heads(conv=0, sdp=1))


def test_an_underflown_count_hangs():
    nodes = [
        node(OpType.SDP, 0, to={OpType.SDP: (1, Event.OP_PROGRAMMED)}),
        node(OpType.SDP, 0),
    ]
    with pytest.raises(
        XonncError, match=r"task 0 deadlocks; blocked operations: 1 \(SDP\) for -1 more events"
    ):
        order(nodes, heads(sdp=0))


def test_an_operation_in_no_queue_hangs():
    with pytest.raises(XonncError, match=r"task 0 deadlocks; blocked operations: 1 \(SDP\) in no queue"):
        order([node(OpType.SDP), node(OpType.SDP)], heads(sdp=0))


def test_an_engine_is_held_by_its_queue_not_by_the_index():
    nodes = [node(OpType.SDP), node(OpType.SDP, to={OpType.SDP: (0, Event.OP_PROGRAMMED)})]
    nodes[0] = node(OpType.SDP, 1)
    assert order(nodes, heads(sdp=1)) == [[1], [0]]


def test_another_table_is_loaded_only_when_the_engine_is_idle():
    # The second operation is programmed after the first has finished: its event comes too late for the first.
    nodes = [
        node(OpType.SDP, 1, to={OpType.SDP: (1, Event.OP_COMPLETED)}, lut=0),
        node(OpType.SDP, 1, to={OpType.SDP: (0, Event.OP_PROGRAMMED)}, lut=1),
    ]
    nodes[1] = node(OpType.SDP, 1, to={OpType.PDP: (2, Event.OP_PROGRAMMED)}, lut=1)
    nodes.append(node(OpType.PDP, 1, to={OpType.SDP: (0, Event.OP_COMPLETED)}))
    with pytest.raises(XonncError, match="deadlocks"):
        order(nodes, heads(sdp=0, pdp=2))
    nodes[1] = node(OpType.SDP, 1, to={OpType.PDP: (2, Event.OP_PROGRAMMED)}, lut=0)
    assert order(nodes, heads(sdp=0, pdp=2)) == [[2], [0], [1]]


def test_a_queue_that_leads_to_another_engine_is_refused():
    with pytest.raises(
        XonncError, match="the SDP queue contains operation 0, which belongs to another engine"
    ):
        order([node(OpType.PDP)], heads(sdp=0))


def test_a_queue_in_a_circle_is_refused():
    with pytest.raises(XonncError, match="the SDP queue has a cycle at operation 0"):
        order([node(OpType.SDP, to={OpType.SDP: (0, Event.OP_COMPLETED)})], heads(sdp=0))


def test_a_stream_without_a_receiver_is_refused():
    with pytest.raises(XonncError, match="1 CONV operations send on the fly but 0 SDP operations receive"):
        order([node(OpType.CONV, sink=True)], heads(conv=0))


def test_an_event_for_no_operation_is_refused():
    nodes = [node(OpType.SDP, to={OpType.PDP: (7, Event.OP_PROGRAMMED)})]
    with pytest.raises(XonncError, match="the dependency graph names operation 7 of 1"):
        order(nodes, heads(sdp=0))
