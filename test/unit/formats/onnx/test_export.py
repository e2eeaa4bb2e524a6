"""What the exporter makes of modules that no importer made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp

from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.onnx import save_model as saving
from xonnc.formats.onnx.exporter import export_model, export_proto
from xonnc.formats.onnx.loaded_export import load_proto, save_proto
from xonnc.formats.onnx.save_model import ExternalData
from xonnc.runtime.reference import open_session
from xonnc.tools.universe import XONNC_UNIVERSE


def module(body: str, arguments: str = "%x: tensor<2xf32>", result: str = "tensor<2xf32>") -> ModuleOp:
    """A module from the ops of its function."""
    ctx = Context()
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func

    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    for name, factory in XONNC_UNIVERSE.all_dialects.items():
        ctx.register_dialect(name, factory)
    text = f"func.func @main_graph({arguments}) -> ({result}) {{\n{body}\n}}"
    return OnnxParser(ctx, text, "test").parse_module()


def text(model: onnx.ModelProto) -> str:
    """The graph as ONNX text, without blanks at line ends."""
    return " ".join(onnx.printer.to_text(model.graph).split())


def test_values_without_names_get_some() -> None:
    model = export_proto(
        module('%0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>\nonnx.Return %0 : tensor<2xf32>')
    )
    assert text(model) == "main_graph (float[2] input_0) => (float[2] Relu_1) { Relu_1 = Relu (input_0) }"
    assert model.producer_name == "xonnc"
    vars(onnx.checker)["check_model"](model)


def test_what_the_lowering_notes_is_no_attribute_of_the_node() -> None:
    body = """%0 = "onnx.Relu"(%x) {krnl.no_kernel = "too wide"} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Return %0 : tensor<2xf32>"""
    assert text(export_proto(module(body))).endswith("{ Relu_1 = Relu (input_0) }")


def test_two_ops_of_one_name_do_not_collide() -> None:
    body = """%0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["t"]>["n"])
    %1 = "onnx.Abs"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["t"]>["n"])
    onnx.Return %1 : tensor<2xf32>"""
    names = [node.output[0] for node in export_proto(module(body)).graph.node]
    assert names == ["t", "n_1"]


def test_an_input_that_is_an_output_goes_through_identity() -> None:
    made = module(
        "onnx.Return %x : tensor<2xf32>",
        arguments='%x: tensor<2xf32> {onnx.name = "x"}',
        result='tensor<2xf32> {onnx.name = "y"}',
    )
    assert text(export_proto(made)) == "main_graph (float[2] x) => (float[2] y) { y = Identity (x) }"


def test_a_value_is_called_as_the_output_it_is() -> None:
    made = module(
        '%0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["t"]>[unknown])\n'
        "onnx.Return %0, %0 : tensor<2xf32>, tensor<2xf32>",
        result='tensor<2xf32> {onnx.name = "y"}, tensor<2xf32> {onnx.name = "z"}',
    )
    assert [node.op_type for node in export_proto(made).graph.node] == ["Relu", "Identity"]
    assert [info.name for info in export_proto(made).graph.output] == ["y", "z"]


def test_folded_constants_are_initializers_and_types_are_told() -> None:
    body = """%0 = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = "onnx.Add"(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %2 = "onnx.Relu"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Return %2 : tensor<2xf32>"""
    graph = export_proto(module(body)).graph
    assert [tensor.raw_data for tensor in graph.initializer] == [
        np.float32(1).tobytes() + np.float32(2).tobytes()
    ]
    assert [info.name for info in graph.value_info] == ["Add_1"]


def test_dim_is_a_part_of_shape() -> None:
    made = module(
        '%0 = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<?x3xf32>) -> tensor<1xi64>\n'
        "onnx.Return %0 : tensor<1xi64>",
        arguments="%x: tensor<?x3xf32>",
        result="tensor<1xi64>",
    )
    assert "Shape <start: int = 1, end: int = 2>" in text(export_proto(made)).replace(
        "end: int = 2, start: int = 1", "start: int = 1, end: int = 2"
    )


def test_dim_is_picked_from_a_shape_of_old() -> None:
    made = module(
        '%0 = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<?x3xf32>) -> tensor<1xi64> loc("columns")\n'
        '%1 = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x3xf32>) -> tensor<1xi64>\n'
        '%2 = "onnx.Concat"(%0, %1) <{axis = 0 : si64}>'
        " : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>\n"
        "onnx.Return %2 : tensor<2xi64>",
        arguments="%x: tensor<?x3xf32>",
        result="tensor<2xi64>",
    )
    made.attributes["onnx.opset_imports"] = DictionaryAttr({"": IntegerAttr(9, 64)})
    model = export_proto(made)
    vars(onnx.checker)["check_model"](model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["Shape", "Gather", "Shape", "Gather", "Concat"]
    assert model.graph.node[0].name == "columns"
    name = model.graph.input[0].name
    session, _ = open_session(model.SerializeToString(), "sizes")
    (found,) = session.run(None, {name: np.zeros((5, 3), np.float32)})
    assert found.tolist() == [3, 5]


def test_the_opset_follows_operands_and_attributes_that_an_operator_got_later() -> None:
    def opset(body: str, imported: int) -> int:
        body += "onnx.Return %0 : tensor<1x2x3x4xf32>"
        made = module(body, "%x: tensor<1x2x3x4xf32>, %n: tensor<1xi64>", "tensor<1x2x3x4xf32>")
        made.attributes["onnx.opset_imports"] = DictionaryAttr({"": IntegerAttr(imported, 64)})
        model = export_proto(made)
        vars(onnx.checker)["check_model"](model, full_check=True)
        return model.opset_import[0].version

    none = '%none = "onnx.NoValue"() <{value}> : () -> none\n'
    attention = (
        f'{none}%0, %1, %2, %3 = "onnx.Attention"(%x, %x, %x, %none, %none, %none, LENGTHS) ATTRIBUTES'
        " : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, none, none, none, TYPE)"
        " -> (tensor<1x2x3x4xf32>, none, none, none)\n"
    )
    plain = attention.replace("ATTRIBUTES", "")
    assert opset(plain.replace("LENGTHS", "%none").replace("TYPE", "none"), 23) == 23
    assert opset(plain.replace("LENGTHS", "%n").replace("TYPE", "tensor<1xi64>"), 21) == 24
    assert opset(plain.replace("LENGTHS", "%n").replace("TYPE", "tensor<1xi64>"), 25) == 25
    windowed = attention.replace("ATTRIBUTES", "<{left_window_size = 1 : si64}>")
    assert opset(windowed.replace("LENGTHS", "%none").replace("TYPE", "none"), 23) == 25


def test_the_opset_follows_the_ops() -> None:
    old = '%0 = "onnx.PadV2"(%x) <{pads = [0, 0]}> : (tensor<2xf32>) -> tensor<2xf32>\n'
    end = "onnx.Return %0 : tensor<2xf32>"
    assert [entry.version for entry in export_proto(module(old + end)).opset_import] == [10]
    new = '%1 = "onnx.Gelu"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("act")\n'
    with pytest.raises(XonncError, match=r"act \(onnx.Gelu\) needs opset 20 and .*\(onnx.PadV2\) at most 10"):
        export_proto(module(old + new + end))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '"onnx.PrintSignature"(%x) <{op_name = "a", print_data = 0 : si64}> : (tensor<2xf32>) -> ()',
            "ONNX has no operator for onnx.PrintSignature",
        ),
        (
            "%0 = onnx.Constant : tensor<2xf32>",
            r"onnx.Constant \(onnx.Constant\): a constant of a model needs a value",
        ),
    ],
)
def test_what_onnx_has_not_is_refused(body: str, message: str) -> None:
    with pytest.raises(XonncError, match=message):
        export_proto(module(body + "\nonnx.Return %x : tensor<2xf32>"))


def test_a_model_is_one_function() -> None:
    with pytest.raises(XonncError, match="a model is one function with a body; the module has none"):
        export_proto(ModuleOp([]))


def test_text_that_would_lose_something_is_refused(tmp_path: Path) -> None:
    ops = '%0 = "onnx.Relu"(%x) {onnx.doc_string = "why"} : (tensor<2xf32>) -> tensor<2xf32>'
    made = module(ops + "\nonnx.Return %0 : tensor<2xf32>")
    with pytest.raises(
        XonncError, match=r"ONNX text cannot hold this model \(.*doc_string.*\); write \.onnx or"
    ):
        export_model(made, tmp_path / "m.onnxtxt")
    assert list(tmp_path.iterdir()) == []
    export_model(made, tmp_path / "m.json")


CONSTANT = "%0 = onnx.Constant dense<1.0> : tensor<512xf32>\nonnx.Return %0 : tensor<512xf32>"


def test_files_past_two_gigabytes_ask_for_external_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "MAX_FILE_BYTES", 2000)
    made = module(CONSTANT, result="tensor<512xf32>")
    with pytest.raises(XonncError, match="write its weights to a second file with --external-data"):
        export_model(made, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
    export_model(made, tmp_path / "m.onnx", external_data=ExternalData("m.data"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.data", "m.onnx"]


@pytest.mark.parametrize("name", ["../m.data", "/tmp/m.data", "sub/m.data", "..", ""])
def test_external_data_stays_beside_the_model(name: str) -> None:
    with pytest.raises(XonncError, match="it must be a plain file name"):
        ExternalData(name)


def test_external_data_behind_a_link_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "m.data").symlink_to(outside)
    constant = module(CONSTANT, result="tensor<512xf32>")
    with pytest.raises(XonncError, match=r"m\.data: is a symbolic link, which not all ONNX readers follow"):
        export_model(constant, folder / "m.onnx", external_data=ExternalData("m.data"))
    assert outside.read_text() == "precious"
    assert [path.name for path in folder.iterdir()] == ["m.data"]


def test_nothing_is_left_of_a_file_that_failed(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_write(tmp_path / "m") as stream:
            stream.write(b"half")
            raise XonncError("no")

    with pytest.raises(XonncError, match="no"):
        fail()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(XonncError, match="cannot be written"), atomic_write(tmp_path / "none" / "m"):
        pass


def test_a_model_in_memory_too_large_for_one_file_is_written_in_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    graph = onnx.helper.make_graph([], "g", [], [], [weights])
    model = onnx.helper.make_model(graph)
    path = tmp_path / "m.onnx"
    assert save_proto(model, path) == [path]
    monkeypatch.setattr(saving, "MAX_FILE_BYTES", 8000)
    assert save_proto(model, path) == [path, tmp_path / "m.onnx.data"]
    assert path.stat().st_size < 1000
    assert load_proto(path) == model
