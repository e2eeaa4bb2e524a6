"""`xonnc simplify` and the API behind it: what goes, what stays, and that the outputs are the same."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import checker, helper, numpy_helper, parser

from xonnc.errors import InvalidModelError, XonncError
from xonnc.formats.onnx.light_models import light_model
from xonnc.formats.onnx.save_model import ExternalData
from xonnc.rewriting.remarks import XonncWarning
from xonnc.runtime.reference import ReferenceModel
from xonnc.simplifier import SimplifiedModel, simplify
from xonnc.tools.driver import main
from xonnc.tools.equivalence import compare_models

LIGHT = {
    "densenet121": (910, 367),
    "inception_v1": (144, 142),
    "inception_v2": (509, 164),
    "resnet50": (176, 123),
    "shufflenet": (203, 154),
    "squeezenet": (66, 65),
}
"""Nodes before and after."""

DYNAMIC = """
    <ir_version: 8, opset_import: ["" : 17], producer_name: "me", metadata_props: ["author": "you"]>
    dynamic (float[batch, 3, 4] x) => (float[batch, 12] y, int64[3] s)
      <float[1] one = {1}, float[1] two = {2}> {
      [shape] s0 = Shape (x)
      i = Constant <value_ints = [0]> ()
      [size] b = Gather (s0, i)
      t = Constant <value_ints = [-1]> ()
      [target] r = Concat <axis = 0> (b, t)
      [idle] a = Identity (x)
      [again] a2 = Identity (a)
      [flat] f = Reshape (a2, r)
      [add1] g = Add (f, one)
      [add2] y = Add (g, two)
      s = Identity (s0)
    }
"""


def saved(text: str, path: Path) -> Path:
    path.write_bytes(parser.parse_model(text).SerializeToString())
    return path


def run(arguments: Sequence[str | Path], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["simplify", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def loaded(path: Path) -> onnx.ModelProto:
    vars(checker)["check_model"](str(path), full_check=True)
    return onnx.ModelProto.FromString(path.read_bytes())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(DYNAMIC, tmp_path / "in.onnx")


@pytest.mark.parametrize("name", sorted(LIGHT))
def test_light_models(name: str, tmp_path: Path):
    original, simpler = tmp_path / "in.onnx", tmp_path / "out.onnx"
    original.write_bytes(light_model(name).SerializeToString())
    simplified = simplify(original)
    assert (simplified.before.nodes, simplified.after.nodes) == LIGHT[name]
    assert simplified.write(simpler) == [simpler]
    loaded(simpler)


def test_a_light_model_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    original, simpler = tmp_path / "in.onnx", tmp_path / "out.onnx"
    original.write_bytes(light_model("squeezenet").SerializeToString())
    code, out, err = run([original, simpler, "--check", "3"], capsys)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "in.onnx   66 nodes, 1.2 M parameters"
    rows = [line.split() for line in lines]
    assert ["Dropout", "1", "0", "*"] in rows
    assert ["Conv", "26", "26"] in rows
    assert ["nodes", "66", "65"] in rows
    assert "agrees on 3 inputs: largest error" in lines[-2]
    assert lines[-1].startswith(f"  wrote        {simpler} (")


def test_a_dynamic_batch_stays(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    simpler = tmp_path / "out.onnx"
    code, _, err = run([model, simpler, "--check", "4"], capsys)
    assert (code, err) == (0, "")
    found = loaded(simpler)
    assert [node.op_type for node in found.graph.node if node.op_type in ("Identity", "Add")] == ["Add"]
    for value in (found.graph.input[0], found.graph.output[0]):
        assert value.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert found.graph.output[0].type.tensor_type.shape.dim[1].dim_value == 12
    assert [output.name for output in found.graph.output] == ["y", "s"]
    assert found.producer_name == "me"
    assert [(prop.key, prop.value) for prop in found.metadata_props] == [("author", "you")]


def test_another_shape_for_an_input(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    simpler = tmp_path / "out.onnx"
    arguments = [model, simpler, "--overwrite-input-shape", "x:5,3,4", "--check", "2", "-q"]
    assert run(arguments, capsys) == (0, "", "")
    found = loaded(simpler)
    assert [dim.dim_value for dim in found.graph.input[0].type.tensor_type.shape.dim] == [5, 3, 4]
    assert [dim.dim_value for dim in found.graph.output[0].type.tensor_type.shape.dim] == [5, 12]
    assert "Shape" not in {node.op_type for node in found.graph.node}


def test_a_shape_may_contradict_what_was_known(tmp_path: Path):
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        fixed (float[2, 3] x, float[n, 3] z) => (float[2, 3] y) <float[2, 3] m> {
          m = Neg (x)
          y = Add (m, z)
        }
    """
    model = saved(text, tmp_path / "in.onnx")
    found = simplify(model, input_shapes={"x": [-1, 3], "z": [7, 3]}).proto()
    sizes = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in found.graph.output]
    assert sizes == [[7, 3]]
    assert not found.graph.input[0].type.tensor_type.shape.dim[0].HasField("dim_value")


def test_a_shape_may_contradict_what_the_model_declares_of_its_output(tmp_path: Path):
    # PP-OCRv2 has inputs of any size and declares the 25 columns of its traced one.
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        traced (float[b, 3, h, w] x) => (float[b, 3, 25] y) {
          m = MaxPool <kernel_shape = [32, 4], strides = [32, 4]> (x)
          axes = Constant <value_ints = [2]> ()
          y = Squeeze (m, axes)
        }
    """
    model = saved(text, tmp_path / "in.onnx")
    shapes = {"x": [1, 3, 32, 160]}
    with pytest.warns(XonncWarning, match="its result is declared"):
        found = simplify(model, input_shapes=shapes).proto()
    assert [dim.dim_value for dim in found.graph.output[0].type.tensor_type.shape.dim] == [1, 3, 40]
    with pytest.raises(InvalidModelError, match="declared"):
        simplify(model, input_shapes=shapes, strict=True)


def test_a_named_dimension_has_one_size(tmp_path: Path):
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        shared (float[n, 3] x, float[n, 3] z) => (float[n, 3] y) { y = Add (x, z) }
    """
    model = saved(text, tmp_path / "in.onnx")
    found = simplify(model, input_shapes={"x": [7, 3]}).proto()
    assert [value.type.tensor_type.shape.dim[0].dim_value for value in found.graph.input] == [7, 7]
    with pytest.raises(XonncError, match="input 'z': dimension 'n' cannot be 8 here and 7 elsewhere"):
        simplify(model, input_shapes={"x": [7, 3], "z": [8, 3]})


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("z:1,3,4", "no input 'z'; there are x"),
        ("x:1,3", "input 'x': 2 sizes, but its rank is 3"),
    ],
)
def test_shapes_that_do_not_fit(
    shape: str, message: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    simpler = tmp_path / "out.onnx"
    code, out, err = run([model, simpler, "--overwrite-input-shape", shape], capsys)
    assert (code, out) == (1, "")
    assert err == f"xonnc: {model}: {message}\n"
    assert not simpler.exists()


@pytest.mark.parametrize("shape", ["x", "x:1,two", ":1", "x:-2"])
def test_shapes_that_are_none(shape: str, model: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        run([model, "out.onnx", "--overwrite-input-shape", shape], capsys)
    assert end.value.code == 2
    assert f"'{shape}' must have the form NAME:SIZES, such as x:1,3,-1" in capsys.readouterr().err


def test_unknown_operators_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = """
        <ir_version: 8, opset_import: ["" : 17, "org.example" : 3]>
        custom (float[2, 3] x) => (float[2, 3] y) <float[3] c = {1, 2, 3}> {
          a = Identity (x)
          k = org.example.Spline <knots = 4> (c)
          n = org.example.Noise (a)
          m = org.example.Noise (a)
          p = Add (n, m)
          y = Add (p, k)
        }
    """
    model, simpler = saved(text, tmp_path / "in.onnx"), tmp_path / "out.onnx"
    assert run([model, simpler, "-q"], capsys) == (0, "", "")
    found = loaded(simpler)
    assert [node.op_type for node in found.graph.node] == ["Spline", "Noise", "Noise", "Add", "Add"]
    assert {entry.domain: entry.version for entry in found.opset_import} == {"": 17, "org.example": 3}
    code, _, err = run([model, simpler, "--check", "1"], capsys)
    assert code == 1
    assert "onnxruntime does not open it" in err
    assert len(err.splitlines()) == 1


def test_functions_are_inlined_if_asked(tmp_path: Path):
    text = """
        <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        calls (float[2] x) => (float[2] y) { y = local.twice (x) }
        <opset_import: ["" : 17], domain: "local">
        twice (a) => (b) { b = Add (a, a) }
    """
    model = saved(text, tmp_path / "in.onnx")
    kept, inlined = simplify(model), simplify(model, inline_functions=True)
    assert kept.after.operators == {"twice": 1}
    assert len(kept.proto().functions) == 1
    assert inlined.after.operators == {"Add": 1}
    assert len(inlined.proto().functions) == 0


def external_model(path: Path) -> Path:
    """A product with a weight of 16 kB in a file beside the model."""
    weight = numpy_helper.from_array(np.linspace(-1, 1, 4096, dtype=np.float32).reshape(64, 64), "w")
    proto = helper.make_model(
        helper.make_graph(
            [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])],
            "external",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 64])],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 64])],
            [weight],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    vars(onnx)["save"](proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    return path


def test_external_data_stays_external(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, simpler = external_model(tmp_path / "in.onnx"), tmp_path / "out.onnx"
    code, out, err = run([model, simpler, "--check", "2"], capsys)
    assert (code, err) == (0, "")
    assert [line.split()[1] for line in out.splitlines()[-2:]] == [str(simpler), f"{simpler}.data"]
    assert (tmp_path / "out.onnx.data").stat().st_size == 4 * 4096
    assert loaded(simpler).graph.initializer[0].external_data[0].value == "out.onnx.data"
    assert not compare_models(model, simpler, 1)[0].mismatch


def test_external_data_if_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    inner, model = tmp_path / "inner.onnx", external_model(tmp_path / "in.onnx")
    simplify(model).write(inner, ExternalData("unused", 1 << 20))
    for option, name in (("--external-data", "out.onnx.data"), ("--external-data=weights", "weights")):
        assert run([option, inner, tmp_path / "out.onnx", "-q"], capsys) == (0, "", "")
        assert (tmp_path / name).stat().st_size == 4 * 4096


def test_a_model_is_not_simplified_in_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = external_model(tmp_path / "in.onnx")
    files = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    code, _, error = run([model, model, "-q"], capsys)
    assert code == 1
    assert "in.onnx" in error
    code, _, error = run([model, str(tmp_path / "out.onnx"), "-q", "--external-data=w.bin"], capsys)
    assert code == 1
    assert "w.bin" in error
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == files


def test_a_model_in_memory_stays_as_it_is(model: Path):
    given = onnx.ModelProto.FromString(model.read_bytes())
    before = given.SerializeToString()
    from_memory, from_file = simplify(given), simplify(model)
    assert given.SerializeToString() == before
    assert from_memory.proto() == from_file.proto()
    assert from_memory.after.nodes < from_memory.before.nodes


def test_constants_that_are_nodes_become_initializers(tmp_path: Path):
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[2, n] x) => (float[2, m] y, float[1] z) {
          shape = Constant <value_ints = [2, -1]> ()
          [flat] f = Reshape (x, shape)
          [bent] y = Tanh (f)
          [given] z = Constant <value = float[1] {3.0}> ()
        }
    """
    simplified = simplify(saved(text, tmp_path / "in.onnx")).proto()
    vars(checker)["check_model"](simplified, full_check=True)
    assert "shape" not in [output for node in simplified.graph.node for output in node.output]
    assert [output.name for output in simplified.graph.output] == ["y", "z"]


def test_an_output_keeps_the_shape_that_only_a_node_without_effect_knows(tmp_path: Path):
    text = """
        <ir_version: 8, opset_import: ["" : 17, "of" : 1]>
        g (float[n] x) => (float[2] y) {
          own = of.Own (x)
          y = Identity (own)
        }
    """
    simplified = simplify(saved(text, tmp_path / "in.onnx")).proto()
    vars(checker)["check_model"](simplified, full_check=True)
    assert [node.op_type for node in simplified.graph.node] == ["Own"]
    assert [dim.dim_value for dim in simplified.graph.output[0].type.tensor_type.shape.dim] == [2]


def test_json(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    simpler = tmp_path / "out.onnx"
    code, out, _ = run([model, simpler, "--json", "--check", "1"], capsys)
    assert code == 0
    report = json.loads(out)
    assert report["files"] == [str(simpler)]
    assert (report["before"]["operators"]["Identity"], report["before"]["nodes"]) == (3, 9)
    assert "Identity" not in report["after"]["operators"]
    assert report["before"]["bytes"] == 4 * 2 + 8 * 2
    assert [(one["output"], one["passed"]) for one in report["check"]] == [("y", True), ("s", True)]


def test_the_same_model_gives_the_same_bytes(model: Path, tmp_path: Path):
    paths = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for path in paths:
        simplify(model).write(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.onnx", "out.onnx"], "missing.onnx: "),
        (["{model}", "nowhere/out.onnx"], "the folder nowhere does not exist"),
        (["{model}", "out.onnx", "--check", "-1"], "--check -1: a number of inputs, 0 for no check"),
        (["model.json", "out.onnx", "--check", "1"], "onnxruntime opens binary models"),
        (["{model}", "-", "--json"], "the model is written to standard output"),
        (["{model}", "out.onnx", "--external-data=a/b"], "it must be a plain file name"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, model: Path, capsys: pytest.CaptureFixture[str]
):
    code, out, err = run([argument.format(model=model) for argument in arguments], capsys)
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_difference_is_an_error_and_nothing_is_written(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    wrong = saved(DYNAMIC.replace("two = {2}", "two = {2.5}"), tmp_path / "wrong.onnx")
    simplified = simplify(wrong)

    def confused(path: Path, **options: object) -> SimplifiedModel:
        return simplified

    monkeypatch.setattr("xonnc.simplifier.simplify", confused)
    simpler = tmp_path / "out.onnx"
    code, out, err = run([model, simpler, "--check", "1"], capsys)
    assert code == 1
    assert "y DIFFERS on 1 input:" in out
    assert f"{model}: output 'y' of the simplified model differs: largest error" in err
    assert not simpler.exists()


OVERRIDABLE = """
    <ir_version: 8, opset_import: ["" : 17]>
    defaults (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 1}, float[2] v = {2, 3}> {
      s = Mul (x, w)
      t = Add (v, v)
      y = Add (s, t)
    }
"""


def test_an_input_with_an_initializer_may_still_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, simpler = saved(OVERRIDABLE, tmp_path / "in.onnx"), tmp_path / "out.onnx"
    code, out, err = run([model, simpler, "--check", "2"], capsys)
    assert (code, err) == (0, "")
    assert "inputs kept  w: initializers that may be given; --fold-overridable folds them" in out
    found = loaded(simpler)
    assert [info.name for info in found.graph.input] == ["x", "w"]
    assert [node.op_type for node in found.graph.node] == ["Mul", "Add"]
    x, w = np.array([3, 4], np.float32), np.array([5, -6], np.float32)
    session = ReferenceModel(simpler)
    assert np.array_equal(session.run({"x": x})[0], x + np.array([4, 6]))
    assert np.array_equal(session.run({"x": x, "w": w})[0], x * w + [4, 6])


def test_an_input_with_an_initializer_is_a_constant_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model, simpler = saved(OVERRIDABLE, tmp_path / "in.onnx"), tmp_path / "out.onnx"
    assert run([model, simpler, "--fold-overridable", "-q"], capsys) == (0, "", "")
    found = loaded(simpler)
    assert [info.name for info in found.graph.input] == ["x"]
    assert [node.op_type for node in found.graph.node] == ["Add"]


def test_before_ir_version_4_every_initializer_is_an_input_and_a_constant(tmp_path: Path):
    text = OVERRIDABLE.replace("ir_version: 8", "ir_version: 3").replace(": 17", ": 8")
    text = text.replace("float[2] w)", "float[2] w, float[2] v)")
    found = simplify(saved(text, tmp_path / "in.onnx"))
    assert found.overridable == ()
    made = found.proto()
    assert [node.op_type for node in made.graph.node] == ["Add"]
    assert {info.name for info in made.graph.input} == {"x"} | {one.name for one in made.graph.initializer}


VECTOR_COUNTERS = {
    "number and condition": """
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[2] x) => (float[2] y, int64[n, 1] numbers) <int64[1] most = {5}, bool[1] go = {1}> {
          y, numbers = Loop (most, go, x) <body = b (int64[1] i, bool[1] c, float[2] a)
            => (bool[1] again, float[2] z, int64[1] seen) <float[1] limit = {40}, int64[1] axes = {0}> {
              z = Add (a, a)
              total = ReduceSum <keepdims = 1> (z, axes)
              again = Less (total, limit)
              seen = Identity (i)
          }>
        }
    """,
    "number joined": """
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[2] x) => (float[2] y, int64[n, 2] pairs) <int64 most = {4}> {
          y, pairs = Loop (most, , x) <body = b (int64[1] i, bool c, float[2] a)
            => (bool c2, float[2] z, int64[2] pair) {
              z = Neg (a)
              pair = Concat <axis = 0> (i, i)
              c2 = Identity (c)
          }>
        }
    """,
    "folded": """
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 2] x) => (float[1, 2] y)
          <int64 most = {3}, float[3, 2] table = {1, 2, 3, 4, 5, 6}, float[1, 2] zero = {0, 0}> {
          sum = Loop (most, , zero) <body = b (int64[1] i, bool c, float[1, 2] a)
            => (bool c2, float[1, 2] z) {
              row = Gather (table, i)
              z = Add (a, row)
              c2 = Identity (c)
          }>
          y = Add (x, sum)
        }
    """,
    "condition of the body without a type": """
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[2] x, bool[1] go) => (float[2] y) <int64 most = {3}> {
          y = Loop (most, go, x) <body = b (int64 i, bool c, float[2] a) => (bool[1] c2, float[2] z) {
              z = Add (a, a)
              c2 = Identity (c)
          }>
        }
    """,
}


@pytest.mark.parametrize("name", VECTOR_COUNTERS)
def test_a_loop_may_count_in_vectors_of_one_element(name: str, tmp_path: Path):
    model, simpler = parser.parse_model(VECTOR_COUNTERS[name]), tmp_path / "out.onnx"
    if "without a type" in name:
        model.graph.node[0].attribute[0].g.input[1].type.Clear()
    path = tmp_path / "in.onnx"
    path.write_bytes(model.SerializeToString())
    simplify(path).write(simpler)
    assert all(one.passed for one in compare_models(path, simpler, 3))
    left = [node.op_type for node in loaded(simpler).graph.node]
    assert left == (["Add"] if name == "folded" else ["Loop"])


CAPTURING = """
    <ir_version: 8, opset_import: ["" : 17, "org.example" : 3]>
    custom (float[3] x) => (float[3] z) <float[3] w = {1, 2, 3}, float[3] same = {1, 2, 3}> {
      twice = Add (x, x)
      copy = Identity (twice)
      kept = Add (x, same)
      [repeat] y, "", z = org.example.Repeat (kept) <body = inner (float[3] a) => (float[3] d) {
        b = Mul (a, w)
        c = If (flag) <
          then_branch = left () => (float[3] l) { l = Add (b, copy) },
          else_branch = right () => (float[3] r) { r = Neg (b) }>
        d = Relu (c)
      }>
    }
"""


def test_what_a_graph_of_an_unknown_operator_reads_stays():
    model = parser.parse_model(CAPTURING)
    model.graph.initializer.add(name="flag", data_type=onnx.TensorProto.BOOL, int32_data=[1])
    made = simplify(model).proto().graph
    repeat = next(node for node in made.node if node.op_type == "Repeat")
    assert list(repeat.input) == ["kept"]
    body = repeat.attribute[0].g
    known = {tensor.name for tensor in made.initializer} | {
        name for node in made.node for name in node.output
    }
    read = {name for node in body.node for name in node.input}
    branch = next(node for node in body.node if node.op_type == "If").attribute
    read |= {name for each in branch for node in each.g.node for name in node.input}
    assert read - known == {"a", "b", "c"}
    # Equal constants and copies are one value now; the graph reads it by its new name.
    assert len(made.initializer) == 2
    assert next(node for node in made.node if node.op_type == "Add" and "x" in node.input).output[0] in read


def test_an_output_that_an_unknown_operator_leaves_out_stays_left_out():
    made = simplify(parser.parse_model(CAPTURING.replace("flag", "kept"))).proto().graph
    repeat = next(node for node in made.node if node.op_type == "Repeat")
    assert list(repeat.output)[1:] == ["", "z"]
    assert repeat.output[0]


NAMED_INSIDE = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, length, 4] x, float[batch, past, 4] before) => (float[n, m] y)
      <float[4, 6] w, int64[3] flat = {0, -1, 1}, int64[1] last = {2}> {
      all = Concat <axis = 1> (before, x)
      h = MatMul (all, w)
      r = Relu (h)
      t = Transpose <perm = [0, 2, 1]> (r)
      s = Softmax <axis = 2> (t)
      y = ReduceSum <keepdims = 0> (s, last)
    }
"""


def test_sizes_within_the_model_keep_their_names():
    model = parser.parse_model(NAMED_INSIDE.replace("w,", f"w = {{{', '.join(['0.5'] * 24)}}},"))
    made = simplify(model, disable_pass=["move-transposes-onnx"]).proto()
    said = {
        info.name: [size.dim_param or size.dim_value for size in info.type.tensor_type.shape.dim]
        for info in made.graph.value_info
    }
    assert said["all"] == ["batch", "length + past", 4]
    assert said["r"] == ["batch", "length + past", 6]
    assert said["s"] == ["batch", 6, "length + past"]
    # What the onnx package finds is not lost, and names of the model's own stay.
    assert [size.dim_param for size in made.graph.input[1].type.tensor_type.shape.dim] == [
        "batch",
        "past",
        "",
    ]
    vars(checker)["check_model"](made, full_check=True)


def test_names_that_the_model_gives_within_stay():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[n, 4] x) => (float[n, 4] y) <float[rows, 4] a, float[?, 4] b> {
          a = Relu (x)
          b = Neg (a)
          y = Exp (b)
        }
    """)
    said = {
        info.name: info.type.tensor_type.shape.dim[0].dim_param
        for info in simplify(model).proto().graph.value_info
    }
    assert said["a"] == "rows"
    assert said["b"]


def test_bodies_that_give_constants_have_no_node_for_them(tmp_path: Path):
    model = saved(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, bool c, int64 n) => (float[2] y, float[2] z) <float[2] k = {1, 2}, bool go = {1}> {
          b = If (c) <then_branch = t () => (float[2] a) { a = Identity (k) },
                      else_branch = e () => (float[2] b) { b = Constant <value = float[2] {3, 4}> () }>
          y = Loop (n, go, b) <body = l (int64 i, bool h, float[2] s) => (bool g2, float[2] r) {
            g2 = Identity (go)
            r = Add (s, x)
          }>
          z = Add (x, k)
        }""",
        tmp_path / "m.onnx",
    )
    simpler = tmp_path / "s.onnx"
    simplify(model).write(simpler)
    graph = onnx.ModelProto.FromString(simpler.read_bytes()).graph
    bodies = [attribute.g for node in graph.node for attribute in node.attribute if attribute.g.output]
    assert [[node.op_type for node in body.node] for body in (graph, *bodies)] == [
        ["If", "Loop", "Add"],
        [],
        [],
        ["Add"],
    ]
    assert {each.name for each in graph.initializer} == {"k", "go"}
    assert all(each.passed for each in compare_models(model, simpler, 3))


def test_outputs_of_unknown_rank_keep_the_rank_they_are_declared_with():
    # The checker of ONNX requires a shape of each output.
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (bool c, float[2,3] a, float b) => (float[?,3] y) {
          y = If (c) <then_branch = one () => (float[2,3] p) { p = Neg (a) },
                      else_branch = other () => (float[2,3] q) { q = Exp (b) }>
        }
    """)
    with pytest.warns(XonncWarning, match="declared"):
        made = simplify(model).proto()
    vars(checker)["check_model"](made)
    assert [axis.dim_value for axis in made.graph.output[0].type.tensor_type.shape.dim] == [0, 0]
