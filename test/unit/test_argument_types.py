"""Arguments of wrong types are refused with the parameter, the value and what it takes."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.argument_types import accepts, checks_arguments, describe, require_path
from xonnc.backend import prepare
from xonnc.errors import XonncError
from xonnc.formats.native.program import TensorSpec
from xonnc.runtime.native.onnxruntime_api import OnnxruntimeApi

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }"""
)
X = np.ones((1, 4), np.float32)

UNTYPED: Any = xonnc
"""The package as users without a type checker call it."""


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (str, "a", True),
        (str, 1, False),
        (int, 1, True),
        (int, np.int64(1), True),
        (int, True, False),
        (int, 1.0, False),
        (float, 1, True),
        (float, "1", False),
        (bool, True, True),
        (bool, 1, False),
        (str | Path, Path("a"), True),
        (str | Path, 5, False),
        (PathLike[str], Path("a"), True),
        (int | None, None, True),
        (Sequence[str], ["a"], True),
        (Sequence[str], "a", False),
        (Sequence[str], [1], False),
        (Mapping[str, Sequence[int]], {"x": [1]}, True),
        (Mapping[str, Sequence[int]], {"x": "1"}, False),
        (Mapping[str, int], [1], False),
        (Callable[[int], int], abs, True),
        (Callable[[int], int], 5, False),
        (IO[bytes], io.BytesIO(), True),
        (IO[bytes], b"", False),
        (Literal["a", "b"], "c", True),
        (Literal["a", "b"], 5, False),
        (Any, 5, True),
        (object, 5, True),
        (np.ndarray, X, True),
    ],
)
def test_accepts(annotation: Any, value: object, expected: bool):
    assert accepts(annotation, value) == expected


def test_descriptions():
    assert describe(str | Path | None) == "a string or a path or None"
    assert describe(Sequence[str]) == "a list of strings"
    assert describe(Literal["a", 2]) == "'a' or 2"
    assert describe(onnx.ModelProto) == "ModelProto"


def test_a_checked_function():
    @checks_arguments
    def double(number: int, *, label: str = "") -> str:
        return f"{label}{2 * number}"

    untyped: Any = double
    assert double(2, label="n") == "n4"
    with pytest.raises(XonncError, match=r"^number: '2' is of type str; it takes an integer$"):
        untyped("2")
    with pytest.raises(
        XonncError, match=r"^label: 'x+\.\.\. is of type bytes|^label: b'x+\.\.\. is of type bytes"
    ):
        untyped(2, label=b"x" * 99)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'number'"):
        untyped()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: UNTYPED.compile(MODEL, 5), "target: 5 is of type int; it takes the name of a target"),
        (lambda: UNTYPED.compile(MODEL, threads="2"), "threads: '2' is of type str; it takes an integer"),
        (lambda: UNTYPED.compile(MODEL, enable_pass="cse"), "enable_pass: 'cse' .* a list of strings"),
        (lambda: UNTYPED.compile(MODEL, layouts=3), "layouts: 3 is of type int; it takes a dictionary"),
        (
            lambda: UNTYPED.compile(MODEL, "nv_small", calibrate=3),
            "samples are a file, a folder, or a list of",
        ),
        (lambda: UNTYPED.compile_artifact(MODEL, 5), "output: 5 is of type int; it takes a string or a path"),
        (lambda: UNTYPED.compile_model(5), "path: 5 is of type int"),
        (lambda: UNTYPED.compile_package(5), "path: 5 is of type int"),
        (lambda: UNTYPED.simplify(b""), "model: b'' is of type bytes; it takes a string or a path or ModelP"),
        (
            lambda: UNTYPED.simplify(MODEL, input_shapes={"x": "a"}),
            r"input_shapes\['x'\]: 'a' is of type str; ",
        ),
        (lambda: UNTYPED.load(None), "folder: None is of type NoneType; it takes a string or a path"),
        (lambda: UNTYPED.load_package(5), "path: 5 is of type int"),
        (lambda: UNTYPED.load_target(5), "name: 5 is of type int; it takes a string"),
        (lambda: UNTYPED.quantize(MODEL, [X], keep_float=3), "keep_float: 3 is of type int"),
        (lambda: UNTYPED.read_loadable(5), "path: 5 is of type int"),
        (lambda: UNTYPED.Library(5), "5 is of type int; a path is a string or a Path"),
        (lambda: UNTYPED.compile(MODEL).save(5), "5 is of type int; a path is a string or a Path"),
        (lambda: prepare(UNTYPED), "model: <module .* it takes ModelProto"),
    ],
)
def test_entry_points(call: Callable[[], object], message: str):
    with pytest.raises(XonncError, match=message):
        call()


class Fake(OnnxruntimeApi):
    """A session without a model."""

    inputs: Sequence[TensorSpec] = ()
    outputs: Sequence[TensorSpec] = ()

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, object]) -> list[object]:
        return []


@pytest.fixture(scope="module", params=["cpu", "nv_full"])
def compiled(request: pytest.FixtureRequest) -> Any:
    return xonnc.compile(MODEL, str(request.param))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, [X]), "inputs are a dictionary of arrays by name, found list"),
        ((None, None), "inputs are a dictionary of arrays by name, found NoneType"),
        (("y", {"x": X}), "outputs are a list of names, or None for all, found str"),
        ((5, {"x": X}), "outputs are a list of names, or None for all, found int"),
        (([0], {"x": X}), "no output '0'; there are y"),
        ((None, {"x": X}, [X]), "arrays for outputs are a dictionary of arrays by name, found list"),
        ((None, {"x": X}, {"z": X}), "no output 'z'; there are y"),
    ],
)
def test_runs(compiled: Any, arguments: tuple[object, ...], message: str):
    with pytest.raises(XonncError, match=message):
        compiled.run(*arguments)


def test_methods_of_onnxruntime():
    fake: Any = Fake()
    with pytest.raises(XonncError, match="run_async: the callback is a function, found int"):
        fake.run_async(None, {}, 5)
    with pytest.raises(XonncError, match=r"a binding comes from io_binding\(\), found int"):
        fake.run_with_iobinding(5)
    with pytest.raises(XonncError, match="no input '5'; there are none"):
        fake.io_binding().bind_cpu_input(5, X)


def test_paths():
    assert require_path("a") == require_path(Path("a")) == Path("a")
