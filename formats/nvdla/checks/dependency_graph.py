"""Rules of the dependency graph, and deadlock detection (docs/internals/nvdla-hardware.md §5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xonnc.errors import XonncError
from xonnc.formats.nvdla.checks.problem import Violation, apply
from xonnc.formats.nvdla.enumerations import Event, OpType
from xonnc.formats.nvdla.event_scheduling import Scheduler, graph_node
from xonnc.formats.nvdla.task_graph import (
    FEEDS,
    child_of,
    parent_of,
    reads_on_the_fly,
    source_type,
    writes_on_the_fly,
)
from xonnc.formats.nvdla.tasks import DlaTask, Operation


def graph_problems(task: DlaTask) -> Iterator[Violation]:
    """Yield the problems of a task's graph; deadlocks are looked for only in a well-formed graph."""
    problems = list(apply(GRAPH_RULES, task.name, task))
    yield from problems
    if not problems:
        yield from apply((task_ends,), task.name, task)


def consumers_exist(task: DlaTask) -> Iterator[str]:
    """Slot k of the consumers is -1 or an operation of engine k; its event is a known one."""
    for operation in task.operations:
        for engine, consumer in zip(OpType, operation.dependency.consumers, strict=True):
            if consumer.index == -1:
                continue
            where = f"operation {operation.index} consumers[{engine.name}] {consumer.index}"
            if not 0 <= consumer.index < len(task.operations):
                yield f"{where}; there are {len(task.operations)} operations"
            elif task.operations[consumer.index].engine is not engine:
                yield f"{where}; that operation is for {task.operations[consumer.index].engine.name}"
            elif consumer.index == operation.index:
                yield f"{where}; it is the operation itself"
            if consumer.event not in list(Event):
                yield f"{where} event {consumer.event}; it is 1 to 5"


def heads_begin_queues(task: DlaTask) -> Iterator[str]:
    """
    `op_head` of an engine is -1 or its first operation, from which the consumer slots of the same
    engine reach all others.
    """
    found = task.queues
    for engine in OpType:
        head = task.network.op_head[engine]
        own = [operation.index for operation in task.operations if operation.engine is engine]
        if head != -1 and head not in own:
            yield f"op_head[{engine.name}] {head}; it is -1 or an operation for {engine.name}"
            continue
        missing = sorted(set(own) - set(found[engine]))
        if missing:
            yield (
                f"op_head[{engine.name}] {head}: the queue from there does not lead to operation "
                f"{missing[0]}; every {engine.name} operation is in it"
            )
        last = found[engine][-1] if found[engine] else -1
        if last != -1 and task.operations[last].dependency.consumers[engine].index in found[engine]:
            yield f"op_head[{engine.name}] {head}: the queue from there comes back to itself; -1 ends a queue"


def counts_are_the_events(task: DlaTask) -> Iterator[str]:
    """
    `dependency_count` equals the number of incoming events: if it is lower the operation starts
    early, if higher it hangs.
    """
    arriving = [0] * len(task.operations)
    for operation in task.operations:
        entry = operation.dependency
        for consumer in (*entry.consumers, entry.fused_parent):
            if 0 <= consumer.index < len(arriving):
                arriving[consumer.index] += 1
    for operation, count in zip(task.operations, arriving, strict=True):
        if operation.dependency.dependency_count != count:
            yield (
                f"operation {operation.index} ({operation.engine.name}) dependency_count "
                f"{operation.dependency.dependency_count}; {count} events arrive"
            )


def fused_pairs_know_each_other(task: DlaTask) -> Iterator[str]:
    """
    On-the-fly results go from CONV to SDP or from SDP to PDP: the parent has a consumer event
    OP_PROGRAMMED for the child, the child has the parent as `fused_parent` with event OP_ENABLED.
    """
    for operation in task.operations:
        name = f"operation {operation.index} ({operation.engine.name})"
        fused = operation.dependency.fused_parent
        parent = parent_of(task, operation)
        if fused.index != -1:
            yield from _parent(name, operation, parent)
        if reads_on_the_fly(operation) != (fused.index != -1):
            yield (
                f"{name} src_data type {source_type(operation)} with fused_parent {fused.index}; type 2 "
                "(on the fly) goes with a parent"
            )
        if writes_on_the_fly(operation) and child_of(task, operation) is None:
            yield f"{name} dst_data type 2 (on the fly); no operation has it as its fused_parent"


def _parent(name: str, operation: Operation, parent: Operation | None) -> Iterator[str]:
    fused = operation.dependency.fused_parent
    if parent is None:
        yield f"{name} fused_parent {fused.index}; there is no such operation"
        return
    if fused.event != Event.OP_ENABLED:
        yield f"{name} fused_parent event {fused.event}; it is 3 (OP_ENABLED)"
    if FEEDS.get(parent.engine) is not operation.engine:
        yield f"{name} fused_parent {fused.index} is for {parent.engine.name}; CONV feeds SDP, SDP feeds PDP"
        return
    wake = parent.dependency.consumers[operation.engine]
    if wake.index != operation.index:
        yield f"{name} fused_parent {fused.index}; that operation does not wake it"
    elif wake.event != Event.OP_PROGRAMMED:
        yield f"{name} is woken by its fused_parent's event {wake.event}; it is 2 (OP_PROGRAMMED)"
    if not writes_on_the_fly(parent):
        yield f"{name} fused_parent {fused.index}; that operation writes to memory"


GRAPH_RULES = (consumers_exist, heads_begin_queues, counts_are_the_events, fused_pairs_know_each_other)


def task_ends(task: DlaTask) -> Iterator[str]:
    """
    Every operation is programmed, enabled and completed in a simulation of the firmware's event
    counting.
    """
    nodes = [graph_node(operation) for operation in task.operations]
    try:
        Scheduler(nodes, task.network.op_head, task.name).run(_done_at_once)
    except XonncError as error:
        yield str(error).removeprefix(task.name).lstrip(": ")


def _done_at_once(chain: Sequence[int]) -> None:
    """Do nothing: only the scheduling is checked."""
