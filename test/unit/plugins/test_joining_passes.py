"""Passes of plug-ins that run after a stage of the pipelines."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr

from xonnc import artifacts, compiler, explanation, native
from xonnc.errors import XonncError
from xonnc.plugin import Plugin, PluginError, module_pass
from xonnc.plugins import module_passes
from xonnc.rewriting import extensions
from xonnc.rewriting.extensions import with_joined
from xonnc.tools.driver import main

MODEL = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[1, 8, 4, 4] x) => (float[1, 8, 4, 4] y) { y = Relu (x) }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    return path


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stages after which a pass ran, for a plug-in with a pass after each stage."""
    found: list[str] = []
    plugin = Plugin("watching")
    for stage in module_passes.STAGES:

        def note(module: ModuleOp, context: Context, stage: str = stage) -> None:
            found.append(stage)
            module.attributes[f"watching.{stage}"] = UnitAttr()

        module_pass(plugin, name=f"see-{stage}", after=stage)(note)
    _join(monkeypatch, plugin)
    return found


def _join(monkeypatch: pytest.MonkeyPatch, plugin: Plugin) -> None:
    """Let the passes of a plug-in join for the length of a test."""
    monkeypatch.setattr(extensions, "_passes", {name: each.kind for name, each in plugin.passes.items()})
    after = {each.after: [name] for name, each in plugin.passes.items()}
    monkeypatch.setattr(extensions, "_joined", after)


def test_the_stages_are_those_of_the_pipelines():
    assert module_passes.NATIVE_STAGES == artifacts.STAGES[: len(module_passes.NATIVE_STAGES)]
    assert module_passes.NVDLA_STAGES == compiler.STAGES[:-1]


def test_sessions_run_them_in_order(seen: list[str], model: Path):
    session = native.compile_native(str(model), cache=False)
    (y,) = session.run(None, {"x": np.full((1, 8, 4, 4), -1, np.float32)})
    assert not np.any(np.asarray(y))
    assert tuple(seen) == module_passes.NATIVE_STAGES


def test_dumps_have_a_file_for_each(seen: list[str], model: Path, tmp_path: Path):
    dumps = tmp_path / "dumps"
    assert main(["compile", str(model), "-q", "-o", str(tmp_path / "m.ll"), "--dump", str(dumps)]) == 0
    assert tuple(seen) == module_passes.NATIVE_STAGES
    names = with_joined(artifacts.STAGES)[:-1]
    assert [path.name for path in sorted(dumps.iterdir())] == [
        f"{index:02}-{name}.mlir" for index, name in enumerate(names, 1)
    ]
    assert "watching.fused" not in (dumps / "11-fused.mlir").read_text()
    assert "watching.fused" in (dumps / "12-see-fused.mlir").read_text()


def test_nvdla_runs_them_and_stops_after_one(seen: list[str], model: Path, tmp_path: Path):
    compiler.compile_model(model, "nv_full")
    assert tuple(seen) == module_passes.NVDLA_STAGES
    seen.clear()
    explanation.explain_model(model, "nv_full")
    assert tuple(seen) == module_passes.NVDLA_STAGES
    text = tmp_path / "m.mlir"
    command = ["compile", str(model), "--target", "nv_full", "--stop-after", "see-dla", "-o", str(text)]
    assert main(command) == 0
    assert "watching.dla" in text.read_text()
    assert "watching.scheduled" not in text.read_text()


def test_stopping_after_one_of_native_code_needs_no_target(seen: list[str], model: Path, tmp_path: Path):
    text = tmp_path / "m.mlir"
    assert main(["compile", str(model), "-q", "--stop-after", "see-fused", "-o", str(text)]) == 0
    assert "watching.fused" in text.read_text()


def _raises(module: ModuleOp, context: Context) -> None:
    raise ValueError("no luck")


def _refuses(module: ModuleOp, context: Context) -> None:
    raise XonncError("Relu_0: refused")


def _breaks(module: ModuleOp, context: Context) -> None:
    relu = next(op for op in module.walk() if op.name == "onnx.Relu")
    relu.operands = []


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_raises, "pass broken of plug-in trying raised ValueError: no luck"),
        (_refuses, "Relu_0: refused"),
        (_breaks, "pass broken of plug-in trying left invalid IR"),
    ],
)
def test_failures_name_pass_and_plugin(
    function: object, problem: str, monkeypatch: pytest.MonkeyPatch, model: Path
):
    plugin = Plugin("trying")
    assert inspect.isfunction(function)
    module_pass(plugin, name="broken", after="simplified")(function)
    _join(monkeypatch, plugin)
    with pytest.raises(XonncError, match=problem):
        compiler.compile_model(model, "nv_full")


def test_unknown_stages():
    with pytest.raises(PluginError, match="pass 'mine': no stage 'simplifed'; did you mean 'simplified'"):
        module_pass(Plugin("trying"), name="mine", after="simplifed")
    with pytest.raises(PluginError, match="no stage 'xyz'; there are onnx, simplified, legalized"):
        module_pass(Plugin("trying"), name="mine", after="xyz")


def test_passes_lists_them(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    plugin = Plugin("trying")

    @module_pass(plugin, name="mark", after="planned")
    def mark(module: ModuleOp, context: Context) -> None:
        """Marks modules."""
        module.attributes["mark"] = StringAttr("")

    monkeypatch.setattr("xonnc.tools.commands.passes.registered", lambda: [plugin])
    assert main(["passes"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "mark Marks modules. of plug-in trying, runs after stage planned" in printed
    assert main(["passes", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert listed["mark"] | {"does": ""} == {
        "name": "mark",
        "does": "",
        "options": {},
        "plugin": "trying",
        "after": "planned",
    }
