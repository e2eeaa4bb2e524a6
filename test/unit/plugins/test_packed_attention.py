"""Attention of batches without padding: empty and dynamic sizes, and operands that are refused."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.contrib.microsoft.common import softmax
from xonnc.errors import XonncError

HEAD = '<ir_version: 8, opset_import: ["": 21, "com.microsoft": 1]>'
DYNAMIC = f"""{HEAD}
    g (float[t, 8] q, float[t, 8] k, float[t, 8] v, int32[b, s] o, int32[e] c) => (float[t, 8] y)
    {{ y = com.microsoft.PackedMultiHeadAttention <num_heads = 2> (q, k, v, , o, c) }}"""


@pytest.mark.parametrize(("lengths", "longest"), [([3, 1], 3), ([0, 2], 4), ([0, 0], 2), ([5], 5)])
def test_sequences_of_dynamic_lengths_attend_to_their_own_tokens(lengths: list[int], longest: int):
    session = xonnc.compile(onnx.parser.parse_model(DYNAMIC))
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, sum(lengths), 8)).astype(np.float32)
    is_token = np.arange(longest)[None] < np.array(lengths)[:, None]
    positions = np.arange(is_token.size, dtype=np.int32)
    offsets = np.concatenate([positions[is_token.reshape(-1)], positions[~is_token.reshape(-1)]])
    ends = np.cumsum([0, *lengths], dtype=np.int32)
    feeds = {"q": q, "k": k, "v": v, "o": offsets.reshape(is_token.shape), "c": ends}
    (found,) = session.run(None, feeds)
    expected = np.zeros_like(q)
    for first, end in pairwise(ends):
        for own in (slice(0, 4), slice(4, 8)):
            weights = softmax(q[first:end, own] @ k[first:end, own].T / 2) if first < end else 0
            expected[first:end, own] = weights @ v[first:end, own] if first < end else 0
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-6)
    assert not session.host_calls()


def test_keys_without_values_are_refused():
    text = DYNAMIC.replace("(q, k, v, , o, c)", "(q, k, , , o, c)")
    message = "keys and values are needed both, or neither where the queries have them beside them"
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(onnx.parser.parse_model(text))


def test_queries_of_unknown_width_are_refused():
    text = DYNAMIC.replace("8]", "w]")
    with pytest.raises(XonncError, match="the widths of queries, keys and values are not known"):
        xonnc.compile(onnx.parser.parse_model(text))
