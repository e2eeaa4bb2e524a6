"""Whether a model is one: what the checker of the onnx package says."""

from __future__ import annotations

from collections.abc import Callable

import onnx

CHECK: Callable[..., None] = vars(onnx.checker)["check_model"]
"""By name, because its type is only known in part."""


def invalidity(model: onnx.ModelProto, with_shapes: bool = True) -> str:
    """What is wrong with a model, in a line; empty if nothing is. With shapes, types must be right too."""
    try:
        CHECK(model, full_check=with_shapes)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return " ".join(str(error).split())
    return ""
