"""Recompositions: which rules there are for an opset, and what runtimes make of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import onnx
import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func

from xonnc.dialects.onnx import get_onnx
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.patterns import Array
from xonnc.transforms.onnx_package_hooks import use_inference
from xonnc.transforms.recompose_onnx import all_rules, every_rule, standard_rules
from xonnc.transforms.shape_inference_onnx import infer_shapes

use_inference(infer_results)

ATTENTION = """<ir_version: 10, opset_import: ["" : 23]>
g (float[2, 3, 4, 8] q, float[2, 5, 3, 8] k, float[2, 3, 5, 6] v, float[4, 5] mask)
    => (float[2, 3, 4, 6] y) {
    scale = Constant <value = float {0.35355338}> ()
    t = Transpose <perm = [0, 2, 3, 1]> (k)
    p = MatMul (q, t)
    s = Mul (p, scale)
    m = Add (s, mask)
    w = Softmax <axis = -1> (m)
    y = MatMul (w, v)
}"""

RMS = """<ir_version: 10, opset_import: ["" : 23]>
g (float[2, 3, 8] q, float[8] k) => (float[2, 3, 8] y) {
    two = Constant <value = float {2}> ()
    axes = Constant <value = int64[1] {-1}> ()
    epsilon = Constant <value = float {0.000001}> ()
    p = Pow (q, two)
    m = ReduceMean <keepdims = 1> (p, axes)
    a = Add (m, epsilon)
    r = Sqrt (a)
    i = Reciprocal (r)
    n = Mul (q, i)
    y = Mul (k, n)
}"""


class Session(Protocol):
    """onnxruntime, which has no types."""

    def run(self, output_names: None, input_feed: Mapping[str, Array]) -> Sequence[Array]: ...


def run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Sequence[Array]:
    session: Session = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    return session.run(None, feeds)


def test_a_rule_is_there_from_the_opset_of_its_result_on():
    assert list(standard_rules(16)) == []
    assert list(standard_rules(17)) == ["RecomposeLayerNormalization"]
    assert list(standard_rules(20)) == ["RecomposeGelu", "RecomposeLayerNormalization"]
    assert list(standard_rules(23)) == [
        "RecomposeGelu",
        "RecomposeLayerNormalization",
        "RecomposeRMSNormalization",
        "RecomposeAttention",
    ]
    assert every_rule().keys() == all_rules().keys() | standard_rules(23).keys()


@pytest.mark.parametrize(("text", "made"), [(ATTENTION, "Attention"), (RMS, "RMSNormalization")])
def test_onnxruntime_agrees(text: str, made: str):
    model = onnx.parser.parse_model(text)
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    module = import_proto(model, context)
    infer_shapes(module)
    fired = apply_rules(module, context, standard_rules(23), pass_name="test").fired
    assert fired == {f"Recompose{made}": 1}
    after = export_proto(module)
    assert made in [node.op_type for node in after.graph.node]
    random = np.random.default_rng(0)
    feeds = {
        given.name: random.normal(0, 2, [size.dim_value for size in given.type.tensor_type.shape.dim]).astype(
            np.float32
        )
        for given in model.graph.input
    }
    old, new = (run(each, feeds)[0] for each in (model, after))
    np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-5)
