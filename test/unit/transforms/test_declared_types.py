"""Shapes that a model declares, against those that follow from its operators."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.rewriting.remarks import XonncWarning
from xonnc.simplifier import simplify
from xonnc.tools.driver import main

HEAD = '<ir_version: 8, opset_import: ["" : 17, "l" : 1]> '

CONTRADICTING = {
    "inner": "g (float[1,3] x) => (float[1,3] y) <float[9,9] a> { a = Relu(x) y = Abs(a) }",
    "output": "g (float[1,3] x) => (float[2,3] y) { a = Relu(x) y = Abs(a) }",
    "rank": "g (float[1,3] x) => (float[1,3,1] y) { y = Abs(x) }",
    "in a function": """g (float[1,3] x) => (float[1,3] y) { y = l.f (x) }
        <domain: "l", opset_import: ["" : 17]> f (p) => (q) <float[7] r> { r = Relu(p) q = Abs(r) }""",
    "in a branch": """g (float[1,3] x, bool c) => (float[1,3] y) {
        y = If (c) <then_branch = t () => (float[5] a) { a = Abs(x) },
                    else_branch = e () => (float[1,3] b) { b = Neg(x) }> }""",
}


def saved(folder: Path, text: str) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEAD + text).SerializeToString())
    return path


@pytest.mark.parametrize("name", CONTRADICTING)
def test_what_follows_from_the_operators_counts(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = saved(tmp_path, CONTRADICTING[name])
    x = np.array([[-1, 2, 3]], np.float32)
    with pytest.warns(XonncWarning, match=r"is declared tensor<.*>, but its operands give tensor<1x3xf32>"):
        session = compile_native(path)
    feeds = {"x": x, "c": np.array(True)}
    found = session.run(None, {port.name: feeds[port.name] for port in session.inputs})[0]
    np.testing.assert_array_equal(
        found, np.abs(np.maximum(x, 0)) if "Relu" in CONTRADICTING[name] else np.abs(x)
    )


def test_a_size_that_a_run_contradicts_is_a_warning(tmp_path: Path):
    text = "g (float[N,3] x, bool[2] b) => (float[M,3] y) <float[1,3] a> {"
    text += " a = Compress <axis = 0> (x, b) y = Relu (a) }"
    session = compile_native(saved(tmp_path, text))
    x = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
    with pytest.warns(UserWarning, match="a: keeps 2 elements, the model says 1"):
        found = session.run(None, {"x": x, "b": np.array([True, True])})[0]
    np.testing.assert_array_equal(found, np.maximum(x, 0))


def test_a_size_that_dynamic_inputs_contradict_is_a_warning(tmp_path: Path):
    text = "g (float[N,3] x) => (float[N,3] y) <float[1,3] a> { a = Relu(x) y = Abs(a) }"
    with pytest.warns(XonncWarning, match="a: the result is declared tensor<1x3xf32>, but it has dynamic"):
        session = compile_native(saved(tmp_path, text))
    for rows in (1, 2):
        x = np.full((rows, 3), -2, np.float32)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.maximum(x, 0))


def test_tools_warn_and_strict_ones_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(tmp_path, CONTRADICTING["inner"])
    for command in (
        ["simplify", str(path), str(tmp_path / "out.onnx"), "-q"],
        ["compile", str(path), "-o", str(tmp_path / "out.xpkg"), "-q"],
        ["compile", str(path), "-o", str(tmp_path / "out.ll"), "-q"],
    ):
        assert main(command) == 0
        assert capsys.readouterr().err == (
            "xonnc: warning: a: its result is declared tensor<9x9xf32>, but its operands give "
            "tensor<1x3xf32>, which is used\n"
        )
        assert main([*command, "--strict"]) == 1
        assert "a: Relu: the result is declared tensor<9x9xf32>" in capsys.readouterr().err
    written = onnx.ModelProto.FromString((tmp_path / "out.onnx").read_bytes())
    assert [dim.dim_value for dim in written.graph.output[0].type.tensor_type.shape.dim] == [1, 3]


def test_several_contradictions_are_one_warning(tmp_path: Path):
    text = """g (float[1,3] x) => (float[1,3] y) <float[2,3] a, float[2,3] b, float[9] c>
        { a = Relu(x) b = Abs(a) c = Exp(b) y = Neg(c) }"""
    with pytest.warns(XonncWarning) as caught:
        simplify(saved(tmp_path, text))
    assert [str(each.message) for each in caught] == [
        "a: its result is declared tensor<2x3xf32>, but its operands give tensor<1x3xf32>, which is used; "
        "so it is at 2 other nodes"
    ]


def test_a_branch_that_declares_another_rank_than_what_it_returns(tmp_path: Path):
    """As torch exports `scatter_reduce`: the branch that runs is known only after folding."""
    text = """g (float[n,3] x) => (float[m] y)
        <int64 zero = {0}> {
        r = Shape(x) k = Size(r) c = Equal(k, zero)
        a = If(c) <
            then_branch = b0 () => (float[k] p) { o = Constant<value_ints = [-1]>() p = Reshape(x, o) },
            else_branch = b1 () => (float[n,3] q) { q = Identity(x) }>
        d = Relu(a)
        y = If(c) <
            then_branch = b2 () => (float s) { s = Squeeze(d) },
            else_branch = b3 () => (float[m] t) { t = Identity(d) }> }"""
    found = simplify(saved(tmp_path, text))
    found.write(tmp_path / "out.onnx")
    written = onnx.ModelProto.FromString((tmp_path / "out.onnx").read_bytes())
    assert [node.op_type for node in written.graph.node] == ["Relu"]
    assert len(written.graph.output[0].type.tensor_type.shape.dim) == 2


def test_operands_that_contradict_an_operator_are_an_error(tmp_path: Path):
    text = (
        "g (float[1,3] x) => (float[1,3] y) <float[4,5] w = {"
        + ",".join("1" * 20)
        + "}> { y = MatMul(x, w) }"
    )
    with pytest.raises(XonncError, match="MatMul"):
        simplify(saved(tmp_path, text))


@pytest.mark.parametrize("name", ["?", "", " "])
def test_dimensions_called_unknown_are_each_their_own(name: str, tmp_path: Path):
    model = onnx.parser.parse_model(
        HEAD + "g (float[N,2] x, float[N,2] z) => (float[N,2] y, float[N,2] w) { y = Abs(x) w = Neg(z) }"
    )
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.shape.dim[0].dim_param = name
    session = compile_native(model)
    found = session.run(None, {"x": np.ones((3, 2), np.float32), "z": np.ones((5, 2), np.float32)})
    assert [each.shape for each in found if isinstance(each, np.ndarray)] == [(3, 2), (5, 2)]
    kept = simplify(model).proto()
    assert kept.graph.input == model.graph.input


BODIES = {
    "Loop": """g (float[n,3] x, int64 m) => (s, y) <bool yes = {1}> {
        y, r = Loop (m, yes, x) <body = b (int64 i, bool c, float[2,3] a)
          => (bool d, float[2,3] o, float[2,3] p) { o = Neg (a) p = Abs (o) d = Identity (c) }>
        s = Shape (r) }""",
    "Scan": """g (float[n,3] x, int64 m) => (s, y) {
        y = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = b (float[2] a) => (float[2] o)
          { o = Neg (a) }> (x)
        s = Shape (y) }""",
}


@pytest.mark.parametrize("name", BODIES)
def test_what_only_the_body_of_a_loop_declares_is_not_believed(name: str):
    model = onnx.parser.parse_model(HEAD + BODIES[name])
    session = compile_native(model)
    for rows, count in ((2, 3), (4, 3), (1, 3), (5, 0)):
        feeds = {"x": np.ones((rows, 3), np.float32), "m": np.array(count)}
        sizes, result = (np.asarray(each) for each in session.run(None, feeds))
        assert sizes.tolist() == ([count, rows, 3] if name == "Loop" else [3, rows])
        assert result.size == rows * 3


FIXING_INPUTS = {
    "batch": "g (float[N,2,4,4] x) => (y) <float[2,2,1,1] w = {1,2,3,4}, float[1,2,4,4] c>"
    " { c = Conv (x, w) BODY }",
    "rounded size": "g (float[1,2,H,4] x) => (y) <float[1,2,2,2] c>"
    " { c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) BODY }",
    "sum of sizes": "g (float[N,M] x) => (y) <float[4,3] c> { c = Concat <axis = 0> (x, x) BODY }",
}
"""Exporters declare inner values in the traced sizes; torch's new one did for a UNet of diffusers."""

FOLDED = "d = Relu (c) v = Shape (d) q = Reshape (d, v) y = Neg (q)"


@pytest.mark.parametrize("name", FIXING_INPUTS)
def test_simplified_models_run_at_sizes_that_inner_types_deny(name: str, tmp_path: Path):
    model = onnx.parser.parse_model(HEAD + FIXING_INPUTS[name].replace("BODY", FOLDED))
    with pytest.warns(XonncWarning, match=r"c: the result is declared .* all declared shapes .* ignored"):
        simplified = simplify(model)
    written = simplified.proto()
    del model.graph.value_info[:]
    shape = {"batch": (3, 2, 4, 4), "rounded size": (1, 2, 7, 4), "sum of sizes": (3, 3)}[name]
    x = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    expected, found = (
        import_module("onnx.reference").ReferenceEvaluator(each).run(None, {"x": x})[0]
        for each in (model, written)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    text = FIXING_INPUTS[name].replace("BODY", FOLDED)
    with pytest.raises(XonncError, match=r"c: .*but it has dynamic dimensions of the inputs"):
        simplify(saved(tmp_path, text), strict=True)


@pytest.mark.parametrize(
    "text",
    [
        # The data decide how many rows there are.
        "g (float[N] x) => (y) <float[3] c> { b = Cast <to = 9> (x) c = Compress (x, b) BODY }",
        # The operator requires the size.
        "g (float[N] x) => (y) <float[3] w = {1,2,3}, float[3] c> { c = Add (x, w) BODY }",
        "g (float[3] x) => (y) <float[3] c> { c = Neg (x) BODY }",
    ],
)
def test_sizes_that_inputs_do_not_decide_are_believed(text: str):
    simplified = simplify(onnx.parser.parse_model(HEAD + text.replace("BODY", FOLDED))).proto()
    assert "Shape" not in {node.op_type for node in simplified.graph.node}


def test_invalid_operators_are_reported_first():
    """The shape rules of operators, which may be those of plug-ins, rely on valid attributes."""
    text = "g (float[N,2] x) => (y) <float[1,2] c> { c = Softmax (x) d = Concat (c, x) y = Relu (d) }"
    with pytest.raises(XonncError, match="axis"):
        simplify(onnx.parser.parse_model(HEAD + text))
