"""
Runs a compiled model through its exported functions, by ctypes alone: Python's standard library suffices.

    xonnc compile model.onnx -o model.so
    python run.py model.so model 3

The model has one input and one output of float32, of which sizes may be dynamic: here all these are 3.
"""

from __future__ import annotations

import sys
from ctypes import CDLL, POINTER, byref, c_char_p, c_float, c_int32, c_int64, c_uint64, c_void_p
from math import prod
from pathlib import Path
from typing import Any


class Model:
    """A model in a library whose functions begin with `prefix`."""

    def __init__(self, path: str, prefix: str) -> None:
        self._library = CDLL(str(Path(path).resolve()))
        self._prefix = prefix
        self._model = c_void_p()
        self._check(self._function("create", c_int32)(byref(self._model), None))

    def input_shape(self, number: int) -> list[int]:
        """The sizes of an input; -1 for one that is dynamic."""
        rank = self._function("input_rank", c_int32)(c_int32(number))
        shape = self._function("input_shape", POINTER(c_int64))(c_int32(number))
        return [shape[axis] for axis in range(rank)]

    def output_name(self, number: int) -> tuple[str, str]:
        """Name and type of an output."""
        name = self._function("output_name", c_char_p)(c_int32(number))
        type_ = self._function("output_type", c_char_p)(c_int32(number))
        return name.decode(), type_.decode()

    def run(self, values: list[float], shape: list[int]) -> tuple[list[float], list[int]]:
        """Elements and sizes of the first output for those of the first input."""
        data, sizes = (c_float * len(values))(*values), (c_int64 * len(shape))(*shape)
        self._check(self._function("set_shape", c_int32)(self._model, 0, sizes, c_int32(len(shape))))
        self._check(self._function("set_input", c_int32)(self._model, 0, data, c_uint64(4 * len(values))))
        self._check(self._function("run", c_int32)(self._model))
        rank = self._function("output_rank", c_int32)(0)
        found = self._function("get_output_shape", POINTER(c_int64))(self._model, 0)
        shape = [found[axis] for axis in range(rank)]
        output = self._function("get_output", POINTER(c_float))(self._model, 0)
        return output[: prod(shape)], shape

    def close(self) -> None:
        """Frees the model."""
        self._function("destroy", None)(self._model)

    def _function(self, name: str, result: Any) -> Any:
        function = getattr(self._library, f"{self._prefix}_{name}")
        function.restype = result
        return function

    def _check(self, code: int) -> None:
        if code:
            raise RuntimeError(self._function("message", c_char_p)(code).decode())


def main() -> int:
    """Feeds 0, 1, 2, … and prints the output."""
    path, prefix, size = sys.argv[1:]
    model = Model(path, prefix)
    shape = [int(size) if each < 0 else each for each in model.input_shape(0)]
    values, sizes = model.run([float(number) for number in range(prod(shape))], shape)
    print(*model.output_name(0), "x".join(map(str, sizes)))
    print(*(f"{value:.9g}" for value in values), sep="\n")
    model.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
