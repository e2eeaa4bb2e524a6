"""`xonnc targets`: the targets and what they can do."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from xonnc.targets import load_target, target_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("target", nargs="*", help="only these, or .toml files of your own")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Lists the targets."""
    targets = [load_target(name) for name in args.target or target_names()]
    if args.json:
        print(json.dumps([asdict(target) for target in targets], indent=2))
        return 0
    width = max(len(target.name) for target in targets)
    for target in targets:
        print(f"{target.name:<{width}}  {target.description}")
        precisions = ", ".join(target.precisions)
        print(
            f"{'':<{width}}  {precisions}; {target.atomic_c} x {target.atomic_k} multipliers, "
            f"{target.cbuf_bytes >> 10} KiB convolution buffer, {target.memory_atom_bytes}-byte atoms"
        )
    return 0
