"""Attention over a cache with masks, biases and sinks: dynamic lengths, spare capacity, refused operands."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.contexts import new_context
from xonnc.dialects.onnx.ops.nn import AttentionOp
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.transforms.decompose_onnx import Decompose
from xonnc.transforms.shape_inference_onnx import infer_shapes

HEAD = '<ir_version: 8, opset_import: ["": 21, "com.microsoft": 1]>'
GROUPED = f"""{HEAD}
    g (float[b, s, 32] q, float[b, s, 16] k, float[b, s, 16] v, float[b, 1, p, 16] pk, float[b, 1, p, 16] pv,
       int32[b] n, int32 t, float[1, 2, s, t] bias, float[2] sink) => (float[b, s, 32] y)
    {{ [a] y, ok, ov = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1>
      (q, k, v, pk, pv, n, t, , , , bias, sink) }}"""
MASKED = f"""{HEAD}
    g (float[b, 1, 32] q, float[b, 1, 32] k, float[b, 1, 32] v, int32[b, t] m, float[b, 2, c, 16] pk,
       float[b, 2, c, 16] pv, int32[1] n) => (float[b, 1, 32] y, float[b, 2, c, 16] ok, float[b, 2, c, 16] ov)
    {{ [a] y, ok, ov = com.microsoft.DecoderMaskedMultiHeadAttention
      <num_heads = 2, past_present_share_buffer = 1> (q, k, v, m, , pk, pv, n) }}"""


def agree(session: xonnc.Session, peer: Any, feeds: dict[str, Any]) -> None:
    """Compare with onnxruntime, which reads no rows after the last token either."""
    expected = peer.run(["y"], {name: each.copy() for name, each in feeds.items()})[0]
    found = session.run(["y"], feeds)[0]
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5, equal_nan=False)


def test_biases_and_sinks_over_caches_of_any_length():
    model = onnx.parser.parse_model(GROUPED)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    session, rng = xonnc.compile(model), np.random.default_rng(3)
    # A prompt without a past, a token with a cache that grows, and one with spare capacity.
    for length, past, capacity in ((4, 0, 0), (1, 5, 5), (1, 5, 9)):
        total = past + length
        shapes = {"q": (2, length, 32), "k": (2, length, 16), "v": (2, length, 16), "sink": (2,)}
        shapes |= {"bias": (1, 2, length, total), "pk": (2, 1, capacity, 16), "pv": (2, 1, capacity, 16)}
        feeds: dict[str, Any] = {
            name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()
        }
        feeds |= {"n": np.full(2, total - 1, np.int32), "t": np.array(total, np.int32)}
        for name in ("pk", "pv"):
            feeds[name][:, :, past:] = np.nan
        agree(session, peer, feeds)
    assert session.host_calls() == []


def test_masks_of_all_keys_and_of_none():
    model = onnx.parser.parse_model(MASKED)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    session, rng = xonnc.compile(model), np.random.default_rng(4)
    for past in (0, 4):
        feeds: dict[str, Any] = {name: rng.normal(size=(3, 1, 32)).astype(np.float32) for name in "qkv"}
        feeds |= {name: rng.normal(size=(3, 2, 6, 16)).astype(np.float32) for name in ("pk", "pv")}
        mask = rng.integers(0, 2, (3, past + 1)).astype(np.int32)
        mask[0], mask[1] = 0, 1
        for name in ("pk", "pv"):
            feeds[name][:, :, past:] = np.nan
        agree(session, peer, {**feeds, "m": mask, "n": np.array([past], np.int32)})
    assert session.host_calls() == []


SEPARATE = f"""{HEAD}
    g (float[1, LENGTH, 32] q, float[1, LENGTH, 32] k, float[1, LENGTH, 32] v,
       float[1, 2, p, 16] pk, float[1, 2, p, 16] pv) => (float[1, LENGTH, 32] y, float[1, 2, t, 16] ok)
    {{ y, ok, ov = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = 1>
      (q, k, v, , , , pk, pv) }}"""
PROJECTED = f"""{HEAD}
    g (float[1, LENGTH, 32] q, float[32, 96] w, float[96] b, float[2, 1, 2, p, 16] past)
      => (float[1, LENGTH, 32] y, float[2, 1, 2, t, 16] present)
    {{ y, present = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (q, w, b, , past) }}"""
QUANTIZED = f"""{HEAD}
    g (uint8[1, LENGTH, 32] q, int8[32, 96] w, float[96] b, float[2, 1, 2, p, 16] past)
      => (float[1, LENGTH, 32] y, float[2, 1, 2, t, 16] present)
      <float xs = {{0.05}}, float ws = {{0.002}}, uint8 xz = {{120}}, int8 wz = {{0}}>
    {{ y, present = com.microsoft.QAttention <num_heads = 2, unidirectional = 1>
      (q, w, b, xs, ws, , xz, wz, past) }}"""


NO_CACHE = f"""{HEAD}
    g (float[1, LENGTH, 32] q, float[1, LENGTH, 32] k, float[1, LENGTH, 32] v) => (y)
    {{ y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }}"""
CAUSAL = NO_CACHE.replace("num_heads = 2", "num_heads = 2, unidirectional = 1")


@pytest.mark.parametrize("length", ["1", "2", "s"])
@pytest.mark.parametrize(
    ("text", "count"),
    [(SEPARATE, 1), (PROJECTED, 1), (QUANTIZED, 1), (CAUSAL, 1), (NO_CACHE, 0)],
    ids=["MultiHeadAttention", "Attention", "QAttention", "causal", "no cache"],
)
def test_tokens_that_attend_to_a_cache_or_causally_have_a_kernel(text: str, length: str, count: int):
    context, model = new_context(), onnx.parser.parse_model(text.replace("LENGTH", length))
    module = import_proto(model, context)
    infer_shapes(module)
    Decompose().apply(context, module)
    assert sum(isinstance(op, AttentionOp) for op in module.walk()) == count
    size, rng = int(length) if length.isdigit() else 3, np.random.default_rng(5)
    shapes = {name: (1, size, 32) for name in "qkv"} | {"pk": (1, 2, 5, 16), "pv": (1, 2, 5, 16)}
    shapes |= {"w": (32, 96), "b": (96,), "past": (2, 1, 2, 5, 16)}
    names = {value.name for value in model.graph.input}
    feeds: dict[str, Any] = {
        name: rng.normal(size=shapes[name]).astype(np.float32) for name in sorted(names & shapes.keys())
    }
    for value in model.graph.input:
        element = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if element.kind in "iu":
            feeds[value.name] = rng.integers(0, 100, shapes[value.name]).astype(element)
    session = xonnc.compile(model)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    agree(session, peer, feeds)
    for found, expected in zip(session.run(None, feeds), peer.run(None, feeds), strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)
    assert session.host_calls() == []


LENGTHS = f"""{HEAD}
    g (float[b, 3, 32] q, float[b, 3, 32] k, float[b, 3, 32] v, int32[lengths] m) => (float[b, 3, 32] y)
    {{ y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v, , m) }}"""


def test_a_mask_of_lengths_of_which_the_number_is_dynamic():
    model = onnx.parser.parse_model(LENGTHS)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    rng = np.random.default_rng(6)
    feeds: dict[str, Any] = {name: rng.normal(size=(2, 3, 32)).astype(np.float32) for name in "qkv"}
    agree(xonnc.compile(model), peer, {**feeds, "m": np.array([1, 3], np.int32)})


@pytest.mark.parametrize(
    ("text", "change", "message"),
    [
        (
            LENGTHS.replace("[b,", "[2,"),
            ("lengths", "4"),
            "the mask has more than one length for each sequence",
        ),
        (GROUPED, ("pk, pv, n, t,", "pk, , n, t,"), "past_key and past_value are needed both, or neither"),
        (GROUPED, ("(q, k, v, pk", "(q, k, , pk"), "keys and values are needed both, or neither"),
        (MASKED, ("(q, k, v, m", "(q, , , m"), "packed queries, keys and values are not supported"),
        (MASKED, (", pk, pv, n)", ", pk, pv)"), "past_sequence_length are needed, and a shared buffer"),
        (MASKED, ("buffer = 1", "buffer = 0"), "past_sequence_length are needed, and a shared buffer"),
        (MASKED, ("32] q", "w] q"), "the width of the queries is not known"),
    ],
)
def test_refused_operands(text: str, change: tuple[str, str], message: str):
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(onnx.parser.parse_model(text.replace(*change)))
