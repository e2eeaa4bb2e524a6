"""Output file and report of the commands that transform models."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from xonnc.formats.onnx.save_model import ExternalData
from xonnc.tools.console import wrote
from xonnc.tools.files import require_output
from xonnc.tools.usage import UsageError

MODEL_ENDINGS = (".onnx", ".onnxtxt", ".onnxtext", ".json")

VALUE_AFTER_EQUALS = ("--external-data",)
"""Options with an optional value, which is only accepted after `=`."""


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add `--json` and `-q`."""
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


class _SetOutput(argparse.Action):
    """The output file, by position or by `-o`; the position without a value keeps that of `-o`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        known = getattr(namespace, self.dest, None)
        if known is not None and values is not None and known != values:
            parser.error(f"the output is {known} and {values}; give it by position or by -o")
        setattr(namespace, self.dest, values if values is not None else known)


def add_output_file(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the file to write, which is the last position or the value of `-o`."""
    parser.add_argument("output", type=Path, nargs="?", action=_SetOutput, help=text)
    parser.add_argument(
        "-o", dest="output", type=Path, action=_SetOutput, metavar="OUTPUT", help="the same, by an option"
    )


def require_given_output(args: argparse.Namespace) -> None:
    """Refuse a command line without an output file."""
    if args.output is None:
        raise UsageError("the file to write is missing: give it by position or by -o")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the model to write and how."""
    add_output_file(parser, "the file to write, in the format of its suffix")
    parser.add_argument(
        "--external-data",
        nargs="?",
        metavar="FILE",
        help="write weights to FILE beside the model (default: OUTPUT.data); default if the model has it",
    )
    add_report(parser)


def external_data(args: argparse.Namespace) -> ExternalData | None:
    """Return where weights go, if the command line says so; refuse an output that cannot be written."""
    require_given_output(args)
    inputs = [value for value in vars(args).values() if isinstance(value, Path) and value != args.output]
    require_output(args.output, MODEL_ENDINGS, *inputs)
    if args.external_data is None:
        return None
    return ExternalData(args.external_data or f"{args.output.name}.data")


def report(
    args: argparse.Namespace, facts: Mapping[str, object], lines: Sequence[str], written: Sequence[Path] = ()
) -> None:
    """Print a report: facts as JSON, else lines and the files written."""
    if args.json:
        files = {"files": [str(path) for path in written]} if written else {}
        print(json.dumps({**facts, **files}, indent=2))
    elif not args.quiet:
        for line in lines:
            print(line)
        for path in written:
            wrote(path, path.stat().st_size)
