"""Whole models: what simplification leaves, and that the numbers stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.locations import node_name
from xonnc.dialects.onnx.types import NONE, static_shape
from xonnc.errors import XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.light_models import light_model
from xonnc.rewriting.patterns import Array
from xonnc.rewriting.statistics import collecting
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.simplify_onnx import Simplify

GONE = {
    "onnx.BatchNormalizationInferenceMode",
    "onnx.ConstantOfShape",
    "onnx.Dropout",
    "onnx.DropoutV7",
    "onnx.Identity",
    "onnx.Unsqueeze",
    "onnx.UnsqueezeV11",
}


class Session(Protocol):
    """onnxruntime, which has no types."""

    def run(self, output_names: None, input_feed: Mapping[str, Array]) -> Sequence[Array]: ...


def run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Sequence[Array]:
    session: Session = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    return session.run(None, feeds)


def simplified(model: onnx.ModelProto, *disabled: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    module = import_proto(model, context)
    Simplify(disable_pattern=disabled).apply(context, module)
    module.verify()
    return module


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "inception_v1"])
def test_a_network_keeps_its_numbers(name: str) -> None:
    model = light_model(name)
    constants = {tensor.name for tensor in model.graph.initializer}
    (data,) = (port for port in model.graph.input if port.name not in constants)
    shape = [dim.dim_value for dim in data.type.tensor_type.shape.dim]
    feeds = {data.name: np.random.default_rng(0).normal(size=shape).astype(np.float32)}
    module = simplified(model)
    names = Counter(op.name for op in module.walk())
    assert not GONE & names.keys()
    types = [result.type for op in module.walk() for result in op.results if result.type != NONE]
    assert all(static_shape(type_) is not None for type_ in types)
    before, after = run(model, feeds)[0], run(export_proto(module), feeds)[0]
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-6)


def test_batch_norms_of_resnet_are_in_the_convolutions() -> None:
    with collecting() as ledger:
        module = simplified(light_model("resnet50"))
    names = Counter(op.name for op in module.walk())
    assert names["onnx.Conv"] == 53
    assert not GONE & names.keys()
    assert "onnx.Mul" not in names
    assert "onnx.Add" not in names
    assert ledger.counts["simplify-onnx"]["FuseConstantBatchNormConv"] == 53


def test_node_names_survive() -> None:
    text = """
        <ir_version: 10, opset_import: ["" : 20]>
        main (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y)
          <float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[1] s = {2}> {
            [conv1] a = Conv(x, w)
            [norm1] b = BatchNormalization(a, s, s, s, s)
            [drop1] c = Identity(b)
            [relu1] y = Relu(c)
        }
    """
    module = simplified(onnx.parser.parse_model(text))
    conv, relu = (op for op in module.walk() if op.name in ("onnx.Conv", "onnx.Relu"))
    assert node_name(conv) == "norm1"
    assert "conv1" in str(conv.location)
    assert node_name(relu) == "relu1"


def test_a_rule_left_out_does_not_fire() -> None:
    module = simplified(light_model("squeezenet"), "DropoutV7EliminationPattern")
    assert any(op.name == "onnx.DropoutV7" for op in module.walk())


def test_the_old_softmax_of_an_old_model_stays() -> None:
    module = simplified(light_model("squeezenet"))
    assert any(op.name == "onnx.SoftmaxV11" for op in module.walk())


@pytest.mark.parametrize(("kind", "nodes"), [("float", ["Gemm"]), ("int32", ["MatMul", "Add"])])
def test_products_of_integers_stay_products(kind: str, nodes: list[str]) -> None:
    text = f"""
        <ir_version: 8, opset_import: ["" : 17]>
        main ({kind}[2, 3] x, {kind}[3, 4] w, {kind}[4] b) => ({kind}[2, 4] y) {{
            p = MatMul(x, w)
            y = Add(p, b)
        }}
    """
    model = export_proto(simplified(onnx.parser.parse_model(text)))
    assert [node.op_type for node in model.graph.node] == nodes


ATTENTION = """
    <ir_version: 8, opset_import: ["" : {opset}]>
    main (float[2, 3, 4] x) => (float[2, 3, 3] y, float[2, 3, 5] v)
      <float[4, 5] wq = {{{numbers}}}, float[4, 5] wk = {{{numbers}}}, float[4, 5] wv = {{{others}}},
       float[5] b = {{1, 2, 3, 4, 5}}, float eight = {{8}}> {{
        mq = MatMul(x, wq)
        q = Add(mq, b)
        mk = MatMul(x, wk)
        k = Add(mk, b)
        mv = MatMul(x, wv)
        v = Add(mv, b)
        t = Transpose <perm = [0, 2, 1]> (k)
        s = MatMul(q, t)
        y = Div(s, eight)
    }}
"""


@pytest.mark.parametrize("opset", [7, 11, 13, 17, 18])
def test_queries_keys_and_values_are_one_product_after_the_scale_went_into_one(opset: int) -> None:
    numbers, others = (", ".join(map(str, range(start, start + 20))) for start in (0, 7))
    model = onnx.parser.parse_model(ATTENTION.format(opset=opset, numbers=numbers, others=others))
    made = export_proto(simplified(model))
    vars(onnx.checker)["check_model"](made, full_check=True)
    names = Counter(node.op_type for node in made.graph.node)
    assert names == {"MatMul": 2, "Add": 1, "Split": 1, "Transpose": 1}
    feeds = {"x": np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)}
    for before, after in zip(run(model, feeds), run(made, feeds), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-5)


def test_an_unknown_rule_suggests_a_near_one() -> None:
    with pytest.raises(XonncError, match=r"no rule is called 'AddConstprop'; did you mean 'AddConstProp'\?"):
        ConstProp(disable_pattern=("AddConstprop",)).rules()


@pytest.mark.filterwarnings("error")
def test_what_a_model_overflows_is_nothing_to_warn_of() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y)
    <float[1, 1, 1, 1] w = {3e38}, float[1] b = {3e38}, float[1] c = {-3e38},
    float[1] scale = {2}, float[1] zero = {0}> {
        conv = Conv (x, w, b)
        y = BatchNormalization (conv, scale, c, c, zero)
    }"""
    module = simplified(onnx.parser.parse_model(text))
    assert [op.name for op in module.walk()].count("onnx.Conv") == 1
