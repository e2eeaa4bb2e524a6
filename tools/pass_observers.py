"""Observers for onnx-mlir's options: which pass begins, and what memory is held around some."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.tools.console import size
from xonnc.tools.instrumentation import pool_of

_STATUS = Path("/proc/self/status")


@dataclass
class PassAnnouncer:
    """Tells each pass as it begins (`-v`)."""

    tool: str

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Tells the pass."""
        print(f"{self.tool}: {pass_.pipeline_pass_spec()}", file=sys.stderr)

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Has nothing to tell."""


@dataclass
class HeapReporter:
    """Tells the memory held before and after some passes (`--report-heap-before`, `--report-heap-after`)."""

    ctx: Context
    before_passes: tuple[str, ...]
    after_passes: tuple[str, ...]

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Tells it if asked to."""
        if pass_.name in self.before_passes:
            self._report("before", pass_)

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Tells it if asked to."""
        if pass_.name in self.after_passes:
            self._report("after", pass_)

    def _report(self, when: str, pass_: ModulePass) -> None:
        pool = pool_of(self.ctx)
        constants = size(pool.live_bytes) if pool is not None else "none"
        held = resident_bytes()
        process = f"{size(held)} resident, " if held is not None else ""
        print(f"heap {when} {pass_.name}: {process}constants {constants}", file=sys.stderr)


def resident_bytes() -> int | None:
    """The memory of this process; `None` where the system does not tell."""
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return None
