"""The hybrid run computes what the model does, tells the rules that it left, and takes types into bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import onnx
import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.passes import ModulePass

from xonnc.dialects.onnx import get_onnx
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.rewriting.patterns import Array
from xonnc.rewriting.remarks import Remark, listening
from xonnc.transforms.onnx_hybrid_transform import OnnxHybridTransform
from xonnc.transforms.onnx_op_transform import OnnxOpTransform
from xonnc.transforms.onnx_package_hooks import use_inference

use_inference(infer_results)

BODIES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x, bool c) => (float[3, 2] y, float[n] z) <float[3, 2] w = {1, -2, 3, -4, 5, -6}> {
    n = Constant <value = int64 {3}> ()
    more = Constant <value = bool {1}> ()
    r = If (c) <
        then_branch = t () => (float[a, b] p) { p = MatMul (x, w) },
        else_branch = e () => (float[a, b] q) { k = Sum (x, x)  q = MatMul (k, w) }
    >
    s = ReduceL2 <axes = [0], keepdims = 0> (r)
    last, z2 = Loop (n, more, s) <
        body = b (int64 i, bool go, float[d] v) => (bool again, float[d] u, float[d] o) {
            again = Identity (go)
            u = LogSoftmax <axis = -1> (v)
            o = Exp (u)
        }
    >
    z = ReduceSum <keepdims = 0> (z2)
    f = Sum (w, last)
    y = Clip (f)
}"""

NETWORK = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 3, 6, 6] x, float[4, 3, 3, 3] w, float[5, 4, 1, 1] v) => (float[N, 180] y)
<float[4] s = {1, -2, 3, 4}, float[4] b = {0, 1, 0, 1}, float[4] m = {0, 0.5, 1, 1},
 float[4] d = {1, 2, 0.5, 1}> {
    c = Conv <pads = [1, 1, 1, 1]> (x, w)
    n = BatchNormalization (c, s, b, m, d)
    r = Relu (n)
    p = Conv (r, v)
    h = Constant <value = float {0.5}> ()
    one = Constant <value = float {1}> ()
    q = Constant <value = float {1.4142135}> ()
    t = Div (p, q)
    e = Erf (t)
    f = Add (e, one)
    k = Mul (p, f)
    l = Mul (k, h)
    y = Flatten (l)
}"""


def imported(text: str) -> tuple[Context, ModuleOp]:
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    return context, import_proto(onnx.parser.parse_model(text), context)


class Session(Protocol):
    """onnxruntime, which has no types."""

    def run(self, output_names: None, input_feed: Mapping[str, Array]) -> Sequence[Array]: ...


def run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Sequence[Array]:
    session: Session = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    return session.run(None, feeds)


@pytest.mark.parametrize(
    "asked",
    [
        OnnxHybridTransform(enable_conv_to_matmul=False),
        OnnxHybridTransform(max_num_rewrites_offset=-1, enable_conv_to_matmul=False),
        OnnxHybridTransform(
            enable_conv_to_matmul=False, max_num_rewrites_offset=0, max_num_rewrites_multiplier=0.05
        ),
        OnnxOpTransform(),
    ],
    ids=str,
)
@pytest.mark.parametrize("text", [BODIES, NETWORK], ids=["bodies", "network"])
@pytest.mark.filterwarnings("ignore::xonnc.rewriting.remarks.XonncWarning")
def test_results_stay(asked: ModulePass, text: str):
    context, module = imported(text)
    asked.apply(context, module)
    module.verify()
    random = np.random.default_rng(1)
    feeds: dict[str, Array] = {
        name: random.normal(0, 1, shape).astype(np.float32)
        for name, shape in {"x": (2, 3, 6, 6), "w": (4, 3, 3, 3), "v": (5, 4, 1, 1)}.items()
    }
    if text is BODIES:
        feeds = {"x": random.normal(0, 1, (2, 3)).astype(np.float32), "c": np.array(False)}
    old, new = run(onnx.parser.parse_model(text), feeds), run(export_proto(module), feeds)
    for before, after in zip(old, new, strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)


def test_the_rules_left_over_are_told():
    context, module = imported(NETWORK)
    heard: list[Remark] = []
    with listening(heard.append):
        OnnxHybridTransform(max_num_rewrites_offset=0, max_num_rewrites_multiplier=0.05).apply(
            context, module
        )
    (told,) = heard
    assert told.severity == "warning"
    assert told.text.startswith(
        "onnx-hybrid-transform didn't converge with max-num-rewrites-offset=0,"
        " max-num-rewrites-multiplier=0.05 (at work: "
    )


def test_what_converges_is_told_by_nothing():
    context, module = imported(NETWORK)
    heard: list[Remark] = []
    with listening(heard.append):
        OnnxHybridTransform(enable_conv_to_matmul=False).apply(context, module)
    assert not heard
    names = [op.name for op in module.walk()]
    assert "onnx.Gelu" in names
    assert "onnx.BatchNormalizationInferenceMode" not in names
