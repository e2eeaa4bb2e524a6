"""`onnxsim.model_checking`: the comparison of a simplified model with the original."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from xonnc.compat.onnxsim.comparison import InputFill, is_same
from xonnc.compat.onnxsim.profile import Profile
from xonnc.errors import XonncError
from xonnc.formats.onnx.external_data import DataFolder
from xonnc.formats.onnx.load_model import load, parse
from xonnc.formats.onnx.loaded_export import whole_model
from xonnc.formats.onnx.tensors import AnyArray


def compare(
    model_opt: str | Path | bytes | onnx.ModelProto,
    model_ori: str | Path | bytes | onnx.ModelProto,
    n_times: int = 5,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    input_data: Mapping[str, AnyArray] | None = None,
    custom_lib: str | None = None,
    verbose: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    input_fill: InputFill = "random",
) -> bool:
    """
    Compare two models in onnxruntime.

    Parameters:
        model_opt: the simplified model, its bytes or its path.
        model_ori: the original one.
        n_times: the number of inputs.
        input_shapes: shapes of dynamic inputs.
        input_data: inputs to use instead of drawn ones.
        custom_lib: must be `None`.
        verbose: whether a difference is told on stderr.
        rtol: relative tolerance.
        atol: absolute tolerance.
        input_fill: elements of the inputs: `random`, `ones`, `zeros` or `arange`.

    Returns: whether there is no difference.

    Raises:
        XonncError: for an invalid model, an input of unknown size, or a `custom_lib`.
    """
    if custom_lib is not None:
        raise XonncError(f"custom_lib {custom_lib}: libraries of onnxruntime are not loaded; use a plug-in")
    original, simplified = _model(model_ori), _model(model_opt)
    if not n_times:
        return True
    shapes = {name: tuple(shape) for name, shape in (input_shapes or {}).items()}
    same = is_same(
        original, simplified, n_times, shapes, input_data or {}, input_fill, (rtol, atol), Profile()
    )
    if verbose and not same:
        print("outputs of the simplified model differ", file=sys.stderr)
    return same


def _model(given: str | Path | bytes | onnx.ModelProto) -> onnx.ModelProto:
    if isinstance(given, onnx.ModelProto):
        return given
    if isinstance(given, bytes):
        return whole_model(parse(memoryview(given), "onnx", "the bytes of a model", DataFolder(None)))
    return whole_model(load(given))
