"""What events and the order of the engines force, on graphs made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xonnc.formats.nvdla.checks.event_order import EventOrder, Moment
from xonnc.formats.nvdla.enumerations import Event, MemoryType, OpType
from xonnc.formats.nvdla.records import (
    CommonOpDesc,
    Consumer,
    ConvOp,
    ConvSurface,
    DataCube,
    Layout,
    NetworkDesc,
    PdpOp,
    PdpSurface,
    SdpOp,
    SdpSubOp,
    SdpSurface,
)
from xonnc.formats.nvdla.tasks import DlaTask, Operation

ON_THE_FLY = DataCube(type=MemoryType.HW)
PARTS = {
    OpType.CONV: (ConvOp(), ConvSurface(dst_data=ON_THE_FLY)),
    OpType.SDP: (SdpOp(), SdpSurface(src_data=ON_THE_FLY)),
    OpType.PDP: (PdpOp(), PdpSurface()),
}
HEADS = (OpType.BDMA, OpType.CONV, OpType.SDP, OpType.PDP, OpType.CDP, OpType.RUBIK)


def task_of(engines: Sequence[OpType], wakes: Mapping[tuple[int, int], Event]) -> DlaTask:
    """A task; `wakes` are (sender, receiver) and the event; SDPs are fused with the operation before."""
    operations: list[Operation] = []
    for index, engine in enumerate(engines):
        consumers = [Consumer()] * len(OpType)
        for (sender, receiver), event in wakes.items():
            if sender == index:
                consumers[engines[receiver]] = Consumer(index=receiver, event=event)
        parent = Consumer(index=index - 1, event=Event.OP_ENABLED) if engine is OpType.SDP else Consumer()
        entry = CommonOpDesc(op_type=engine, consumers=tuple(consumers), fused_parent=parent)
        operations.append(Operation(index, engine, entry, *PARTS[engine]))
    heads = tuple(engines.index(engine) if engine in engines else -1 for engine in HEADS)
    return DlaTask(0, Layout.CUBES_32, (), NetworkDesc(op_head=heads), tuple(operations), ())


PROGRAMMED, COMPLETED = Event.OP_PROGRAMMED, Event.OP_COMPLETED
CHUNKS = task_of(
    (OpType.PDP, OpType.CONV, OpType.SDP, OpType.CONV, OpType.SDP),
    {(0, 1): COMPLETED, (1, 2): PROGRAMMED, (1, 3): PROGRAMMED, (2, 4): PROGRAMMED, (3, 4): PROGRAMMED},
)
"""A pooling, then a convolution in two parts, of which only the first is woken by it."""


def test_later_operations_of_an_engine_wait_behind_the_first_consumer():
    order = EventOrder(CHUNKS)
    assert order.precedes(0, Moment.WRITTEN, 1, Moment.STARTS)
    assert order.precedes(0, Moment.WRITTEN, 3, Moment.STARTS)
    # It may be enabled before, though.
    assert not order.precedes(0, Moment.WRITTEN, 3, Moment.ENABLED)


def test_a_programmed_successor_reads_before_the_first_result_is_written():
    order = EventOrder(CHUNKS)
    assert not order.precedes(2, Moment.WRITTEN, 3, Moment.STARTS)
    waking = task_of(
        (OpType.CONV, OpType.SDP, OpType.CONV, OpType.SDP),
        {(0, 1): PROGRAMMED, (1, 2): COMPLETED, (1, 3): PROGRAMMED, (2, 3): PROGRAMMED},
    )
    assert EventOrder(waking).precedes(1, Moment.WRITTEN, 2, Moment.STARTS)


def test_an_engine_writes_in_the_order_of_its_queue():
    order = EventOrder(CHUNKS)
    assert order.precedes(2, Moment.WRITTEN, 4, Moment.WRITES)
    # What a convolution reads is read when its fused SDP is done, so a later SDP may write over it.
    assert order.precedes(1, Moment.READ, 4, Moment.WRITES)


def test_an_sdp_without_operands_holds_back_no_reader():
    pooled = task_of(
        (OpType.PDP, OpType.CONV, OpType.SDP, OpType.CONV, OpType.SDP),
        {(0, 2): COMPLETED, (1, 2): PROGRAMMED, (2, 4): PROGRAMMED, (3, 4): PROGRAMMED, (1, 3): PROGRAMMED},
    )
    assert not EventOrder(pooled).precedes(0, Moment.WRITTEN, 4, Moment.STARTS)
    fetching = SdpOp(x1_op=SdpSubOp(enable=1, type=2, mode=2))
    operations = [
        replace(operation, op=fetching) if operation.engine is OpType.SDP else operation
        for operation in pooled.operations
    ]
    order = EventOrder(replace(pooled, operations=tuple(operations)))
    assert order.precedes(0, Moment.WRITTEN, 4, Moment.STARTS)


def test_two_register_groups():
    wakes = {(0, 1): PROGRAMMED, (1, 2): PROGRAMMED}
    order = EventOrder(task_of((OpType.PDP, OpType.PDP, OpType.PDP), wakes))
    assert order.precedes(0, Moment.COMPLETED, 2, Moment.PROGRAMMED)
    assert not order.precedes(0, Moment.COMPLETED, 1, Moment.PROGRAMMED)
    assert order.precedes(0, Moment.COMPLETED, 1, Moment.COMPLETED)


def test_moments_come_in_an_order_that_can_happen():
    order = EventOrder(CHUNKS)
    seen: list[tuple[int, Moment]] = list(order.moments())
    assert len(seen) == len(set(seen)) == len(Moment) * len(CHUNKS.operations)
    assert seen.index((0, Moment.COMPLETED)) < seen.index((3, Moment.STARTS))
