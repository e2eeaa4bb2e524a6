"""Operators of QONNX: the numbers of its own executor, in floats and, where it is the same, in integers."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

import xonnc
from xonnc.contexts import new_context
from xonnc.errors import XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.plugins import bundled
from xonnc.plugins.operators import OperatorSpec
from xonnc.transforms.decompose_onnx import Decompose
from xonnc.transforms.shape_inference_onnx import infer_shapes

X = np.array([-3, -1.25, -0.75, -0.25, -0.0, 0.25, 0.5, 0.75, 1.25, 9, np.inf], np.float32)
HALF = "float s = {0.5}"
SPECS = bundled.load("qonnx").operators


def model(call: str, constants: str, version: int = 2, shape: str = "11") -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["": 17, "qonnx.custom_op.general": {version}]> '
    text += f"g (float[{shape}] x) => (float[{shape}] y) <{constants}> "
    return onnx.parser.parse_model(f"{text} {{ [it] y = qonnx.custom_op.general.{call} }}")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.name}-{spec.since}")
def test_decompositions_give_what_the_references_give(spec: OperatorSpec):
    samples, reference = spec.function("samples"), spec.function("reference")
    assert samples is not None
    assert reference is not None
    for operands, attributes in samples(np.random.default_rng(0)):
        names = [f"c{number}" for number in range(len(operands))]
        node = helper.make_node(spec.name, names, ["y"], domain=spec.domain, **attributes)
        ports = [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            for name, shape in ((names[0], operands[0].shape), ("y", None))
        ]
        constants = [
            numpy_helper.from_array(np.asarray(each), name)
            for each, name in zip(operands, names, strict=True)
        ]
        graph = helper.make_graph([node], "g", ports[:1], ports[1:], constants[1:])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(spec.domain, spec.since)]
        session = xonnc.compile(helper.make_model(graph, opset_imports=opsets))
        (y,) = session.run(None, {names[0]: operands[0]})
        expected = reference(SimpleNamespace(**{"signed": 1, "narrow": 0, **attributes}), *operands)
        np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-6, err_msg=f"{attributes} {operands[1:]}")


def three_bits(mode: str, zero: int) -> tuple[str, str]:
    call = f'IntQuant <narrow = 1, rounding_mode = "{mode}"> (x, s, z, b)'
    return call, f"{HALF}, float z = {{{zero}}}, float b = {{3}}"


QUANT = "Quant <signed = {}> (x, s, z, b)"


@pytest.mark.parametrize(
    ("call", "constants", "version", "expected"),
    [
        (*three_bits("ROUND", 0), 1, [-1.5, -1.0, -1.0, 0, 0, 0, 0.5, 1.0, 1.0, 1.5, 1.5]),
        (*three_bits("half_up", 0), 1, [-1.5, -1.5, -1.0, -0.5, 0, 0.5, 0.5, 1.0, 1.5, 1.5, 1.5]),
        (*three_bits("HALF_DOWN", 0), 2, [-1.5, -1.0, -0.5, 0, 0, 0, 0.5, 0.5, 1.0, 1.5, 1.5]),
        (*three_bits("UP", 0), 2, [-1.5, -1.5, -1.0, -0.5, 0, 0.5, 0.5, 1.0, 1.5, 1.5, 1.5]),
        (*three_bits("ROUND", 1), 2, [-2.0, -1.5, -0.5, -0.5, 0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0]),
        (*three_bits("DOWN", 1), 2, [-2.0, -1.0, -0.5, -0.5, 0, 0, 0.5, 0.5, 1.0, 1.0, 1.0]),
        (QUANT.format(1), f"{HALF}, float z = {{0}}, float b = {{1}}", 2, [-0.5] * 4 + [0.5] * 7),
        (
            QUANT.format(0),
            f"{HALF}, float z = {{0}}, float b = {{2}}",
            2,
            [0, 0, 0, 0, 0, 0, 0.5, 1.0, 1.0, 1.5, 1.5],
        ),
        (
            "Trunc (x, s, z, b, c)",
            "float s = {0.25}, float z = {1}, float b = {8}, float c = {6}",
            1,
            [-1.0, -0.5, -0.5, -0.25, -0.25, -0.25, -0.25, 0, 0, 2.0, np.inf],
        ),
        (
            'Trunc <narrow = 0, rounding_mode = "round"> (x, s, z, b, t, c)',
            "float s = {0.25}, float z = {4}, float b = {8}, float t = {1}, float c = {3}",
            2,
            [-3.0, -1.0, -1.0, 0, 0, 0, 1.0, 1.0, 1.0, 2.0, 2.0],
        ),
        ("BipolarQuant (x, s)", HALF, 2, [-0.5] * 4 + [0.5] * 7),
    ],
)
def test_numbers(call: str, constants: str, version: int, expected: Sequence[float]):
    session = xonnc.compile(model(call, constants, version))
    (y,) = session.run(None, {"x": X})
    np.testing.assert_array_equal(np.asarray(y), np.array(expected, np.float32))
    assert not session.host_calls()


@pytest.mark.parametrize(
    ("scale", "zero", "bits", "expected"),
    [
        ("float s = {0.5}", 0, 8, "QuantizeLinear DequantizeLinear"),
        ("float[1, 1] s = {0.5}", 0, 4, "QuantizeLinear Clip DequantizeLinear"),
        ("float[3, 1] s = {0.5, 0.25, 1}", 0, 8, "QuantizeLinear DequantizeLinear"),
        ("float[2, 3, 1] s = {1, 2, 3, 4, 5, 6}", 0, 8, "Div Add Min Max Round Sub Mul"),
        ("float s = {0.5}", 2, 8, "Div Add Min Max Round Sub Mul"),
        ("float s = {0.5}", 0, 9, "Div Add Min Max Round Sub Mul"),
        ("float s = {-0.5}", 0, 8, "Div Add Min Max Round Sub Mul"),
    ],
)
def test_integers(scale: str, zero: int, bits: int, expected: str):
    constants = f"{scale}, float z = {{{zero}}}, float b = {{{bits}}}"
    context = new_context()
    module = import_proto(model("Quant (x, s, z, b)", constants, shape="2, 3, 4"), context)
    infer_shapes(module)
    Decompose().apply(context, module)
    found = [node.op_type for node in export_proto(module).graph.node if node.op_type != "Constant"]
    assert found == expected.split()


def test_refusals():
    constants = f"{HALF}, float z = {{0}}"
    with pytest.raises(XonncError, match=r"it .*: rounding_mode is ODD; there are ROUND, "):
        xonnc.compile(model('Quant <rounding_mode = "ODD"> (x, s, z, b)', f"{constants}, float b = {{4}}"))
    with pytest.raises(XonncError, match=r"it .*: the number of bits is computed; it has to be constant"):
        xonnc.compile(model("Quant (x, s, z, x)", constants))
