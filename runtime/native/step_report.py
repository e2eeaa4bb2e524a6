"""The steps of a run of a compiled model: where each ran, how long it took, and its work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from xonnc.formats.native.program import HostStep, NativeStep, SessionStep
from xonnc.runtime.native.instance import Instance


@dataclass(frozen=True)
class ReportLine:
    """
    The engine of a step: `native` kernels, an operator of the `session`, or one on the `host`, with the
    reason.

    A step of the session is followed by the steps of its bodies.
    """

    where: str
    what: str
    node: str
    reason: str
    seconds: float
    """Duration in the last run."""
    read_bytes: int = 0
    """Size of the buffers that a kernel of a profile read in the last run."""
    written_bytes: int = 0
    is_int8: bool = False
    """Whether it reads 8-bit integers."""
    nodes: Sequence[str] = ()
    """The nodes that a kernel of a profile computes, the last one first."""


MOVEMENTS = (
    "block",
    "columns",
    "copy",
    "fill",
    "gather",
    "int8_to_",
    "ones",
    "pack",
    "pad",
    "slice",
    "split",
    "state",
    "transpose",
    "unblock",
)
"""How names of kernels begin that move data: they read no more than they write, and multiply nothing."""

BORDERS = "halo"
"""How names of kernels begin that write the border of a buffer alone."""


INT8 = (np.dtype(np.int8), np.dtype(np.uint8))


def _moved_bytes(step: NativeStep, instance: Instance) -> tuple[int, int]:
    """Return the bytes that a step reads and writes, each buffer once; nothing if only parts are accessed."""
    read, written = (
        sum(instance.bytes_of(index) for index in set(indices)) for indices in (step.reads, step.writes)
    )
    kernel = " ".join(step.kernels)
    if kernel.startswith(BORDERS):
        return 0, 0
    return (min(read, written) if kernel.startswith(MOVEMENTS) else read), written


def report_lines(instance: Instance) -> list[ReportLine]:
    """Return the steps of a program, with their durations in the last run."""
    lines: list[ReportLine] = []
    for number, (step, seconds) in enumerate(zip(instance.program.steps, instance.seconds, strict=True)):
        match step:
            case NativeStep():
                name = " ".join(step.kernels)
                read, written = _moved_bytes(step, instance) if seconds else (0, 0)
                dtypes = [instance.program.values[index].dtype for index in step.reads]
                is_int8 = any(dtype is not None and dtype in INT8 for dtype in dtypes)
                lines.append(
                    ReportLine("native", name, step.node, "", seconds, read, written, is_int8, step.nodes)
                )
            case HostStep():
                lines.append(ReportLine("host", step.operator, step.node, step.reason, seconds))
            case SessionStep():
                lines.append(ReportLine("session", step.operator, step.node, "", seconds))
                for body in instance.bodies[number]:
                    lines += report_lines(body)
    return lines


def _moves_data(line: ReportLine) -> bool:
    return line.what.startswith((*MOVEMENTS, BORDERS))


@dataclass(frozen=True)
class ProfileLine:
    """
    A step of a run: the ONNX node, the kernel, where it ran, its duration and its work.

    A kernel reads and writes the bytes of its buffers, each once. Multiplications are those of the node by
    the operator's definition, whatever algorithm the kernel uses; several kernels of a node share them in
    proportion to their time.
    """

    node: str
    kernel: str
    where: str
    microseconds: float
    multiplications: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    is_int8: bool = False

    @property
    def gflops(self) -> float:
        """10⁹ operations in a second; a multiply-add counts as two."""
        return 2e-3 * self.multiplications / self.microseconds if self.microseconds else 0.0

    @property
    def gb_per_s(self) -> float:
        """10⁹ bytes in a second, read or written."""
        moved = self.read_bytes + self.written_bytes
        return 1e-3 * moved / self.microseconds if self.microseconds else 0.0


def profile_lines(lines: Sequence[ReportLine], work: Mapping[str, int]) -> list[ProfileLine]:
    """Return the profile of a run from its steps, and the multiplications of each node."""
    seconds: dict[str, float] = {}
    for line in lines:
        for node in () if _moves_data(line) else line.nodes:
            seconds[node] = seconds.get(node, 0.0) + line.seconds
    return [
        ProfileLine(
            line.node,
            re.sub(r"_\d+$", "", line.what),
            line.where,
            line.seconds * 1e6,
            0.0
            if _moves_data(line) or not line.seconds
            else sum(work.get(node, 0) * line.seconds / seconds[node] for node in line.nodes),
            line.read_bytes,
            line.written_bytes,
            line.is_int8,
        )
        for line in lines
    ]
