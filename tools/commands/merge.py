"""`xonnc merge`: feed the outputs of one model to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from xonnc.errors import XonncError
from xonnc.tools.console import plural
from xonnc.tools.model_output import VALUE_AFTER_EQUALS, add_output, external_data, report

__all__ = ["VALUE_AFTER_EQUALS", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("first", type=Path, help="the model whose outputs are fed to the second")
    parser.add_argument("second", type=Path, help="the second model")
    add_output(parser)
    parser.add_argument(
        "--map",
        type=_pair,
        action="append",
        default=[],
        metavar="OUT:IN",
        help="an output of the first and an input of the second; by default equal names, else all in order",
    )
    parser.add_argument(
        "--prefix", default="", help="prefix of the second's names (default: second_ if names clash)"
    )


def _pair(text: str) -> tuple[str, str]:
    output, colon, name = text.partition(":")
    if not (output and colon and name):
        raise argparse.ArgumentTypeError(f"'{text}' must have the form OUTPUT:INPUT, such as y:x")
    return output, name


def run(args: argparse.Namespace) -> int:
    """Write the joined model."""
    from xonnc.formats.onnx.load_model import load
    from xonnc.formats.onnx.loaded_export import export_loaded, has_external_data
    from xonnc.formats.onnx.save_model import ExternalData, needs_external_data, save
    from xonnc.tools.model_extraction import merge

    external = external_data(args)
    first, second = load(args.first), load(args.second)
    try:
        merged = merge(export_loaded(first), export_loaded(second), args.map, args.prefix)
    except XonncError as error:
        raise XonncError(f"{args.first}, {args.second}: {error}") from error
    came_apart = any(has_external_data(each.proto) for each in (first, second))
    if external is None and str(args.output) != "-" and (came_apart or needs_external_data(merged)):
        external = ExternalData(f"{args.output.name}.data")
    graph = merged.proto.graph
    facts = {
        "nodes": len(graph.node),
        "inputs": [info.name for info in graph.input],
        "outputs": [info.name for info in graph.output],
    }
    line = f"{args.first.name}, {args.second.name}   {plural(len(graph.node), 'node')}"
    report(args, facts, [line], save(merged, args.output, external=external))
    return 0
