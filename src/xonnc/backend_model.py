"""Models compiled for the backends of plug-ins, ready to run or to be saved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from xonnc.argument_types import checks_arguments, require_path
from xonnc.backend_compilation import BackendOutput, compile_for_backend
from xonnc.errors import XonncError
from xonnc.formats.native.program import TensorSpec
from xonnc.plugins.backend_declarations import Backend
from xonnc.plugins.backends import backend_of
from xonnc.runtime.native.onnxruntime_api import (
    OnnxruntimeApi,
    requested,
    require_arrays,
    require_request,
)
from xonnc.transforms.models.signatures import Shapes

Array = npt.NDArray[Any]


class BackendModel(OnnxruntimeApi):
    """A model compiled for a target of a plug-in; it runs if the backend declares how."""

    def __init__(self, output: BackendOutput, target: str) -> None:
        self._output = output
        self._target = target

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        """The inputs, in the model's order."""
        return self._output.inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        """The outputs, in the model's order."""
        return self._output.outputs

    def results(
        self, names: Sequence[str] | None, feeds: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> list[Any]:
        """
        Return outputs as `run` does, by the function that the backend declares with `runs`.

        Parameters:
            names: the outputs asked for; `None` for all.
            feeds: arrays by input name.
            out: arrays that outputs are written to.

        Raises: `XonncError` for inputs that are missing, unknown, or of another type or shape; and if the
            backend declares no such function, or it fails.
        """
        known = [spec.name for spec in self.outputs]
        require_request(known, names, out)
        require_arrays(feeds)
        results = dict(zip(known, self._computed(self._fed(feeds)), strict=True))
        return requested(results, names, out)

    def _fed(self, feeds: Mapping[str, object]) -> list[Array]:
        names = [spec.name for spec in self.inputs]
        for name in feeds:
            if name not in names:
                raise XonncError(f"no input '{name}'; there are {', '.join(names) or 'none'}")
        return [_checked(spec, feeds) for spec in self.inputs]

    def _computed(self, fed: Sequence[Array]) -> list[Array]:
        backend = backend_of(self._target)
        assert backend is not None
        results = run_output(backend, self._target, self._output.content, fed)
        if len(results) != len(self.outputs):
            raise XonncError(
                f"{backend}: running its output gave {len(results)} arrays for {len(self.outputs)} outputs"
            )
        return results

    def report(self) -> BackendOutput:
        """The lowering of each node, and summaries of the model."""
        return self._output

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """
        Write the output file of the backend.

        Parameters:
            path: the file, with the backend's suffix.

        Returns: the files written.

        Raises: `XonncError` for another suffix.
        """
        file, backend = require_path(path), backend_of(self._target)
        assert backend is not None
        if file.suffix != backend.suffix:
            raise XonncError(f"{file}: {backend} writes {backend.suffix}")
        self._output.write(file)
        return [file]


def run_output(backend: Backend, target: str, content: bytes, fed: Sequence[Array]) -> list[Array]:
    """
    Run an output file of a backend, by the function that it declares with `runs`.

    Parameters:
        backend: the backend.
        target: the target that the file was compiled for.
        content: the file.
        fed: the inputs in order.

    Returns: the outputs in order.

    Raises: `XonncError` if the backend declares no such function, or it fails.
    """
    if backend.run is None:
        raise XonncError(
            f"{backend}: nothing runs its output; decorate a function with @….runs, or save(…) it"
        )
    try:
        found = backend.run(content, fed, backend.target_of(target))
    except XonncError:
        raise
    except Exception as error:
        raise XonncError(f"{backend}: running its output raised {type(error).__name__}: {error}") from error
    return [np.asarray(each) for each in found]


def _checked(spec: TensorSpec, feeds: Mapping[str, object]) -> Array:
    if spec.name not in feeds:
        raise XonncError(f"input '{spec.name}' is missing")
    array = np.asarray(feeds[spec.name])
    if array.dtype != spec.dtype or not spec.accepts(array.shape):
        shape = "any shape" if spec.shape is None else str(["?" if d is None else d for d in spec.shape])
        raise XonncError(
            f"input '{spec.name}': {array.dtype} {list(array.shape)}; the model takes {spec.dtype} {shape}"
        )
    return array


@checks_arguments
def compile_for_plugin(
    model: str | Path | onnx.ModelProto,
    target: str,
    *,
    strict: bool = False,
    input_shapes: Shapes | None = None,
) -> BackendModel:
    """
    Compile a model for a target of a plug-in's backend.

    Parameters:
        model: the model.
        target: the name of the target, or a TOML file that names its backend.
        strict: whether declared shapes that contradict the operators are an error.
        input_shapes: sizes of dynamic inputs by name.

    Returns: the compiled model.

    Raises: `XonncError` as `compile_for_backend` does.

    Example:
        >>> compile_for_plugin("model.onnx", "demo").save("model.demo")
    """
    return BackendModel(compile_for_backend(model, target, strict=strict, input_shapes=input_shapes), target)
