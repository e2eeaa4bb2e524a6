"""Models give the same at every optimization level, and passes that are off do not run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser

from xonnc import Session, compile_artifact, simplify
from xonnc import compile as compile_session
from xonnc.errors import RefusalError, UnknownNameError, XonncError
from xonnc.formats.native.program import RuntimeValue
from xonnc.tools.driver import main
from xonnc.transforms.optimization_levels import (
    BF16_PASS,
    BY_NAME,
    LEVELED_PASSES,
    LEVELS,
    NAMES,
    WINOGRAD_PASS,
)

Array = npt.NDArray[np.generic]

CONVOLUTIONS = """<ir_version: 8, opset_import: ["" : 17]>
    convolutions (float[2, 3, 9, 9] x) => (float[2, 5] y)
    <float[16, 3, 3, 3] w1, float[16, 16, 3, 3] w2, float[16] scale, float[16] bias, float[16] mean,
     float[16] deviation, float[16, 5] k, float[5] last, float[1] two = {2}> {
        variance = Mul (deviation, deviation)
        c1 = Conv <pads = [1, 1, 1, 1]> (x, w1)
        n1 = BatchNormalization (c1, scale, bias, mean, variance)
        r1 = Relu (n1)
        c2 = Conv <pads = [1, 1, 1, 1]> (r1, w2)
        m2 = Mul (c2, two)
        a2 = Add (m2, r1)
        e = Elu (a2)
        p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (e)
        g = GlobalAveragePool (p)
        f = Flatten (g)
        d = MatMul (f, k)
        s = Add (d, last)
        y = Softmax <axis = 1> (s)
    }"""

ATTENTION = """<ir_version: 8, opset_import: ["" : 17]>
    attention (float[B, T, 16] x) => (float[B, T, 16] y)
    <float[16, 16] q, float[16, 16] k, float[16, 16] v, float[16] gamma, float[16] beta> {
        heads = Constant <value_ints = [0, 0, 4, 4]> ()
        flat = Constant <value_ints = [0, 0, 16]> ()
        one = Constant <value_float = 1.0> ()
        half = Constant <value_float = 0.5> ()
        root = Constant <value_float = 1.41421354> ()
        pq = MatMul (x, q)
        pk = MatMul (x, k)
        pv = MatMul (x, v)
        rq = Reshape (pq, heads)
        rk = Reshape (pk, heads)
        rv = Reshape (pv, heads)
        tq = Transpose <perm = [0, 2, 1, 3]> (rq)
        tk = Transpose <perm = [0, 2, 3, 1]> (rk)
        tv = Transpose <perm = [0, 2, 1, 3]> (rv)
        scores = MatMul (tq, tk)
        scaled = Mul (scores, half)
        weights = Softmax <axis = -1> (scaled)
        mixed = MatMul (weights, tv)
        back = Transpose <perm = [0, 2, 1, 3]> (mixed)
        joined = Reshape (back, flat)
        sum = Add (joined, x)
        mean = ReduceMean <axes = [-1]> (sum)
        centred = Sub (sum, mean)
        squares = Mul (centred, centred)
        variance = ReduceMean <axes = [-1]> (squares)
        eps = Constant <value_float = 0.00001> ()
        shifted = Add (variance, eps)
        deviation = Sqrt (shifted)
        normal = Div (centred, deviation)
        grown = Mul (normal, gamma)
        placed = Add (grown, beta)
        d = Div (placed, root)
        e = Erf (d)
        f = Add (e, one)
        g = Mul (placed, f)
        y = Mul (g, half)
    }"""

QUANTIZED = """<ir_version: 8, opset_import: ["" : 17]>
    quantized (float[1, 4, 6, 6] x) => (float[1, 8, 6, 6] y)
    <float s = {0.05}, int8 z = {3}, int8[8, 4, 3, 3] w, float ws = {0.02}, int8 wz = {0}> {
        q = QuantizeLinear (x, s, z)
        d = DequantizeLinear (q, s, z)
        dw = DequantizeLinear (w, ws, wz)
        c = Conv <pads = [1, 1, 1, 1]> (d, dw)
        r = Relu (c)
        qc = QuantizeLinear (r, s, z)
        y = DequantizeLinear (qc, s, z)
    }"""

RECURRENT = """<ir_version: 8, opset_import: ["" : 17]>
    recurrent (float[5, 2, 4] x) => (float[5, 2, 3] y)
    <float[1, 12, 4] w, float[1, 12, 3] r, float[1, 24] b> {
        all, last = LSTM <hidden_size = 3> (x, w, r, b)
        axis = Constant <value_ints = [1]> ()
        y = Squeeze (all, axis)
    }"""

BODIES = """<ir_version: 8, opset_import: ["" : 17]>
    bodies (float[3] x, int64 count, bool flag) => (float[3] y, float[3] z) {
        y = Loop (count, , x) <body = turn (int64 i, bool going, float[3] v) => (bool again, float[3] next) {
            again = Identity (going)
            half = Constant <value_float = 0.5> ()
            one = Constant <value_float = 1.0> ()
            more = Add (half, one)
            next = Mul (v, more)
        }>
        z = If (flag) <then_branch = yes () => (float[3] a) { a = Neg (x) },
                       else_branch = no () => (float[3] b) { n = Neg (x) b = Neg (n) }>
    }"""


def model_of(text: str) -> onnx.ModelProto:
    """The model; what the graph declares and no node makes is a constant, of random elements."""
    model = parser.parse_model(text)
    random = np.random.default_rng(3)
    for info in model.graph.value_info:
        tensor = info.type.tensor_type
        drawn = random.normal(size=tuple(size.dim_value for size in tensor.shape.dim))
        is_whole = tensor.elem_type == onnx.TensorProto.INT8
        array = (drawn * 40).astype(np.int8) if is_whole else (drawn * 0.3).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, info.name))
    del model.graph.value_info[:]
    return model


def floats(*shape: int) -> Array:
    found = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    if found.size:
        found.reshape(-1)[0] = 0
    return found


def assert_close(found: RuntimeValue, expected: RuntimeValue, what: str) -> None:
    one, other = (np.asarray(held, np.float64) for held in (found, expected))
    np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6, err_msg=what)


CASES: Mapping[str, tuple[str, Mapping[str, Array]]] = {
    "convolutions": (CONVOLUTIONS, {"x": floats(2, 3, 9, 9)}),
    "attention": (ATTENTION, {"x": floats(2, 5, 16)}),
    "attention of nothing": (ATTENTION, {"x": floats(2, 0, 16)}),
    "quantized": (QUANTIZED, {"x": floats(1, 4, 6, 6)}),
    "recurrent": (RECURRENT, {"x": floats(5, 2, 4)}),
    "bodies": (BODIES, {"x": floats(3), "count": np.array(2), "flag": np.array(False)}),
    "not a number": (
        CONVOLUTIONS,
        {"x": np.where(np.arange(486).reshape(2, 3, 9, 9) == 400, np.float32("nan"), floats(2, 3, 9, 9))},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_answers_are_the_same_at_every_level(name: str):
    text, feeds = CASES[name]
    model = model_of(text)
    answers = [compile_session(model, level=level).run(None, feeds) for level in LEVELS]
    for level, outputs in zip(LEVELS, answers, strict=True):
        for found, expected in zip(outputs, answers[2], strict=True):
            assert_close(found, expected, f"O{level}")


@cache
def answers_of(case: str) -> Sequence[RuntimeValue]:
    text, feeds = CASES[case]
    return compile_session(model_of(text)).run(None, feeds)


@pytest.mark.parametrize("name", [known.name for known in LEVELED_PASSES if 0 < known.level < BY_NAME])
@pytest.mark.parametrize("case", ["convolutions", "attention", "quantized"])
def test_answers_are_the_same_with_one_pass_on_or_off(name: str, case: str):
    text, feeds = CASES[case]
    model = model_of(text)
    requested = answers_of(case)
    for session in (
        compile_session(model, level=0, enable_pass=[name]),
        compile_session(model, disable_pass=[name]),
    ):
        for found, expected in zip(session.run(None, feeds), requested, strict=True):
            assert_close(found, expected, name)


def kernels(session: Session) -> list[str]:
    return [line.kernel for line in session.profile()]


def test_kernels_are_of_single_operators_below_level_2():
    model = model_of(CONVOLUTIONS)
    expected = "relu mul add elu maxpool softmax".split()
    for level in (0, 1):
        found = kernels(compile_session(model, level=level, profile=True))
        assert not [name for name in found if "fused" in name]
        assert set(expected) <= set(found)
    assert {"relu", "mul"}.isdisjoint(kernels(compile_session(model, profile=True)))
    assert "relu" in kernels(compile_session(model, profile=True, disable_pass=["fuse-onnx"]))
    fused, single = (
        kernels(compile_session(model, profile=True, level=0, enable_pass=["constprop-onnx", *more]))
        for more in (["fuse-onnx"], [])
    )
    assert len(fused) < len(single)


def test_constants_fold_from_level_1_on():
    model = model_of(CONVOLUTIONS)
    assert "Mul" in [node.op_type for node in simplify(model, level=0).proto().graph.node[:1]]
    at_one = [node.op_type for node in simplify(model, level=1).proto().graph.node]
    assert at_one[:2] == ["Conv", "BatchNormalization"]
    assert at_one.count("Mul") == 1


@pytest.mark.parametrize("level", [2, 3])
def test_arithmetic_by_channel_is_folded_unless_that_is_off(level: int):
    def operators(*disabled: str) -> list[str]:
        graph = simplify(model_of(CONVOLUTIONS), level=level, disable_pass=disabled).proto().graph
        return [node.op_type for node in graph.node]

    assert {"BatchNormalization", "Mul"}.isdisjoint(operators())
    assert {"BatchNormalization", "Mul"} <= set(operators("fuse-channels-onnx"))
    assert "Gemm" in operators()
    assert "Gemm" not in operators("fuse-operators-onnx")


def test_the_default_is_level_2():
    model = model_of(ATTENTION)
    expected = simplify(model).proto().SerializeToString(deterministic=True)
    assert simplify(model, level=2).proto().SerializeToString(deterministic=True) == expected
    assert simplify(model, level=1).proto().SerializeToString(deterministic=True) != expected


def test_level_0_keeps_the_nodes_and_tells_their_types():
    model = model_of(ATTENTION)
    graph = simplify(model, level=0).proto().graph
    computing = [node.op_type for node in model.graph.node if node.op_type != "Constant"]
    assert [node.op_type for node in graph.node] == computing
    assert graph.value_info


def test_a_refusal_says_what_would_help(tmp_path: Path):
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1] x) => (float[N] y) {
            zero = Constant <value_float = 0.0> ()
            one = Constant <value_float = 1.0> ()
            end = Add (one, one)
            numbers = Range (zero, end, one)
            y = Mul (numbers, x)
        }"""
    )
    feeds = {"x": np.array([3], np.float32)}
    found, expected = (compile_session(model, level=level).run(None, feeds)[0] for level in (0, 2))
    assert_close(found, expected, "O0")
    with pytest.raises(RefusalError, match=r"Range(.|\n)*net.ll: pass constprop-onnx is off"):
        compile_artifact(model, tmp_path / "net.ll", level=0)
    assert not list(tmp_path.iterdir())
    compile_artifact(model, tmp_path / "net.ll", level=0, enable_pass=["constprop-onnx"])


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_pass_is_switched_in_python(name: str):
    model = model_of(RECURRENT)
    simplify(model, enable_pass=[name])
    if any(known.name == name and known.level == 0 for known in LEVELED_PASSES):
        with pytest.raises(XonncError, match=f"{name}: a correct result needs this pass"):
            simplify(model, disable_pass=[name])
        with pytest.raises(XonncError, match=f"{name}: a correct result needs this pass"):
            compile_session(model, disable_pass=[name])
    else:
        simplify(model, disable_pass=[name])


def test_unknown_passes_in_python(tmp_path: Path):
    model = model_of(RECURRENT)
    for make in (
        lambda: compile_session(model, enable_pass=["constprop"]),
        lambda: compile_artifact(model, tmp_path / "net.so", disable_pass=["constprop"]),
        lambda: simplify(model, disable_pass=["constprop"]),
    ):
        with pytest.raises(UnknownNameError, match=r"no pass .constprop. .* mean .constprop-onnx.\?"):
            make()
    assert not list(tmp_path.iterdir())


def saved(text: str, path: Path) -> Path:
    path.write_bytes(model_of(text).SerializeToString())
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--disable-pass", "fuse-onn"], "no pass 'fuse-onn' of the optimization levels; did you mean"),
        (["--enable-pass", "dla-fuse"], "no pass 'dla-fuse' of the optimization levels; 'xonnc passes --lev"),
        (["--disable-pass", "legalize-onnx"], "legalize-onnx: a correct result needs this pass"),
        (["-O4"], "invalid choice: 4"),
    ],
)
@pytest.mark.parametrize("command", ["compile", "simplify"])
def test_wrong_options(
    command: str, arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = saved(RECURRENT, tmp_path / "m.onnx")
    output = ["-o", str(tmp_path / "m.so")] if command == "compile" else [str(tmp_path / "s.onnx")]
    with pytest.raises(SystemExit) as stopped:
        main([command, str(path), *output, *arguments])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


def test_simplify_at_a_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(ATTENTION, tmp_path / "m.onnx")
    nodes: dict[str, int] = {}
    for options in ("-O0", "-O1", "-O 2", "-O1 --disable-pass recompose-onnx"):
        assert main(["simplify", str(path), str(tmp_path / "s.onnx"), "--json", *options.split()]) == 0
        nodes[options] = json.loads(capsys.readouterr().out)["after"]["nodes"]
    assert nodes["-O0"] >= nodes["-O1"] > nodes["-O 2"]


@pytest.mark.parametrize("suffix", [".ll", ".c"])
def test_compile_to_a_text_at_a_level(suffix: str, tmp_path: Path):
    path = saved(CONVOLUTIONS, tmp_path / "m.onnx")
    texts: list[str] = []
    for options in ([], ["-O0"], ["--disable-pass", "fuse-onnx"]):
        output = tmp_path / f"net{suffix}"
        assert main(["compile", str(path), "-o", str(output), "-q", *options]) == 0
        texts.append(output.read_text())
    assert len(set(texts)) == 3


def test_ir_of_a_level(tmp_path: Path):
    path = saved(CONVOLUTIONS, tmp_path / "m.onnx")
    output = tmp_path / "m.mlir"
    for options, is_fused in (([], True), (["-O0"], False)):
        assert (
            main(
                [
                    "compile",
                    str(path),
                    "--target",
                    "avx2",
                    "--stop-after",
                    "fused",
                    "-o",
                    str(output),
                    "-q",
                    *options,
                ]
            )
            == 0
        )
        assert ("krnl.fused" in output.read_text()) == is_fused


def test_levels_are_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["passes", "--levels"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1 : 1 + len(NAMES)]] == list(NAMES)
    assert lines[0].split() == ["pass", "O0", "O1", "O2", "O3", "does"]
    assert lines[1].split()[1:5] == ["x"] * 4
    assert main(["passes", "--levels", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["passes"]] == list(NAMES)
    assert told["levels"]["O0"] == [one["name"] for one in told["passes"] if one["needed"]]
    assert told["levels"]["O3"] == [name for name in NAMES if name not in (BF16_PASS, WINOGRAD_PASS)]
