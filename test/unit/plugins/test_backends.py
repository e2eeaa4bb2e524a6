"""Backends of plug-ins: declaration, lowering, refusals, output and the commands that take their targets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from tool_server import run_tool
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

import xonnc
from xonnc.backend_compilation import compile_for_backend
from xonnc.backend_model import BackendModel
from xonnc.dialects.onnx.locations import node_name
from xonnc.errors import RefusalError, UnknownNameError, XonncError
from xonnc.plugin import Backend, BackendNode, Plugin, PluginError, backend, constant_of, module_pass
from xonnc.plugins import backends as registry
from xonnc.rewriting import extensions
from xonnc.tools.driver import main

MODEL = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[2, 3] x) => (float[2, 3] y)
    <float[3] c = {1, -2, 3}>
    { [sum] s = Add (x, c)  [neg] n = Neg (s)
      [relu] r = LeakyRelu <alpha = 0.5> (n)  [copy] y = Identity (r) }
"""


@irdl_op_definition
class UnaryOp(IRDLOperation):
    name = "toy.unary"
    x = operand_def(TensorType)
    y = result_def(TensorType)


@dataclass(frozen=True)
class ToyTarget:
    name: str
    description: str
    most: int = 100


def declared(folder: Path, plugin: Plugin | None = None, name: str = "toy") -> Backend:
    """Return a backend that lowers Neg, LeakyRelu and Add with a constant."""
    (folder / f"{name}.toml").write_text('description = "a toy"\nmost = 6\n')
    made = backend(
        plugin or Plugin("toys"),
        name,
        ToyTarget,
        [folder / f"{name}.toml"],
        suffix=".toy",
        dialect=Dialect("toy", [UnaryOp]),
    )

    made.lowers("Neg", "LeakyRelu")(unary)
    made.lowers("Add")(add)
    made.constraint("Neg", "LeakyRelu")(fits)
    made.emits(emitted)
    return made


def unary(node: BackendNode, target: ToyTarget) -> UnaryOp:
    """One `toy.unary`."""
    if node.attribute("alpha", 0.5) != 0.5:
        raise node.refuse(f"alpha {node.attribute('alpha')} (only 0.5)")
    return UnaryOp.build(operands=node.operands, result_types=node.result_types)


def add(node: BackendNode, target: ToyTarget) -> list[UnaryOp]:
    """Two ops, if the second operand is constant."""
    constant = node.constant(1)
    if constant is None:
        raise node.refuse("operand B is not constant")
    np.testing.assert_array_equal(constant, [1, -2, 3])
    first = UnaryOp.build(operands=[node.operands[0]], result_types=node.result_types)
    return [first, UnaryOp.build(operands=[first.y], result_types=node.result_types)]


def fits(node: BackendNode, target: ToyTarget) -> str | None:
    """Up to `most` elements."""
    shape = [size for type_ in node.inputs if type_ for size in type_.shape or () if isinstance(size, int)]
    return None if int(np.prod(shape)) <= target.most else f"{shape} has over {target.most} elements"


def undocumented(node: BackendNode, target: ToyTarget) -> str | None:
    return None


def emitted(module: ModuleOp, target: ToyTarget) -> str:
    ops = [op for op in module.walk() if isinstance(op, UnaryOp)]
    constants = [op for op in module.walk() if op.results and constant_of(op.results[0]) is not None]
    return f"{target.name}: {' '.join(map(node_name, ops))}, {len(constants)} constants"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A backend that is registered for one test."""
    made = declared(tmp_path)
    monkeypatch.setattr(registry, "_backends", {})
    registry.require_new_backends(made.plugin)
    registry.register_backends(made.plugin)
    return made


def saved(folder: Path, *changes: tuple[str, str]) -> Path:
    text = MODEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return path


def test_a_model_is_lowered_and_emitted(toy: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = saved(tmp_path)
    assert main(["compile", str(model), "--target", "toy", "-v"]) == 0
    assert (tmp_path / "m.toy").read_text() == "toy: sum sum neg relu, 1 constants"
    printed = capsys.readouterr().out
    assert "toy: toy.unary 4" in printed
    assert "sum (Add): toy.unary, toy.unary" in printed
    assert main(["compile", str(model), "--target", "toy", "--json", "--dry-run"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["target"], found["backend"], found["output"]) == ("toy", "toy", None)
    assert found["nodes"][1] == {"node": "neg", "operator": "Neg", "ops": ["toy.unary"]}


def test_a_target_file_names_its_backend(toy: Backend, tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text('backend = "toy"\ndescription = "mine"\nmost = 5\n')
    with pytest.raises(RefusalError) as caught:
        compile_for_backend(saved(tmp_path), str(own))
    assert caught.value.reasons == [
        "neg (Neg): [2, 3] has over 5 elements",
        "relu (LeakyRelu): [2, 3] has over 5 elements",
    ]
    own.write_text('backend = "toyy"\ndescription = "mine"\n')
    with pytest.raises(XonncError, match="no backend 'toyy'; did you mean 'toy'"):
        compile_for_backend(saved(tmp_path), str(own))
    own.write_text('backend = "toy"\ndescription = "mine"\nmots = 5\n')
    with pytest.raises(XonncError, match="no property 'mots'; did you mean 'most'"):
        compile_for_backend(saved(tmp_path), str(own))


def test_all_refusals_are_listed_with_reasons(
    toy: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model = saved(tmp_path, ("Neg (s)", "Sin (s)"), ("alpha = 0.5", "alpha = 0.25"))
    assert main(["compile", str(model), "--target", "toy"]) == 1
    reasons = [
        "neg (Sin): toy has no such operator; it takes Add, LeakyRelu, Neg",
        "relu (LeakyRelu): alpha 0.25 (only 0.5)",
    ]
    assert capsys.readouterr().err.splitlines() == [f"xonnc: {reason}" for reason in reasons]
    assert not (tmp_path / "m.toy").exists()
    assert main(["explain", str(model), "--target", "toy", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["refusals"] == reasons
    assert [node["engine"] for node in found["nodes"]] == ["toy", "refused", "refused", "removed"]


def test_commands_list_the_target(toy: Backend, capsys: pytest.CaptureFixture[str]):
    assert main(["targets", "toy"]) == 0
    assert capsys.readouterr().out == "toy  a toy\n     backend toy of plug-in toys: most 6\n"
    assert main(["targets"]) == 0
    assert "backend toy of plug-in toys" in capsys.readouterr().out
    assert main(["targets", "toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"kind": "toy", "name": "toy", "description": "a toy", "most": 6}
    ]
    assert main(["ops", "--target", "toy"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Add        Two ops, if the second operand is constant.",
        "LeakyRelu  One `toy.unary`.",
        "Neg        One `toy.unary`.",
        "",
        "limits of toy",
        "  Neg, LeakyRelu  Up to `most` elements.",
    ]
    assert main(["ops", "Add", "Sin", "--target", "toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "target": "toy",
        "operators": {"Add": "Two ops, if the second operand is constant.", "Sin": "not taken"},
        "limits": [],
    }


def test_passes_run_after_its_stage(toy: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def mark(module: ModuleOp, context: Context) -> None:
        module.attributes["toy.marked"] = UnitAttr()

    module_pass(toy.plugin, name="mark-toy", after="toy")(mark)
    kinds = {name: each.kind for name, each in toy.plugin.passes.items()}
    monkeypatch.setattr(extensions, "_passes", kinds)
    monkeypatch.setattr(extensions, "_joined", {"toy": ["mark-toy"]})
    dumps, model = tmp_path / "dumps", saved(tmp_path)
    assert main(["compile", str(model), "--target", "toy", "-q", "--dump", str(dumps)]) == 0
    names = [path.name for path in sorted(dumps.iterdir())]
    assert names == ["01-onnx.mlir", "02-simplified.mlir", "03-toy.mlir", "04-mark-toy.mlir"]
    text = tmp_path / "m.mlir"
    command = ["compile", str(model), "--target", "toy", "--stop-after", "toy", "-o", str(text)]
    assert main(command) == 0
    assert "toy.unary" in text.read_text()
    assert "toy.marked" not in text.read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["compile", "--require-dla"], "--require-dla is not for target toy, of backend toy of plug-in toys"),
        (["compile", "-O3"], "-O is not for target toy"),
        (
            ["compile", "-o", "m.so"],
            "m.so: the ending .so says shared library; supported: .toy",
        ),
        (["explain", "--package"], "--package is not for target toy"),
    ],
)
def test_options_of_other_targets(
    toy: Backend,
    command: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    assert main([command[0], str(saved(tmp_path)), "--target", "toy", *command[1:]]) == 1
    assert message in capsys.readouterr().err


X = np.array([[1, -2, 3], [0, np.nan, -1]], np.float32)


def running(content: bytes, inputs: Sequence[np.ndarray[Any, Any]], target: ToyTarget) -> list[Any]:
    """What the model computes."""
    assert content.startswith(b"toy: ")
    assert target.most == 6
    negative = -(inputs[0] + np.array([1, -2, 3], np.float32))
    return [np.where(negative < 0, np.float32(0.5) * negative, negative)]


def test_models_in_memory_compile_run_and_are_saved(toy: Backend, tmp_path: Path):
    toy.runs(running)
    model = xonnc.compile(saved(tmp_path).read_bytes(), "toy")
    assert [(port.name, port.shape, port.dtype) for port in model.inputs] == [("x", (2, 3), np.float32)]
    (y,) = model.run(["y"], {"x": X})
    np.testing.assert_array_equal(y, running(b"toy: ", [X], ToyTarget("", "", 6))[0])
    filled = np.empty((2, 3), np.float32)
    assert model.run(None, {"x": X}, out={"y": filled})[0] is filled
    np.testing.assert_array_equal(filled, y)
    assert model.get_outputs()[0].name == "y"
    assert model.save(tmp_path / "m.toy") == [tmp_path / "m.toy"]
    assert (tmp_path / "m.toy").read_bytes().startswith(b"toy: ")
    assert isinstance(model, BackendModel)
    assert [node.operator for node in model.report().nodes] == ["Add", "Neg", "LeakyRelu", "Identity"][:3]


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, "input 'x' is missing"),
        ({"x": X, "z": X}, "no input 'z'; there are x"),
        ({"x": X.T}, r"input 'x': float32 \[3, 2\]; the model takes float32 \[2, 3\]"),
        ({"x": X.astype(np.float64)}, "input 'x': float64"),
    ],
)
def test_inputs_that_do_not_fit(toy: Backend, feeds: dict[str, Any], message: str, tmp_path: Path):
    toy.runs(running)
    with pytest.raises(XonncError, match=message):
        xonnc.compile(saved(tmp_path), "toy").run(None, feeds)


def failing(content: bytes, inputs: Sequence[np.ndarray[Any, Any]], target: ToyTarget) -> list[Any]:
    raise ValueError("no device")


def idle(content: bytes, inputs: Sequence[np.ndarray[Any, Any]], target: ToyTarget) -> list[Any]:
    return []


def test_outputs_that_cannot_be_run(toy: Backend, tmp_path: Path):
    model = xonnc.compile(saved(tmp_path), "toy")
    for run, message in (
        (None, r"backend toy of plug-in toys: nothing runs its output; decorate a function with @….runs, or"),
        (failing, "backend toy of plug-in toys: running its output raised ValueError: no device"),
        (idle, "backend toy of plug-in toys: running its output gave 0 arrays for 1 outputs"),
    ):
        toy.run = run
        with pytest.raises(XonncError, match=message):
            model.run(None, {"x": X})
    with pytest.raises(XonncError, match=r"m.so: backend toy of plug-in toys writes .toy"):
        model.save(tmp_path / "m.so")
    with pytest.raises(XonncError, match="no option 'threads' for target toy; there are strict"):
        xonnc.compile(saved(tmp_path), "toy", threads=2)


def test_unknown_targets(toy: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(UnknownNameError, match="no target 'toi' of a plug-in"):
        compile_for_backend(saved(tmp_path), "toi")
    with pytest.raises(UnknownNameError, match="no target 'toyy'; did you mean 'toy'"):
        toy.target_of("toyy")
    # The names of all targets, those of plug-ins too.
    with pytest.raises(
        UnknownNameError, match=r"no target 'toyy'; did you mean 'toy'\? There are cpu, .*toy"
    ):
        xonnc.compile(saved(tmp_path), "toyy")
    for command in ("compile", "explain"):
        assert main([command, str(saved(tmp_path)), "--target", "toyy"]) == 2
        assert "no target 'toyy'; did you mean 'toy'? There are cpu, " in capsys.readouterr().err


def test_kinds_of_code_are_no_targets(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(saved(tmp_path)), "--target", "C", "-o", str(tmp_path / "m.c")]) == 2
    expected = "no target 'C': the name of the output selects the kind of code, such as -o model.c"
    assert expected in capsys.readouterr().err


def _raises(node: BackendNode, target: ToyTarget) -> UnaryOp:
    raise KeyError("lanes")


def _nothing(node: BackendNode, target: ToyTarget) -> list[UnaryOp]:
    return []


def _invalid(node: BackendNode, target: ToyTarget) -> UnaryOp:
    return UnaryOp.build(operands=[node.operands[0]], result_types=[UnitAttr()])


@pytest.mark.parametrize(
    ("lower", "message"),
    [
        (_raises, r"sum \(Add\): backend toy of plug-in toys raised KeyError: 'lanes'"),
        (_nothing, r"sum \(Add\): backend toy of plug-in toys gave 0 values for 1 results"),
        (_invalid, "backend toy of plug-in toys made invalid IR"),
    ],
)
def test_errors_in_a_lowering(toy: Backend, lower: Callable[..., Any], message: str, tmp_path: Path):
    toy.lowerings["Add"] = lower
    with pytest.raises(XonncError, match=message):
        compile_for_backend(saved(tmp_path), "toy")


def test_errors_in_the_emitter(toy: Backend, tmp_path: Path):
    def fail(module: ModuleOp, target: ToyTarget) -> str:
        raise ValueError("no output")

    toy.emits(fail)
    with pytest.raises(
        XonncError, match="backend toy of plug-in toys: its emitter raised ValueError: no output"
    ):
        compile_for_backend(saved(tmp_path), "toy")


def test_a_value_may_replace_a_node_and_an_output_may_be_bytes(toy: Backend, tmp_path: Path):
    def nothing_to_do(node: BackendNode, target: ToyTarget) -> Any:
        return node.operands[0]

    def as_bytes(module: ModuleOp, target: ToyTarget) -> bytes:
        return bytes([0, 255, sum(isinstance(op, UnaryOp) for op in module.walk())])

    toy.lowerings["Add"] = nothing_to_do
    toy.emits(as_bytes)
    found = compile_for_backend(saved(tmp_path), "toy")
    assert found.content == b"\x00\xff\x02"
    assert found.write(tmp_path / "out.toy") == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "Toy 1"}, "backend 'Toy 1': the name must be as npu or npu_2"),
        ({"suffix": "toy"}, "suffix 'toy'; it begins with a dot and is none of .c,"),
        ({"suffix": ".so"}, "suffix '.so'; it begins with a dot"),
        ({"properties": int}, "must be a dataclass"),
        (
            {"properties": make_dataclass("T", [("name", "str"), ("lanes", "int")])},
            "must include description: str",
        ),
        (
            {"properties": make_dataclass("T", [("banks", "set[int]")])},
            r"property 'banks' is a set\[int\]; properties are str, bool",
        ),
        ({"files": []}, "no target; give the TOML file of one"),
        ({"files": ["nowhere.toml"]}, "nowhere.toml: cannot be read"),
    ],
)
def test_invalid_declarations(options: dict[str, Any], message: str, tmp_path: Path):
    (tmp_path / "toy.toml").write_text('description = "a toy"\n')
    given: dict[str, Any] = {
        "name": "toy",
        "properties": ToyTarget,
        "files": [tmp_path / "toy.toml"],
        "suffix": ".toy",
        **options,
    }
    with pytest.raises(XonncError, match=message):
        backend(Plugin("toys"), **given)


def test_declarations_that_conflict(toy: Backend, tmp_path: Path):
    with pytest.raises(PluginError, match="Add has two lowerings"):
        toy.lowers("Add")(add)
    with pytest.raises(PluginError, match="constraint undocumented needs a docstring"):
        toy.constraint()(undocumented)
    with pytest.raises(PluginError, match="there is a pass 'convert-onnx-to-toy' already"):
        declared(tmp_path, toy.plugin)
    again = Plugin("others")
    declared(tmp_path, again)
    with pytest.raises(PluginError, match="plug-in toys has a backend of this name; rename one"):
        registry.require_new_backends(again)
    same_target = Plugin("others")
    (tmp_path / "x").mkdir()
    declared(tmp_path / "x", same_target, "toy").name = "toy_2"
    with pytest.raises(PluginError, match="plug-in toys has a target 'toy'; rename the TOML file"):
        registry.require_new_backends(same_target)
    builtin = Plugin("others")
    declared(tmp_path, builtin, "nv_full")
    with pytest.raises(PluginError, match="xonnc has a target 'nv_full'; rename the TOML file"):
        registry.require_new_backends(builtin)


def test_incomplete_backends(tmp_path: Path):
    plugin = Plugin("toys")
    (tmp_path / "toy.toml").write_text('description = "a toy"\n')
    made = backend(plugin, "toy", ToyTarget, [tmp_path / "toy.toml"], suffix=".toy")
    with pytest.raises(PluginError, match="it lowers no operator"):
        registry.require_new_backends(plugin)
    made.lowers("Add")(add)
    with pytest.raises(PluginError, match="nothing emits its output"):
        registry.require_new_backends(plugin)


OWN = """
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from xdsl.dialects.test import TestOp
from xonnc.plugin import Plugin, backend, broadcast, one, operator, variadic

plugin = Plugin("acme")

@operator(plugin, domain="com.acme", name="AddN")
class AddN:
    inputs = variadic("T")
    outputs = one("T")
    def infer(op): return broadcast(*op.inputs)
    def decompose(op, b): return b.Add(*op.inputs)

@operator(plugin, domain="com.acme", name="Twice")
class Twice:
    inputs = one("T", name="x")
    outputs = one("T")
    def infer(op): return op.x
    def decompose(op, b): return b.Mul(op.x, 2.0)

@dataclass(frozen=True)
class Target:
    name: str
    description: str

adder = backend(plugin, "adder", Target, [Path(__file__).with_name("adder.toml")], suffix=".add")

@adder.lowers("com.acme.AddN", "Mul")
def lower(node, target):
    return TestOp(node.operands, node.result_types)

@adder.emits
def emit(module, target):
    return "".join(f"{op.name} {len(op.operands)}, " for op in module.walk() if isinstance(op, TestOp))
"""


def test_operators_of_plugins_are_decomposed_unless_the_backend_lowers_them(tmp_path: Path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "adder.toml").write_text('description = "adds"\n')
    text = """
        <ir_version: 8, opset_import: ["": 17, "com.acme": 1]>
        g (float[4] x) => (float[4] y) { [t] t = com.acme.Twice (x)  [s] y = com.acme.AddN (x, t, t) }
    """
    (tmp_path / "m.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())

    def tool(*command: str) -> str:
        done = run_tool(["xonnc", *command, "--plugin", "own.py", "--target", "adder"], tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    tool("compile", "m.onnx")
    assert (tmp_path / "m.add").read_text() == "test.op 2, test.op 3, "
    nodes = json.loads(tool("explain", "m.onnx", "--json"))["nodes"]
    assert [(node["operator"], node["engine"]) for node in nodes] == [("Twice", "adder"), ("AddN", "adder")]
