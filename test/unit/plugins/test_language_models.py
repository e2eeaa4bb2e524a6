"""A decoder of a language model: the same logits as onnxruntime, from one program for all lengths."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

import xonnc
from bench.language_models import DecoderSize, decoder, next_feeds, prompt_feeds

Array = npt.NDArray[Any]

SIZE = DecoderSize()


def arrays(results: Iterable[object]) -> list[Array]:
    return [np.asarray(each) for each in results]


def test_prompts_and_tokens():
    model = decoder(SIZE)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    session = xonnc.compile(model, target="cpu")
    # With and without room for all tokens in the cache that is fed first.
    for batch, room in ((1, 0), (2, 0), (1, 24), (2, 24)):
        tokens = np.random.default_rng(1).integers(0, SIZE.vocabulary, (batch, 7))
        feeds, length = prompt_feeds(SIZE, tokens, room), 7
        for _ in range(10):
            found = arrays(session.run(None, feeds))
            for one, other in zip(found, arrays(peer.run(None, feeds)), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
            logits, *presents = found
            feeds = next_feeds(SIZE, logits[:, -1:].argmax(-1), length, presents)
            length += 1
    assert session.host_calls() == []
    assert session.compiled == 1
