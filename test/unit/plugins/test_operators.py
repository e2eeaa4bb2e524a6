"""Operators of plug-ins in every part of the compiler: import, inference, folding, native code, export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc.contexts import new_context
from xonnc.errors import XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.plugin import (
    Builder,
    Plugin,
    TensorType,
    Value,
    attribute,
    broadcast,
    one,
    operator,
    optional,
    register,
    variadic,
)
from xonnc.tools.opt import run_opt
from xonnc.tools.plugin_checks import check_operator
from xonnc.transforms.shape_inference_onnx import infer_shapes

PLUGIN = Plugin("unittest", version="1.0")
DOMAIN = "org.unittest"


@operator(PLUGIN, domain=DOMAIN, name="AddN")
class AddN:
    """Sum of all operands."""

    inputs = variadic("T", at_least=1, at_most=3)
    outputs = one("T")
    scale = attribute(float, default=1.0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(*op.inputs)

    @staticmethod
    def reference(op: Any, *arrays: np.ndarray[Any, Any]) -> Any:
        return np.asarray(op.scale * np.add.reduce(np.broadcast_arrays(*arrays)), arrays[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Mul(b.Add(*op.inputs), op.scale)


@operator(PLUGIN, domain=DOMAIN, name="Halve", since=1)
class HalveOld:
    """The first half of the last axis, and the second."""

    inputs = one("T", name="x")
    outputs = (one("T", name="first"), one("T", name="second"))

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        shape = op.x.shape
        if shape is None:
            return [op.x, op.x]
        half = shape[-1] // 2
        return [op.x.with_shape((*shape[:-1], half)), op.x.with_shape((*shape[:-1], shape[-1] - half))]

    @staticmethod
    def reference(op: Any, x: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        half = x.shape[-1] // 2
        return x[..., :half], x[..., half:]


@operator(PLUGIN, domain=DOMAIN, name="Halve", since=5)
class Halve(HalveOld):
    """The same, along an axis that the node gives, under another name in Python."""

    inputs = one("T", name="x")
    outputs = (one("T", name="first"), one("T", name="second"))
    along = attribute(int, source="axis")
    mode = attribute(str, default="floor", choices=("floor", "ceil"))


@operator(PLUGIN, domain=DOMAIN, name="Scale")
class Scale:
    """A product with an optional bias; only a reference, so that the host computes it."""

    inputs = (one("T", name="x"), optional("T", name="bias"))
    outputs = one("T")
    attributes = "auto"

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: np.ndarray[Any, Any], bias: np.ndarray[Any, Any] | None) -> Any:
        y = x * x.dtype.type(op.attribute("by", 2.0))
        return y if bias is None else y + bias


@operator(PLUGIN, domain=DOMAIN, name="Parts")
class Parts:
    """As many equal parts of the last axis as the node has outputs."""

    inputs = one("T", name="x")
    outputs = variadic("T", name="parts", at_least=1)
    lower = attribute(str, default="no", choices=("no", "right", "uncounted", "wrong"))

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        count = len(op.outputs)
        return [op.x.with_shape((*op.x.shape[:-1], op.x.shape[-1] // count))] * count

    @staticmethod
    def reference(op: Any, x: np.ndarray[Any, Any]) -> list[Any]:
        return np.split(x, len(op.outputs), -1)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Any:
        count = len(op.outputs)
        match op.lower:
            case "no":
                parts = b.call(DOMAIN, "Kept", [op.x], {}, outputs=count)
            case "right":
                parts = b.Split(op.x, axis=-1, num_outputs=count, outputs=count)
            case "uncounted":
                parts = b.Split(op.x, axis=-1, num_outputs=count)
            case _:
                parts = [b.Cast(each, to=onnx.TensorProto.DOUBLE) for each in [op.x] * count]
        return parts


@operator(PLUGIN, domain=DOMAIN, name="Kept")
class Kept:
    """The same by its reference alone."""

    inputs = one("T", name="x")
    outputs = variadic("T", name="parts", at_least=1)
    infer = Parts.infer
    reference = Parts.reference


def model(text: str, version: int = 1) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "{DOMAIN}": {version}]> {text}')


def module_of(text: str, version: int = 1) -> Any:
    return import_proto(model(text, version), new_context())


register(PLUGIN)

SUM = f"""
    g (float[n, 3] x, float[3] y) => (float[n, 3] z, float[3] c)
    {{
        k = Constant <value = float[3] {{1, 2, 3}}> ()
        s = {DOMAIN}.AddN <scale = 2.0> (x, y, k)
        z = Relu (s)
        c = {DOMAIN}.AddN (k, k)
    }}
"""


def test_import_has_an_op_class_of_its_own():
    text = str(module_of(SUM))
    assert '"unittest.AddN"' in text
    assert "onnx.Custom" not in text


def test_text_goes_round():
    text = str(module_of(SUM))
    code, out, err = run_opt(["--shape-inference-onnx"], text)
    assert code == 0, err
    assert '"unittest.AddN"' in out
    assert "tensor<?x3xf32>" in out


def test_shapes_follow_from_infer_with_symbolic_sizes():
    module = module_of(
        f"g (float[n, m] x) => (float[n, h] a, float[n, k] b) {{ a, b = {DOMAIN}.Halve <axis = 1> (x) }}", 5
    )
    infer_shapes(module)
    code, out, err = run_opt(["--onnx-dim-analysis"], str(module))
    assert code == 0, err
    assert "tensor<?x?xf32>" in out


def test_what_infer_knows_to_be_equal_stays_equal():
    text = str(
        module_of(
            f"""g (float[n, 4] x, float[n, 4] y) => (float[n, 4] z) {{
                s = {DOMAIN}.AddN (x, y)  a = Shape (s)  b = Shape (x)  z = Reshape (s, b)
            }}"""
        )
    )
    code, out, err = run_opt(["--shape-inference-onnx", "--simplify-shape-related-ops-onnx"], text)
    assert code == 0, err
    # The reshape to an equal shape goes: the dimension analysis carries n through the plug-in's operator.
    assert "onnx.Reshape" not in out


def test_constants_fold_by_reference_and_the_model_keeps_its_operator():
    simplified = xonnc.simplify(model(SUM))
    exported = export_proto(simplified.module)
    assert [node.op_type for node in exported.graph.node].count("AddN") == 1
    assert {entry.domain: entry.version for entry in exported.opset_import}[DOMAIN] == 1


def test_native_code_is_that_of_the_decomposition():
    session = xonnc.compile(model(SUM))
    x, y = np.array([[1, -2, 3], [-40, 5, 6]], np.float32), np.array([1, 2, np.inf], np.float32)
    z, c = session.run(None, {"x": x, "y": y})
    z = np.asarray(z, np.float32)
    np.testing.assert_allclose(z, np.maximum(2 * (x + y + np.array([1, 2, 3], np.float32)), 0))
    np.testing.assert_array_equal(c, np.array([2, 4, 6], np.float32))
    assert not session.host_calls()


def test_without_decomposition_the_host_computes_the_reference():
    text = f"""g (float[n] x, float[n] b) => (float[n] y, float[n] z) {{
        y = {DOMAIN}.Scale <by = 3.0> (x)  z = {DOMAIN}.Scale (x, b)
    }}"""
    x = np.array([1, -2, 0.5], np.float32)
    y, z = xonnc.compile(model(text)).run(None, {"x": x, "b": x})
    np.testing.assert_array_equal(y, 3 * x)
    np.testing.assert_array_equal(z, 3 * x)


def test_the_opset_chooses_the_version():
    old = str(module_of(f"g (float[4] x) => (float[2] a, float[2] b) {{ a, b = {DOMAIN}.Halve (x) }}", 4))
    new = str(
        module_of(f"g (float[4] x) => (float[2] a, float[2] b) {{ a, b = {DOMAIN}.Halve <axis = 0> (x) }}", 5)
    )
    assert '"unittest.HalveV1"' in old
    assert '"unittest.Halve"' in new


@pytest.mark.parametrize(
    ("text", "version", "problem"),
    [
        (
            f"g (float[4] x) => (float[2] a, float[2] b) {{ a, b = {DOMAIN}.Halve (x) }}",
            5,
            r"\(Halve of plug-in unittest\): attribute 'axis' is missing",
        ),
        (
            f'g (float[4] x) => (float[2] a, float[2] b) {{ a, b = {DOMAIN}.Halve <axis = "x"> (x) }}',
            5,
            r"\(Halve of plug-in unittest\): attribute 'axis' is of kind STRING; the operator takes INT",
        ),
        (
            "g (float[4] x) => (float[2] a, float[2] b)"
            f' {{ a, b = {DOMAIN}.Halve <axis = 0, mode = "up"> (x) }}',
            5,
            "attribute 'mode' is 'up'; plug-in unittest takes 'floor', 'ceil'",
        ),
        (
            f"g (float[4] x) => (float[4] a) {{ a = {DOMAIN}.AddN <skale = 1.0> (x) }}",
            1,
            r"unknown attribute 'skale'; the operator's are: scale \(plug-in unittest\)",
        ),
        (
            f"g (float[4] x) => (float[4] a) {{ a = {DOMAIN}.AddN (x, x, x, x) }}",
            1,
            "plug-in unittest takes 1 to 3",
        ),
        (
            f"g (float[4] x, float[3] y) => (float[4] a) {{ a = {DOMAIN}.AddN (x, y) }}",
            1,
            "sizes 3 and 4 do not broadcast",
        ),
    ],
)
def test_invalid_nodes(text: str, version: int, problem: str):
    with pytest.raises(XonncError, match=problem):
        xonnc.simplify(model(text, version))


def test_unregistered_operators_are_refused_with_the_nearest_name():
    text = f"g (float[4] x) => (float[4] a) {{ a = {DOMAIN}.AdN (x) }}"
    with pytest.raises(XonncError, match=r"no operator 'AdN' in domain 'org.unittest'; did you mean 'AddN'"):
        xonnc.compile(model(text))


def test_all_unregistered_operators_are_refused_at_once():
    text = f"g (float[4] x) => (float[4] a) {{ b = {DOMAIN}.AdN (x)  a = {DOMAIN}.Scal (b) }}"
    with pytest.raises(XonncError) as error:
        xonnc.compile(model(text))
    first, second = str(error.value).splitlines()
    assert first.endswith("no operator 'AdN' in domain 'org.unittest'; did you mean 'AddN'?")
    assert second.endswith("no operator 'Scal' in domain 'org.unittest'; did you mean 'Scale'?")


def test_models_older_than_the_first_version_are_refused():
    domain = "org.later"
    plugin = Plugin("later")
    for since in (3, 5):
        declared(plugin, domain=domain, since=since)
    register(plugin)
    text = f"""<ir_version: 8, opset_import: ["": 17, "{domain}": 2]>
        g (float[4] x) => (float[4] a) {{ [n] a = {domain}.AddN (x) }}"""
    with pytest.raises(XonncError) as error:
        xonnc.compile(onnx.parser.parse_model(text))
    assert str(error.value) == (
        "model: n (AddN): the model's opset is 2, and this operator came with opset 3"
    )


def declared(
    plugin: Plugin, name: str = "AddN", domain: str = DOMAIN, since: int = 1, until: int | None = None
) -> Plugin:
    class Body:
        inputs = one("T")
        outputs = one("T")

    operator(plugin, domain=domain, name=name, since=since, until=until)(Body)
    return plugin


def test_a_plugin_may_override():
    domain = "org.overridden"
    register(declared(Plugin("overridden"), domain=domain))
    register(declared(Plugin("overriding", override=True), domain=domain))
    text = f"""<ir_version: 8, opset_import: ["": 17, "{domain}": 1]>
        g (float[4] x) => (float[4] a) {{ a = {domain}.AddN (x) }}"""
    assert '"overriding.AddN"' in str(import_proto(onnx.parser.parse_model(text), new_context()))


def test_errors_of_bodies_name_the_node_and_the_plugin(tmp_path: Path):
    plugin = Plugin("faulty")

    class F:
        inputs = one("T")
        outputs = one("T")

        @staticmethod
        def infer(op: Any) -> TensorType:
            return op.inputs[3]

    operator(plugin, domain="org.faulty", name="F")(F)
    register(plugin)
    text = """<ir_version: 8, opset_import: ["": 17, "org.faulty": 1]>
        g (float[4] x) => (float[4] a) { a = org.faulty.F (x) }"""
    with pytest.raises(XonncError, match=r"\(F of plug-in faulty\): infer raised IndexError"):
        xonnc.simplify(onnx.parser.parse_model(text))


@pytest.mark.parametrize("lower", ["no", "right"])
def test_an_operator_has_as_many_results_as_its_node(lower: str):
    node = f'{DOMAIN}.Parts <lower = "{lower}"> (x)'
    text = f"g (float[n, 6] x) => (float[n, 2] a, float[n, 2] b, float[n, 2] c) {{ a, b, c = {node} }}"
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    session = xonnc.compile(model(text))
    for found, expected in zip(session.run(None, {"x": x}), np.split(x, 3, -1), strict=True):
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize(
    ("lower", "problem"),
    [
        ("uncounted", "Split has as many results as its node says; give their number: outputs=2"),
        ("wrong", "decompose gives float64[2, 6] as result 0, infer float32[2, 3]"),
    ],
)
def test_decompositions_that_do_not_fit(lower: str, problem: str):
    node = f'{DOMAIN}.Parts <lower = "{lower}"> (x)'
    text = f"g (float[2, 6] x) => (float[2, 3] a, float[2, 3] b) {{ a, b = {node} }}"
    for target in ("cpu", "nv_full"):
        with pytest.raises(XonncError) as error:
            xonnc.compile(model(text), target)
        assert str(error.value) == f"a (Parts of plug-in unittest): {problem}"


def test_samples_of_operators_with_variadic_results():
    spec = next(each for each in PLUGIN.operators if each.name == "Kept")
    outcomes = {each.check: each.outcome for each in check_operator(spec)}
    assert (outcomes["reference"], outcomes["infer"], outcomes["native"]) == ("ok", "ok", "ok")


def test_a_scan_needs_as_many_states_as_it_has():
    plugin = Plugin("scanning")

    @operator(plugin, domain="org.scanning", name="Twice")
    class Twice:
        inputs = one("T", name="x")
        outputs = one("T")

        @staticmethod
        def infer(op: Any) -> TensorType:
            return op.x

        @staticmethod
        def decompose(op: Any, b: Builder) -> Value:
            def step(b: Builder, states: list[Value], slices: list[Value]) -> tuple[list[Value], list[Value]]:
                return [*states, *states], slices

            _, outputs = b.scan(step, [b.constant(np.zeros((), np.float32))], [op.x])
            return outputs[0]

    register(plugin)
    text = """<ir_version: 8, opset_import: ["": 21, "org.scanning": 1]>
        g (float[3] x) => (float[3] y) { [twice] y = org.scanning.Twice (x) }"""
    with pytest.raises(XonncError, match=r"twice .*: scan: the body gives 2 states, not 1"):
        xonnc.compile(onnx.parser.parse_model(text))
