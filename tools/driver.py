"""`xonnc`: the driver for people. Each subcommand is a file of `tools/commands`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import NamedTuple, NoReturn

from xonnc.errors import suggest
from xonnc.tools.peer_flags import Tool
from xonnc.tools.plugin_options import add_plugin_options, take_plugin_options
from xonnc.tools.process import Exit, run
from xonnc.tools.usage import UsageError

COMMANDS = {
    "compile": "compiles an ONNX model for NVDLA, or to native code",
    "run": "runs a model as native code, or a package, the DLA's parts on the simulator",
    "simulate": "runs a loadable or a package on the NVDLA simulator",
    "emit": "writes an ONNX model as IR or code, as onnx-mlir does",
    "tune": "measures tiles for the kernels of a model on this processor",
    "simplify": "makes an ONNX model simpler, its outputs the same",
    "fuzz": "simplifies random models and compares their outputs",
    "reduce": "makes a model that fails smaller while it still fails",
    "check": "checks a model, or compares what was compiled with its model in onnxruntime",
    "inspect": "checks a loadable, or those of a package, without running it",
    "explain": "tells what a target does with each node of a model",
    "report": "tells what a loadable, a package or a model costs to run",
    "demo": "compiles, simulates and checks a real model",
    "targets": "lists the targets and what they can do",
    "passes": "lists the passes",
    "plugins": "lists, checks and begins plug-ins",
    "ops": "lists the ONNX operators, and those a target takes",
}


class Command(NamedTuple):
    """What a file of `tools/commands` offers."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    value_after_equals: Collection[str]
    """Options that take a value only after `=`, so that they do not take the next argument for it."""
    peer_tool: Tool | None
    """How the table of onnx-mlir's options calls the command, if it takes any."""
    own_flags: Collection[str]
    """Options that onnx-mlir has too, without dashes, and that the command takes itself."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}; see '{self.prog} --help'\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; `argv` without the program's name."""
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


def _run_command(name: str, argv: Sequence[str]) -> int:
    command = _command(name)
    parser = Parser(prog=f"xonnc {name}", description=_sentence(COMMANDS[name]))
    command.add_arguments(parser)
    add_plugin_options(parser)
    if command.peer_tool is not None:
        return _run_like_peer(command, parser, argv, command.peer_tool)
    return command.run(_parsed(command, parser, argv))


def _run_like_peer(command: Command, parser: Parser, argv: Sequence[str], tool: Tool) -> int:
    """Runs a command that takes options of onnx-mlir, which it finds as `args.peer`."""
    from xonnc.tools.peer_settings import take_peer_flags

    try:
        peer, argv = take_peer_flags(argv, tool, command.own_flags)
        args = _parsed(command, parser, argv)
        args.peer = peer
        return command.run(args)
    except UsageError as error:
        parser.error(str(error))


def _parsed(command: Command, parser: Parser, argv: Sequence[str]) -> argparse.Namespace:
    argv = [f"{argument}=" if argument in command.value_after_equals else argument for argument in argv]
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        known = re.findall(r"--[a-z-]+", parser.format_help())
        parser.error(f"no argument '{unknown[0]}' here{suggest(unknown[0].partition('=')[0], known)}")
    return args


def _sentence(text: str) -> str:
    """With a capital and a full stop; the rest, `ONNX` say, stays as it is."""
    return f"{text[0].upper()}{text[1:]}."


def _command(name: str) -> Command:
    module = import_module(f"xonnc.tools.commands.{name}")
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
            "Compiles ONNX models: to native code, and to NVDLA loadables, checked on a bit-exact simulator.",
            "",
            *rows,
            "",
            "'xonnc COMMAND --help' tells each command's options.",
            "onnx-opt runs passes on IR; onnx-translate goes between file formats.",
        ]
    )
