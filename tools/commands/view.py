"""`xonnc view`: draw the graph of a model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xonnc.errors import XonncError
from xonnc.tools.console import plural
from xonnc.tools.files import STDOUT
from xonnc.tools.model_output import add_report, report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--dot", action="store_true", help="draw as Graphviz text (default)")
    kinds.add_argument("--svg", action="store_true", help="draw as SVG, in layers")
    parser.add_argument(
        "-o", "--output", type=Path, default=STDOUT, help="the file to write (default: standard output)"
    )
    add_report(parser)


def run(args: argparse.Namespace) -> int:
    """Draw the main graph."""
    from xonnc.formats.atomic_write import atomic_write
    from xonnc.formats.onnx.load_model import load
    from xonnc.tools.files import require_output
    from xonnc.tools.model_view import dot, svg, view

    if args.output != STDOUT:
        require_output(args.output, (".dot", ".gv", ".svg"), args.model, takes_others=True)
    elif args.json:
        raise XonncError("--json: the drawing is written to standard output; give a file with -o")
    drawn = view(load(args.model).proto)
    text = svg(drawn) if args.svg or args.output.suffix == ".svg" else dot(drawn)
    if args.output == STDOUT:
        sys.stdout.write(text)
        return 0
    with atomic_write(args.output) as stream:
        stream.write(text.encode())
    nodes = sum(kind == "node" for _, kind in drawn.boxes)
    facts = {"model": str(args.model), "nodes": nodes, "edges": len(drawn.edges)}
    report(args, facts, [f"{args.model.name}   {plural(nodes, 'node')}"], [args.output])
    return 0
