"""Observers for onnx-mlir's options: names of passes as they start, memory around some of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.analyses import SharedAnalyses, kept_by, needed_by
from xonnc.tools.console import size
from xonnc.tools.instrumentation import pool_of
from xonnc.tools.rule_tracing import trace_rules

_STATUS = Path("/proc/self/status")


@dataclass
class PassAnnouncer:
    """Prints the name of each pass as it starts (`-v`)."""

    tool: str

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Print the name of the pass."""
        print(f"{self.tool}: {pass_.pipeline_pass_spec()}", file=sys.stderr)

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Do nothing."""


@dataclass
class PassDebugger:
    """Tells what some passes do (`--debug-only`): attempts of rules, and how many ops of each kind change."""

    names: Sequence[str]
    _attempts: ExitStack = field(default_factory=ExitStack, init=False)
    _ops: Counter[str] = field(default_factory=Counter[str], init=False)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Begin to tell of attempts of rules, and count ops."""
        if pass_.name in self.names:
            self._ops = _count_by_name(module)
            self._attempts.enter_context(trace_rules(["*"], warns=False))

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Stop, and print what has become more and what fewer."""
        if pass_.name not in self.names:
            return
        self._attempts.close()
        after = _count_by_name(module)
        names = sorted({*self._ops, *after})
        changes = [
            f"{name} {after[name] - self._ops[name]:+}" for name in names if after[name] != self._ops[name]
        ]
        counts = f"{self._ops.total()} -> {after.total()} ops"
        print(f"{pass_.name}: {', '.join([counts, *changes])}", file=sys.stderr)


def _count_by_name(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())


@dataclass
class AnalysisObserver:
    """Drops the analyses that a pass does not keep; prints the passes in order (`--print-pass-order`)."""

    shared: SharedAnalyses
    prints: bool
    number: int = 0
    computed: int = 0

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Count the pass, and what was computed before it."""
        self.number += 1
        self.computed = len(self.shared.computed)

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Print what the pass did with analyses."""
        computed = self.shared.computed[self.computed :]
        reused = [kind for kind in needed_by(pass_) if kind not in computed]
        done = {
            "computes": computed,
            "reuses": reused,
            "keeps": kept_by(pass_),
            "drops": self.shared.finish(pass_),
        }
        effects = [
            f"{verb} {', '.join(kind.__name__ for kind in dict.fromkeys(kinds))}"
            for verb, kinds in done.items()
            if kinds
        ]
        if self.prints:
            print(f"{self.number}. {pass_.name}: {', '.join(effects) or 'no analyses'}", file=sys.stderr)


@dataclass
class HeapReporter:
    """Prints memory before and after some passes (`--report-heap-before`, `--report-heap-after`)."""

    ctx: Context
    before_passes: tuple[str, ...]
    after_passes: tuple[str, ...]

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Print the memory if requested."""
        if pass_.name in self.before_passes:
            self._report("before", pass_)

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Print the memory if requested."""
        if pass_.name in self.after_passes:
            self._report("after", pass_)

    def _report(self, when: str, pass_: ModulePass) -> None:
        pool = pool_of(self.ctx)
        constants = size(pool.live_bytes) if pool is not None else "none"
        resident = resident_bytes()
        process = f"{size(resident)} resident, " if resident is not None else ""
        print(f"heap {when} {pass_.name}: {process}constants {constants}", file=sys.stderr)


def resident_bytes() -> int | None:
    """Return the resident memory of this process; `None` if the system does not report it."""
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return None
