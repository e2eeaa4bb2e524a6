"""Pass instrumentation: free unused constants, verify, measure, print IR."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline

from xonnc.dialects.onnx.assembly import OnnxPrinter
from xonnc.errors import XonncError
from xonnc.rewriting.statistics import Ledger
from xonnc.tools.console import size

if TYPE_CHECKING:
    from xonnc.dialects.onnx.elements.pool import DisposablePool


class PassObserver(Protocol):
    """An observer that is called before and after each pass."""

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Handle the start of a pass."""
        ...

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Handle the end of a pass."""
        ...


def instrumented(passes: Sequence[ModulePass], observers: Sequence[PassObserver]) -> PassPipeline:
    """Return a pipeline that notifies observers of each pass: at its start in order, at its end reversed."""

    def callback(previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
        if previous is not None:
            for observer in reversed(observers):
                observer.after(previous, module)
        if following is not None:
            for observer in observers:
                observer.before(following, module)

    return PassPipeline(tuple(passes), callback)


def pool_of(ctx: Context) -> DisposablePool | None:
    """Return the constant pool of a context, if its onnx dialect was loaded."""
    if all(dialect.name != "onnx" for dialect in ctx.loaded_dialects):
        return None
    from xonnc.dialects.onnx.elements.pool import DisposablePool

    return next(
        (pool for dialect in ctx.loaded_dialects if (pool := dialect.get_interface(DisposablePool))), None
    )


@dataclass
class ConstantCollector:
    """Frees unused constants after each pass."""

    ctx: Context

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Do nothing."""

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Free unused constants."""
        if (pool := pool_of(self.ctx)) is not None:
            pool.collect([module], rescan=False)


@dataclass
class PassRecord:
    """Measurements of one run of a pass."""

    name: str
    seconds: float = 0.0
    ops_before: int = 0
    ops_after: int = 0
    rules: dict[str, int] = field(default_factory=dict[str, int])
    live_bytes: int = 0
    peak_bytes: int = 0
    freed_bytes: int = 0


@dataclass
class PassRecorder:
    """Measures each pass; as the last observer, it excludes others, and sees the pool before collection."""

    ctx: Context
    ledger: Ledger
    records: list[PassRecord] = field(default_factory=list[PassRecord])
    _rules: dict[str, int] = field(default_factory=dict[str, int], init=False)
    _freed: int = field(default=0, init=False)
    _begun: float = field(default=0.0, init=False)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Record ops and memory, and start the clock."""
        self._rules = dict(self.ledger.counts.get(pass_.name, {}))
        self._freed = 0
        if (pool := pool_of(self.ctx)) is not None:
            pool.reset_peak()
            self._freed = pool.freed_bytes
        self.records.append(PassRecord(pass_.name, ops_before=_count(module)))
        self._begun = time.perf_counter()

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Stop the clock, and record ops and memory."""
        record = self.records[-1]
        record.seconds = time.perf_counter() - self._begun
        record.ops_after = _count(module)
        fired = dict(self.ledger.counts.get(pass_.name, {}))
        counts = {rule: count - self._rules.get(rule, 0) for rule, count in fired.items()}
        record.rules = {rule: count for rule, count in counts.items() if count}

    def record_pool(self) -> None:
        """Record the pool's statistics after collection."""
        if self.records and (pool := pool_of(self.ctx)) is not None:
            record = self.records[-1]
            record.live_bytes, record.peak_bytes = pool.live_bytes, pool.peak_bytes
            record.freed_bytes = pool.freed_bytes - self._freed


@dataclass
class PoolRecorder:
    """Records the pool after collection; it is the first observer, so its `after` is called last."""

    recorder: PassRecorder

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Do nothing."""

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Record the pool."""
        self.recorder.record_pool()


@dataclass
class IrTree:
    """The directory of `--mlir-print-ir-tree-dir`: a file for each print, numbered, as MLIR names them."""

    directory: Path
    _count: int = field(default=0, init=False)

    def write(self, pass_name: str, text: str) -> None:
        """Write the next file."""
        folder = self.directory / "builtin_module_no-symbol-name"
        path = folder / f"{self._count}_{pass_name}.mlir"
        self._count += 1
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise XonncError(f"{path}: cannot be written: {error.strerror}") from None


@dataclass
class IrPrinter:
    """Prints the module around passes, as MLIR does; `None` means every pass."""

    printed_before: frozenset[str] | None
    printed_after: frozenset[str] | None
    only_changes: bool
    elide_larger: int | None
    debuginfo: bool
    local_scope: bool = False
    tree: IrTree | None = None
    """The output stream; standard error by default."""
    _last: str = field(default="", init=False)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Print the IR before the pass."""
        if self.only_changes:
            self._last = self._text(module)
        if self.printed_before is None or pass_.name in self.printed_before:
            self._print("Before", pass_, self._text(module))

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Print the IR after the pass."""
        if self.printed_after is not None and pass_.name not in self.printed_after:
            return
        text = self._text(module)
        if not self.only_changes or text != self._last:
            self._print("After", pass_, text)

    def _print(self, when: str, pass_: ModulePass, text: str) -> None:
        title = f"IR Dump {when} {type(pass_).__name__} ({pass_.name})"
        dump = f"// -----// {title} //----- //\n{text}\n"
        if self.tree is None:
            print(dump, file=sys.stderr)
        else:
            self.tree.write(pass_.name, dump)

    def _text(self, module: ModuleOp) -> str:
        stream = StringIO()
        printer = OnnxPrinter(
            stream=stream,
            elide_larger=self.elide_larger,
            print_debuginfo=self.debuginfo,
            local_scope=self.local_scope,
        )
        printer.print_op(module)
        return stream.getvalue()


def timing_report(records: Iterable[PassRecord]) -> str:
    """Return time and percentage of each pass, the slowest first."""
    records = list(records)
    total = sum(record.seconds for record in records)
    lines = [f"===- pass timing: {total:.4f} s -==="]
    for record in sorted(records, key=lambda record: -record.seconds):
        share = 100 * record.seconds / total if total else 0.0
        lines.append(f"  {record.seconds:9.4f} s  {share:5.1f} %  {record.name}")
    return "\n".join(lines)


def statistics_report(records: Iterable[PassRecord]) -> str:
    """Return a row per pass (time, ops, constants), and below it the rules that were applied."""
    lines = [
        "pass                           time         ops           constants: live       peak      freed"
    ]
    for record in records:
        ops = f"{record.ops_before} -> {record.ops_after}"
        figures = "".join(
            f"{size(count):>11}" for count in (record.live_bytes, record.peak_bytes, record.freed_bytes)
        )
        lines.append(f"{record.name:<26} {record.seconds * 1000:9.1f} ms  {ops:<22}{figures}")
        fired = sorted(record.rules.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"  {count:>6} x {rule}" for rule, count in fired]
    return "\n".join(lines)


def statistics_json(records: Iterable[PassRecord]) -> str:
    """Return the statistics as JSON: `{"passes": [{"name": …, "seconds": …, …}]}`."""
    return json.dumps({"passes": [asdict(record) for record in records]}, indent=2) + "\n"


def _count(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk()) - 1
