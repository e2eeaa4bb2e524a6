"""A decoder of a language model: the same logits as onnxruntime, from one program for all lengths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import pytest

import xonnc
from bench.language_models import OPSETS, DecoderSize, decoder, next_feeds, prompt_feeds

Array = npt.NDArray[Any]

SIZE = DecoderSize()


def arrays(results: Iterable[object]) -> list[Array]:
    return [np.asarray(each) for each in results]


def test_prompts_and_tokens():
    model = decoder(SIZE)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    session = xonnc.compile(model, target="cpu")
    # With and without capacity for all tokens in the cache that is fed first.
    for batch, capacity in ((1, 0), (2, 0), (1, 24), (2, 24)):
        tokens = np.random.default_rng(1).integers(0, SIZE.vocabulary, (batch, 7))
        feeds, length = prompt_feeds(SIZE, tokens, capacity), 7
        for _ in range(10):
            found = arrays(session.run(None, feeds))
            for one, other in zip(found, arrays(peer.run(None, feeds)), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
            logits, *presents = found
            feeds = next_feeds(SIZE, logits[:, -1:].argmax(-1), length, presents)
            length += 1
    assert session.host_calls() == []
    assert session.compiled == 1


def test_a_cache_with_spare_capacity_is_updated_in_place():
    session = xonnc.compile(decoder(SIZE), target="cpu")
    tokens = np.random.default_rng(1).integers(0, SIZE.vocabulary, (1, 7))
    feeds = prompt_feeds(SIZE, tokens, 24)
    cache = {name: each.copy() for name, each in feeds.items() if name.startswith("past")}
    out = {name.replace("past_key_values", "present"): each for name, each in cache.items()}
    length = 7
    for _ in range(3):
        expected = arrays(session.run(None, feeds))
        # Attention reads no rows after the last token, and nothing writes them.
        for each in cache.values():
            each[:, :, length:] = np.nan
        logits, *presents = arrays(session.run(None, {**feeds, **cache}, out=out))
        np.testing.assert_array_equal(logits, expected[0])
        for found, requested, array in zip(presents, expected[1:], out.values(), strict=True):
            assert found is array
            np.testing.assert_array_equal(found[:, :, :length], requested[:, :, :length])
            assert np.isnan(found[:, :, length:]).all()
        feeds = next_feeds(SIZE, logits[:, -1:].argmax(-1), length, expected[1:])
        length += 1


def test_the_code_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = (Path(__file__).resolve().parents[3] / "docs/language-models.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "model.onnx").write_bytes(decoder(SIZE).SerializeToString())
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(code, found)
    assert len(found["tokens"]) == 11
    assert found["session"].compiled == 1
    # The tokens that the model gives without a cache.
    plain = import_module("onnxruntime").InferenceSession("model.onnx")
    for length in range(3, 11):
        logits = plain.run(["logits"], prompt_feeds(SIZE, np.array([found["tokens"][:length]])))[0]
        assert int(logits[0, -1].argmax()) == found["tokens"][length]


def test_attention_of_float16_is_native():
    real = onnx.TensorProto.FLOAT16
    info, rng = onnx.helper.make_tensor_value_info, np.random.default_rng(2)
    ports = [info(name, real, ["b", "s", width]) for name, width in (("q", 32), ("k", 16), ("v", 16))]
    ports += [info(name, real, ["b", 1, "p", 16]) for name in ("past_k", "past_v")]
    ports += [info("n", onnx.TensorProto.INT32, ["b"]), info("total", onnx.TensorProto.INT32, [])]
    node = onnx.helper.make_node(
        "GroupQueryAttention",
        [port.name for port in ports],
        ["y", "present_k", "present_v"],
        "a",
        domain="com.microsoft",
        num_heads=2,
        kv_num_heads=1,
    )
    outputs = [info("y", real, ["b", "s", 32])]
    graph = onnx.helper.make_graph([node], "g", ports, outputs)
    model = onnx.helper.make_model(graph, opset_imports=OPSETS, ir_version=10)
    feeds = {"n": np.array([5], np.int32), "total": np.array(6, np.int32)}
    shapes = {
        "q": (1, 1, 32),
        "k": (1, 1, 16),
        "v": (1, 1, 16),
        "past_k": (1, 1, 9, 16),
        "past_v": (1, 1, 9, 16),
    }
    feeds |= {name: rng.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    session = xonnc.compile(model, target="cpu")
    expected = import_module("onnxruntime").InferenceSession(model.SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(arrays(session.run(None, feeds))[0], expected[0], rtol=1e-2, atol=1e-2)
    assert session.host_calls() == []
