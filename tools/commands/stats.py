"""`xonnc stats`: count the nodes and weights of a model."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from xonnc.tools.console import columns, plural, quantity, size
from xonnc.tools.model_output import add_report, report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model")
    add_report(parser)


def run(args: argparse.Namespace) -> int:
    """Print the counts."""
    from xonnc.formats.onnx.load_model import load
    from xonnc.tools.model_statistics import statistics

    found = statistics(load(args.model).proto)
    opsets = ", ".join(f"{domain} {version}" for domain, version in found.opsets.items())
    lines = [
        f"{args.model.name}   {plural(found.nodes, 'node')}, {quantity(found.parameters)} parameters "
        f"({size(found.bytes)}), opset {opsets}"
    ]
    known = set(found.with_initializer)
    for label, values in (("input", found.inputs), ("output", found.outputs)):
        lines += [f"  {label:<8} {name}: {type_}" for name, type_ in values.items() if name not in known]
        if label == "input" and known:
            lines.append(f"  {'':<8} {plural(len(known), 'more input')} with an initializer")
    counts = [(name, str(count)) for name, count in found.operators.items()]
    lines += [f"  {line}" for line in columns(counts)] if counts else []
    report(args, {"model": str(args.model), "nodes": found.nodes} | asdict(found), lines)
    return 0
