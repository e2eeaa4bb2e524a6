"""Levels of simplification: none, a single pass, or all of `xonnc simplify`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx

from xonnc.contexts import new_context
from xonnc.errors import XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.passes import run_pass
from xonnc.simplifier import simplify

Level = Callable[[onnx.ModelProto], onnx.ModelProto]

WHOLE = "simplify"
"""The full pipeline of `xonnc simplify`."""

ROUND_TRIP = "round-trip"

PASSES = (
    "shape-inference-onnx",
    "constprop-onnx",
    "canonicalize-onnx",
    "simplify-shape-related-ops-onnx",
    "onnx-cse-with-node-name",
    "decompose-onnx",
    "recompose-onnx",
    "conv-opt-onnx",
    "onnx-hybrid-transform",
    "onnx-op-transform",
)


class OpsetError(XonncError):
    """A single pass emitted an operator that the model's opset lacks; `xonnc simplify` never does."""


def simplified(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as `xonnc simplify` writes it."""
    return simplify(model).proto()


def single_pass(name: str | None) -> Level:
    """The level of a single pass, or of none."""

    def run(model: onnx.ModelProto) -> onnx.ModelProto:
        context = new_context()
        module = import_loaded(LoadedModel.of(model), context, False)
        if name is None:
            return export_proto(module)
        run_pass(name, context, module)
        try:
            made = export_proto(module)
        except XonncError as error:
            raise OpsetError(str(error)) from error
        if made.opset_import != model.opset_import:
            # Values of the newest types and the model's own functions may be of the old opset alone.
            raise OpsetError("another opset")
        return made

    return run


LEVELS: Mapping[str, Level] = {
    ROUND_TRIP: single_pass(None),
    **{name: single_pass(name) for name in PASSES},
    WHOLE: simplified,
}
"""Levels by name."""
