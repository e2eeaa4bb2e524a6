"""Options of `onnx-opt` other than passes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NoReturn, Protocol

from xonnc.tools.usage import UsageError

EPILOG = """Passes run in the order given: --shape-inference --constprop-onnx='expansion-bound=2' --cse,
or as a pipeline: -p "shape-inference-onnx,cse". A long option may have one dash, as in MLIR.
Options of onnx-mlir are taken too: docs/peer-flags.md.
Exit codes: 0 done, 1 the input is wrong, 2 the command line is wrong, 3 a bug of ours."""


class OptionGroup(Protocol):
    """A group of options."""

    @property
    def add_argument(self) -> Callable[..., argparse.Action]:
        """Add an option."""
        ...


class OptParser(argparse.ArgumentParser):
    """An argument parser whose errors are exceptions."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        raise UsageError(message)


def make_parser() -> OptParser:
    """Return the parser without its options (`add_arguments`)."""
    return OptParser(
        prog="onnx-opt",
        usage="onnx-opt [options] [passes] [file.mlir]",
        description="Runs passes on IR.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )


def add_arguments(parser: argparse.ArgumentParser) -> dict[str, bool]:
    """Add the options to a parser; return each name, without dashes, and whether it takes a value."""
    parser.add_argument("input_file", nargs="?", help="IR text; standard input without it or for '-'")
    actions = [
        *_input_and_output(parser.add_argument_group("input and output")),
        *_pipeline(parser.add_argument_group("passes")),
        *_printing(parser.add_argument_group("printing")),
        *_about(parser.add_argument_group("about the run")),
    ]
    # What xDSL's driver asks of every tool; verification of attributes cannot be switched off here, since
    # xDSL would switch it off for the whole process.
    parser.set_defaults(disable_verify=False, syntax_highlight=False, passes="", frontend=None, shrink=False)
    return {name.lstrip("-"): action.nargs != 0 for action in actions for name in action.option_strings}


def _input_and_output(group: OptionGroup) -> Iterator[argparse.Action]:
    add = group.add_argument
    yield add("-o", "--output-file", metavar="FILE", help="where to write; nothing on failure")
    yield add("--split-input-file", action="store_true", help="treat parts between '// -----' alone")
    yield add("--verify-diagnostics", action="store_true", help="check 'expected-error {{…}}' comments")
    yield add("--allow-unregistered-dialect", action="store_true", help="accept unknown ops")
    yield add("--no-implicit-module", action="store_true", help="ask for a 'module' in the text")
    yield add("-t", "--target", default="mlir", metavar="NAME", help="write for another target of xDSL")


def _pipeline(group: OptionGroup) -> Iterator[argparse.Action]:
    add = group.add_argument
    yield add(
        "-p",
        "--pass-pipeline",
        metavar='"a,b{k=v}"',
        help="passes as a list; func.func(c) nests",
    )
    yield add("--help-passes", action="store_true", help="list the passes and their options")
    yield add("--dump-pass-pipeline", action="store_true", help="print the pipeline before it runs")
    yield add(
        "--print-pass-order",
        action="store_true",
        help="print each pass and its analyses as it ends",
    )
    yield add("--show-dialects", action="store_true", help="list the dialects")
    yield add(
        "--mlir-pass-pipeline-crash-reproducer",
        metavar="FILE",
        help="written if a pass fails",
    )
    yield add("--verify-roundtrip", action="store_true", help="print and read the input, compare")
    yield add("--no-verify-each", action="store_true", help="verify only what is read")
    yield add("--verify-each", action="store_true", help=argparse.SUPPRESS)


def _printing(group: OptionGroup) -> Iterator[argparse.Action]:
    add = group.add_argument
    yield add("--mlir-print-op-generic", "--print-op-generic", action="store_true", help="generic form")
    yield add("--mlir-print-debuginfo", "--print-debuginfo", action="store_true", help="with locations")
    yield add(
        "--mlir-print-local-scope",
        action="store_true",
        help="no aliases of attributes and locations",
    )
    yield add("--mlir-print-ir-tree-dir", metavar="DIR", help="IR of --print-ir-… to files of a directory")
    yield add(
        "--mlir-elide-elementsattrs-if-larger", type=int, metavar="N", help="leave out larger constants"
    )
    yield add(
        "--mlir-print-elementsattrs-with-hex-if-larger",
        type=int,
        metavar="N",
        default=100,
        help="larger constants in hexadecimal (-1: never)",
    )
    for when in ("before", "after"):
        one, each = f"print-ir-{when}", f"print-ir-{when}-all"
        help_ = f"print the IR {when} a pass"
        yield add(f"--{one}", f"--mlir-{one}", action="append", default=[], metavar="PASS", help=help_)
        yield add(f"--{each}", f"--mlir-{each}", action="store_true", help=f"print it {when} each pass")
    change = "print-ir-after-change"
    yield add(f"--{change}", f"--mlir-{change}", action="store_true", help="print it after changes only")


def _about(group: OptionGroup) -> Iterator[argparse.Action]:
    add = group.add_argument
    yield add("--timing", "--mlir-timing", action="store_true", help="time of each pass")
    yield add(
        "--stats", "--mlir-pass-statistics", action="store_true", help="ops, rules and constants by pass"
    )
    yield add("--stats-json", metavar="FILE", help="the same for machines")
    yield add(
        "--debug-rules",
        action="append",
        default=[],
        metavar="RULES",
        help="tell where these rules (A,B, Fuse*) apply, or why not",
    )
    yield add(
        "--debug-only",
        action="append",
        default=[],
        metavar="PASSES",
        help="the same for all rules of passes (A,B), and op counts",
    )
    yield add("-h", "--help", action="store_true", help="show this")
    yield add("--version", action="store_true", help="show the versions")
