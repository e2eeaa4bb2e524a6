"""`xonnc convert-opset`: convert a model to another opset."""

from __future__ import annotations

import argparse
from pathlib import Path

from xonnc.errors import CollectedError, XonncError
from xonnc.tools.model_output import VALUE_AFTER_EQUALS, add_output, external_data, report

__all__ = ["VALUE_AFTER_EQUALS", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("opset", type=int, help="the opset of ONNX's default domain, newer or older")
    parser.add_argument("model", type=Path, help="the model")
    add_output(parser)
    parser.add_argument("--inline-functions", action="store_true", help="inline the model's local functions")


def run(args: argparse.Namespace) -> int:
    """Convert a model; name every node that the opset cannot express."""
    from xonnc.contexts import new_context
    from xonnc.formats.onnx.exporter import export_model
    from xonnc.formats.onnx.importer import import_loaded
    from xonnc.formats.onnx.load_model import load
    from xonnc.formats.onnx.loaded_export import has_external_data
    from xonnc.formats.onnx.save_model import ExternalData
    from xonnc.transforms.models.opset_conversion import convert_opset

    external = external_data(args)
    loaded, context = load(args.model), new_context()
    if external is None and has_external_data(loaded.proto):
        external = ExternalData(f"{args.output.name}.data")
    module = import_loaded(loaded, context, args.inline_functions, keep_defaults=True)
    before = next((each.version for each in loaded.proto.opset_import if not each.domain), 0)
    try:
        convert_opset(module, args.opset, context)
    except CollectedError as error:
        raise error.at(f"{args.model}: opset {args.opset}") from error
    except XonncError as error:
        raise XonncError(f"{args.model}: {error}") from error
    written = export_model(module, args.output, external_data=external)
    facts = {"model": str(args.model), "from": before, "to": args.opset}
    report(args, facts, [f"{args.model.name}   opset {before} to {args.opset}"], written)
    return 0
