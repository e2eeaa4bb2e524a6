"""`onnx-opt`: passes on IR text, with the manners of `mlir-opt`."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from importlib.metadata import version
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException
from xdsl.xdsl_opt_main import xDSLOptMain

from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.input_files import record_input
from xonnc.passes import PASSES
from xonnc.passes import pass_factories as own_passes
from xonnc.rewriting.analyses import sharing_analyses
from xonnc.rewriting.remarks import Remark, listening
from xonnc.rewriting.statistics import collecting
from xonnc.tools.diagnostics import Diagnostic, error_diagnostics, remark_diagnostic, verify
from xonnc.tools.expectations import unmet_expectations
from xonnc.tools.files import require_output
from xonnc.tools.instrumentation import (
    ConstantCollector,
    IrPrinter,
    IrTree,
    PassObserver,
    PassRecord,
    PassRecorder,
    PoolRecorder,
    instrumented,
    statistics_json,
    statistics_report,
    timing_report,
)
from xonnc.tools.ir_text import make_ir_parser, parse_ir
from xonnc.tools.nested_passes import pipeline_text
from xonnc.tools.opt_arguments import add_arguments, make_parser
from xonnc.tools.pass_flags import ALIASES, make_pass, split_pass_flags, suggest_pass
from xonnc.tools.pass_observers import AnalysisObserver, HeapReporter, PassAnnouncer, PassDebugger
from xonnc.tools.peer_settings import take_peer_flags
from xonnc.tools.plugin_options import take_plugin_options
from xonnc.tools.process import Exit, run
from xonnc.tools.roundtrip import roundtrip_errors
from xonnc.tools.rule_tracing import trace_rules
from xonnc.tools.signature_options import signature_of
from xonnc.tools.universe import installed_dialects
from xonnc.tools.usage import UsageError
from xonnc.transforms.op_counts import as_json, as_table, op_counts

SEPARATOR = "// -----"


class PassError(XonncError):
    """A pass that refused the module, or left one that does not verify."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))


@cache
def universe() -> Universe:
    """Dialects, passes and targets of xDSL, ours and all that are installed."""
    found = Universe.get_multiverse()
    return Universe(
        all_dialects=installed_dialects(),
        all_passes={**found.all_passes, **own_passes()},
        all_targets=found.all_targets,
    )


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """The passes of everything installed; `canonicalize` does ours too, as in onnx-mlir."""
    return {**universe().all_passes, "canonicalize": _canonicalize}


class OnnxOptMain(xDSLOptMain):
    """The tool; `stdin` gives the text if no file is named."""

    def __init__(self, args: Sequence[str], stdin: Callable[[], bytes]) -> None:
        self.stdin = stdin
        self.records: list[PassRecord] = []
        parser = make_parser()
        options = add_arguments(parser)
        self.peer, rest = take_peer_flags(
            [_positive(argument) for argument in args], "onnx-opt", {*universe().all_passes, *options}
        )
        self.signature = signature_of(self.peer)
        flags = split_pass_flags(rest, universe().all_passes, options)
        self.argv = list(args)
        # Wrong options are found here: xDSL's driver would end the process.
        target = parser.parse_args(flags.rest).target.partition("{")[0]
        if target not in universe().all_targets:
            raise UsageError(f"no target '{target}'{suggest_pass(target, universe().all_targets)}")
        super().__init__("Runs passes on IR.", flags.rest)
        self.passes: list[ModulePass] = [
            make_pass(spec, self.available_passes) for spec in self.peer.for_passes(flags.passes)
        ]
        self.heap_before, self.heap_after = (
            tuple(ALIASES.get(name, name) for name in self.peer.names(f"report-heap-{when}"))
            for when in ("before", "after")
        )
        asked: list[str] = [name for names in self.args.debug_only for name in names.split(",")]
        self.debugged = [ALIASES.get(name, name) for name in asked]
        running = [each.name for each in self.passes]
        for name in self.debugged:
            if name not in running:
                raise UsageError(f"--debug-only: pass '{name}' does not run{suggest_pass(name, running)}")
        directory = self.args.mlir_print_ir_tree_dir
        self.tree = None if directory is None else IrTree(Path(directory))
        watched = (*self.args.print_ir_before, *self.args.print_ir_after, *self.heap_before, *self.heap_after)
        for name in _named(watched):
            if name not in self.available_passes:
                raise UsageError(f"no pass '{name}'{suggest_pass(name, self.available_passes)}")

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """Options, passes apart."""
        # It has a `--help` of its own, which would end the process.
        arg_parser.conflict_handler = "resolve"
        add_arguments(arg_parser)

    def register_all_dialects(self) -> None:
        """Dialects of everything installed, loaded when needed."""
        for name, factory in universe().all_dialects.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        """Passes of everything installed."""
        self.available_passes.update(pass_factories())

    def register_all_targets(self) -> None:
        """Targets of everything installed."""
        self.available_targets.update(universe().all_targets)

    def register_all_frontends(self) -> None:
        """IR text is read by `OnnxParser` alone."""

    def setup_pipeline(self) -> None:
        """The pipeline is made for each module, since it watches the module's context."""

    def run(self) -> None:
        """The whole work; raises `SystemExit` with the exit code unless all went well."""
        if (code := self.work()) != Exit.DONE:
            raise SystemExit(code)

    def work(self) -> int:
        """The whole work; gives the exit code."""
        if self.args.help:
            parser = make_parser()
            add_arguments(parser)
            print(parser.format_help(), end="")
            return Exit.DONE
        if self.args.version:
            print(f"onnx-opt {version('xonnc')} (xdsl {version('xdsl')}, onnx {version('onnx')})")
            return Exit.DONE
        if self.args.help_passes:
            print(pass_list(self.available_passes))
            return Exit.DONE
        if self.args.show_dialects:
            print(f"Available Dialects: {', '.join(sorted(universe().all_dialects))}")
            return Exit.DONE
        if self.args.dump_pass_pipeline:
            print(f"Pass Manager with {len(self.passes)} passes:", file=sys.stderr)
            print(pipeline_text(self.passes), file=sys.stderr)
        text = self.read()
        for name, ending in ((self.args.output_file, ".mlir"), (self.args.stats_json, ".json")):
            if name not in (None, "-"):
                require_output(Path(name), (ending,), takes_others=True)
        with self.output() as stream:
            failures = sum([not done for done in self.process_chunks(text, stream)])
            if failures:
                raise _Failed
        self.report()
        return Exit.DONE

    def read(self) -> str:
        """The input; `XonncError` if it is no text."""
        name = self.get_input_name()
        named = self.args.input_file not in (None, "-")
        if named:
            record_input(Path(name))
        data = Path(name).read_bytes() if named else self.stdin()
        if name.endswith((".onnx", ".onnxtxt", ".json", ".nvdla")):
            raise XonncError(
                f"{name}: not IR text; translate it first: onnx-translate {shlex.quote(name)} -o model.mlir"
            )
        try:
            return data.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise XonncError(
                f"{name}: no IR text: byte {error.start} is {data[error.start]:#04x}, which is not UTF-8"
            ) from error

    def get_input_name(self) -> str:
        """The name of the input in messages."""
        return "<stdin>" if self.args.input_file in (None, "-") else self.args.input_file

    @contextmanager
    def output(self) -> Generator[IO[str]]:
        """Open standard output, or a file that appears only when all is written."""
        name = self.args.output_file
        if name in (None, "-"):
            yield sys.stdout
            sys.stdout.flush()
            return
        with atomic_write(Path(name)) as file, TextIOWrapper(file, encoding="utf-8") as text:
            yield text

    def process_chunks(self, text: str, stream: IO[str]) -> Generator[bool]:
        """Process the chunks of the input; yield for each whether it had no errors."""
        parts = text.split(SEPARATOR) if self.args.split_input_file else [text]
        line = 0
        for index, part in enumerate(parts):
            if index:
                stream.write(f"{SEPARATOR}\n")
                self.ctx = Context()
                self.register_all_dialects()
                self.ctx.allow_unregistered = self.args.allow_unregistered_dialect
            # Empty lines in front keep the line numbers in messages those of the whole file.
            yield self.process_module("\n" * line + part, stream)
            line += part.count("\n")

    def process_module(self, text: str, stream: IO[str]) -> bool:
        """Parse, transform and print one module, report its errors, and return whether there were none."""
        produced: list[Diagnostic] = []
        remarks: list[Diagnostic] = []
        module = self.parse_and_transform(text, produced, remarks)
        if self.args.verify_diagnostics:
            problems = unmet_expectations(text, [*remarks, *produced], self.get_input_name())
        else:
            problems = [diagnostic.text(text) for diagnostic in produced]
        for problem in problems:
            print(problem, file=sys.stderr)
        if problems:
            return False
        if module is not None:
            self.print_module(module, stream)
        return True

    def parse_and_transform(
        self, text: str, produced: list[Diagnostic], remarks: list[Diagnostic]
    ) -> ModuleOp | None:
        """
        Return the module after all passes, or `None`, with the errors in `produced`.

        Warnings and remarks are printed at once, or added to `remarks` if they are to be verified.
        """
        name = self.get_input_name()
        parser = make_ir_parser(self.ctx, text, name)
        if isinstance(parser, Diagnostic):
            produced.append(parser)
            return None
        module = parse_ir(parser, text, name, not self.args.no_implicit_module)
        if isinstance(module, Diagnostic):
            produced.append(module)
            return None
        produced += verify(module, parser, name, not self.args.verify_diagnostics)
        if not produced and self.args.verify_roundtrip:
            produced += roundtrip_errors(self.ctx, module, name)
        if produced:
            return None
        try:
            with self.reported_remarks(parser, text, remarks):
                self.set_signature(module)
                self.apply(module, parser, text)
        except PassError as error:
            produced += error.diagnostics
        except XonncError as error:
            produced += error_diagnostics(error, parser, name)
        except DiagnosticException as error:
            produced.append(Diagnostic("error", " ".join(str(error).split()), name))
        return None if produced else module

    @contextmanager
    def reported_remarks(self, parser: OnnxParser, text: str, remarks: list[Diagnostic]) -> Generator[None]:
        """Report the warnings and remarks of passes, and matches of traced rules."""

        def report(remark: Remark) -> None:
            diagnostic = remark_diagnostic(remark, parser, self.get_input_name())
            if self.args.verify_diagnostics:
                remarks.append(diagnostic)
            else:
                print(diagnostic.text(text), file=sys.stderr)

        with listening(report), trace_rules(self.args.debug_rules):
            yield

    def set_signature(self, module: ModuleOp) -> None:
        """Set the shapes and names of inputs that options give."""
        if self.signature is not None:
            from xonnc.transforms.models.signatures import set_signature

            set_signature(module, self.signature)

    def apply(self, module: ModuleOp, parser: OnnxParser, text: str) -> None:
        """Run the passes."""
        with collecting() as ledger, sharing_analyses() as shared:
            recorder = PassRecorder(self.ctx, ledger)
            verifier = Verifier(self, parser)
            observers: list[PassObserver] = [
                self.ir_printer(),
                *([] if self.args.no_verify_each else [verifier]),
                PoolRecorder(recorder),
                ConstantCollector(self.ctx),
                *([PassAnnouncer("onnx-opt")] if self.peer.on("v") else []),
                PassDebugger(self.debugged),
                AnalysisObserver(shared, self.args.print_pass_order),
                HeapReporter(self.ctx, self.heap_before, self.heap_after),
                *([recorder] if self.measures else []),
            ]
            with self.reproducing(text):
                instrumented(self.passes, observers).apply(self.ctx, module)
            self.records += recorder.records

    @property
    def measures(self) -> bool:
        """Whether passes are measured, for their time or statistics."""
        return bool(self.timing or self.args.stats or self.args.stats_json)

    @property
    def timing(self) -> bool:
        """Whether the time of each pass is reported, under the name of either compiler."""
        return self.args.timing or self.peer.on("enable-timing")

    def ir_printer(self) -> IrPrinter:
        """Return the callbacks that print the module around passes, from the options."""
        return IrPrinter(
            None if self.args.print_ir_before_all else _named(self.args.print_ir_before),
            None
            if self.args.print_ir_after_all or self.args.print_ir_after_change
            else _named(self.args.print_ir_after),
            self.args.print_ir_after_change,
            self.args.mlir_elide_elementsattrs_if_larger,
            self.args.mlir_print_debuginfo,
            self.args.mlir_print_local_scope,
            self.tree,
        )

    @contextmanager
    def reproducing(self, text: str) -> Generator[None]:
        """Write a reproducer if a pass raises an unexpected exception."""
        try:
            yield
        except (DiagnosticException, XonncError):
            self.write_reproducer(text)
            raise
        except Exception as error:
            self.write_reproducer(text)
            command = shlex.join(["onnx-opt", *(f"--{spec}" for spec in map(str, self.passes))])
            with tempfile.NamedTemporaryFile(
                "w", prefix="onnx-opt-bug-", suffix=".mlir", delete=False, encoding="utf-8"
            ) as file:
                trace = "".join(traceback.format_exception(error))
                file.write(f"// {command}\n// {shlex.join(['onnx-opt', *self.argv])}\n")
                file.write(f"// xonnc {version('xonnc')}, xdsl {version('xdsl')}\n")
                file.writelines(f"// {line}\n" for line in trace.splitlines())
                file.write(text)
            print(f"onnx-opt: the input of the failing pipeline is kept in {file.name}", file=sys.stderr)
            raise

    def write_reproducer(self, text: str) -> None:
        """Write the input and the pipeline to a file, as `--mlir-pass-pipeline-crash-reproducer` asks for."""
        name = self.args.mlir_pass_pipeline_crash_reproducer
        if name is None:
            return
        command = shlex.join(["onnx-opt", name, f"--pass-pipeline={pipeline_text(self.passes)}"])
        with atomic_write(Path(name)) as file:
            file.write(f"// configuration: {command}\n{text.lstrip()}".encode())
        print(f"onnx-opt: {name} has the input of the failing pipeline", file=sys.stderr)

    def print_module(self, module: ModuleOp, stream: IO[str]) -> None:
        """Print the module, and counts of its ops if an option asks for them."""
        if (form := self.peer.text("onnx-op-stats")) is not None:
            counts = op_counts(module)
            print(as_json(counts) if form == "JSON" else as_table(counts), file=sys.stderr)
        if self.args.target != "mlir":
            stream.write(self.output_resulting_program(module))
            return
        printer = OnnxPrinter(
            stream=stream,
            print_generic_format=self.args.mlir_print_op_generic,
            number_disposables=self.args.mlir_print_op_generic,
            print_debuginfo=self.args.mlir_print_debuginfo,
            elide_larger=self.args.mlir_elide_elementsattrs_if_larger,
            hex_larger=self.args.mlir_print_elementsattrs_with_hex_if_larger,
            local_scope=self.args.mlir_print_local_scope,
        )
        printer.print_op(module)
        stream.write("\n")

    def report(self) -> None:
        """Print or write the measurements of passes that options ask for."""
        if self.timing:
            print(timing_report(self.records), file=sys.stderr)
        if self.args.stats:
            print(statistics_report(self.records), file=sys.stderr)
        if self.args.stats_json:
            with atomic_write(Path(self.args.stats_json)) as file:
                file.write(statistics_json(self.records).encode())


class _Failed(XonncError):
    """An error that has been reported already."""


@dataclasses.dataclass
class Verifier:
    """Stops the pipeline when a pass leaves ops that break their rules."""

    tool: OnnxOptMain
    parser: OnnxParser

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Verified by whoever made the module."""

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Verifies."""
        name = self.tool.get_input_name()
        broken = verify(module, self.parser, name, not self.tool.args.verify_diagnostics)
        if broken:
            raise PassError(
                [dataclasses.replace(one, notes=(*one.notes, f"after pass '{pass_.name}'")) for one in broken]
            )


def _canonicalize() -> type[ModulePass]:
    from xonnc.transforms.canonicalize_all import CanonicalizeAll

    return CanonicalizeAll


def pass_list(factories: dict[str, Callable[[], type[ModulePass]]]) -> str:
    """Our passes with what they do and their options, then the names of xDSL's."""
    lines: list[str] = []
    for name in sorted(PASSES):
        cls = factories[name]()
        first = next(iter((cls.__doc__ or "").strip().splitlines()), "")
        lines.append(f"  --{name:<28} {first}")
        for option in dataclasses.fields(cls):
            if option.init and option.name != "name":
                lines.append(
                    f"      {option.name.replace('_', '-')}: {option.type} (default {option.default})"
                )
    others = ", ".join(sorted(set(factories) - set(PASSES)))
    return "\n".join([*lines, "", f"xDSL's: {others}"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; `argv` without the program's name."""
    arguments = sys.argv[1:] if argv is None else argv
    return _main(arguments, lambda: sys.stdin.buffer.read())


def run_opt(args: Sequence[str], stdin: str = "") -> tuple[int, str, str]:
    """The tool inside this process: exit code, standard output, standard error."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = _main(args, lambda: stdin.encode())
    return code, out.getvalue(), err.getvalue()


def _main(argv: Sequence[str], stdin: Callable[[], bytes]) -> int:
    def work() -> int:
        try:
            rest = take_plugin_options(argv)
            return OnnxOptMain(rest, stdin).work()
        except UsageError as error:
            print(f"onnx-opt: {error}; see 'onnx-opt --help'", file=sys.stderr)
            return Exit.USAGE
        except _Failed:
            return Exit.INPUT

    return run("onnx-opt", work, argv)


def _positive(argument: str) -> str:
    name, equals, value = argument.lstrip("-").partition("=")
    is_off = name == "verify-each" and equals and value in ("0", "false")
    return "--no-verify-each" if is_off else argument


def _named(asked: Sequence[str]) -> frozenset[str]:
    return frozenset(name for names in asked for name in names.split(","))
