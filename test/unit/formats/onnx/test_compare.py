"""What counts as a difference between two models, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from xonnc.formats.onnx.compare import models_equal
from xonnc.formats.onnx.tensors import proto

TEXT = """<ir_version: 8, opset_import: ["" : 17, "d" : 1], producer_name: "p", metadata_props: ["a": "b"]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}, float z> {
    [first] z = LeakyRelu <alpha: float = 0.5> (x)
    y = Add (z, w)
}
<domain: "d", opset_import: ["" : 17]> f <a> (p) => (q) { q = Relu (p) }"""


def model() -> onnx.ModelProto:
    """A small model with something of everything."""
    made = onnx.parser.parse_model(TEXT)
    made.graph.node.append(
        onnx.helper.make_node("Constant", [], ["c"], value=proto(np.array([1, 2], np.float32), "t"))
    )
    made.graph.quantization_annotation.add(tensor_name="x")
    return made


def rename_node(m: onnx.ModelProto) -> None:
    m.graph.node[0].name = "other"


def rename_value(m: onnx.ModelProto) -> None:
    m.graph.node[0].output[0] = "v"


def drop_node(m: onnx.ModelProto) -> None:
    del m.graph.node[2]


def swap_nodes(m: onnx.ModelProto) -> None:
    nodes = list(m.graph.node)
    m.graph.ClearField("node")
    m.graph.node.extend(reversed(nodes))


def change_attribute(m: onnx.ModelProto) -> None:
    m.graph.node[0].attribute[0].f = 0.25


def drop_attribute(m: onnx.ModelProto) -> None:
    m.graph.node[0].ClearField("attribute")


def change_weight(m: onnx.ModelProto) -> None:
    m.graph.initializer[0].float_data[3] = 5


def change_weight_sign_of_zero(m: onnx.ModelProto) -> None:
    m.graph.node[2].attribute[0].t.raw_data = np.array([1, -0.0], np.float32).tobytes()


def change_shape(m: onnx.ModelProto) -> None:
    m.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "M"


def zero_dimension(m: onnx.ModelProto) -> None:
    m.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 0


def change_opset(m: onnx.ModelProto) -> None:
    m.opset_import[0].version = 16


def change_function(m: onnx.ModelProto) -> None:
    m.functions[0].node[0].op_type = "Abs"


def change_metadata(m: onnx.ModelProto) -> None:
    m.metadata_props[0].value = "c"


def change_annotation(m: onnx.ModelProto) -> None:
    m.graph.ClearField("quantization_annotation")


def drop_value_info(m: onnx.ModelProto) -> None:
    m.graph.ClearField("value_info")


DIFFERENCES = [
    rename_node,
    rename_value,
    drop_node,
    swap_nodes,
    change_attribute,
    drop_attribute,
    change_weight,
    change_weight_sign_of_zero,
    change_shape,
    zero_dimension,
    change_opset,
    change_function,
    change_metadata,
    change_annotation,
    drop_value_info,
]


@pytest.mark.parametrize("change", DIFFERENCES)
def test_differences_are_found(change: Callable[[onnx.ModelProto], None]) -> None:
    other = model()
    change(other)
    found = models_equal(model(), other)
    assert found
    assert all(line.startswith("model.") and "\n" not in line for line in found)


def spell_domain(m: onnx.ModelProto) -> None:
    m.opset_import[0].domain = "ai.onnx"
    m.graph.node[0].domain = "ai.onnx"


def store_raw(m: onnx.ModelProto) -> None:
    m.graph.initializer[0].CopyFrom(proto(np.array([1, 2, 3, 4], np.float32), "w"))


def set_to_nothing(m: onnx.ModelProto) -> None:
    m.doc_string = ""
    m.model_version = 0


def name_inner_tensor(m: onnx.ModelProto) -> None:
    m.graph.node[2].attribute[0].t.name = "other"


def reorder_opsets(m: onnx.ModelProto) -> None:
    imports = list(m.opset_import)
    m.ClearField("opset_import")
    m.opset_import.extend(reversed(imports))


@pytest.mark.parametrize(
    "change", [spell_domain, store_raw, set_to_nothing, name_inner_tensor, reorder_opsets]
)
def test_spellings_are_no_differences(change: Callable[[onnx.ModelProto], None]) -> None:
    other = model()
    change(other)
    assert models_equal(model(), other) == []


def test_a_default_may_be_written_or_not() -> None:
    written, silent = model(), model()
    written.graph.node[0].attribute[0].f = 0.01
    silent.graph.node[0].ClearField("attribute")
    assert models_equal(written, silent) == []


def test_files_are_opened(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString())
    assert models_equal(path, model()) == []
    other = model()
    other.graph.name = "h"
    assert models_equal(str(path), other) == ["model.graph.name: g, h"]
