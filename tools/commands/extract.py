"""`xonnc extract`: cut the part of a model between given values."""

from __future__ import annotations

import argparse
from pathlib import Path

from xonnc.tools.console import plural
from xonnc.tools.model_output import VALUE_AFTER_EQUALS, add_output, external_data, report

__all__ = ["VALUE_AFTER_EQUALS", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model")
    add_output(parser)
    parser.add_argument(
        "--inputs",
        nargs="+",
        metavar="NAME",
        help="values to feed (default: those of the model that are needed)",
    )
    parser.add_argument("--outputs", nargs="+", required=True, metavar="NAME", help="values to return")


def run(args: argparse.Namespace) -> int:
    """Write the nodes that compute the outputs from the inputs."""
    from xonnc.formats.onnx.load_model import load
    from xonnc.formats.onnx.loaded_export import save_loaded
    from xonnc.tools.model_extraction import extract

    external = external_data(args)
    loaded = load(args.model)
    before = len(loaded.proto.graph.node)
    extract(loaded, args.inputs, args.outputs)
    graph = loaded.proto.graph
    inputs = [info.name for info in graph.input]
    facts = {"model": str(args.model), "nodes": len(graph.node), "inputs": inputs, "outputs": args.outputs}
    line = f"{args.model.name}   {len(graph.node)} of {plural(before, 'node')}, inputs {', '.join(inputs)}"
    report(args, facts, [line], save_loaded(loaded, args.output, external))
    return 0
