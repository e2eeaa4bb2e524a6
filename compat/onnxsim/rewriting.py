"""The caller's own rewriter, alternating with simplification until neither changes the model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeAlias, cast

import onnx

from xonnc.rewriting.timeline import timed

ModelRewriter: TypeAlias = Callable[[onnx.ModelProto], onnx.ModelProto | bool | None]
"""
Rewrites a model: returns a new one, or `None` if it changed its argument, or `False` if it changed nothing.
"""

MAX_ROUNDS = 50
"""The most calls of a rewriter."""


def rewritten(
    model: onnx.ModelProto,
    rewriter: ModelRewriter,
    simplified: Callable[[onnx.ModelProto], onnx.ModelProto],
) -> onnx.ModelProto:
    """
    Rewrite and simplify a model in turn until the rewriter, or both together, change nothing.

    A warning says so if that takes more than `MAX_ROUNDS` calls. Raises `TypeError` for a rewriter that
    returns something else, and what the rewriter raises.
    """
    for _ in range(MAX_ROUNDS):
        with timed("custom rewriter"):
            changed = _after(rewriter, model)
        if changed is None:
            return model
        before, model = model, simplified(changed)
        if _is_equal(before, model):
            return model
    warnings.warn(f"custom_rewriter still changes the model after {MAX_ROUNDS} rounds", stacklevel=2)
    return model


def _after(rewriter: ModelRewriter, model: onnx.ModelProto) -> onnx.ModelProto | None:
    """Return the model after a call of the rewriter; `None` if it is as before."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    result = cast("object", rewriter(copy))
    if result is False:
        return None
    if result is None or result is True:
        result = copy
    if not isinstance(result, onnx.ModelProto):
        raise TypeError(
            f"custom_rewriter returns a {type(result).__name__}; it returns a ModelProto, None if it changed "
            "its argument, or False if it changed nothing"
        )
    return None if _is_equal(model, result) else result


def _is_equal(first: onnx.ModelProto, second: onnx.ModelProto) -> bool:
    # Attributes that are NaN differ from themselves, their bytes do not.
    return first == second or (
        first.ByteSize() == second.ByteSize() < 1 << 31
        and first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)
    )
