"""`xonnc ops`: the ONNX operators there are, and how a target runs them."""

from __future__ import annotations

import argparse
import json

from xonnc.errors import XonncError, near
from xonnc.lowering.convert_onnx_to_dla import TABLES
from xonnc.targets import NvdlaTarget, load_target
from xonnc.targets.cpu import cpu_names
from xonnc.tools.reference import dla_operators, limit_rows, native_operators, operators


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("operator", nargs="*", help="only these operators, as ONNX calls them")
    parser.add_argument("--target", help="only those that this target takes, and how it runs them")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> int:
    """Lists operators."""
    known = operators()
    for name in args.operator:
        if name not in known:
            raise XonncError(f"no operator '{name}'{near(name, known)}")
    wanted = args.operator or list(known)
    is_cpu = args.target in ("cpu", *cpu_names())
    target = load_target(args.target) if args.target and not is_cpu else None
    if target is not None or is_cpu:
        how = _natively() if target is None else _on(target)
        rows = {name: how.get(name, "not taken") for name in wanted if name in how or args.operator}
    else:
        rows = {name: ", ".join(known[name]) for name in wanted}
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    width = max(map(len, rows))
    for name, text in rows.items():
        print(f"{name:<{width}}  {text}")
    if target is not None:
        _limits(target)
    return 0


def _limits(target: NvdlaTarget) -> None:
    """What else decides whether a node is taken."""
    rows = limit_rows(target)
    width = max(len(name) for name, _ in rows)
    print(f"\nlimits of {target.name}")
    for name, text in rows:
        print(f"  {name:<{width}}  {text}")


def _natively() -> dict[str, str]:
    """How native code runs each operator that it takes."""
    return {name: row.how for name, row in native_operators().items()}


def _on(target: NvdlaTarget) -> dict[str, str]:
    """How a target runs each operator, by the precisions in which it does."""
    tables = {precision: dla_operators(precision) for precision in target.precisions if precision in TABLES}
    names = sorted({name for table in tables.values() for name in table})
    return {
        name: " ".join(f"{precision}: {table[name]}" for precision, table in tables.items() if name in table)
        for name in names
    }
