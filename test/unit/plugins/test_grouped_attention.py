"""GroupQueryAttention of onnxruntime-genai: windowed caches, padded chunks, rotated and normalized heads."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import onnx.parser
import onnx.printer
import pytest
from ml_dtypes import bfloat16

import xonnc
from xonnc.errors import XonncError

HEAD = '<ir_version: 8, opset_import: ["": 22, "com.microsoft": 1]>'
CACHED = f"""{HEAD}
    g (float[b, s, 64] q, float[b, s, 32] k, float[b, s, 32] v, float[b, 1, p, 32] pk, float[b, 1, p, 32] pv,
       int32[b] n, int32 t, float[64, c] cos, float[64, c] sin, float[32] qw, float[32] kw, int32[b] valid)
    => (float[b, s, 64] y, float[b, 1, r, 32] ok, float[b, 1, r, 32] ov)
    {{ y, ok, ov = com.microsoft.GroupQueryAttention
      <num_heads = 2, kv_num_heads = 1, do_rotary = 1ATTRIBUTES>
      (q, k, v, pk, pv, n, t, cos, sin, , , , , , QW, KW, VALID) }}"""
ABSENT = {"QW": "", "KW": "", "VALID": ""}
WINDOWED = ", local_window_size = 4, sliding_window_cache = 1"


def grouped(attributes: str = "", columns: int = 16, **given: str) -> onnx.ModelProto:
    """A model with the operator; tables have so many columns."""
    text = CACHED.replace("ATTRIBUTES", attributes).replace("[64, c]", f"[64, {columns}]")
    for name, value in (ABSENT | given).items():
        text = re.sub(rf"\b{name}\b", value, text)
    model = onnx.parser.parse_model(text)
    used = {name for node in model.graph.node for name in node.input}
    for value in [each for each in model.graph.input if each.name not in used]:
        model.graph.input.remove(value)
    return model


def peer_of(model: onnx.ModelProto) -> Any:
    """The model in onnxruntime."""
    return import_module("onnxruntime").InferenceSession(model.SerializeToString())


def results(session: Any, feeds: dict[str, Any]) -> list[Any]:
    """The output and the caches."""
    return session.run(None, feeds)


def step(rng: np.random.Generator, batch: int, length: int, columns: int) -> dict[str, Any]:
    """Random queries, keys, values and tables."""
    angles = np.outer(np.arange(64), 0.3 ** np.arange(columns)).astype(np.float32)
    shapes = {"q": (batch, length, 64), "k": (batch, length, 32), "v": (batch, length, 32)}
    feeds: dict[str, Any] = {
        name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()
    }
    return feeds | {"cos": np.cos(angles), "sin": np.sin(angles)}


@pytest.mark.parametrize("capacity", [4, 5, 7, 20])
def test_a_windowed_cache_gives_what_a_whole_one_does(capacity: int):
    windowed = grouped(WINDOWED)
    session, peer = xonnc.compile(windowed), peer_of(windowed)
    whole = peer_of(grouped(", local_window_size = 4"))
    rng, tokens = np.random.default_rng(capacity), 0
    window: dict[str, Any] = {name: np.zeros((1, 1, capacity, 32), np.float32) for name in ("pk", "pv")}
    everything: dict[str, Any] = {name: np.zeros((1, 1, 0, 32), np.float32) for name in ("pk", "pv")}
    for length in (3, 1, 1, 9, 1, 2, 1, 1, 1, 5, 1):
        tokens += length
        feeds = step(rng, 1, length, 16)
        feeds |= {"n": np.array([tokens - 1], np.int32), "t": np.array(tokens, np.int32)}
        found = results(session, feeds | window)
        expected = results(whole, feeds | everything)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)
        caches = results(peer, feeds | window)[1:]
        step_size = capacity - 3
        filled = tokens - max(-((capacity - tokens) // step_size), 0) * step_size
        for one, other in zip(found[1:], caches, strict=True):
            np.testing.assert_allclose(one[:, :, :filled], other[:, :, :filled], rtol=1e-5, atol=1e-6)
        window = dict(zip(("pk", "pv"), found[1:], strict=True))
        everything = dict(zip(("pk", "pv"), expected[1:], strict=True))
    assert session.host_calls() == []
    # Without a check, one less than the window drops no tokens; onnxruntime refuses it as well.
    feeds |= {name: np.zeros((1, 1, 3, 32), np.float32) for name in ("pk", "pv")}
    with pytest.raises(XonncError, match="write_indices has a number out of range"):
        results(session, feeds | {"n": np.array([3], np.int32), "t": np.array(4, np.int32)})


@pytest.mark.parametrize("attributes", ["", WINDOWED])
def test_chunks_of_a_prompt_that_are_padded(attributes: str):
    model = grouped(attributes, 16, VALID="valid")
    session, peer, rng = xonnc.compile(model), peer_of(model), np.random.default_rng(2)
    capacity = 6 if attributes else 12
    valid = np.array([3, 0, 1, 4], np.int32)
    tokens = np.array([5, 2, 1, 4], np.int32)
    feeds = step(rng, 4, 4, 16) | {"n": tokens - 1, "t": np.array(12, np.int32), "valid": valid}
    feeds |= {name: rng.normal(size=(4, 1, capacity, 32)).astype(np.float32) for name in ("pk", "pv")}
    found, expected = results(session, feeds), results(peer, feeds)
    for batch, (new, total) in enumerate(zip(valid, tokens, strict=True)):
        np.testing.assert_allclose(found[0][batch, :new], expected[0][batch, :new], rtol=1e-4, atol=1e-5)
        for one, other in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_allclose(one[batch, :, :total], other[batch, :, :total], rtol=1e-5, atol=1e-6)
    assert session.host_calls() == []


def test_one_program_serves_all_lengths_of_caches_with_heads_of_named_size():
    """As onnxruntime-genai 0.18 declares caches; the number of tokens is the width of the mask."""
    text = CACHED.replace("ATTRIBUTES", "").replace("int32 t,", "int64[b, m] mask,").replace(", c]", ", 16]")
    text = text.replace("1, p, 32]", "1, p, h]").replace("QW, KW, VALID", ", ,")
    text = text.replace("float[32] qw, float[32] kw, int32[b] valid", "float[1] unused")
    sizes = "wide = Shape<start = 1>(mask)  narrow = Cast<to = 6>(wide)  t = Squeeze(narrow)"
    model = onnx.parser.parse_model(text.replace("{ y,", f"{{ {sizes}  y,"))
    session, peer, rng = xonnc.compile(model), peer_of(model), np.random.default_rng(4)
    feeds: dict[str, Any] = {}
    for past, length in ((0, 3), (5, 1), (6, 1)):
        tokens = past + length
        feeds = step(rng, 1, length, 16) | {"unused": np.zeros(1, np.float32)}
        feeds |= {"n": np.full(1, tokens - 1, np.int32), "mask": np.ones((1, tokens), np.int64)}
        feeds |= {name: rng.normal(size=(1, 1, past, 32)).astype(np.float32) for name in ("pk", "pv")}
        for one, other in zip(results(session, feeds), results(peer, feeds), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert session.compiled == 1
    with pytest.raises(XonncError):
        results(session, feeds | {name: np.zeros((1, 1, 6, 24), np.float32) for name in ("pk", "pv")})


@pytest.mark.parametrize("interleaved", [0, 1])
def test_tables_for_a_part_of_the_head_rotate_that_part(interleaved: int):
    model = grouped(f", rotary_interleaved = {interleaved}", 8)
    session, rng = xonnc.compile(model), np.random.default_rng(4)
    feeds = step(rng, 2, 1, 8) | {"n": np.full(2, 5, np.int32), "t": np.array(6, np.int32)}
    feeds |= {name: rng.normal(size=(2, 1, 5, 32)).astype(np.float32) for name in ("pk", "pv")}
    for one, other in zip(results(session, feeds), results(peer_of(model), feeds), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_bfloat16():
    """onnxruntime computes it on GPUs alone; inputs are compared as float32."""
    model, rng = grouped(), np.random.default_rng(8)
    rounded = onnx.parser.parse_model(onnx.printer.to_text(model).replace("float[", "bfloat16["))
    feeds = step(rng, 1, 2, 16) | {name: rng.normal(size=(1, 1, 5, 32)) for name in ("pk", "pv")}
    feeds = {name: each.astype(bfloat16) for name, each in feeds.items()}
    numbers = {"n": np.array([6], np.int32), "t": np.array(7, np.int32)}
    wide = {name: each.astype(np.float32) for name, each in feeds.items()}
    found = results(xonnc.compile(rounded), feeds | numbers)
    for one, other in zip(found, results(peer_of(model), wide | numbers), strict=True):
        assert one.dtype == bfloat16
        np.testing.assert_allclose(one.astype(np.float32), other, rtol=2e-2, atol=2e-2)


def test_normalized_heads():
    """onnxruntime normalizes heads on GPUs alone; the rest is the operator without."""
    model = grouped(", q_norm_epsilon = 0.01", 16, QW="qw", KW="kw")
    rng = np.random.default_rng(7)
    feeds = step(rng, 1, 3, 16) | {"n": np.array([2], np.int32), "t": np.array(3, np.int32)}
    feeds |= {name: np.zeros((1, 1, 0, 32), np.float32) for name in ("pk", "pv")}
    weights = {name: rng.normal(size=32).astype(np.float32) for name in ("qw", "kw")}
    given = dict(feeds)
    for name, weight, epsilon in (("q", "qw", 0.01), ("k", "kw", 1e-6)):
        x = feeds[name].reshape(1, 3, -1, 32)
        deviation = np.sqrt(np.square(x).mean(-1, keepdims=True) + epsilon)
        given[name] = (x / deviation * weights[weight]).reshape(feeds[name].shape).astype(np.float32)
    expected = results(peer_of(grouped()), given)
    for one, other in zip(results(xonnc.compile(model), feeds | weights), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "given", "message"),
    [
        (", sliding_window_cache = 1", {}, "sliding_window_cache needs past_key, past_value and a local_win"),
        ("", {"QW": "qw"}, "q_norm_weight and k_norm_weight are needed both, or neither"),
        (WINDOWED, {"p": "3"}, "a cache of 3 tokens is shorter than the window, 4"),
    ],
)
def test_what_is_refused(attributes: str, given: dict[str, str], message: str):
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(grouped(attributes, 16, **given))
