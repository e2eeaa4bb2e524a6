"""`xonnc passes`: list the passes with their options."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from textwrap import fill, indent

from xdsl.passes import ModulePass

from xonnc.errors import UnknownNameError, suggest
from xonnc.plugins.registration import registered
from xonnc.tools.pass_reference import description, levels, metadata, options, passes, summary
from xonnc.tools.usage import UsageError
from xonnc.transforms.optimization_levels import LEVELS, passes_of

WIDTH = 100
"""Columns of the text of `--long`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "names", nargs="*", metavar="PASS", help="names of passes, with * as wildcard (default: all)"
    )
    parser.add_argument(
        "--long",
        action="store_true",
        help="all that there is to know of each pass, those of ONNX-optimizer too: options, level, analyses "
        "that it needs and keeps; type, efficiency, what it optimizes",
    )
    parser.add_argument(
        "--levels", action="store_true", help="the passes of the optimization levels -O0 to -O3, in order"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """List the passes."""
    if args.levels:
        if args.names or args.long:
            raise UsageError("--levels lists the passes of all levels; it takes no names and no --long")
        return _print_levels(args.json)
    joined = {
        name: {"plugin": plugin.name, "after": joining.after}
        for plugin in registered()
        for name, joining in sorted(plugin.passes.items())
    }
    found = {
        **passes(),
        **{name: joining.kind for plugin in registered() for name, joining in sorted(plugin.passes.items())},
    }
    others = _of_onnx_optimizer() if args.long else dict[str, Mapping[str, str]]()
    if args.names:
        _require_known(args.names, [*found, *others])
        found = {name: one for name, one in found.items() if _is_wanted(name, args.names)}
        others = {name: one for name, one in others.items() if _is_wanted(name, args.names)}
    if args.json:
        listed = [_described(name, one, args.long) | joined.get(name, {}) for name, one in found.items()]
        print(
            json.dumps([*listed, *({**each, "of": "ONNX-optimizer"} for each in others.values())], indent=2)
        )
    elif args.long:
        _print_long(found, joined, others)
    else:
        _print_short(found, joined)
    return 0


def _of_onnx_optimizer() -> dict[str, Mapping[str, str]]:
    from xonnc.compat.onnxoptimizer.registry import PASSES

    return {name: each.metadata() for name, each in PASSES.items()}


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _require_known(patterns: Sequence[str], known: Sequence[str]) -> None:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            hint = suggest(pattern, known) or "; 'xonnc passes' lists all"
            raise UnknownNameError(f"no pass '{pattern}'{hint}")


def _described(name: str, one: type[ModulePass], is_long: bool) -> dict[str, object]:
    found: dict[str, object] = {"name": name, "does": summary(one), "options": dict(options(one))}
    return found | {"description": "\n\n".join(description(one)), **metadata(name, one)} if is_long else found


def _print_long(
    found: Mapping[str, type[ModulePass]],
    joined: Mapping[str, Mapping[str, str | None]],
    others: Mapping[str, Mapping[str, str]],
) -> None:
    """Print a block for each pass: its text, then a line for each property."""
    blocks: list[str] = []
    for name, one in found.items():
        given = ", ".join(f"{option}={default}" for option, default in options(one).items())
        rows = ({"options": given} if given else {}) | metadata(name, one)
        rows |= {key: value for key, value in joined.get(name, {}).items() if value is not None}
        blocks.append(_block(name, description(one), rows))
    for name, each in others.items():
        rows = {key: value for key, value in each.items() if key not in ("name", "does") and value}
        blocks.append(_block(f"{name} (xonnc optimize -p {name})", [each["does"]], rows))
    print("\n\n".join(blocks))


def _block(title: str, text: Sequence[str], rows: Mapping[str, str]) -> str:
    paragraphs = [indent(part, "  ") if "\n" in part else _filled(part, "  ", "  ") for part in text]
    width = max(map(len, rows), default=0)
    lines = [_filled(f"{key:<{width}}  {value}", "    ", " " * (width + 6)) for key, value in rows.items()]
    return "\n".join([title, "\n\n".join(paragraphs), *lines])


def _filled(text: str, first: str, others: str) -> str:
    return fill(text, WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def _print_short(
    found: Mapping[str, type[ModulePass]], joined: Mapping[str, Mapping[str, str | None]]
) -> None:
    width = max(map(len, found))
    for name, one in found.items():
        print(f"{name:<{width}}  {summary(one)}")
        if name in joined:
            after = joined[name]["after"]
            stage = "" if after is None else f", runs after stage {after}"
            print(f"{'':<{width}}    of plug-in {joined[name]['plugin']}{stage}")
        for option, default in options(one).items():
            print(f"{'':<{width}}    {option}={default}")


def _print_levels(as_json: bool) -> int:
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
