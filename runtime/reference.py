"""The reference for comparisons with compiled models: onnxruntime on the same ONNX file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ModelParameter:
    """An input or output of a model: its name, its shape (`None` where dynamic) and numpy element type."""

    name: str
    shape: tuple[int | None, ...]
    dtype: np.dtype[Any]


class _Argument(Protocol):
    name: str
    shape: Sequence[int | str | None]
    type: str


class InferenceSession(Protocol):
    """The part of `onnxruntime.InferenceSession` in use."""

    def get_inputs(self) -> Sequence[_Argument]: ...
    def get_outputs(self) -> Sequence[_Argument]: ...
    def run(self, outputs: None, feeds: Mapping[str, Array]) -> list[Array]: ...
    def end_profiling(self) -> str: ...


class ReferenceModel:
    """A model opened in onnxruntime, with its graph optimisations off unless `is_optimized`."""

    def __init__(self, path: Path, is_optimized: bool = False):
        self.path = path
        if not path.is_file():
            raise XonncError(f"{path}: no such file")
        self.session, self.errors = open_session(str(path), str(path), is_optimized=is_optimized)

    def inputs(self) -> list[ModelParameter]:
        """The inputs that must be fed, in the model's order."""
        return [_port(argument) for argument in self.session.get_inputs()]

    def outputs(self) -> list[ModelParameter]:
        """The outputs, in the model's order."""
        return [_port(argument) for argument in self.session.get_outputs()]

    def output_names(self) -> list[str]:
        """The names of the outputs, of whatever type, in the model's order."""
        return [argument.name for argument in self.session.get_outputs()]

    def run(self, feeds: Mapping[str, Array]) -> list[Array]:
        """Return the outputs, in the model's order, for arrays by input name; `XonncError` on failure."""
        try:
            return self.session.run(None, feeds)
        except self.errors as error:
            reason = " ".join(str(error).split())
            raise XonncError(f"{self.path}: onnxruntime does not run it: {reason}") from None


def open_session(
    model: str | bytes, name: str, threads: int = 0, is_optimized: bool = False, profile: str = ""
) -> tuple[InferenceSession, tuple[type[Exception], ...]]:
    """
    Open a session of onnxruntime; return it and the exceptions that it raises for inputs it rejects.

    `model` is a path or a serialised model, and `name` identifies it in messages. Graph optimisations are off
    unless `is_optimized`. With `threads` 0, onnxruntime chooses their number. With `profile` onnxruntime
    measures its operators; `end_profiling` writes a file with this prefix and returns its name. Raises
    `XonncError` if onnxruntime is not installed or cannot load the model.
    """
    try:
        # Not an import statement, because onnxruntime has no type annotations.
        ort = import_module("onnxruntime")
    except ImportError:
        raise XonncError("comparing needs onnxruntime: pip install 'xonnc[check]'") from None
    options = ort.SessionOptions()
    if not is_optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = profile
    own = (getattr(ort.capi.onnxruntime_pybind11_state, name) for name in _ERRORS)
    # Unsupported element types, such as bfloat16, and missing inputs raise Python's built-in exceptions.
    errors = (*own, RuntimeError, TypeError, ValueError)
    try:
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]), errors
    except errors as error:
        reason = " ".join(str(error).split())
        raise XonncError(f"{name}: onnxruntime does not open it: {reason}") from None


_ERRORS = (
    "EPFail",
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
)
"""The names of onnxruntime's exceptions; their only common base is `Exception`."""

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(int16)": np.int16,
    "tensor(uint16)": np.uint16,
    "tensor(int32)": np.int32,
    "tensor(uint32)": np.uint32,
    "tensor(int64)": np.int64,
    "tensor(uint64)": np.uint64,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def _port(argument: _Argument) -> ModelParameter:
    dtype = _DTYPES.get(argument.type)
    if dtype is None:
        raise XonncError(f"{argument.name}: a {argument.type} cannot be compared; tensors of numbers can")
    shape = tuple(size if isinstance(size, int) else None for size in argument.shape)
    return ModelParameter(argument.name, shape, np.dtype(dtype))
