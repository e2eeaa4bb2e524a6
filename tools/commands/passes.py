"""`xonnc passes`: list the passes with their options."""

from __future__ import annotations

import argparse
import json

from xonnc.plugins.registration import registered
from xonnc.tools.pass_reference import levels, options, passes, summary
from xonnc.transforms.optimization_levels import LEVELS, passes_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "--levels", action="store_true", help="the passes of the optimization levels -O0 to -O3, in order"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """List the passes."""
    if args.levels:
        return _tell_levels(args.json)
    joined = {
        name: (plugin.name, joining)
        for plugin in registered()
        for name, joining in sorted(plugin.passes.items())
    }
    found = {**passes(), **{name: joining.kind for name, (_, joining) in joined.items()}}
    if args.json:
        listed: list[dict[str, object]] = [
            {"name": name, "does": summary(one), "options": dict(options(one))} for name, one in found.items()
        ]
        for each in listed:
            if each["name"] in joined:
                plugin, joining = joined[str(each["name"])]
                each |= {"plugin": plugin, "after": joining.after}
        print(json.dumps(listed, indent=2))
        return 0
    width = max(map(len, found))
    for name, one in found.items():
        print(f"{name:<{width}}  {summary(one)}")
        if name in joined:
            plugin, joining = joined[name]
            stage = "" if joining.after is None else f", runs after stage {joining.after}"
            print(f"{'':<{width}}    of plug-in {plugin}{stage}")
        for option, default in options(one).items():
            print(f"{'':<{width}}    {option}={default}")
    return 0


def _tell_levels(as_json: bool) -> int:
    rows = levels()
    if as_json:
        names = [row.name for row, _ in rows]
        chosen = {f"O{level}": [name for name in names if name in passes_of(level)] for level in LEVELS}
        listed = [
            {
                "name": row.name,
                "stage": row.stage,
                "level": row.level,
                "needed": row.level == 0,
                "does": does,
            }
            for row, does in rows
        ]
        print(json.dumps({"passes": listed, "levels": chosen, "llvm": list(LEVELS)}, indent=2))
        return 0
    width = max(len(row.name) for row, _ in rows)
    marks = "  ".join(f"O{level}" for level in LEVELS)
    print(f"{'pass':<{width}}  {marks}  does")
    for row, does in rows:
        cells = "  ".join("x " if level >= row.level else "- " for level in LEVELS)
        print(f"{row.name:<{width}}  {cells}  {does}")
    print(f"{'LLVM':<{width}}  {'   '.join(map(str, LEVELS))}   Machine code, at -O of the same number.")
    print("\nPasses of O0 are required; --disable-pass accepts the others.")
    return 0
