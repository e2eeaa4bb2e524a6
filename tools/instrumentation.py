"""What happens around passes: collecting constants, verifying, measuring, printing."""

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
    """Hears of each pass before and after it runs."""

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """The pass is about to run."""
        ...

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """The pass has run."""
        ...


def instrumented(passes: Sequence[ModulePass], observers: Sequence[PassObserver]) -> PassPipeline:
    """A pipeline that tells observers of each pass, in order; of its end in the opposite order."""

    def callback(previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
        if previous is not None:
            for observer in reversed(observers):
                observer.after(previous, module)
        if following is not None:
            for observer in observers:
                observer.before(following, module)

    return PassPipeline(tuple(passes), callback)


def pool_of(ctx: Context) -> DisposablePool | None:
    """The pool of constants of a context, if its onnx dialect was ever needed."""
    if all(dialect.name != "onnx" for dialect in ctx.loaded_dialects):
        return None
    from xonnc.dialects.onnx.elements.pool import DisposablePool

    return next(
        (pool for dialect in ctx.loaded_dialects if (pool := dialect.get_interface(DisposablePool))), None
    )


@dataclass
class ConstantCollector:
    """Frees after each pass the constants that no op holds any more."""

    ctx: Context

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Nothing dies before a pass."""

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Collects."""
        if (pool := pool_of(self.ctx)) is not None:
            pool.collect([module])


@dataclass
class PassRecord:
    """What one run of a pass did."""

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
    """Measures each pass; placed last, it measures the pass alone, and sees the pool before the collector."""

    ctx: Context
    ledger: Ledger
    records: list[PassRecord] = field(default_factory=list[PassRecord])
    _rules: dict[str, int] = field(default_factory=dict[str, int], init=False)
    _freed: int = field(default=0, init=False)
    _begun: float = field(default=0.0, init=False)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Notes what there is and starts the clock."""
        self._rules = dict(self.ledger.counts.get(pass_.name, {}))
        self._freed = 0
        if (pool := pool_of(self.ctx)) is not None:
            pool.reset_peak()
            self._freed = pool.freed_bytes
        self.records.append(PassRecord(pass_.name, ops_before=_count(module)))
        self._begun = time.perf_counter()

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Stops the clock and notes what there is now."""
        record = self.records[-1]
        record.seconds = time.perf_counter() - self._begun
        record.ops_after = _count(module)
        fired = dict(self.ledger.counts.get(pass_.name, {}))
        counts = {rule: count - self._rules.get(rule, 0) for rule, count in fired.items()}
        record.rules = {rule: count for rule, count in counts.items() if count}

    def record_pool(self) -> None:
        """Notes what the pool holds after collection."""
        if self.records and (pool := pool_of(self.ctx)) is not None:
            record = self.records[-1]
            record.live_bytes, record.peak_bytes = pool.live_bytes, pool.peak_bytes
            record.freed_bytes = pool.freed_bytes - self._freed


@dataclass
class PoolRecorder:
    """Lets a recorder look at the pool once more; placed first, it hears of the end after the collector."""

    recorder: PassRecorder

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Nothing to note yet."""

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Notes what is left."""
        self.recorder.record_pool()


@dataclass
class IrTree:
    """The directory of `--mlir-print-ir-tree-dir`: a file for each print, numbered, as MLIR names them."""

    directory: Path
    _count: int = field(default=0, init=False)

    def write(self, pass_name: str, text: str) -> None:
        """Writes the next file."""
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
    """Where to print; standard error without it."""
    _last: str = field(default="", init=False)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Prints what goes into the pass."""
        if self.only_changes:
            self._last = self._text(module)
        if self.printed_before is None or pass_.name in self.printed_before:
            self._print("Before", pass_, self._text(module))

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Prints what came out."""
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
    """Seconds and share of each pass, the slowest first."""
    records = list(records)
    total = sum(record.seconds for record in records)
    lines = [f"===- pass timing: {total:.4f} s -==="]
    for record in sorted(records, key=lambda record: -record.seconds):
        share = 100 * record.seconds / total if total else 0.0
        lines.append(f"  {record.seconds:9.4f} s  {share:5.1f} %  {record.name}")
    return "\n".join(lines)


def statistics_report(records: Iterable[PassRecord]) -> str:
    """A row a pass: time, ops, constants; below it the rules that fired."""
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
    """The same for machines: `{"passes": [{"name": …, "seconds": …, …}]}`."""
    return json.dumps({"passes": [asdict(record) for record in records]}, indent=2) + "\n"


def _count(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk()) - 1
