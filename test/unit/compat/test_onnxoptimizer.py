"""`xonnc.compat.onnxoptimizer`: passes do what their names say and keep what a model computes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from optimizer_models import CASES, HAZARDS, Case

import xonnc.compat.onnxoptimizer as onnxoptimizer
from xonnc.compat.onnxoptimizer.manager import OLDEST_IR_VERSION, run
from xonnc.compat.onnxoptimizer.registry import PASSES, PassAnalysisType, PassEfficiency, PassOptimizationType
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.formats.onnx.tensors import DTYPES, proto
from xonnc.model_check import check_model
from xonnc.runtime.reference import Array, open_session
from xonnc.tools.driver import main

ROOT = Path(__file__).resolve().parents[3]


def parsed(graph: str, opset: int = 21) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{graph}')


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def feeds(graph: onnx.GraphProto) -> list[Array]:
    """Negatives, zeros and large values for each input; dynamic dimensions are 4."""
    found: list[Array] = []
    for info in graph.input:
        shape = [dim.dim_value or 4 for dim in info.type.tensor_type.shape.dim]
        found.append(np.resize([-3.0, 0.5, 2.0, 20.0, 0.0, -1.0, 11.0], shape))
    return found


def outputs(model: onnx.ModelProto, values: list[Array]) -> list[Array]:
    """What onnxruntime computes; values are cast to the types of the inputs."""
    session, _ = open_session(model.SerializeToString(), "model")
    fed = zip(model.graph.input, values, strict=True)
    return session.run(
        None, {info.name: value.astype(DTYPES[info.type.tensor_type.elem_type]) for info, value in fed}
    )


def require_same(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert check_model(after) == []
    if any(name.startswith("Random") for name in operators(before)):
        return
    values = feeds(before.graph)
    for expected, found in zip(outputs(before, values), outputs(after, values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("case", CASES, ids=[f"{index}-{case.name}" for index, case in enumerate(CASES)])
def test_pass_rewrites_what_its_name_says(case: Case):
    before = parsed(case.graph, case.opset)
    copy = onnx.ModelProto.FromString(before.SerializeToString())
    after = onnxoptimizer.optimize(before, [case.name])
    assert before == copy
    assert operators(after) == case.operators.split()
    require_same(before, after)


@pytest.mark.parametrize("case", HAZARDS, ids=[f"{index}-{case.name}" for index, case in enumerate(HAZARDS)])
def test_no_default_pass_changes_what_a_model_computes(case: Case):
    before = parsed(case.graph, case.opset)
    after = onnxoptimizer.optimize(before, fixed_point=True)
    assert {*operators(after)} <= {*case.operators.split()} | {"Gemm"}
    require_same(before, after)
    loaded = LoadedModel.of(onnx.ModelProto.FromString(before.SerializeToString()))
    run(loaded, [*onnxoptimizer.get_fuse_and_elimination_passes()])
    require_same(before, loaded.proto)


@pytest.mark.parametrize(
    ("name", "graph", "assumption"),
    [
        (
            "fuse_pad_into_pool",
            """g (float[1, 1, 3] x) => (float[1, 1, 4] y) <int64[6] p = {0, 0, 1, 0, 0, 1}>
            {q = Pad(x, p) y = MaxPool<kernel_shape=[2]>(q)}""",
            "y: MaxPool: rewritten as if no value is negative",
        ),
        (
            "eliminate_nop_monotone_argmax",
            "g (float[2, 3] x) => (int64[2, 1] y) {a = Exp(x) y = ArgMax<axis=1>(a)}",
            "y: ArgMax: rewritten as if no two values overflow or underflow in Exp",
        ),
        (
            "eliminate_nop_monotone_argmax",
            "g (float[2, 3] x) => (int64[2, 1] y) {a = Log(x) y = ArgMax<axis=1>(a)}",
            "y: ArgMax: rewritten as if no value is negative before Log",
        ),
    ],
)
def test_named_pass_warns_of_what_it_assumes(name: str, graph: str, assumption: str):
    with pytest.warns(UserWarning, match=re.escape(assumption)):
        after = onnxoptimizer.optimize(parsed(graph), [name])
    assert len(after.graph.node) == 1


def test_every_pass_has_a_case():
    not_here = {"eliminate_if_with_const_cond", "split_init", "split_predict", "lift_lexical_references"}
    assert {case.name for case in CASES} == set(PASSES) - not_here


def test_metadata():
    names = onnxoptimizer.get_available_passes()
    assert len(names) == 49
    assert len(onnxoptimizer.get_fuse_and_elimination_passes()) == 40
    partial = {name for name in names if PASSES[name].efficiency is PassEfficiency.PARTIAL}
    assert partial == {"eliminate_nop_monotone_argmax", "fuse_consecutive_concats", "rewrite_where"}
    without_count = {name for name in names if PASSES[name].analysis is PassAnalysisType.EMPTY}
    assert without_count == {
        "eliminate_unused_initializer",
        "lift_lexical_references",
        "nop",
        "rename_input_output",
        "rewrite_input_dtype",
        "split_init",
        "split_predict",
    }
    assert PASSES["fuse_consecutive_log_softmax"].optimizes is PassOptimizationType.STABILITY
    assert all(each.summary.endswith(".") for each in PASSES.values())


def test_errors():
    path: Any = "model.onnx"
    model = parsed("g (float[2] x) => (float[2] y) {y = Relu(x)}")
    with pytest.raises(TypeError, match="only accepts ModelProto"):
        onnxoptimizer.optimize(path)
    with pytest.raises(
        RuntimeError, match=r"pass eliminate_identitiy is unknown; did you mean 'eliminate_identity'\?"
    ):
        onnxoptimizer.optimize(model, ["eliminate_identitiy"])
    assert onnxoptimizer.optimize(model, []) == model
    assert onnxoptimizer.optimize_fixedpoint(model) == model


IF = """g (float[2] x) => (float[2] y) <bool c = {%s}, float[2] outer = {1, 2}> {
    y = If(c) <
        then_branch = then () => (float[2] z) <float[1] w = {3}> {a = Mul(x, w) z = Add(a, outer)},
        else_branch = other () => (float[2] e) <float[2] e = {7, 8}> {}
    >
}"""


@pytest.mark.parametrize(("condition", "left"), [("1", ["Mul", "Add"]), ("0", ["Identity"])])
def test_taken_branch_is_inlined(condition: str, left: list[str]):
    before = parsed(IF % condition)
    after = onnxoptimizer.optimize(before, ["eliminate_if_with_const_cond"])
    assert operators(after) == left
    require_same(before, after)


def test_names_of_inlined_values_do_not_clash():
    before = parsed("""g (float[2] x) => (float[2] y) <bool c = {1}> {
        p = If(c) <
            then_branch = t () => (float[2] z) {a = Neg(x) z = Exp(a)},
            else_branch = e () => (float[2] z) {z = Relu(x)}
        >
        q = If(c) <
            then_branch = t () => (float[2] z) {a = Abs(x) z = Exp(a)},
            else_branch = e () => (float[2] z) {z = Relu(x)}
        >
        y = Add(p, q)
    }""")
    after = onnxoptimizer.optimize(before, ["eliminate_if_with_const_cond"])
    assert operators(after) == ["Neg", "Exp", "Abs", "Exp", "Add"]
    require_same(before, after)


def test_subgraphs_are_optimized_with_what_they_capture():
    before = parsed("""g (bool c, float[2] x) => (float[2] y) {
        i = Identity(x)
        y = If(c) <
            then_branch = t () => (float[2] z) {d = Exp(i) a = Identity(i) z = Neg(a)},
            else_branch = e () => (float[2] w) {w = Relu(i)}
        >
    }""")
    after = onnxoptimizer.optimize(before, ["eliminate_identity", "eliminate_deadend"])
    assert operators(after) == ["If"]
    bodies = [attribute.g for attribute in after.graph.node[0].attribute]
    assert [[node.op_type for node in body.node] for body in bodies] == [["Neg"], ["Relu"]]
    for condition in (True, False):
        values = [np.array(condition), np.array([-1.0, 2.0], np.float32)]
        np.testing.assert_array_equal(outputs(after, values)[0], outputs(before, values)[0])


SPLIT = """g (float[2] x) => (float[2] y, float[1] k) <float[1] w = {3}> {
    a = Exp(w)
    k = Neg(a)
    b = Mul(x, a)
    y = Add(b, w)
}"""


def test_split_models_compute_the_same_together():
    before = parsed(SPLIT)
    first = onnxoptimizer.optimize(before, ["split_init"])
    second = onnxoptimizer.optimize(before, ["split_predict"])
    assert operators(first) == ["Exp", "Neg"]
    assert operators(second) == ["Mul", "Add"]
    assert not second.graph.initializer
    for each in (first, second):
        assert check_model(each) == []
    names = [info.name for info in first.graph.output]
    computed = dict(zip(names, outputs(first, []), strict=True))
    x = np.array([-1.0, 2.0], np.float32)
    values = [computed.get(info.name, x) for info in second.graph.input]
    found = outputs(second, values)
    for one, expected in zip(found, outputs(before, [x]), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_captured_values_are_listed():
    before = parsed(IF % "1")
    after = onnxoptimizer.optimize(before, ["lift_lexical_references"])
    (listed,) = [each for each in after.graph.node[0].attribute if each.name == "__control_inputs"]
    assert list(listed.strings) == [b"outer", b"x"]


def test_renaming_heeds_environment_and_clashes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPTIMIZER_RENAME_OUTPUT_PATTERN", "out%d!")
    before = parsed("g (float[2] x, float[2] input_0) => (float[2] y) {y = Sub(x, input_0)}")
    after = onnxoptimizer.optimize(before, ["rename_input_output"])
    assert [info.name for info in after.graph.input] == ["input_0", "input_1"]
    assert [info.name for info in after.graph.output] == ["out0!"]
    require_same(before, after)


def test_nothing_is_lost():
    before = parsed("g (float[2] x) => (float[2] y) {a = Identity(x) b = Relu(a) y = Identity(b)}")
    before.doc_string, before.graph.doc_string = "model", "graph"
    before.graph.node[1].metadata_props.add(key="k", value="v")
    before.graph.node[1].name = "relu"
    annotation = before.graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="x")
    sparse = before.graph.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(onnx.helper.make_tensor("s", onnx.TensorProto.FLOAT, [1], [1.0]))
    sparse.indices.CopyFrom(onnx.helper.make_tensor("", onnx.TensorProto.INT64, [1], [2]))
    after = onnxoptimizer.optimize(before, ["eliminate_identity"])
    # The annotated value stays.
    assert operators(after) == ["Identity", "Relu"]
    assert after.graph.node[1].metadata_props[0].value == "v"
    assert after.graph.node[1].name == "relu"
    assert after.graph.quantization_annotation[0].tensor_name == "a"
    assert len(after.graph.sparse_initializer) == 1
    assert (after.doc_string, after.graph.doc_string) == ("model", "graph")


def test_fixed_point_converges():
    chain = " ".join(f"v{index + 1} = Transpose<perm=[1, 0]>(v{index})" for index in range(8))
    model = parsed(f"g (float[2, 3] v0) => (float[2, 3] y) {{{chain} y = Relu(v8)}}")
    loaded = LoadedModel.of(model)
    report = run(loaded, fixed_point=True)
    assert report.converged
    assert operators(loaded.proto) == ["Relu"]
    assert not run(loaded, max_iterations=1, fixed_point=False).rewrites.get("fuse_consecutive_transposes")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(
        parsed("g (float[2] x) => (float[2] y) {a = Identity(x) y = Relu(a)}").SerializeToString()
    )
    assert main(["optimize", str(source), str(target), "--fixed_point", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["converged"]
    assert report["rewrites"]["eliminate_identity"] == 1
    assert operators(onnx.ModelProto.FromString(target.read_bytes())) == ["Relu"]
    assert main(["optimize", str(source), str(target), "-q"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["optimize", str(source), str(target), "--fixed_point"]) == 0
    assert "converged after 2 sweeps" in capsys.readouterr().out
    assert main(["optimize", "--print_all_passes"]) == 0
    assert capsys.readouterr().out.split() == onnxoptimizer.get_available_passes()
    assert main(["optimize", "--print_fuse_elimination_passes", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in listed] == onnxoptimizer.get_fuse_and_elimination_passes()
    assert {each["type"] for each in listed} == {"fuse", "nop"}


def test_weights_stay_external(tmp_path: Path):
    weights = np.arange(1000, dtype=np.float32)
    model = parsed("g (float[1000] x) => (float[1000] y) {i = Identity(x) a = Mul(i, w) y = Relu(a)}")
    model.graph.initializer.append(proto(weights, "w"))
    source = tmp_path / "in.onnx"
    source.write_bytes(model.SerializeToString())
    assert main(["optimize", str(source), str(tmp_path / "a.onnx"), "--external-data=w.bin", "-q"]) == 0
    assert (tmp_path / "w.bin").read_bytes() == weights.tobytes()
    assert main(["optimize", str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx"), "-q"]) == 0
    assert (tmp_path / "b.onnx.data").read_bytes() == weights.tobytes()
    assert len((tmp_path / "b.onnx").read_bytes()) < 1000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "two files are needed"),
        (["in.onnx", "out.onnx", "--max-iterations", "0"], 2, "at least one sweep is needed"),
        (["in.onnx", "out.onnx", "-p", "fuse_everything"], 1, "pass fuse_everything is unknown"),
        (["missing.onnx", "out.onnx"], 1, "missing.onnx: cannot be read"),
    ],
)
def test_command_errors(
    arguments: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    Path("in.onnx").write_bytes(parsed("g (float[2] x) => (float[2] y) {y = Relu(x)}").SerializeToString())
    if code == 2:
        with pytest.raises(SystemExit, match="2"):
            main(["optimize", *arguments])
    else:
        assert main(["optimize", *arguments]) == code
    assert message in capsys.readouterr().err
    assert not Path("out.onnx").exists()


def test_module_answers_scripts_for_onnxoptimizer(tmp_path: Path):
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(
        parsed("g (float[2] x) => (float[2] y) {a = Identity(x) b = Exp(a) y = Relu(b)}").SerializeToString()
    )

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "xonnc.compat.onnxoptimizer", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    assert call(str(source), str(target), "-p", "eliminate_identity", "nop").returncode == 0
    model = onnx.ModelProto.FromString(target.read_bytes())
    assert operators(model) == ["Exp", "Relu"]
    assert [info.name for info in model.graph.value_info] == ["b"]
    failed = call("missing.onnx", str(target))
    assert failed.returncode == 1
    assert failed.stderr.startswith("onnxoptimizer: missing.onnx: ")


def test_page():
    page = (ROOT / "docs/onnx-optimizer.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(block, {})


@pytest.mark.parametrize("axes", [False, True])
@pytest.mark.parametrize("name", ["fuse_pad_into_conv", "fuse_pad_into_pool"])
def test_pads_are_added_to_those_that_are_there(name: str, axes: bool):
    pads = (
        "int64[4] p = {1, 2, 3, 4}, int64[2] a = {2, -1}" if axes else "int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}"
    )
    node = (
        "Conv<pads = [1, 0, 2, 5]>(q, w)"
        if name.endswith("conv")
        else "AveragePool<kernel_shape = [10, 10], pads = [1, 0, 2, 5], count_include_pad = 1>(q)"
    )
    model = parsed(f"""g (float[1, 1, 6, 6] x) => (float[1, 1, k, l] y)
        <{pads}, float zero = {{0}}, float[1, 1, 2, 2] w = {{1, 2, 3, 4}}> {{
          q = Pad(x, p, zero{", a" if axes else ""}) y = {node}
        }}""")
    made = onnxoptimizer.optimize(model, [name])
    assert operators(made) == [node.partition("<")[0]]
    (found,) = (each.ints for each in made.graph.node[0].attribute if each.name == "pads")
    assert list(found) == [2, 2, 5, 9]
    require_same(model, made)


@pytest.mark.parametrize("case", [*CASES, *HAZARDS], ids=lambda case: case.name)
def test_a_pass_reports_what_it_changes(case: Case):
    loaded = LoadedModel.of(parsed(case.graph, case.opset))
    loaded.proto.ir_version = max(loaded.proto.ir_version, OLDEST_IR_VERSION)
    before = loaded.proto.SerializeToString(deterministic=True)
    report = run(loaded, [case.name])
    is_changed = loaded.proto.SerializeToString(deterministic=True) != before
    assert bool(report.rewrites[case.name]) == is_changed
