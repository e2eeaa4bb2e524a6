"""
Stands in for the package onnxoptimizer: the same functions, passes and command line.

    import xonnc.compat.onnxoptimizer as onnxoptimizer

    optimized = onnxoptimizer.optimize(model, ["eliminate_identity", "fuse_bn_into_conv"])
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import onnx

from xonnc.compat.onnxoptimizer.command_line import main
from xonnc.compat.onnxoptimizer.manager import default_passes, run
from xonnc.compat.onnxoptimizer.registry import PASSES
from xonnc.formats.onnx.load_model import LoadedModel

__version__ = version("xonnc")


def optimize(
    model: onnx.ModelProto, passes: Sequence[str] | None = None, fixed_point: bool = False
) -> onnx.ModelProto:
    """
    Return an optimized copy of a model.

    Parameters:
        model: the model, of any size.
        passes: the names of passes, run in this order; `get_fuse_and_elimination_passes()` by default.
        fixed_point: whether the passes are repeated until none changes anything, at most 50 times.

    Raises:
        TypeError: if `model` is no `ModelProto`.
        RuntimeError: for an unknown pass.
    """
    _require_model(model)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    run(LoadedModel.of(copy), passes, fixed_point)
    return copy


def _require_model(model: object) -> None:
    """Raise `TypeError` for anything but a model."""
    if not isinstance(model, onnx.ModelProto):
        raise TypeError(f"Optimizer only accepts ModelProto, incorrect type: {type(model)}")


def optimize_fixedpoint(model: onnx.ModelProto, passes: Sequence[str] | None = None) -> onnx.ModelProto:
    """Return `optimize(model, passes, fixed_point=True)`."""
    return optimize(model, passes, fixed_point=True)


def get_available_passes() -> list[str]:
    """Return the names of all passes."""
    return list(PASSES)


def get_fuse_and_elimination_passes() -> list[str]:
    """Return the names of the passes that fuse or eliminate, which are the default."""
    return default_passes()


__all__ = [
    "get_available_passes",
    "get_fuse_and_elimination_passes",
    "main",
    "optimize",
    "optimize_fixedpoint",
]
