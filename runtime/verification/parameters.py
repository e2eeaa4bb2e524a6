"""Inputs of ONNX models: their types, and data sets of them in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from re import split

import numpy as np
import onnx
from onnx import helper, numpy_helper

from xonnc.errors import XonncError
from xonnc.formats.arrays import read_array
from xonnc.formats.onnx.value_types import static_size
from xonnc.runtime.reference import ModelParameter
from xonnc.runtime.verification.trial_inputs import Array, Feeds

DECODE_ERRORS = (ValueError, TypeError, RuntimeError)
"""Exceptions of `protobuf` and `onnx` for a file that holds no tensor."""


def required_inputs(model: onnx.ModelProto) -> list[ModelParameter]:
    """The inputs without an initializer; `XonncError` for one that is not a tensor."""
    defaults = {tensor.name for tensor in model.graph.initializer}
    return [_parameter(info) for info in model.graph.input if info.name not in defaults]


def _parameter(info: onnx.ValueInfoProto) -> ModelParameter:
    if info.type.WhichOneof("value") != "tensor_type":
        raise XonncError(
            f"{info.name}: a {info.type.WhichOneof('value')}; inputs are generated for tensors only"
        )
    tensor_type = info.type.tensor_type
    if not tensor_type.HasField("shape"):
        raise XonncError(f"{info.name}: its rank is unknown; give inputs with --inputs")
    shape = tuple(static_size(dim) for dim in tensor_type.shape.dim)
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor_type.elem_type))
    return ModelParameter(info.name, shape, np.dtype(np.object_) if dtype.kind in "SU" else dtype)


def read_data_sets(folder: Path, inputs: Sequence[str]) -> list[Feeds]:
    """
    The inputs in a folder: one data set, or one in each folder within, in the order of their names.

    Files are `.npy` or `.pb` (`TensorProto`). They are named as the inputs, or numbered as in ONNX's tests
    (`input_0.pb`).
    """
    if not folder.is_dir():
        raise XonncError(f"{folder}: no folder of inputs (.npy or .pb)")
    within = sorted((path for path in folder.iterdir() if path.is_dir()), key=_by_number)
    found = [_data_set(each, inputs) for each in within or [folder]]
    return found


def _by_number(path: Path) -> list[tuple[int, str]]:
    """A key that sorts `set_10` after `set_9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in split(r"(\d+)", path.name)]


def _data_set(folder: Path, inputs: Sequence[str]) -> Feeds:
    found: dict[str, Array] = {}
    for index, name in enumerate(inputs):
        stems = (name, name.replace("/", "_"), f"input_{index}")
        paths = [folder / f"{stem}{suffix}" for stem in stems for suffix in (".npy", ".pb")]
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            raise XonncError(
                f"{folder}: nothing for input '{name}'; name it {paths[0].name} or {paths[-1].name}"
            )
        found[name] = read_array(path) if path.suffix == ".npy" else _tensor(path)
    return found


def _tensor(path: Path) -> Array:
    try:
        return np.asarray(numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes())))
    except (*DECODE_ERRORS, *_decode_error()) as error:
        raise XonncError(f"{path}: no tensor in it ({error})") from None


def _decode_error() -> tuple[type[Exception], ...]:
    from google.protobuf.message import DecodeError

    return (DecodeError,)
