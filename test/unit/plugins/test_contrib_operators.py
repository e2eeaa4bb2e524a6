"""Operators of com.microsoft on drawn operands: onnxruntime, `reference`, `infer` and native code agree."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc.errors import XonncError
from xonnc.plugins import bundled
from xonnc.plugins.operators import OperatorSpec, bind
from xonnc.plugins.registration import run_reference
from xonnc.runtime.reference import open_session
from xonnc.tools.plugin_checks import NodeSample, check_operator, sample_model, with_absent

OPERATORS = {spec.name: spec for spec in bundled.load("microsoft").operators}

WITHOUT_PEER = frozenset(
    (
        "BiasAdd BiasDropout BiasSoftmax BiasSplitGelu ComplexMul ComplexMulConj FusedMatMulActivation"
        " GemmFastGelu GroupNorm Irfft MulInteger NhwcConv PackedAttention PackedMultiHeadAttention"
        " QLinearReduceMean Rfft SkipGroupNorm"
    ).split()
)
"""Operators that onnxruntime has no kernel for on CPUs."""

TOLERANCES = {"DynamicQuantizeLSTM": 1e-2}
"""Tolerances where they are not 1e-3: onnxruntime quantizes parts of a batch each for itself, by thread."""

SEEDS = range(1)


def samples(spec: OperatorSpec, seed: int) -> list[NodeSample]:
    draw = spec.function("samples")
    assert draw is not None
    found: list[NodeSample] = []
    for operands, attributes in draw(np.random.default_rng(seed)):
        given = with_absent(spec, operands)
        results = run_reference(spec, bind(spec, spec.name, given, attributes), given, 1)
        found.append(NodeSample(given, attributes, results))
    return found


def has_peer(sample: NodeSample) -> bool:
    """Whether onnxruntime's Python interface takes the operands: it takes no arrays of 4 bits."""
    return not any(
        "int4" in str(each.dtype) for each in (*sample.operands, *sample.results) if each is not None
    )


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - WITHOUT_PEER))
def test_references_agree_with_onnxruntime(name: str):
    spec = OPERATORS[name]
    count = 0
    for sample in (each for seed in SEEDS for each in samples(spec, seed) if has_peer(each)):
        model = sample_model(spec, sample).SerializeToString()
        session, _ = open_session(model, "model")
        feeds = {f"x{index}": each for index, each in enumerate(sample.operands) if each is not None}
        for found, expected in zip(session.run(None, feeds), sample.results, strict=True):
            assert isinstance(found, np.ndarray)
            assert found.dtype == expected.dtype
            assert found.shape == expected.shape
            values = found.astype(np.float64), expected.astype(np.float64)
            np.testing.assert_allclose(*values, rtol=1e-3, atol=TOLERANCES.get(name, 1e-3))
        count += 1
    assert count


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_types_decompositions_and_native_code_agree_with_references(name: str):
    failures = [
        finding
        for finding in check_operator(OPERATORS[name])
        if finding.outcome != "ok" and finding.check != "lookup"
    ]
    assert not failures


def refused(text: str, message: str) -> None:
    """Require an error with `message` from compiling a model."""
    head = '<ir_version: 8, opset_import: ["": 21, "com.microsoft": 1]>'
    model = onnx.parser.parse_model(f"{head} {text}")
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(model)


def test_what_operators_do_not_take_is_named():
    refused(
        "g (float[n, 40, 40] x0) => (float[a, b, c] y) { [inv] y = com.microsoft.Inverse (x0) }",
        "inv (Inverse of plug-in microsoft): matrices of 40 columns; "
        "native code inverts static sizes up to 32",
    )
    refused(
        "g (float[2, 3] x0, float[2, 1] x1, float[1, 1] x2) => (float[a, b] y)"
        " { [add] y = com.microsoft.GatedAdd (x0, x0, x1, x2) }",
        "add (GatedAdd of plug-in microsoft): a projected gate (gate_weight) is not supported",
    )
    refused(
        "g (int64[1, 3] x0, float[1, 5] x1) => (float[a, b] y)"
        " { [block] y = com.microsoft.NGramRepeatBlock <ngram_size = 0> (x0, x1) }",
        "block (NGramRepeatBlock of plug-in microsoft): ngram_size 0; it is at least 1",
    )
    refused(
        "g (float[3] x0) => (float[a, b] y) <int32 axis = {5}>"
        " { [expand] y = com.microsoft.ExpandDims (x0, axis) }",
        "expand (ExpandDims of plug-in microsoft): axis 5 of 2 axes",
    )
    refused(
        "g () => (float[n] y) <float a = {0}, float b = {3}, float c = {0}>"
        " { [range] y = com.microsoft.Range (a, b, c) }",
        "range (Range of plug-in microsoft): delta is 0",
    )
    refused(
        "g (float[2, 1, 1] x0) => (float[a, b, c, d] y)"
        " <uint8[1, 1, 4] w = {1, 1, 1, 1}, float[1] s = {1}, uint8[1] z = {0}>"
        " { [lstm] y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1, clip = 1.0>"
        " (x0, w, w, , , , , , s, z, s, z) }",
        "lstm (DynamicQuantizeLSTM of plug-in microsoft): native code has no quantized LSTM with clip",
    )


def test_operators_of_the_default_domain_load_the_plug_in():
    text = """<ir_version: 5, opset_import: ["": 9]>
        g (float[n] x) => (float[n] y) { y = Affine <alpha = 2.0, beta = 1.0> (x) }"""
    session = xonnc.compile(onnx.parser.parse_model(text))
    (found,) = session.run(None, {"x": np.array([1, -3], np.float32)})
    assert np.array_equal(np.asarray(found), [3, -5])
    assert not session.host_calls()


def test_a_node_may_leave_out_its_last_results():
    text = """<ir_version: 8, opset_import: ["": 21, "com.microsoft": 1]>
        g (float[n, 4] x, float[n, 4] s, float[4] w) => (float[n, m] y)
        { y = com.microsoft.SkipSimplifiedLayerNormalization (x, s, w) }"""
    session = xonnc.compile(onnx.parser.parse_model(text))
    ones = np.ones((2, 4), np.float32)
    (found,) = session.run(None, {"x": ones, "s": ones, "w": np.arange(4, dtype=np.float32)})
    np.testing.assert_allclose(np.asarray(found), np.tile(np.arange(4.0), (2, 1)), rtol=1e-4)


def test_float16_models_of_the_transformer_optimizer_run_natively():
    text = """<ir_version: 8, opset_import: ["": 21, "com.microsoft": 1]>
        g (float16[2, 4] x, float16[2, 4] s, float16[4] w) => (float16[n, m] y)
        { y = com.microsoft.SkipLayerNormalization (x, s, w) }"""
    session = xonnc.compile(onnx.parser.parse_model(text))
    x: Any = np.array([[1, 2, 3, 4], [0, 0, 0, 8]], np.float16)
    (found,) = session.run(None, {"x": x, "s": x, "w": np.ones(4, np.float16)})
    centred = x - x.mean(1, keepdims=True)
    np.testing.assert_allclose(np.asarray(found), centred / x.std(1, keepdims=True), rtol=1e-2)
    assert not session.host_calls()
