"""`xonnc.compat.onnxsim`: the parameters of `simplify` and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.compat.onnxsim import main, model_checking, model_info, simplify
from xonnc.compat.onnxsim.comparison import InputFill
from xonnc.errors import XonncError
from xonnc.formats.onnx.load_model import load
from xonnc.formats.onnx.loaded_export import whole_model
from xonnc.formats.onnx.schemas import newest_opset

BN = """g (float[N, 1, 3] x) => (float[N, 2, 2] y, float[1] z)
<float[2, 1, 2] w = {1, 2, -3, 4}, float[2] s = {2, -1}, float[2] b = {0.5, 1}, float[2] m = {1, -1},
 float[2] v = {4, 0.25}, float[1] k = {2}>
{c = Conv(x, w) i = Identity(c) y = BatchNormalization(i, s, b, m, v) z = Neg(k)}"""


def parsed(graph: str = BN, opset: int = 21) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{graph}')


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, ["Conv"]),
        ({"skip_fuse_bn": True}, ["Conv", "BatchNormalization"]),
        ({"skipped_optimizers": ["eliminate_identity"]}, ["Conv", "Identity", "BatchNormalization"]),
        ({"perform_optimization": False}, ["Conv", "Identity", "BatchNormalization"]),
        ({"skip_constant_folding": True, "unused_output": ["y"]}, ["Neg"]),
        ({"unused_output": ["z"]}, ["Conv"]),
        ({"initializers_as_constants": False}, ["Conv", "BatchNormalization", "Neg"]),
        ({"skip_fuse_bn": True, "extra_optimizers": ["fuse_bn_into_conv"]}, ["Conv"]),
    ],
)
def test_options(options: dict[str, Any], left: list[str]):
    model = parsed()
    before = model.SerializeToString()
    simplified, passed = simplify(model, check_n=2, test_input_shapes={"x": [2, 1, 3]}, **options)
    assert passed
    assert operators(simplified) == left
    assert model.SerializeToString() == before


def test_shapes():
    simplified, _ = simplify(parsed(), overwrite_input_shapes={"x": [4, 0, -1]})
    dims = simplified.graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [4, 1, 3]
    simplified, _ = simplify(parsed(), overwrite_input_shapes=[5, 1, 3])
    assert simplified.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 5
    simplified, _ = simplify(parsed())
    assert simplified.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


@pytest.mark.parametrize(("version", "found"), [(23, 23), ("latest", newest_opset(""))])
def test_target_opset(version: Any, found: int):
    simplified, passed = simplify(
        parsed(), check_n=1, test_input_shapes=[1, 1, 3], target_opset_version=version
    )
    assert passed
    assert [each.version for each in simplified.opset_import] == [found]
    with pytest.raises(XonncError, match="BatchNormalization as it is here exists from opset 7 on"):
        simplify(parsed(), target_opset_version=6)


def test_output_path(tmp_path: Path):
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(parsed().SerializeToString())
    simplified, _ = simplify(str(source), output_path=str(target))
    assert onnx.ModelProto.FromString(target.read_bytes()) == simplified
    with pytest.raises(ValueError, match="output_path needs the path of a model"):
        simplify(parsed(), output_path=str(target))


def test_initializers_that_are_inputs():
    model = parsed("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 1}> {y = Mul(x, w)}")
    assert operators(simplify(model)[0]) == ["Identity"]
    kept, _ = simplify(model, mutable_initializer=True)
    assert [info.name for info in kept.graph.input] == ["x", "w"]


@pytest.mark.parametrize("fill", ["random", "ones", "zeros", "arange"])
def test_check_finds_a_difference(fill: InputFill, monkeypatch: pytest.MonkeyPatch):
    wrong = parsed("g (float[2] x) => (float[2] y) {y = Exp(x)}")
    model = parsed("g (float[2] x) => (float[2] y) {y = Neg(x)}")

    def proto(model: object) -> onnx.ModelProto:
        return wrong

    monkeypatch.setattr("xonnc.simplifier.SimplifiedModel.proto", proto)
    assert not simplify(model, check_n=1, input_fill=fill)[1]
    assert not simplify(model, check_n=1, input_data={"x": np.ones(2, np.float32)})[1]
    assert simplify(model, check_n=1, check_atol=1e9)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"custom_lib": "ops.so"}, "custom_lib ops.so: libraries of onnxruntime are not loaded"),
        ({"unused_output": ["w"]}, "there is no output 'w'"),
        ({"overwrite_input_shapes": {"xx": [1]}}, "there is no input 'xx'"),
        ({"overwrite_input_shapes": {"x": [1, 2]}}, r"input 'x' has rank 3; shape \[1, 2\] has 2"),
    ],
)
def test_errors(options: dict[str, Any], message: str):
    with pytest.raises(XonncError, match=message):
        simplify(parsed(), **options)


def test_one_shape_needs_one_input():
    model = parsed("g (float[2] x, float[2] w) => (float[2] y) {y = Mul(x, w)}")
    with pytest.raises(XonncError, match=r"shape \[2\]: the model has 2 inputs; name one"):
        simplify(model, overwrite_input_shapes=[2])


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, target, data = tmp_path / "in.onnx", tmp_path / "out.onnx", tmp_path / "x.bin"
    source.write_bytes(parsed().SerializeToString())
    np.ones(3, np.float32).tofile(data)
    main(
        [
            str(source),
            str(target),
            "3",
            "--overwrite-input-shape",
            "x:1,1,3",
            "--input-data-path",
            f"x:{data}",
        ]
    )
    assert operators(onnx.ModelProto.FromString(target.read_bytes())) == ["Conv"]
    assert "BatchNormalization             1             0" in capsys.readouterr().out
    main(
        [
            str(source),
            str(target),
            "--skip-optimization",
            "eliminate_identity",
            "--target-opset",
            "22",
            "--save-as-external-data",
        ]
    )
    assert "Identity" in operators(onnx.ModelProto.FromString(target.read_bytes()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--overwrite-input-shape", "x:a"], "'x:a' is no shape such as x:1,3,224,224"),
        (["--input-data-path", "x:missing.bin"], "'x:missing.bin' names no input and file"),
        (["1", "--custom-lib", "ops.so"], "custom_lib ops.so: libraries of onnxruntime are not loaded"),
    ],
)
def test_command_line_errors(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = tmp_path / "in.onnx"
    source.write_bytes(parsed().SerializeToString())
    with pytest.raises(SystemExit, match="1"):
        main([str(source), str(tmp_path / "out.onnx"), *arguments])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out.onnx").exists()


def test_initializers_stay_initializers():
    simplified, _ = simplify(parsed(), initializers_as_constants=False)
    assert [info.name for info in simplified.graph.input] == ["x"]
    weights = {each.name: onnx.numpy_helper.to_array(each) for each in simplified.graph.initializer}
    original = {each.name: onnx.numpy_helper.to_array(each) for each in parsed().graph.initializer}
    assert weights.keys() == original.keys()
    for name, array in original.items():
        np.testing.assert_array_equal(weights[name], array)


def test_an_unknown_optimizer():
    with pytest.raises(XonncError, match="no optimizer 'fuse_bn_into_con'; did you mean 'fuse_bn_into_conv'"):
        simplify(parsed(), extra_optimizers=["fuse_bn_into_con"])


@pytest.mark.parametrize(
    ("threshold", "is_apart"), [("1B", True), ("0.1 kb", True), ("1MB", False), ("1GB", False)]
)
def test_weights_in_a_file_of_their_own(threshold: str, is_apart: bool, tmp_path: Path):
    given, output = tmp_path / "given.onnx", tmp_path / "out.onnx"
    weights = {"w": np.arange(4096, dtype=np.float32)}
    model = parsed("g (float[4096] x) => (float[4096] y) {y = Add(x, w)}")
    model.graph.initializer.extend(onnx.numpy_helper.from_array(each, name) for name, each in weights.items())
    given.write_bytes(model.SerializeToString())
    simplify(str(given), output_path=output, external_data_threshold=threshold)
    assert (tmp_path / "out.onnx.data").exists() == is_apart
    loaded = whole_model(load(output))
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(loaded.graph.initializer[0]), weights["w"])


@pytest.mark.parametrize("threshold", ["", "big", "1XB", "-1KB"])
def test_sizes_that_are_none(threshold: str):
    with pytest.raises(XonncError, match=f"'{threshold}' is no size; it is a number with B, KB, MB or GB"):
        simplify(parsed(), external_data_threshold=threshold)


def test_older_and_further_options_of_the_command(tmp_path: Path):
    given, output = tmp_path / "given.onnx", tmp_path / "out.onnx"
    given.write_bytes(parsed().SerializeToString())
    flags = ["--input-shape", "x:2,1,3", "--skip-optimizer", "eliminate_identity", "--enable-fuse-bn"]
    main([str(given), str(output), "1", *flags, "--skip-schema-import", "--external-data-threshold", "1B"])
    assert operators(whole_model(load(output))) == ["Conv", "Identity", "BatchNormalization"]
    main([str(given), str(output), "--initializers-as-non-constants"])
    assert operators(whole_model(load(output))) == ["Conv", "BatchNormalization", "Neg"]
    main([str(given), str(output), "--skip-fuse-bn", "--enable-optimization", "fuse_bn_into_conv"])
    assert operators(whole_model(load(output))) == ["Conv"]


def test_nodes_get_unique_names():
    text = "g (float[3] x) => (float[3] z) {a = Abs(x) [b] y = Softsign(a) z = Sin(y)}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{text}')
    names = [node.name for node in simplify(model)[0].graph.node]
    assert names[1] == "b"
    assert all(names)
    assert len(set(names)) == 3


def test_the_first_dimension_is_taken_for_the_batch():
    assert simplify(parsed(), check_n=1)[1]
    model = parsed("g (float[1, N] x) => (float[1, N] y) {y = Neg(x)}")
    with pytest.raises(XonncError, match="input 'x' has a dynamic shape; give test_input_shapes"):
        simplify(model, check_n=1)


def test_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    original, other = (parsed(f"g (float[2] x) => (float[2] y) {{y = {op}(x)}}") for op in ("Neg", "Abs"))
    path = tmp_path / "m.onnx"
    path.write_bytes(original.SerializeToString())
    assert model_checking.compare(original.SerializeToString(), path)
    assert not capsys.readouterr().err
    assert not model_checking.compare(other, original, n_times=1)
    assert "outputs of the simplified model differ" in capsys.readouterr().err
    assert model_checking.compare(other, original, n_times=1, input_fill="zeros", verbose=False)
    assert not model_checking.compare(
        other, original, 1, input_data={"x": np.ones(2, np.float32)}, verbose=False
    )
    assert model_checking.compare(other, original, n_times=0)
    with pytest.raises(XonncError, match=r"custom_lib ops.so: libraries of onnxruntime are not loaded"):
        model_checking.compare(other, original, custom_lib="ops.so")


def test_info_counts_nested_operators(capsys: pytest.CaptureFixture[str]):
    model = parsed(
        "g (bool c, float[2] x) => (float[2] y) {y = If(c) <then_branch = t () => (float[2] a) {a = Neg(x)}, "
        "else_branch = e () => (float[2] b) {b = Identity(x)}>}"
    )
    model_info.print_simplifying_info(model, simplify(model)[0])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["Identity", "1", "1"],
        ["If", "1", "1"],
        ["Neg", "1", "1"],
    ]
    assert [line.split()[0] for line in lines[4:]] == ["Model", "Initializers"]
    assert model_info.ModelInfo(model).op_nums == {"If": 1, "Neg": 1, "Identity": 1}


def test_loops_sequences_and_optionals_disappear():
    body = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["v", "x"], ["w"])],
        "body",
        [
            onnx.helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            onnx.helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
            onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, [2]),
        ],
        [
            onnx.helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
            onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [2]),
        ],
    )
    model = parsed(
        "g (float[2] x) => (float[2] y) {s = SequenceConstruct(x, x) n = SequenceLength(s) "
        "o = Optional(x) e = OptionalGetElement(o) y = Identity(e)}"
    )
    model.graph.node[-1].CopyFrom(onnx.helper.make_node("Loop", ["n", "", "e"], ["y"], body=body))
    simplified, same = simplify(model, check_n=1)
    assert same
    assert operators(simplified) == ["Add", "Add"]
    assert (
        operators(simplify(model, perform_optimization=False, extra_optimizers=["eliminate_identity"])[0])[-1]
        == "Loop"
    )


def test_the_size_counts_external_data():
    model = parsed("g (float[2] x) => (float[64, 64] y) {y = Identity(w)}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w"))
    size = model_info.ModelInfo(model).model_size
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": "w.data", "length": str(64 * 64 * 4)}.items():
        weight.external_data.add(key=key, value=value)
    assert 64 * 64 * 4 <= size <= model_info.ModelInfo(model).model_size < size + 200


def test_fills_are_known_by_name():
    with pytest.raises(ValueError, match="input_fill is 'rando'; there are random, ones, zeros, arange"):
        model_checking.compare(parsed(), parsed(), 1, input_fill=cast("InputFill", "rando"))
