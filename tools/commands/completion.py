"""`xonnc completion`: print shell completion or the manual page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from xonnc.formats.atomic_write import atomic_write
from xonnc.tools.console import wrote

KINDS = ("bash", "zsh", "man")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("kind", choices=KINDS, help="completion of a shell, or the manual page")
    parser.add_argument("-o", "--output", type=Path, help="the file to write (default: standard output)")
    parser.add_argument("--json", action="store_true", help="print the options of all commands as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Print the text."""
    from xonnc.tools import completion
    from xonnc.tools.driver import COMMANDS, command_parser

    parsers = {name: command_parser(name) for name in COMMANDS}
    if args.json:
        print(json.dumps({name: completion.options(parser) for name, parser in parsers.items()}, indent=2))
        return 0
    make = {"bash": completion.bash, "zsh": completion.zsh, "man": completion.man}[args.kind]
    text = make(parsers)
    if args.output is None:
        print(text, end="")
        return 0
    with atomic_write(args.output) as stream:
        stream.write(text.encode())
    if not args.quiet:
        wrote(args.output)
    return 0
