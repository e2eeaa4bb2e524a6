"""Packages for targets of plug-in backends: parts for the backend, and parts for the CPU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, var_operand_def

import xonnc
from xonnc.backend_packages import compile_backend_package
from xonnc.errors import UnknownNameError, XonncError
from xonnc.formats.package.archive import read_package
from xonnc.plugin import Backend, BackendNode, Plugin, backend, constant_of
from xonnc.plugins import backends as registry
from xonnc.runtime import package as runtime
from xonnc.tools.driver import main

FUNCTIONS = {"Neg": np.negative, "Abs": np.abs, "Add": np.add}


@irdl_op_definition
class CallOp(IRDLOperation):
    name = "parted.call"
    operands_ = var_operand_def(TensorType)
    y = result_def(TensorType)
    function = prop_def(StringAttr)


@dataclass(frozen=True)
class PartedTarget:
    name: str
    description: str
    only_constants: bool = False


def call(node: BackendNode, target: PartedTarget) -> CallOp:
    """One `parted.call`."""
    if target.only_constants and node.operator == "Add" and node.constant(1) is None:
        raise node.refuse("operand B is not constant")
    return CallOp.build(
        operands=[list(node.operands)],
        result_types=node.result_types,
        properties={"function": StringAttr(node.operator)},
    )


def emitted(module: ModuleOp, target: PartedTarget) -> str:
    """A JSON list: inputs, constants, calls and outputs by value numbers."""
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    numbers: dict[SSAValue, int] = {}

    def number(value: SSAValue) -> int:
        return numbers.setdefault(value, len(numbers))

    steps: list[Any] = [["input", number(each)] for each in function.body.block.args]
    for op in function.body.block.ops:
        if isinstance(op, CallOp):
            steps.append(["call", op.function.data, number(op.y), [number(each) for each in op.operands]])
        elif op.results and (array := constant_of(op.results[0])) is not None:
            steps.append(["constant", number(op.results[0]), array.tolist(), array.dtype.name])
    last = function.body.block.last_op
    assert last is not None
    return json.dumps([*steps, ["outputs", [number(each) for each in last.operands]]])


def interpreted(content: bytes, inputs: Sequence[Any], target: PartedTarget) -> list[Any]:
    values: dict[int, Any] = {}
    given = iter(inputs)
    for kind, *step in json.loads(content):
        if kind == "input":
            values[step[0]] = next(given)
        elif kind == "constant":
            values[step[0]] = np.array(step[1], step[2])
        elif kind == "call":
            values[step[1]] = FUNCTIONS[step[0]](*(values[each] for each in step[2]))
        else:
            return [values[each] for each in step[0]]
    raise AssertionError


@pytest.fixture
def parted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A backend with two targets that is registered for one test."""
    (tmp_path / "parted.toml").write_text('description = "takes all"\n')
    (tmp_path / "strict.toml").write_text('description = "adds constants"\nonly_constants = true\n')
    files = [tmp_path / "parted.toml", tmp_path / "strict.toml"]
    made = backend(
        Plugin("parts"), "parted", PartedTarget, files, suffix=".part", dialect=Dialect("parted", [CallOp])
    )
    made.lowers(*FUNCTIONS)(call)
    made.emits(emitted)
    made.runs(interpreted)
    monkeypatch.setattr(registry, "_backends", {})
    registry.register_backends(made.plugin)
    return made


MODEL = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[2, 3] x) => (float[2, 3] y, float[2, 3] n, float[2, 3] c)
    <float[3] c0 = {1, -2, 3}, float[2, 3] c = {1, 2, 3, 4, 5, 6}>
    { [first] a = Add (x, c0)  [neg] n = Neg (a)  [exp] e = Exp (n)  [abs] b = Abs (e)
      [sum] s = Add (b, a)  [last] y = Sigmoid (s) }
"""


def saved(folder: Path, text: str = MODEL) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return path


def inputs() -> Any:
    return np.array([[0, -1.5, 2], [3, -4, 0.25]], np.float32)


def outputs(x: Any) -> dict[str, Any]:
    a = x + np.array([1, -2, 3], np.float32)
    return {
        "y": 1 / (1 + np.exp(-(np.exp(-a) + a))),
        "n": -a,
        "c": np.arange(1, 7, dtype=np.float32).reshape(2, 3),
    }


def test_a_model_is_split_between_the_backend_and_the_cpu(
    parted: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, output = saved(tmp_path), tmp_path / "m.xpkg"
    assert main(["compile", str(path), "--target", "parted", "--package", "-v"]) == 0
    shown = capsys.readouterr().out
    assert "4 nodes on parted in 2 parts, 2 on the CPU" in shown
    reason = "parted has no such operator; it takes Abs, Add, Neg"
    assert f"1 Exp: {reason}" in shown
    assert f"exp (Exp): {reason}" in shown
    steps = read_package(output).manifest.steps
    assert [step.kind for step in steps] == ["backend", "cpu", "backend", "cpu", "cpu"]
    assert [step.file for step in steps[:2]] == ["parts/0.part", "parts/1.onnx"]
    found = xonnc.load_package(output).run({"x": inputs()})
    for name, expected in outputs(inputs()).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-6)


def test_the_same_on_the_command_line(parted: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, output = saved(tmp_path), tmp_path / "other.xpkg"
    assert main(["compile", str(path), "--target", "parted", "-o", str(output), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["backend"], found["nodes"], len(found["cpu_nodes"])) == ("parted", 6, 2)
    np.save(tmp_path / "x.npy", inputs())
    arguments = ["--input", f"x={tmp_path / 'x.npy'}", "--output", f"y={tmp_path / 'y.npy'}"]
    assert main(["run", str(output), *arguments]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), outputs(inputs())["y"], rtol=1e-6)
    capsys.readouterr()
    assert main(["explain", str(output)]) == 0
    assert "parts/0.part   the backend of a plug-in\n  x to n, a\n" in capsys.readouterr().out
    assert main(["compile", str(path), "--target", "parted", "--package", "--dry-run", "-q"]) == 0
    assert not (tmp_path / "m.xpkg").exists()


def test_what_is_refused_once_a_neighbour_is_elsewhere(parted: Backend, tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (float[2] x) => (float[2] y) <float[2] c = {1, 2}>
        { d = Neg (x)  e = Exp (d)  s = Add (e, c)  t = Add (s, d)  y = Neg (t) }"""
    package = compile_backend_package(saved(tmp_path, text), "strict")
    assert {node.operator: node.reason for node in package.cpu_nodes} == {
        "Exp": "strict has no such operator; it takes Abs, Add, Neg",
        "Add": "operand B is not constant",
    }
    package.write(tmp_path / "m.xpkg")
    (found,) = xonnc.load_package(tmp_path / "m.xpkg").run({"x": np.array([0, 1], np.float32)}).values()
    np.testing.assert_allclose(found, -(np.exp([0, -1]) + np.array([1, 1])), rtol=1e-6)


def test_constants_that_are_dequantized_blame_their_readers(parted: Backend, tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (float[2] x) => (float[2] y) <int8[2] q = {1, 2}, float s = {0.5}>
        { w = DequantizeLinear (q, s)  a = Neg (x)  y = Add (a, w) }"""
    package = compile_backend_package(saved(tmp_path, text), "parted")
    assert [(node.operator, node.reason) for node in package.cpu_nodes] == [
        ("Add", "parted has no such operator; it takes Abs, Add, Neg")
    ]
    package.write(tmp_path / "m.xpkg")
    (found,) = xonnc.load_package(tmp_path / "m.xpkg").run({"x": np.array([3, -1], np.float32)}).values()
    np.testing.assert_allclose(found, [-2.5, 2])


def test_targets_that_a_package_cannot_name(parted: Backend, tmp_path: Path):
    path = saved(tmp_path)
    with pytest.raises(UnknownNameError, match="no target 'nowhere' of a plug-in"):
        compile_backend_package(path, "nowhere")
    (tmp_path / "mine.toml").write_text('description = "mine"\nbackend = "parted"\n')
    with pytest.raises(
        XonncError, match=r"mine.toml: a package names its target; give one of backend parted"
    ):
        compile_backend_package(path, str(tmp_path / "mine.toml"))


@pytest.mark.parametrize("option", [["--dump", "d"], ["--stop-after", "simplified"]])
def test_options_that_packages_lack(
    option: list[str], parted: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["compile", str(saved(tmp_path)), "--target", "parted", "--package", *option]) == 1
    assert capsys.readouterr().err == (
        f"xonnc: {option[0]} is not for packages of parted; leave out --package\n"
    )


def test_packages_whose_plugin_is_not_loaded(
    parted: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    output = tmp_path / "m.xpkg"
    compile_backend_package(saved(tmp_path), "parted").write(output)
    with pytest.raises(
        XonncError, match=r"a part for the backend of a plug-in; load it by xonnc\.load_package"
    ):
        runtime.load_package(output)
    with pytest.raises(XonncError, match=r"parts/0\.part is of a plug-in, which deploys it itself"):
        xonnc.deploy(output, tmp_path / "board")
    monkeypatch.setattr(parted, "run", None)
    with pytest.raises(XonncError, match="nothing runs its output"):
        xonnc.load_package(output).run({"x": inputs()})
    monkeypatch.setattr(registry, "_backends", {})
    with pytest.raises(XonncError) as error:
        xonnc.load_package(output)
    assert str(error.value) == (
        "target 'parted' is of a plug-in that is not loaded; name its file with --plugin"
    )
