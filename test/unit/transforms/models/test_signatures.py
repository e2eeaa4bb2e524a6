"""Shapes and dimension names given to the inputs, as onnx-mlir spells them, in every tool that takes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import parser

from xonnc.contexts import new_context
from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.errors import XonncError
from xonnc.tools.driver import main as xonnc
from xonnc.tools.peer_settings import take_peer_flags
from xonnc.tools.signature_options import read_names, read_shapes, signature_of
from xonnc.tools.translate import main as translate
from xonnc.tools.usage import UsageError
from xonnc.transforms.models.signatures import Signature, set_signature

MODEL = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 3] x, float[2, 3] z) => (float[2, 3] y) { m = Neg (x)  y = Add (m, z) }
"""

FLAGS = ["--shapeInformation=0-1:-1x3", "--dimParams=-1:0=rows"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "in.onnx"
    path.write_bytes(parser.parse_model(MODEL).SerializeToString())
    return path


def dims(value: onnx.ValueInfoProto) -> list[str | int]:
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_shapes_are_read_by_place():
    assert read_shapes("0:1x3x-1,2-3:5,-1:7,0:9") == {0: [1, 3, -1], 2: [5], 3: [5], -1: [7]}
    assert read_shapes("") == {}


def test_names_are_read_by_place():
    assert read_names("0:0=batch,1=seq + 1|-5:2=heads|0:0=late") == {
        0: {0: "batch", 1: "seq + 1"},
        -1: {2: "heads"},
    }


@pytest.mark.parametrize("text", ["0", "0:", "0:a", "2-1:3", "-1-2:3", "0:-2", "0:1x", "x:1", "0-99999:1"])
def test_shapes_of_another_form(text: str):
    with pytest.raises(
        UsageError, match=f"takes input indices and shapes such as 0:1x3x-1,1-2:5x-1, found '{text}'"
    ):
        read_shapes(text)


def test_a_size_beyond_64_bits():
    with pytest.raises(UsageError, match="'0:9223372036854775808' has a size beyond 64 bits"):
        read_shapes("0:9223372036854775808")


@pytest.mark.parametrize("text", ["0", "0:", "0:0", "0:0=", "0:a=b", "0:0=a,,1=b"])
def test_names_of_another_form(text: str):
    with pytest.raises(UsageError, match=f"takes indices and names as 0:0=batch,1=seq.*found '{text}'"):
        read_names(text)


def test_nothing_is_said_without_the_options():
    assert signature_of(take_peer_flags(["-v"], "onnx-opt")[0]) is None


def translated(model: Path, out: Path) -> int:
    return translate([*FLAGS, str(model), "-o", str(out)])


def simplified(model: Path, out: Path) -> int:
    return xonnc(["simplify", *FLAGS, str(model), str(out), "-q"])


@pytest.mark.parametrize("tool", [translated, simplified])
def test_a_tool_gives_the_inputs_shapes_and_names(tool: Callable[[Path, Path], int], model: Path):
    out = model.with_name("out.onnx")
    assert tool(model, out) == 0
    graph = onnx.ModelProto.FromString(out.read_bytes()).graph
    assert [dims(value) for value in graph.input] == [["rows", 3], ["rows", 3]]
    assert len(dims(graph.output[0])) == 2


def test_emit_gives_the_inputs_shapes_and_names(model: Path, capsys: pytest.CaptureFixture[str]):
    assert xonnc(["emit", *FLAGS, str(model), "-o", str(model.with_name("out"))]) == 0
    text = model.with_name("out.onnx.mlir").read_text()
    assert 'tensor<?x3xf32> {onnx.dim_params = "0:rows", onnx.name = "z"}' in text
    assert "onnx.mlir" in capsys.readouterr().out


def test_a_wrong_form_is_wrong_usage(model: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        xonnc(["simplify", "--shapeInformation=0", str(model), "out.onnx"])
    assert end.value.code == 2
    assert "option '--shapeInformation' takes input indices and shapes" in capsys.readouterr().err


def test_a_module_needs_inputs():
    module = OnnxParser(new_context(), "module {}", "text").parse_module()
    with pytest.raises(XonncError, match="no function, so no inputs to give shapes or names to"):
        set_signature(module, Signature({0: [1]}))


def test_one_name_has_one_size():
    text = """
        func.func @f(
            %x: tensor<?xf32> {onnx.dim_params = "0:n"}, %z: tensor<?xf32> {onnx.dim_params = "0:n"}) {
          onnx.Return
        }
        """
    module = OnnxParser(new_context(), text, "text").parse_module()
    with pytest.raises(XonncError, match="input 1: dimension 'n' cannot be 8 here and 7 elsewhere"):
        set_signature(module, Signature({0: [7], 1: [8]}))
