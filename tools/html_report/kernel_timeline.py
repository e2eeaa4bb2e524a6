"""The timeline of a run of native code: its kernels, one after another."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.runtime.native.roofline import LeastTime
from xonnc.runtime.native.step_report import ProfileLine
from xonnc.tools.html_report.document import Task


def kernel_tasks(lines: Sequence[ProfileLine], least: Sequence[LeastTime]) -> tuple[Task, ...]:
    """Return the steps of a run one after another, in microseconds."""
    tasks: list[Task] = []
    begin = 0.0
    for line, bound in zip(lines, least, strict=True):
        end = begin + line.microseconds
        tasks.append(
            Task(
                line.kernel or line.node,
                line.where if line.where != "native" else "CPU",
                begin,
                begin,
                end,
                line.microseconds,
                bound.bound,
                round(line.multiplications),
                line.read_bytes + line.written_bytes,
                line.node,
            )
        )
        begin = end
    return tuple(tasks)
