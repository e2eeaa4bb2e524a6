"""Operators of plug-ins as hardware layers of NVDLA, on the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc.dla_model import DlaModel, compile_for_dla
from xonnc.errors import XonncError
from xonnc.plugin import FeatureCube, LayerBuilder, Plugin, TensorType, one, operator, optional, register
from xonnc.plugins.loading import load_file
from xonnc.tools.process import Exit

SCALED_ADD = Path(__file__).resolve().parents[3] / "examples" / "plugins" / "scaled_add.py"
PLUGIN = Plugin("layered")
DOMAIN = "org.layered"


class Unary:
    """What the operators below share."""

    inputs = (one("T", name="x"), optional("T", name="y"))
    outputs = one("T")
    attributes = "auto"

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x


@operator(PLUGIN, domain=DOMAIN, name="Clamp")
class Clamp(Unary):
    """`min(max(x, y), 2)`, then PReLU of 0.5, then the mean of 1x1 windows."""

    @staticmethod
    def layers(op: Any, b: LayerBuilder) -> FeatureCube:
        bounded = b.minimum(b.maximum(-1.5, op.x), op.y)
        return b.pool(b.prelu(bounded, 0.5), "average", (1, 1))


@operator(PLUGIN, domain=DOMAIN, name="Sigmoid")
class Sigmoid(Unary):
    """`1 / (1 + e^-x)`"""

    @staticmethod
    def layers(op: Any, b: LayerBuilder) -> FeatureCube:
        return b.lookup(op.x, lambda x: 1 / (1 + np.exp(-np.clip(x, -700, 700))))


@operator(PLUGIN, domain=DOMAIN, name="Refused")
class Refused(Unary):
    """Layers that the hardware or the plug-in refuses, by the attribute `kind`."""

    @staticmethod
    def layers(op: Any, b: LayerBuilder) -> Any:
        kind = op.attribute("kind")
        if kind == "reason":
            raise b.refuse(f"{b.target.name} has no such layer")
        if kind == "steep":
            return b.lookup(op.x, lambda x: np.sin(100 * x))
        if kind == "shapes":
            return b.add(op.x, np.ones(3, np.float32))
        if kind == "constants":
            return b.add(1.0, 2.0)
        return b.pool(op.x, "max", (9, 1))


@operator(PLUGIN, domain=DOMAIN, name="Broken")
class Broken(Unary):
    """Bodies with errors, by the attribute `kind`."""

    @staticmethod
    def layers(op: Any, b: LayerBuilder) -> Any:
        kind = op.attribute("kind")
        if kind == "mode":
            mode: Any = "median"
            return b.pool(op.x, mode, (1, 1))
        if kind == "count":
            return op.x, op.x
        if kind == "fail":
            raise op.fail("no such thing")
        return b.pool(op.x, "max", (2, 2))


@pytest.fixture(scope="module", autouse=True)
def registration() -> None:
    register(PLUGIN)
    load_file(SCALED_ADD)


def model(body: str, domain: str = DOMAIN, shape: str = "1, 8, 4, 5") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17, "{domain}": 1]>
        g (float[{shape}] x) => (float[{shape}] y) {{ {body} }}"""
    )


def saved(proto: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def inputs() -> np.ndarray[Any, np.dtype[np.float32]]:
    x = (np.random.default_rng(0).normal(size=(1, 8, 4, 5)) * 3).astype(np.float32)
    x.flat[:3] = 0, -1.5, 2
    return x


def run(compiled: DlaModel) -> np.ndarray[Any, Any]:
    return np.asarray(compiled.run(None, {"x": inputs()})[0], np.float64)


def test_layers_with_constants_and_scalars():
    text = "c = Constant <value = float[1, 8, 1, 1] {1, 2, 3, 4, 5, 6, 7, 8}> () y = org.layered.Clamp (x, c)"
    compiled = compile_for_dla(model(text), "nv_full")
    assert compiled.package.whole is not None
    bounded = np.minimum(np.maximum(inputs(), -1.5), np.arange(1, 9).reshape(8, 1, 1))
    np.testing.assert_allclose(run(compiled), np.where(bounded > 0, bounded, bounded / 2), atol=4e-3)


def test_a_lookup_table():
    compiled = compile_for_dla(model("y = org.layered.Sigmoid (x)"), "nv_full")
    np.testing.assert_allclose(run(compiled), 1 / (1 + np.exp(-inputs())), atol=2e-3)


@pytest.mark.parametrize(
    ("body", "factor", "addend"),
    [
        ("y = com.sums.ScaledAdd <alpha = -2.0> (x, x)", -1.0, 0.0),
        ("c = Constant <value_float = 1.0> () y = com.sums.ScaledAdd (c, x)", 1.0, 0.5),
    ],
)
def test_the_example(body: str, factor: float, addend: float):
    compiled = compile_for_dla(model(body, "com.sums"), "nv_full")
    np.testing.assert_allclose(run(compiled), np.maximum(factor * inputs() + addend, 0), atol=4e-3)


INT8 = """a = QuantizeLinear (x, s, z)  b = DequantizeLinear (a, s, z)
    c = {op}  d = QuantizeLinear (c, s, z)  y = DequantizeLinear (d, s, z)"""


def quantized(op: str, domain: str) -> onnx.ModelProto:
    found = model(INT8.format(op=op), domain)
    found.graph.initializer.append(onnx.helper.make_tensor("s", onnx.TensorProto.FLOAT, [], [0.125]))
    found.graph.initializer.append(onnx.helper.make_tensor("z", onnx.TensorProto.INT8, [], [0]))
    return found


def test_int8_networks_take_the_decomposition():
    compiled = compile_for_dla(quantized("com.sums.ScaledAdd <alpha = 1.0> (b, b)", "com.sums"), "nv_small")
    assert compiled.package.whole is not None


def test_without_one_int8_networks_run_it_on_the_cpu_with_the_reason():
    compiled = compile_for_dla(quantized("org.layered.Sigmoid (b)", DOMAIN), "nv_small")
    (node,) = [node for node in compiled.package.cpu_nodes if node.operator == "Sigmoid"]
    assert node.reason == (
        "its layers of plug-in layered compute in fp16, the network in int8; write decompose or lookup"
    )


def test_targets_without_fp16_refuse_them(tmp_path: Path):
    path = saved(model("y = org.layered.Sigmoid (x)"), tmp_path)
    with pytest.raises(XonncError, match=r"nv_small computes in int8; the model needs fp16: quantize it"):
        xonnc.compile_model(path, "nv_small")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("reason", "nv_full has no such layer"),
        ("steep", "the best lookup table has an error of "),
        ("shapes", "shapes [1, 8, 4, 5] and [3] do not broadcast"),
        ("constants", "all operands are constants; run constprop-onnx first"),
        ("window", "the kernel 8x1 is larger than the padded input; increase the pads or the input"),
    ],
)
def test_what_the_engines_cannot_run_is_refused(kind: str, reason: str):
    compiled = compile_for_dla(model(f'y = org.layered.Refused <kind = "{kind}"> (x)'), "nv_full")
    (node,) = compiled.package.cpu_nodes
    assert node.reason.startswith(reason)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("mode", "layers raised ValueError: pool mode 'median'; there are average, max, min"),
        ("count", "layers gave 2 values for 1 results"),
        ("fail", "no such thing"),
        ("shape", "layers gave shape [1, 8, 3, 4], infer gives [1, 8, 4, 5]"),
    ],
)
def test_errors_name_the_node_and_the_plugin(kind: str, problem: str, tmp_path: Path):
    path = saved(model(f'[n] y = org.layered.Broken <kind = "{kind}"> (x)'), tmp_path)
    # In a package the node is not moved to the CPU, as one that the target refuses.
    for compile in (xonnc.compile_model, xonnc.compile_package):
        with pytest.raises(XonncError) as error:
            compile(path, "nv_full")
        assert str(error.value) == f"n (Broken of plug-in layered): {problem}"


CONTRADICTION = """
import numpy as np
from xonnc.plugin import Plugin, one, operator, type_variables
plugin = Plugin("{name}")
@operator(plugin, domain="org.{name}", name="Double")
class Double:
    inputs = one("T")
    outputs = one("T")
    types = type_variables(T=[{dtype}])
    def infer(op): return op.inputs[0]
    def reference(op, x): return 2 * x
    def layers(op, b): {body}
"""


@pytest.mark.parametrize(
    ("name", "dtype", "body", "problem"),
    [
        (
            "trebling",
            "np.float32",
            "return b.multiply(op.inputs[0], 3.0)",
            "of layers and reference differ by",
        ),
        ("refusing", "np.float32", "raise b.refuse('never')", "nv_full takes no sample: never"),
        (
            "doubles",
            "np.float64",
            "return b.multiply(op.inputs[0], 2.0)",
            "takes no sample: none is of float32",
        ),
    ],
)
def test_checks_hold_layers_against_the_reference(
    name: str, dtype: str, body: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    from xonnc.tools.driver import main

    path = tmp_path / f"{name}.py"
    path.write_text(CONTRADICTION.format(name=name, dtype=dtype, body=body))
    assert main(["plugins", "check", str(path), "--json"]) == Exit.INPUT
    outcomes = {each["check"]: each["outcome"] for each in json.loads(capsys.readouterr().out)}
    assert problem in outcomes["layers"]
