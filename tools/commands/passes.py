"""`xonnc passes`: the passes with their options."""

from __future__ import annotations

import argparse
import json

from xonnc.tools.reference import options, passes, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Lists the passes."""
    found = passes()
    if args.json:
        listed = [
            {"name": name, "does": summary(one), "options": dict(options(one))} for name, one in found.items()
        ]
        print(json.dumps(listed, indent=2))
        return 0
    width = max(map(len, found))
    for name, one in found.items():
        print(f"{name:<{width}}  {summary(one)}")
        for option, default in options(one).items():
            print(f"{'':<{width}}    {option}={default}")
    return 0
