"""Parts of packages for the CPU run as native code, or in onnxruntime where that suits them better."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper

from xonnc.errors import XonncError
from xonnc.package_engine import load_package, native_part
from xonnc.packages import compile_package
from xonnc.plugin import Plugin, Scalar, TensorType, one, operator, register

Floats = npt.NDArray[np.float32]


def part(operator: str, size: int | str = 4) -> bytes:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"])],
        "part",
        [value("x", TensorProto.FLOAT, [size])],
        [value("y", TensorProto.FLOAT if operator != "NonZero" else TensorProto.INT64, None)],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def test_a_package_runs_its_part_for_the_cpu_as_native_code(
    small_model: Callable[..., Path], tmp_path: Path
) -> None:
    compile_package(small_model("sine.onnx", operator="Sin"), "nv_full").write(tmp_path / "m.xpkg")
    x = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
    found: list[Floats] = []
    engines: dict[str, list[str]] = {"native": [], "onnxruntime": []}
    for cpu, names in engines.items():
        package = load_package(tmp_path / "m.xpkg", cpu=cpu)

        def note(number: int, total: int, what: str, names: list[str] = names) -> None:
            names.append(what)

        found.append(next(iter(package.run({"x": x}, observe=note).values())))
    assert "native code" in engines["native"]
    assert "native code" not in engines["onnxruntime"]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-5)


RAISING = Plugin("raising")


@operator(RAISING, domain="org.raising", name="Raising")
class Raising:
    """An operator with an error in its kernel."""

    inputs = one("T")
    outputs = one("T")

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.inputs[0]

    @staticmethod
    def kernel(op: Any, x: Scalar) -> Scalar:
        raise ValueError("no kernel")


def test_errors_of_plugins_do_not_choose_another_engine() -> None:
    register(RAISING)
    model = onnx.ModelProto.FromString(part("Raising"))
    model.graph.node[0].domain = "org.raising"
    model.opset_import.append(helper.make_opsetid("org.raising", 1))
    with pytest.raises(
        XonncError, match=r"^p: y \(Raising of plug-in raising\): kernel raised ValueError: no k"
    ):
        native_part(model.SerializeToString(), "p")


def test_native_parts() -> None:
    made = native_part(part("Sin"), "part")
    assert made is not None
    what, run = made
    assert what == "native code"
    x = np.array([0, 1, 2, 3], np.float32)
    np.testing.assert_allclose(np.asarray(run({"x": x})[0], np.float32), np.sin(x), rtol=1e-5)
    with pytest.raises(XonncError, match="part: input 'x': float64 was fed"):
        run({"x": x.astype(np.float64)})


@pytest.mark.parametrize(
    "held", [part("Sin", "N"), part("NoSuchOperator")], ids=["dynamic shape", "unknown operator"]
)
def test_parts_for_another_engine(held: bytes) -> None:
    assert native_part(held, "part") is None


def test_engines_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(XonncError, match=r"no engine 'gpu' for .*; there are native, onnxruntime"):
        load_package(tmp_path / "m.xpkg", cpu="gpu")
