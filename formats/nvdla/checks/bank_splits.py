"""Convolutions that may overlap with different bank splits (docs/internals/nvdla-hardware.md §9.2)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from xonnc.formats.nvdla.checks.event_order import EventOrder, Moment
from xonnc.formats.nvdla.checks.problem import Severity, Violation
from xonnc.formats.nvdla.enumerations import OpType
from xonnc.formats.nvdla.records import ConvOp
from xonnc.formats.nvdla.tasks import DlaTask
from xonnc.targets import NvdlaTarget

WARNINGS = {
    "bank-split-waits": (
        "On a target that cannot change the bank split while a convolution runs, a convolution with "
        "another split must depend on OP_COMPLETED of the one before."
    ),
}


def bank_split_problems(task: DlaTask, order: EventOrder, target: NvdlaTarget) -> Iterator[Violation]:
    """Yield a warning for each convolution that may start during one with another bank split."""
    if target.queues_bank_splits:
        return
    for first, second in pairwise(task.queues[OpType.CONV]):
        one, other = task.operations[first].op, task.operations[second].op
        if not isinstance(one, ConvOp) or not isinstance(other, ConvOp):
            continue
        splits = [(op.data_bank, op.weight_bank) for op in (one, other)]
        if splits[0] == splits[1] or order.precedes(first, Moment.COMPLETED, second, Moment.ENABLED):
            continue
        (data, weights), (next_data, next_weights) = splits
        yield Violation(
            f"{task.name} operation {second} (CONV)",
            "bank-split-waits",
            f"{next_data} data and {next_weights} weight banks after operation {first} with {data} and "
            f"{weights}; {target.name} may hang, so wake it by 1 (OP_COMPLETED)",
            Severity.WARNING,
        )
