"""`xonnc diff`: list the differences between two models."""

from __future__ import annotations

import argparse
from pathlib import Path

from xonnc.tools.console import plural
from xonnc.tools.model_output import add_report, report

MAX_LISTED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("first", type=Path, help="a model")
    parser.add_argument("second", type=Path, help="the model to compare with")
    parser.add_argument("--all", action="store_true", help=f"list all differences, not only {MAX_LISTED}")
    add_report(parser)


def run(args: argparse.Namespace) -> int:
    """Compare structure and weights; exit code 1 if the models differ."""
    from xonnc.formats.onnx.compare import models_equal
    from xonnc.formats.onnx.load_model import load
    from xonnc.tools.model_statistics import statistics, weight_differences

    first, second = load(args.first), load(args.second)
    before, after = (statistics(each.proto).operators for each in (first, second))
    operators = {
        name: [before.get(name, 0), after.get(name, 0)]
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }
    weights = weight_differences(first, second)
    differences = models_equal(first, second)
    lines = [f"{name}: {counts[0]} nodes, {counts[1]} nodes" for name, counts in operators.items()]
    lines += [
        f"weight {name}: " + ("another type or shape" if one is None else f"differs by up to {one:.3g}")
        for name, one in weights.items()
    ]
    shown = differences if args.all else differences[:MAX_LISTED]
    lines += shown
    if len(shown) < len(differences):
        lines.append(f"and {plural(len(differences) - len(shown), 'difference')} more; --all lists them")
    if not differences:
        lines = ["the models are equal"]
    facts = {"equal": not differences, "operators": operators, "weights": weights, "differences": differences}
    report(args, facts, lines)
    return 1 if differences else 0
