"""Layout preferences of plug-in operators in native code."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_krnl.planning.layout_preferences import preferred_layout
from xonnc.plugin import (
    BackendNode,
    Plugin,
    Scalar,
    TensorType,
    attribute,
    layout_preference,
    one,
    operator,
    register,
)
from xonnc.plugins.loading import load_file

SOFT_GATE = Path(__file__).resolve().parents[3] / "examples" / "plugins" / "soft_gate.py"
PLUGIN = Plugin("preferring")


@operator(PLUGIN, domain="org.preferring", name="Twice")
class Twice:
    """`2 x`, with any layout by the attribute `wanted`."""

    inputs = one("T", name="x")
    outputs = one("T")
    wanted = attribute(str, default="none")

    @staticmethod
    def layout(op: Any) -> Any:
        if op.wanted == "raise":
            raise ValueError("no layout")
        if op.wanted == "fail":
            raise op.fail("nothing fits")
        return None if op.wanted == "none" else op.wanted

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def kernel(op: Any, x: Any) -> Scalar:
        return x * 2.0


@pytest.fixture(scope="module", autouse=True)
def registration() -> None:
    register(PLUGIN)
    load_file(SOFT_GATE)


def model(node: str, channels: int) -> onnx.ModelProto:
    """A node before a convolution and one between two convolutions, which pad."""
    proto = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17, "org.preferring": 1, "com.soft": 1]>
        g (float[N, {channels}, 5, 7] x) => (float[N, {channels}, 5, 7] y) {{
          a = {node.format("x")}
          b = Conv <pads = [1, 1, 1, 1]> (a, w)
          c = {node.format("b")}
          y = Conv <pads = [1, 1, 1, 1]> (c, w)
        }}"""
    )
    weights = np.random.default_rng(0).normal(size=(channels, channels, 3, 3)) / (3 * channels)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights.astype(np.float32), "w"))
    return proto


@pytest.mark.covering(2)
@pytest.mark.parametrize("channels", [32, 24, 3])
@pytest.mark.parametrize(
    ("node", "plain"),
    [
        ("com.soft.SoftGate <steepness = 2.0> ({})", "Swish"),
        ('org.preferring.Twice <wanted = "NCHWc"> ({})', "Twice"),
        ('org.preferring.Twice <wanted = "NCHW"> ({})', "Twice"),
        ('org.preferring.Twice <wanted = "none"> ({})', "Twice"),
    ],
)
def test_results_do_not_depend_on_the_layout(node: str, plain: str, channels: int):
    proto = model(node, channels)
    x = np.random.default_rng(1).normal(size=(2, channels, 5, 7)).astype(np.float32)
    x.flat[:3] = 0, -8, np.inf
    x.flat[3] = np.nan
    weights = onnx.numpy_helper.to_array(proto.graph.initializer[0])

    def function(value: Any) -> Any:
        with np.errstate(all="ignore"):
            return value / (1 + np.exp(-2 * value)) if plain == "Swish" else 2 * value

    def convolved(value: Any) -> Any:
        padded = np.pad(value.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        return np.einsum("nchwrs,kcrs->nkhw", windows, weights.astype(np.float64))

    with np.errstate(all="ignore"):
        expected = convolved(function(convolved(function(x.astype(np.float64)))))
    found = np.asarray(xonnc.compile(proto).run(None, {"x": x})[0])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ("raise", "layout raised ValueError: no layout"),
        ("fail", "nothing fits"),
        ("NHWC", "layout gave 'NHWC'; it is 'NCHW' or 'NCHWc', or None for that of the operands"),
    ],
)
def test_errors_name_the_node_and_the_plugin(expected: str, problem: str):
    node = f'org.preferring.Twice <wanted = "{expected}"> ({{}})'
    with pytest.raises(XonncError) as error:
        xonnc.compile(model(node, 16))
    assert str(error.value).endswith(f"(Twice of plug-in preferring): {problem}")


def declared(name: str, layout: Any, **bodies: Any) -> Plugin:
    plugin = Plugin(name)
    members = {"inputs": one("T"), "outputs": one("T"), "layout": layout, **bodies}
    operator(plugin, domain=f"org.{name}", name="Op")(type("Op", (), members))
    return plugin


def test_a_constant_layout():
    plugin = register(declared("constantly", "NCHWc", infer=Twice.infer, kernel=Twice.kernel))
    kind = plugin.operators[0].kind
    assert kind is not None
    assert preferred_layout(kind.create()) == "NCHWc"


PREFERRED: dict[str, Any] = {}
"""The layouts of the operators below, by operator; none but during a test."""

BUILT_IN = Plugin("built_in")


@layout_preference(
    BUILT_IN, "Conv", "ConvTranspose", "MaxPool", "AveragePool", "Concat", "Relu", "Add", "Exp"
)
def preferred(node: BackendNode) -> Any:
    found = PREFERRED.get(node.operator.removeprefix("onnx.").removesuffix("SingleOut"))
    return found(node) if callable(found) else found


NETWORK = """<ir_version: 8, opset_import: ["": 17]>
    g (float[N, {channels}, 9, 7] x) => (float[N, M, P, Q] y) {{
        a = Conv <pads = [1, 1, 1, 1]> (x, w)  b = Relu (a)
        c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
        d = Exp (c)  e = Conv <pads = [1, 1, 1, 1]> (c, w)  f = Add (d, e)
        h = AveragePool <kernel_shape = [2, 2]> (f)  i = Concat <axis = 1> (h, h)
        y = ConvTranspose <strides = [2, 2]> (i, v)
    }}"""


def network(channels: int) -> onnx.ModelProto:
    proto = onnx.parser.parse_model(NETWORK.format(channels=channels))
    rng = np.random.default_rng(0)
    for name, shape in (("w", (channels, channels, 3, 3)), ("v", (2 * channels, channels, 2, 2))):
        weights = rng.normal(size=shape) / (6 * channels)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weights.astype(np.float32), name))
    return proto


@pytest.mark.parametrize("channels", [16, 5])
def test_layouts_of_operators_of_onnx_do_not_change_results(channels: int, monkeypatch: pytest.MonkeyPatch):
    register(BUILT_IN)
    proto = network(channels)
    x = np.random.default_rng(1).normal(size=(2, channels, 9, 7)).astype(np.float32)
    x.flat[:2] = 0, np.nan

    def outputs() -> Any:
        return np.asarray(xonnc.compile(proto, cache=False).run(None, {"x": x})[0])

    expected = outputs()
    assert np.isnan(expected).any()
    assert not np.isnan(expected).all()
    for choice in (
        *({name: "NCHW"} for name in BUILT_IN.layouts),
        dict.fromkeys(BUILT_IN.layouts, "NCHW"),
        dict.fromkeys(BUILT_IN.layouts, "NCHWc"),
    ):
        monkeypatch.setattr(f"{__name__}.PREFERRED", choice)
        np.testing.assert_allclose(outputs(), expected, rtol=1e-4, atol=1e-5, err_msg=str(choice))


def test_a_concat_before_an_operator_that_needs_static_shapes():
    """Without blocks, ConvTranspose has no kernel for dynamic shapes; three channels fill none."""
    proto = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        g (float[N, 16, 3, 3] x) => (float[N, 3, 3, 3] y)
        { a = Conv (x, w)  b = Concat <axis = 1> (a, a)  y = ConvTranspose (b, v) }"""
    )
    ones = np.ones((16, 16, 1, 1), np.float32), np.ones((32, 3, 1, 1), np.float32)
    for name, weights in zip("wv", ones, strict=True):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    x = np.arange(-144, 144, dtype=np.float32).reshape(2, 16, 3, 3)
    found = np.asarray(xonnc.compile(proto, cache=False).run(None, {"x": x})[0])
    np.testing.assert_array_equal(found, np.repeat(32 * x.sum(1, keepdims=True), 3, 1))


def blocked(proto: onnx.ModelProto) -> set[str]:
    """Return the operators whose results are channel-blocked; for fused ones, the last."""
    stages: dict[str, Any] = {}

    def keep(stage: str, module: Any) -> None:
        if stage == "layout":
            stages[stage] = {
                each.name.removeprefix("onnx.")
                for each in module.walk()
                if any("krnl.layout" in str(result.type) for result in each.results)
            }

    with TemporaryDirectory() as folder:
        shapes = {"x": (1, proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value, 9, 7)}
        xonnc.compile_artifact(proto, Path(folder) / "m.ll", "avx2", input_shapes=shapes, on_stage=keep)
    return stages["layout"] - {"relayout", "krnl.relayout", "krnl.fused"}


def test_the_pass_follows_preferences(monkeypatch: pytest.MonkeyPatch):
    register(BUILT_IN)
    # The first convolution and the sum are a group with what follows them.
    assert blocked(network(16)) >= {"ConvTranspose", "MaxPoolSingleOut", "AveragePool", "Concat"}
    for name in BUILT_IN.layouts:
        monkeypatch.setattr(f"{__name__}.PREFERRED", {name: "NCHW"})
        assert name not in {each.removesuffix("SingleOut") for each in blocked(network(16))}
    # Three channels fill less than half of a block of eight.
    monkeypatch.setattr(f"{__name__}.PREFERRED", {})
    assert "ConvTranspose" not in blocked(network(3))
    monkeypatch.setattr(f"{__name__}.PREFERRED", {"ConvTranspose": "NCHWc"})
    assert "ConvTranspose" in blocked(network(3))


def _raise(node: BackendNode) -> None:
    raise KeyError(node.operator)


@pytest.mark.parametrize(
    ("preference", "problem"),
    [
        (_raise, "raised KeyError: 'Conv'"),
        ("NHWC", "gave 'NHWC'; it is 'NCHW', 'NCHWc', or None"),
    ],
)
def test_errors_of_preferences(preference: Any, problem: str, monkeypatch: pytest.MonkeyPatch):
    register(BUILT_IN)
    monkeypatch.setattr(f"{__name__}.PREFERRED", {"Conv": preference})
    with pytest.raises(XonncError) as error:
        xonnc.compile(network(16), cache=False)
    assert str(error.value).endswith(f" (Conv): layout preference of plug-in built_in {problem}")
