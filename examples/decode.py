"""
Generate tokens with a decoder, its key-value cache updated in place: `python decode.py`.

The weights are random; the graph is that of one layer of attention, as onnxruntime-genai writes it.
"""

from __future__ import annotations

import numpy as np
import onnx.numpy_helper
import onnx.parser

import xonnc

VOCABULARY, HIDDEN, HEAD, CAPACITY = 50, 32, 8, 64

MODEL = onnx.parser.parse_model(
    """<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
    decoder (int64[1, S] input_ids, int64[1, T] attention_mask,
        float[1, 2, P, 8] past_key, float[1, 2, P, 8] past_value)
    => (float[1, S, 50] logits, float[1, 2, Q, 8] present_key, float[1, 2, Q, 8] present_value)
    <int64[1] last = {1}, int64 one = {1}> {
        x = Gather (embedding, input_ids)
        query = MatMul (x, query_weights)
        key = MatMul (x, key_weights)
        value = MatMul (x, value_weights)
        count = ReduceSum <keepdims = 0> (attention_mask, last)
        index = Sub (count, one)
        index32 = Cast <to = 6> (index)
        size = Size (attention_mask)
        total = Cast <to = 6> (size)
        attended, present_key, present_value = com.microsoft.GroupQueryAttention
            <num_heads = 4, kv_num_heads = 2, do_rotary = 1>
            (query, key, value, past_key, past_value, index32, total, cosines, sines)
        sum = Add (x, attended)
        logits = MatMul (sum, head)
    }"""
)

rng = np.random.default_rng(0)
angles = np.outer(np.arange(CAPACITY), 10000.0 ** -np.linspace(0, 1, HEAD // 2, endpoint=False))
weights = {
    "embedding": rng.normal(size=(VOCABULARY, HIDDEN)),
    "query_weights": rng.normal(size=(HIDDEN, 4 * HEAD)),
    "key_weights": rng.normal(size=(HIDDEN, 2 * HEAD)),
    "value_weights": rng.normal(size=(HIDDEN, 2 * HEAD)),
    "head": rng.normal(size=(HIDDEN, VOCABULARY)),
    "cosines": np.cos(angles),
    "sines": np.sin(angles),
}
MODEL.graph.initializer.extend(
    onnx.numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()
)

session = xonnc.compile(MODEL)


def generate(prompt: list[int], count: int) -> list[int]:
    """Return the prompt and `count` tokens; each run computes the new tokens alone."""
    tokens, new = list(prompt), list(prompt)
    # The arrays have capacity for all tokens: runs read them as past and write the rows of the new tokens.
    past = {name: np.zeros((1, 2, CAPACITY, HEAD), np.float32) for name in ("past_key", "past_value")}
    present = {name.replace("past", "present"): array for name, array in past.items()}
    for _ in range(count):
        mask = np.ones((1, len(tokens)), np.int64)
        feeds = {"input_ids": np.array([new]), "attention_mask": mask, **past}
        (logits,) = session.run(["logits"], feeds, out=present)
        new = [int(np.asarray(logits)[0, -1].argmax())]
        tokens += new
    return tokens


tokens = generate([3, 1, 4], 20)
print("tokens:", tokens)
anew = [generate(tokens[:length], 1)[-1] for length in range(3, len(tokens))]
print("the same tokens from the whole context in one run:", anew == tokens[3:])
print("programs compiled:", session.compiled)
