"""
Run a model in a shared library that was compiled ahead of time, through its exported C API.

    library = Library("model.so")
    outputs = library.run(None, {"x": x})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import CDLL, POINTER, byref, c_char_p, c_int32, c_int64, c_uint64, c_void_p, memmove
from pathlib import Path
from typing import Any
from weakref import finalize

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.argument_types import require_path
from xonnc.errors import XonncError
from xonnc.formats.native.program import TensorSpec
from xonnc.formats.native.shared_library import exported_prefix
from xonnc.runtime.native.feeds import check_feeds
from xonnc.runtime.native.onnxruntime_api import OnnxruntimeApi, require_arrays, require_outputs, write_output

Array = npt.NDArray[np.generic]


class Library(OnnxruntimeApi):
    """A model in a shared library, compiled for a compatible processor; one run at a time."""

    def __init__(self, path: str | Path, weights: str | Path | None = None) -> None:
        """
        Load the library at `path`; its code runs with the rights of this process.

        `weights` is its file of constants, by default the one next to it, unless they are embedded. Raises
        `XonncError` for a file that xonnc did not compile, or that cannot be loaded on this processor.
        """
        self._prefix = exported_prefix(require_path(path))
        target = require_path(path).resolve()
        try:
            self._library = CDLL(str(target))
        except OSError as error:
            raise XonncError(f"{path}: cannot be loaded: {error}") from None
        try:
            self.inputs, self.outputs = self._ports("input"), self._ports("output")
        except AttributeError as error:
            raise XonncError(f"{path}: not a library compiled by xonnc: {error}") from None
        self._model = c_void_p()
        weight_file = target.with_name(f"{target.name}.weight")
        file = weights or (weight_file if weight_file.is_file() else None)
        self._do("create", byref(self._model), None if file is None else str(file).encode())
        finalize(self, self._library[f"{self._prefix}_destroy"], self._model).atexit = False

    def results(
        self, names: Sequence[str] | None, feeds: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> list[Array]:
        """Return outputs as `run` does; those in `out` are copied to its arrays."""
        known = [port.name for port in self.outputs]
        requested = known if names is None else require_outputs(names, known)
        require_arrays(feeds)
        # The C API keeps pointers to the arrays, which must stay alive until the run ends.
        arrays = [np.asarray(value) for value in check_feeds(self.inputs, feeds)]
        for number, array in enumerate(arrays):
            sizes = (c_int64 * array.ndim)(*array.shape)
            self._do("set_shape", self._model, c_int32(number), sizes, c_int32(array.ndim))
            data = c_void_p(array.ctypes.data or None)
            self._do("set_input", self._model, c_int32(number), data, c_uint64(array.nbytes))
        self._do("run", self._model)
        given = out or {}
        for name in require_outputs(list(given), known):
            write_output(name, self._output(known.index(name)), given[name])
        return [given[name] if name in given else self._output(known.index(name)) for name in requested]

    def _output(self, number: int) -> Array:
        """Copy an output, since the next run overwrites it."""
        port = self.outputs[number]
        sizes = self._call("get_output_shape", POINTER(c_int64), self._model, c_int32(number))
        made = np.empty([sizes[axis] for axis in range(len(port.shape or ()))], port.dtype)
        memmove(
            made.ctypes.data, self._call("get_output", c_void_p, self._model, c_int32(number)), made.nbytes
        )
        return made

    def _ports(self, kind: str) -> list[TensorSpec]:
        ports: list[TensorSpec] = []
        for number in range(self._call(f"{kind}_count", c_int32)):
            name, type_ = (
                self._call(f"{kind}_{what}", c_char_p, number).decode() for what in ("name", "type")
            )
            sizes = self._call(f"{kind}_shape", POINTER(c_int64), number)
            rank = self._call(f"{kind}_rank", c_int32, number)
            shape = tuple(None if sizes[axis] < 0 else int(sizes[axis]) for axis in range(rank))
            ports.append(TensorSpec(name, number, shape, np.dtype(getattr(ml_dtypes, type_, type_))))
        return ports

    def _do(self, name: str, *arguments: object) -> None:
        """Call a function that returns a code; raise `XonncError` with its message if it is not 0."""
        code = self._call(name, c_int32, *arguments)
        if code:
            raise XonncError(self._call("message", c_char_p, c_int32(code)).decode())

    def _call(self, name: str, result: Any, *arguments: object) -> Any:
        """Call a function with a result of the ctypes type `result`."""
        function = self._library[f"{self._prefix}_{name}"]
        function.restype = result
        return function(*arguments)
