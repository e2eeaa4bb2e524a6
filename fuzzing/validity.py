"""Model validity by the checker of the onnx package."""

from __future__ import annotations

from collections.abc import Callable

import onnx

CHECK: Callable[..., None] = vars(onnx.checker)["check_model"]
"""Accessed by name, because it is only partially typed."""


def invalidity(model: onnx.ModelProto, with_shapes: bool = True) -> str:
    """The checker's error, empty for a valid model. `with_shapes` checks types and shapes too."""
    try:
        CHECK(model, full_check=with_shapes)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return " ".join(str(error).split())
    return ""
