"""GroupQueryAttention with key-value caches of 4 and 8 bits, against onnxruntime."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.errors import XonncError

HEADS, SIZE = 2, 16
CACHED = """<ir_version: 8, opset_import: ["": 22, "com.microsoft": 1]>
    g (REAL[b, s, 64] q, REAL[b, s, 32] k, REAL[b, s, 32] v, CACHE pk, CACHE pv, int32[b] n, int64[m] mask,
       float[COUNT] ks, float[COUNT] vs)
    => (REAL[b, s, 64] y, PRESENT ok, PRESENT ov)
    { wide = Shape(mask)  narrow = Cast <to = 6> (wide)  t = Squeeze(narrow)
      y, ok, ov = com.microsoft.GroupQueryAttention
      <num_heads = 4, kv_num_heads = 2, k_quant_type = "KIND", v_quant_type = "KIND",
       kv_cache_bit_width = BITS>
      (q, k, v, pk, pv, n, t, , , , , , KS, vs) }"""


def quantized(
    bits: int, kind: str = "PER_TENSOR", real: str = "float", attributes: str = "", **given: str
) -> onnx.ModelProto:
    """A model with the operator."""
    cache = f"int8[b, 2, p, {SIZE}]" if bits == 8 else f"uint8[b, 2, p, {SIZE // 2}]"
    count = "1" if kind == "PER_TENSOR" else "32"
    words = {
        "CACHE": cache,
        "PRESENT": cache.replace("p", "r"),
        "COUNT": count,
        "KIND": kind,
        "REAL": real,
        "BITS": f"{bits}{attributes}",
    }
    text = CACHED
    for name, value in (*given.items(), *words.items(), ("KS", "ks")):
        text = text.replace(name, value)
    return onnx.parser.parse_model(text)


def feeds_of(model: onnx.ModelProto, rng: np.random.Generator, past: int, length: int) -> dict[str, Any]:
    """Random tokens after a random cache; some of the keys are beyond the range of the integers."""
    ports = {each.name: each.type.tensor_type for each in model.graph.input}
    real = onnx.helper.tensor_dtype_to_np_dtype(ports["q"].elem_type)
    tokens = {"q": 64, "k": 32, "v": 32}
    feeds: dict[str, Any] = {
        name: np.asarray(3 * rng.normal(size=(1, length, width)), real) for name, width in tokens.items()
    }
    is_bytes = ports["pk"].elem_type == onnx.TensorProto.INT8
    for name in ("pk", "pv"):
        if is_bytes:
            feeds[name] = rng.integers(-128, 128, (1, HEADS, past, SIZE)).astype(np.int8)
        else:
            feeds[name] = rng.integers(0, 256, (1, HEADS, past, SIZE // 2)).astype(np.uint8)
    count = int(ports["ks"].shape.dim[0].dim_value)
    for name in ("ks", "vs"):
        feeds[name] = (rng.uniform(0.5, 1.5, count) * (0.03 if is_bytes else 0.5)).astype(np.float32)
    total = past + length
    return feeds | {"n": np.array([total - 1], np.int32), "mask": np.ones(total, np.int64)}


@pytest.mark.parametrize(
    ("bits", "kind", "real", "attributes"),
    [
        (4, "PER_TENSOR", "float", ", local_window_size = 3"),
        (8, "PER_CHANNEL", "float16", ""),
        (4, "PER_CHANNEL", "float", ", smooth_softmax = 1"),
        (8, "PER_TENSOR", "float", ", local_window_size = 4, sliding_window_cache = 1"),
    ],
)
def test_one_program_computes_what_onnxruntime_does(bits: int, kind: str, real: str, attributes: str):
    model, rng = quantized(bits, kind, real, attributes), np.random.default_rng(bits)
    session = xonnc.compile(model)
    peer: Any = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    is_windowed = "sliding" in attributes
    # Of 130 keys, blocks of 64 become floats for one token.
    for past, length in ((6, 1), (7, 3)) if is_windowed else ((0, 3), (129, 1), (6, 2), (150, 4)):
        feeds = feeds_of(model, rng, past, length)
        if is_windowed:
            # The cache is longer than its tokens and the new ones.
            feeds |= {"n": np.array([past - 1], np.int32), "mask": np.ones(past, np.int64)}
        found: Any = session.run(None, feeds)
        expected = peer.run(None, feeds)
        tolerance = 1e-2 if real == "float16" else 2e-5
        np.testing.assert_allclose(found[0], expected[0], rtol=tolerance, atol=tolerance)
        for one, other in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(one, other)
    assert (session.compiled, session.host_calls()) == (1, [])


def test_a_long_cache_is_updated_in_memory():
    model, rng = quantized(8), np.random.default_rng(5)
    feeds = feeds_of(model, rng, 6, 1) | {"n": np.array([3], np.int32), "mask": np.ones(4, np.int64)}
    session, before = xonnc.compile(model), feeds["pk"].copy()
    expected = session.run(None, feeds)
    caches = {"ok": feeds["pk"], "ov": feeds["pv"]}
    session.run(["y"], feeds, out=caches)
    np.testing.assert_array_equal(feeds["pk"], expected[1])
    np.testing.assert_array_equal(np.delete(feeds["pk"], 3, 2), np.delete(before, 3, 2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"KIND": "NONE"}, "a cache that is not of the queries' type needs k_quant_type and v_quant_type"),
        ({'"KIND", v_quant': '"NONE", v_quant'}, "k_quant_type and v_quant_type are needed both, or neither"),
        ({"= BITS": "= 4"}, "needs past_key, int8 for kv_cache_bit_width 8 and uint8 for 4"),
        ({"COUNT": "3"}, "k_scale needs 1 scales, as the quantization type says"),
        ({"KS": ""}, "k_scale needs 1 scales, as the quantization type says"),
    ],
)
def test_what_is_refused(given: dict[str, str], message: str):
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(quantized(8, **given))
