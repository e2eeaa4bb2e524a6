"""Properties that are newer than onnx-mlir's dialect: not printed if they have their default."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation

from xonnc.dialects.onnx.op import OnnxOp

NEWER_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "onnx.Attention": ("left_window_size", "right_window_size"),
    "onnx.Cast": ("round_mode",),
    "onnx.CastLike": ("round_mode",),
    "onnx.DequantizeLinear": ("block_size", "output_dtype"),
    "onnx.QuantizeLinear": ("block_size", "output_dtype", "precision"),
    "onnx.Range": ("stash_type",),
    "onnx.SpaceToDepth": ("mode",),
}
"""By op, those with a default that onnx-mlir's op lacks (docs/internals/onnx-rules.md §4.6)."""


def written_properties(op: Operation) -> dict[str, Attribute]:
    """Return an op's properties without newer ones of default value, which the parser restores."""
    newer = NEWER_PROPERTIES.get(op.name)
    if newer is None or not isinstance(op, OnnxOp):
        return op.properties
    defaults = _defaults(type(op))
    return {
        name: value
        for name, value in op.properties.items()
        if name not in newer or value != defaults.get(name)
    }


@cache
def _defaults(of: type[IRDLOperation]) -> Mapping[str, Attribute]:
    definitions = of.get_irdl_definition().properties
    return {
        name: definition.default_value
        for name, definition in definitions.items()
        if definition.default_value is not None
    }
