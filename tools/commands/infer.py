"""`xonnc infer`: infer the shapes of a model and declare them in it."""

from __future__ import annotations

import argparse
from pathlib import Path

from xonnc.errors import XonncError
from xonnc.tools.console import plural
from xonnc.tools.model_output import VALUE_AFTER_EQUALS, add_output, external_data, report

__all__ = ["VALUE_AFTER_EQUALS", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model")
    add_output(parser)
    parser.add_argument("--inline-functions", action="store_true", help="inline the model's local functions")


def run(args: argparse.Namespace) -> int:
    """Infer shapes; nodes and weights stay."""
    from xonnc.contexts import new_context
    from xonnc.formats.onnx.exporter import export_module
    from xonnc.formats.onnx.importer import import_loaded
    from xonnc.formats.onnx.load_model import load
    from xonnc.formats.onnx.loaded_export import has_external_data
    from xonnc.formats.onnx.save_model import ExternalData, save
    from xonnc.transforms.shape_inference_onnx import infer_shapes

    external = external_data(args)
    loaded = load(args.model)
    if external is None and has_external_data(loaded.proto):
        external = ExternalData(f"{args.output.name}.data")
    module = import_loaded(loaded, new_context(), args.inline_functions, keep_defaults=True)
    try:
        infer_shapes(module)
    except XonncError as error:
        raise XonncError(f"{args.model}: {error}") from error
    exported = export_module(module)
    graph = exported.proto.graph
    made = {name for node in graph.node for name in node.output if name}
    declared = {info.name for info in (*graph.value_info, *graph.output)} & made
    facts = {"model": str(args.model), "values": len(made), "typed": len(declared)}
    line = f"{args.model.name}   types of {len(declared)} of {plural(len(made), 'value')}"
    report(args, facts, [line], save(exported, args.output, external=external))
    return 0
