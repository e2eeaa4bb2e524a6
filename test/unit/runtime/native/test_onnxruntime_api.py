"""Sessions have the methods by which users of onnxruntime run models."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest

import xonnc
from xonnc.errors import XonncError
from xonnc.runtime.native.session import Session

Array = npt.NDArray[Any]

MODEL = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[n, 3] x, int64[2] k) => (float[n, 3] y, int64[2] l) { y = Neg (x)  l = Add (k, k) }
"""
X, K = np.array([[1, -2, 0.5]], np.float32), np.array([3, -4], np.int64)


@pytest.fixture(scope="module")
def session() -> Session:
    return xonnc.compile(onnx.parser.parse_model(MODEL))


def test_inputs_and_outputs_are_described(session: Session):
    assert [(arg.name, arg.shape, arg.type) for arg in session.get_inputs()] == [
        ("x", [None, 3], "tensor(float)"),
        ("k", [2], "tensor(int64)"),
    ]
    assert [arg.name for arg in session.get_outputs()] == ["y", "l"]
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert repr(session) == "<Session (x: float32[?, 3], k: int64[2]) -> (y: float32[?, 3], l: int64[2])>"


def test_outputs_are_written_to_arrays(session: Session):
    y = np.empty((1, 3), np.float32)
    results = session.run(None, {"x": X, "k": K}, out={"y": y})
    assert results[0] is y
    np.testing.assert_array_equal(y, -X)
    (only,) = session.run(["l"], {"x": X, "k": K}, out={"y": y})
    np.testing.assert_array_equal(np.asarray(only, np.int64), 2 * K)


BACKWARDS = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[6] x) => (float[6] y, float[6] z) {
      m = Constant <value = int64[1] {-1}> ()
      e = Constant <value = int64[1] {-9223372036854775807}> ()
      a = Constant <value = int64[1] {0}> ()
      y = Slice (x, m, e, a, m)
      z = Neg (x)
    }
"""


def test_arrays_that_share_memory_with_inputs_or_each_other():
    session, memory = xonnc.compile(onnx.parser.parse_model(BACKWARDS)), np.arange(16, dtype=np.float32)
    x, expected = memory[2:8], memory[2:8][::-1].copy()
    for first in (2, 0, 5):
        y = memory[first : first + 6]
        memory[2:8] = expected[::-1]
        np.testing.assert_array_equal(np.asarray(session.run(["y"], {"x": x}, out={"y": y})[0]), expected)
    x, y, z = np.arange(6, dtype=np.float32), memory[:6], memory[3:9]
    session.run(None, {"x": x}, out={"y": y, "z": z})
    np.testing.assert_array_equal(z, -x)
    np.testing.assert_array_equal(y[:3], x[::-1][:3])


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        (
            {"y": np.empty((2, 3), np.float32)},
            r"output 'y': an array of float32 \[2, 3\]; the run gives float32",
        ),
        ({"y": np.empty((1, 3), np.float64)}, "output 'y': an array of float64"),
        ({"z": np.empty((1, 3), np.float32)}, "no output 'z'"),
    ],
)
def test_arrays_that_do_not_fit(session: Session, out: Mapping[str, Array], problem: str):
    with pytest.raises(XonncError, match=problem):
        session.run(None, {"x": X, "k": K}, out=out)


@pytest.mark.parametrize("shape", [(3, 1), (3,), (1, 1, 3)])
def test_arrays_of_another_shape_are_not_written_to(session: Session, shape: tuple[int, ...]):
    y = np.full(shape, -7, np.float32)
    with pytest.raises(XonncError, match="output 'y': an array of float32"):
        session.run(None, {"x": X, "k": K}, out={"y": y})
    assert (y == -7).all()


def test_read_only_arrays(session: Session):
    y = np.empty((1, 3), np.float32)
    y.flags.writeable = False
    with pytest.raises(XonncError, match="output 'y': the array is read-only"):
        session.run(None, {"x": X, "k": K}, out={"y": y})


def test_binding(session: Session):
    binding, y = session.io_binding(), np.empty((1, 3), np.float32)
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("k", K)
    binding.bind_output("l")
    binding.bind_output("y", y)
    session.run_with_iobinding(binding)
    doubled, same = binding.copy_outputs_to_cpu()
    np.testing.assert_array_equal(doubled, 2 * K)
    assert same is y
    np.testing.assert_array_equal(y, -X)
    binding.clear_binding_outputs()
    session.run_with_iobinding(binding)
    assert len(binding.get_outputs()) == 2
    binding.clear_binding_inputs()
    with pytest.raises(XonncError, match="input 'x' is not given; the model takes x, k"):
        session.run_with_iobinding(binding)


def test_binding_of_names_that_are_not_there(session: Session):
    binding = session.io_binding()
    with pytest.raises(XonncError, match="no input 'xx'"):
        binding.bind_cpu_input("xx", X)
    with pytest.raises(XonncError, match="no output 'q'"):
        binding.bind_output("q")


def asynchronous(session: Session, feeds: Mapping[str, object]) -> tuple[list[Any], Any, str]:
    done, got = Event(), list[tuple[list[Any], Any, str]]()

    def callback(outputs: list[Any], data: Any, error: str) -> None:
        got.append((outputs, data, error))
        done.set()

    session.run_async(None, feeds, callback, "mine")
    assert done.wait(20)
    return got[0]


def test_runs_in_another_thread(session: Session):
    outputs, data, error = asynchronous(session, {"x": X, "k": K})
    np.testing.assert_array_equal(outputs[0], -X)
    assert (data, error) == ("mine", "")
    outputs, _, error = asynchronous(session, {"x": X})
    assert outputs == []
    assert error.startswith("input 'k' is not given; the model takes x, k")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_runs_asynchronously_too(session: Session):
    asynchronous(session, {"x": X, "k": K})
    child = os.fork()
    if child == 0:
        outputs, _, _ = asynchronous(session, {"x": X, "k": K})
        os._exit(0 if np.array_equal(outputs[0], -X) else 1)
    assert os.waitpid(child, 0)[1] == 0


class ByDlpack:
    """A tensor of another library that exports its memory."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class ByArray:
    """A tensor that numpy can read."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.array


class Broken:
    """A tensor elsewhere, as on a graphics card."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        raise TypeError("not on the CPU")


@pytest.mark.parametrize("wrap", [ByDlpack, ByArray])
def test_tensors_of_other_libraries(session: Session, wrap: Callable[[Array], object]):
    y, _ = session.run(None, {"x": wrap(X), "k": wrap(K)})
    np.testing.assert_array_equal(np.asarray(y, np.float32), -X)


@pytest.mark.parametrize("given", [Broken(), object(), {"a": 1}])
def test_what_is_no_array(session: Session, given: object):
    with pytest.raises(XonncError, match=r"input 'x': a .* is not an array"):
        session.run(None, {"x": given, "k": K})


def test_libraries_have_them_too(tmp_path: Path):
    xonnc.compile_artifact(onnx.parser.parse_model(MODEL), tmp_path / "m.so")
    library = xonnc.Library(tmp_path / "m.so")
    assert [arg.name for arg in library.get_inputs()] == ["x", "k"]
    binding = library.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("k", K)
    library.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.get_outputs()[0], -X)
