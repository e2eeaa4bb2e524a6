"""The `xonnc` command; each of its subcommands is a module of `tools/commands`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from importlib import import_module
from importlib.metadata import version
from io import StringIO
from typing import NamedTuple, NoReturn

from xonnc.errors import suggest
from xonnc.garbage_collection import without_cycle_collection
from xonnc.tools.command_examples import examples_of
from xonnc.tools.peer_flags import Tool
from xonnc.tools.plugin_options import add_plugin_options, take_plugin_options
from xonnc.tools.process import Exit, run
from xonnc.tools.usage import UsageError

COMMANDS = {
    "compile": "compile an ONNX model to an NVDLA loadable, a package or native code",
    "run": "run a model as native code, or a package with its loadables on the simulator",
    "deploy": "write a C++ program that runs a package on a board with NVDLA",
    "registers": "write the register writes of a loadable, to run it without driver and runtime",
    "simulate": "run a loadable or a package on the functional NVDLA simulator",
    "emit": "write an ONNX model as IR or code, with the options of onnx-mlir",
    "tune": "measure tile sizes for the kernels of a model on this processor",
    "simplify": "simplify an ONNX model without changing its outputs",
    "quantize": "quantize a float model to INT8 for any runtime",
    "optimize": "run the passes of ONNX-optimizer, with its options",
    "convert-opset": "convert a model to another opset, newer or older",
    "infer": "infer the shapes of a model and declare them in it",
    "extract": "cut the part of a model between given values",
    "merge": "feed the outputs of one model to another",
    "diff": "list the differences between two models",
    "stats": "count the nodes and weights of a model",
    "view": "draw the graph of a model",
    "tensor": "convert a tensor from one file format to another",
    "fuzz": "simplify or compile random models and compare their outputs",
    "reduce": "reduce a model that fails to a smaller one that still fails",
    "check": "validate a model, or compare a compiled model with onnxruntime",
    "verify": "compare two forms of a model: outputs, layers, all optimization levels",
    "certify-rewrites": "prove every rewrite rule, or compare it with the ONNX reference",
    "inspect": "check a loadable, or those of a package, statically",
    "explain": "explain where each node of a model runs, or why it is refused",
    "report": "estimate the cycles, memory traffic and memory of a compiled model",
    "demo": "compile, simulate and check a trained classifier and a well-known network",
    "bench": "measure time and memory of many models, as native code and on NVDLA",
    "sweep": "compile many models for many targets and compare the estimates",
    "size": "find the smallest NVDLA configuration that runs a model fast enough",
    "targets": "list the targets and their properties",
    "passes": "list the passes and their options",
    "rules": "list the rewrite rules and their tests",
    "plugins": "list, check or create plug-ins",
    "new-backend": "write an installable package with a backend of your own",
    "ops": "list the ONNX operators, or those that a target supports",
    "completion": "print completion for a shell, or the manual page",
}


class Command(NamedTuple):
    """The interface of a module of `tools/commands`."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    value_after_equals: Collection[str]
    """Options with an optional value, which is only accepted after `=`."""
    peer_tool: Tool | None
    """The name of the command in the table of onnx-mlir's options, if it accepts any."""
    own_flags: Collection[str]
    """Options, without dashes, that onnx-mlir has as well but that the command parses itself."""


class CommandParser(argparse.ArgumentParser):
    """An argument parser with one-line errors."""

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}; see '{self.prog} --help'\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; `argv` excludes the program name."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help"):
        print(_overview())
        return Exit.DONE if argv else Exit.USAGE
    if argv[0] == "--version":
        print(f"xonnc {version('xonnc')} (xdsl {version('xdsl')}, onnx {version('onnx')})")
        return Exit.DONE
    name = argv[0]
    if name not in COMMANDS:
        hint = suggest(name, COMMANDS) or "; see 'xonnc --help'"
        print(f"xonnc: no command '{name}'{hint}", file=sys.stderr)
        return Exit.USAGE
    return run("xonnc", lambda: _run_with_plugins(name, argv[1:]), argv)


def _run_with_plugins(name: str, argv: Sequence[str]) -> int:
    try:
        argv = take_plugin_options(argv)
    except UsageError as error:
        print(f"xonnc {name}: {error}; see 'xonnc {name} --help'", file=sys.stderr)
        return Exit.USAGE
    return _run_command(name, argv)


def command_parser(name: str) -> CommandParser:
    """Return the argument parser of a command; its help ends with examples."""
    parser = CommandParser(
        prog=f"xonnc {name}",
        description=_sentence(COMMANDS[name]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _command(name).add_arguments(parser)
    # Commands that only print have no -q of their own: with it, their exit code is the answer.
    with suppress(argparse.ArgumentError):
        parser.add_argument(
            "-q", "--quiet", action="store_true", dest="silent", help="print nothing on success"
        )
    add_plugin_options(parser)
    parser.epilog = "\n\n".join(filter(None, (parser.epilog, examples_of(name)))) or None
    return parser


def _run_command(name: str, argv: Sequence[str]) -> int:
    command, parser = _command(name), command_parser(name)
    if command.peer_tool is not None:
        return _run_like_peer(command, parser, argv, command.peer_tool)
    try:
        return _run_quietly(command, _parsed(command, parser, argv))
    except UsageError as error:
        parser.error(str(error))


def _run_quietly(command: Command, args: argparse.Namespace) -> int:
    """Run a command; the driver's own -q drops what it prints."""
    with redirect_stdout(StringIO()) if getattr(args, "silent", False) else nullcontext():
        return command.run(args)


def _run_like_peer(command: Command, parser: CommandParser, argv: Sequence[str], tool: Tool) -> int:
    """Run a command that accepts options of onnx-mlir; it finds them in `args.peer`."""
    from xonnc.tools.peer_settings import take_peer_flags

    try:
        peer, argv = take_peer_flags(argv, tool, command.own_flags)
        args = _parsed(command, parser, argv)
        args.peer = peer
        return _run_quietly(command, args)
    except UsageError as error:
        parser.error(str(error))


def _parsed(command: Command, parser: CommandParser, argv: Sequence[str]) -> argparse.Namespace:
    argv = [f"{argument}=" if argument in command.value_after_equals else argument for argument in argv]
    # Intermixed: an optional position, such as the file to write, may stand behind options.
    args, unknown = parser.parse_known_intermixed_args(argv)
    if unknown:
        # Where an option begins a line: descriptions also mention those of other commands.
        known = re.findall(r"^ +(?:-\w(?: \S+)?, )?(--[a-z-]+)", parser.format_help(), re.MULTILINE)
        parser.error(f"no argument '{unknown[0]}' here{suggest(unknown[0].partition('=')[0], known)}")
    return args


def _sentence(text: str) -> str:
    """Return the text as a sentence, with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def _command(name: str) -> Command:
    with without_cycle_collection(keeps_all=True):
        module = import_module(f"xonnc.tools.commands.{name.replace('-', '_')}")
    return Command(
        module.add_arguments,
        module.run,
        getattr(module, "VALUE_AFTER_EQUALS", ()),
        getattr(module, "PEER_TOOL", None),
        getattr(module, "OWN_FLAGS", ()),
    )


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = [f"  {name:<{width}}  {does}" for name, does in COMMANDS.items()]
    return "\n".join(
        [
            "usage: xonnc COMMAND [options]",
            "",
            "Compile ONNX models to native code and to NVDLA loadables, with a bit-exact NVDLA simulator.",
            "",
            *rows,
            "",
            "'xonnc COMMAND --help' lists the options of a command, with examples.",
            "onnx-opt runs passes on IR; onnx-translate converts between file formats.",
        ]
    )
