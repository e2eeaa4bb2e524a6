"""Attention over a key-value cache, rotary position embedding, and updates of the cache."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from native_nodes import Batch, Node, batches, check, check_batch, opened, session_of
from onnx import helper

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(5)


def real(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def cached_attention(
    shapes: tuple[tuple[int, ...], ...],
    lengths: list[int],
    threads: int = 1,
    mask: Array | None = None,
    **attributes: Any,
) -> tuple[Session, dict[str, Array], Array]:
    """A compiled Attention over dynamic batch, queries and keys; its inputs, and the reference's result."""
    feeds: dict[str, Array] = {
        name: real(*shape) for name, shape in zip(("q", "k", "v"), shapes, strict=True)
    }
    feeds["n"] = np.array(lengths, np.int64)
    names = {"q": ("b", "s"), "k": ("b", "t"), "v": ("b", "t")}
    ports = [
        helper.make_tensor_value_info(
            name,
            onnx.TensorProto.FLOAT,
            [names[name][0], feeds[name].shape[1], names[name][1], feeds[name].shape[3]],
        )
        for name in names
    ]
    ports.append(helper.make_tensor_value_info("n", onnx.TensorProto.INT64, ["b"]))
    if mask is not None:
        feeds["m"] = mask
        # Sizes may be dynamic, and nothing tells whether they are those of the scores.
        sizes = [f"m{axis}" if axis % 2 else size for axis, size in enumerate(mask.shape)]
        ports.append(helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, sizes))
    masked = "" if mask is None else "m"
    node = helper.make_node("Attention", ["q", "k", "v", masked, "", "", "n"], ["y"], "a", **attributes)
    graph = helper.make_graph([node], "g", ports, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    reference = import_module("onnx.reference").ReferenceEvaluator(model)
    whole = dict(feeds)
    if mask is not None:
        # The reference takes the causal mask of one query for all if they share a row of the mask.
        whole["m"] = np.broadcast_to(mask, (*mask.shape[:-2], feeds["q"].shape[2], mask.shape[-1]))
    return session_of(model, threads), feeds, np.asarray(reference.run(None, whole)[0])


CASES: Mapping[str, tuple[tuple[tuple[int, ...], ...], list[int], dict[str, Any]]] = {
    "groups of queries": (((2, 6, 3, 16), (2, 2, 7, 16), (2, 2, 7, 12)), [7, 5], {"is_causal": 1}),
    "one token": (((1, 2, 1, 8), (1, 1, 33, 8), (1, 1, 33, 8)), [33], {"is_causal": 1}),
    "window and cap": (
        ((2, 2, 3, 64), (2, 1, 40, 64), (2, 1, 40, 64)),
        [30, 4],
        {"is_causal": 1, "left_window_size": 4, "softcap": 2.0, "scale": 0.3},
    ),
    "both sides": (
        ((1, 1, 4, 5), (1, 1, 9, 5), (1, 1, 9, 3)),
        [8],
        {"left_window_size": 1, "right_window_size": 2},
    ),
    "no key for the first queries": (((1, 1, 4, 5), (1, 1, 9, 5), (1, 1, 9, 3)), [2], {"is_causal": 1}),
    "a block of each size": (((2, 2, 59, 16), (2, 2, 61, 16), (2, 2, 61, 20)), [61, 60], {}),
    "blocks that cross heads": (((1, 6, 15, 8), (1, 2, 40, 8), (1, 2, 40, 8)), [38], {"is_causal": 1}),
    "several blocks of keys": (
        ((2, 1, 34, 16), (2, 1, 601, 16), (2, 1, 601, 12)),
        [601, 515],
        {"is_causal": 1, "scale": 0.5},
    ),
    "a window over several blocks": (
        ((1, 2, 300, 8), (1, 2, 300, 8), (1, 2, 300, 8)),
        [299],
        {"is_causal": 1, "left_window_size": 40, "softcap": 1.5},
    ),
    "a window to both sides of several queries": (
        ((1, 2, 35, 9), (1, 1, 35, 9), (1, 1, 35, 7)),
        [33],
        {"left_window_size": 3, "right_window_size": 5},
    ),
    "blocks without a key": (((2, 1, 40, 5), (2, 1, 9, 5), (2, 1, 9, 3)), [0, 4], {"is_causal": 1}),
    "a group larger than a block": (((1, 40, 1, 8), (1, 1, 19, 8), (1, 1, 19, 8)), [17], {}),
}


@pytest.mark.parametrize("case", CASES)
def test_attention_over_a_cache(case: str):
    shapes, lengths, attributes = CASES[case]
    session, feeds, expected = cached_attention(shapes, lengths, **attributes)
    np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)
    assert session.host_calls() == []
    assert session.compiled == 1


MASKS = {
    "a row for all": (1, 1, 1, 41),
    "a row for each sequence": (2, 1, 1, 41),
    "a row for each query": (2, 1, -1, 41),
    "a row for each head": (1, 4, 1, 41),
    "all different": (2, 4, -1, 41),
    "a matrix": (-1, 41),
    "a matrix for each head": (4, -1, 41),
    "fewer keys": (2, 1, 1, 37),
    "few keys of one block": (2, 1, -1, 3),
}


@pytest.mark.parametrize("queries", [1, 3, 35])
@pytest.mark.parametrize("case", MASKS)
def test_a_mask_is_added_to_the_scores(case: str, queries: int):
    shape = tuple(queries if size < 0 else size for size in MASKS[case])
    mask = real(*shape)
    mask[np.asarray(RANDOM.random(shape) < 0.3)] = -10000.0
    mask[..., 1::5] = -np.inf
    sizes = ((2, 4, queries, 8), (2, 2, 41, 8), (2, 2, 41, 12))
    session, feeds, expected = cached_attention(sizes, [41, 38], mask=mask, is_causal=int(queries == 3))
    assert not session.host_calls()
    np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("queries", [1, 12])
def test_a_query_whose_mask_hides_all_keys_has_the_result_zero(queries: int):
    mask = np.zeros((2, 1, queries, 9), np.float32)
    mask[1, 0, 0] = -np.inf
    sizes = ((2, 2, queries, 8), (2, 2, 9, 8), (2, 2, 9, 8))
    session, feeds, expected = cached_attention(sizes, [9, 9], mask=mask)
    result = np.asarray(session.run(None, feeds)[0])
    assert not result[1, :, 0].any()
    assert result[0].all()
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_a_mask_and_a_cap_of_scores_are_computed_by_operators():
    """The cap comes after the mask in ONNX, before the mask in the kernel."""
    mask = real(1, 1, 3, 9)
    sizes = ((1, 2, 3, 8), (1, 2, 9, 8), (1, 2, 9, 8))
    session, feeds, expected = cached_attention(sizes, [9], mask=mask, softcap=2.0)
    np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)


def test_lengths_beyond_the_cache_read_no_further():
    session, feeds, expected = cached_attention(((1, 2, 1, 8), (1, 2, 5, 8), (1, 2, 5, 8)), [5])
    feeds["n"] = np.array([99], np.int64)
    np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)


def test_nan_in_a_row_after_the_length_is_not_read():
    session, feeds, expected = cached_attention(((1, 2, 1, 8), (1, 2, 5, 8), (1, 2, 5, 8)), [3])
    feeds["k"][:, :, 3:] = np.nan
    feeds["v"][:, :, 3:] = np.nan
    np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_scores_that_are_not_finite(value: float):
    shapes = ((1, 1, 20, 8), (1, 1, 30, 8), (1, 1, 30, 8))
    session, feeds, _ = cached_attention(shapes, [30], is_causal=1)
    feeds["q"] = np.abs(feeds["q"])
    feeds["k"][:, :, 14, 3] = value
    scores = np.einsum("bhqd,bhkd->bhqk", feeds["q"], feeds["k"]) / np.sqrt(np.float32(8))
    visible = np.arange(30) <= np.arange(20)[:, None] + 10
    with np.errstate(invalid="ignore"):
        scores = np.where(visible, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights @ feeds["v"] / weights.sum(-1, keepdims=True)
    found = np.asarray(session.run(None, feeds)[0])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_one_program_for_any_number_of_queries():
    session, _, _ = cached_attention(((1, 4, 1, 8), (1, 2, 3, 8), (1, 2, 3, 8)), [3], is_causal=1)
    for queries, keys in ((0, 5), (1, 1), (2, 300), (3, 7), (4, 4), (5, 9), (31, 40), (33, 33), (77, 90)):
        _, feeds, expected = cached_attention(
            ((2, 4, queries, 8), (2, 2, keys, 8), (2, 2, keys, 8)), [keys, keys - 1], is_causal=1
        )
        found = np.asarray(session.run(None, feeds)[0])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert session.compiled == 1


def test_heads_are_divided_between_threads():
    shapes = ((2, 6, 40, 16), (2, 3, 50, 16), (2, 3, 50, 16))
    _, feeds, expected = cached_attention(shapes, [50, 41], is_causal=1)
    session = cached_attention(shapes, [50, 41], threads=2, is_causal=1)[0]
    np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)


SLICED = """
<ir_version: 10, opset_import: ["" : 25]>
g (float[b,2,s,4] q, float[2,b,2,t,4] cache, int64[b] n) => (y) {
  k = Gather (cache, first)
  v = Gather (cache, second)
  y = Attention <is_causal = 1> (q, k, v, , , , n)
}
"""


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0), (-1, -2), (1, 1)])
def test_keys_and_values_are_read_where_they_are_in_a_cache(first: int, second: int):
    model = onnx.parser.parse_model(SLICED)
    for name, index in (("first", first), ("second", second)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(index), name))
    session = compile_native(model)
    reference = import_module("onnx.reference").ReferenceEvaluator(model)
    for queries, keys in ((1, 6), (19, 40)):
        feeds = {
            "q": real(2, 2, queries, 4),
            "cache": real(2, 2, 2, keys, 4),
            "n": np.array([keys, keys - 2]),
        }
        expected = reference.run(None, feeds)[0]
        np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)
    has_copies = "gather" in " ".join(line.what for line in session.report())
    assert has_copies == (first == second)


NARROW = """
<ir_version: 10, opset_import: ["" : 25]>
g (float[b,4,s,6] q, TYPE[b,2,t,WIDTH] k, float16[b,2,t,5] v, int64[b] n) => (y, ALSO)
<uint8 low = {15}, uint8 four = {4}, float less = {-8}> {
  FUNCTION
  values = Cast <to = 1> (v)
  y = Attention <is_causal = 1> (q, keys, values, , , , n)
}
"""
CAST = "keys = Cast <to = 1> (k)"
NIBBLES = """a = BitwiseAnd (k, low)  af = Cast <to = 1> (a)  ao = Add (af, less)
  c = BitShift <direction = "RIGHT"> (k, four)  cf = Cast <to = 1> (c)  co = Add (cf, less)
  keys = Concat <axis = AXIS> (ao, co)"""


@pytest.mark.parametrize(
    ("element", "width", "function", "also", "is_read_in_place"),
    [
        ("int8", 6, CAST, "", True),
        ("uint8", 3, NIBBLES.replace("AXIS", "-1"), "", True),
        ("uint8", 3, NIBBLES.replace("AXIS", "3").replace("(af, less)", "(less, af)"), "", True),
        ("float16", 6, CAST, "keys", False),  # others read the floats too
        ("float", 6, "keys = Identity (k)", "", False),
        ("int32", 6, CAST, "", False),
        ("int8", 6, "f = Cast <to = 1> (k)  keys = Mul (f, f)", "", False),
    ],
)
def test_narrow_caches_become_floats_as_they_are_read(
    element: str, width: int, function: str, also: str, is_read_in_place: bool
):
    text = NARROW.replace("FUNCTION", function).replace("TYPE", element).replace("WIDTH", str(width))
    model = onnx.parser.parse_model(text.replace(", ALSO", f", {also}" if also else ""))
    session = compile_native(model)
    reference = import_module("onnx.reference").ReferenceEvaluator(model)
    for queries, keys, lengths in ((1, 150, [150, 131]), (1, 7, [7, 1]), (19, 70, [70, 64])):
        feeds = {"q": real(2, 4, queries, 6), "n": np.array(lengths)}
        feeds["v"] = real(2, 2, keys, 5).astype(np.float16)
        bytes_ = RANDOM.integers(0, 100, (2, 2, keys, width))
        feeds["k"] = bytes_.astype("float32" if element == "float" else element)
        expected = reference.run(None, feeds)[0]
        np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)
    assert session.compiled == 1
    assert ("cast" not in " ".join(line.what for line in session.report())) == is_read_in_place


POSITIONS = RANDOM.integers(0, 9, (2, 3))
TABLES = [np.cos(real(9, 4)), np.sin(real(9, 4))]
ROTARY = [
    Node("RotaryEmbedding", [real(2, 5, 3, 8), *TABLES, POSITIONS]),
    Node("RotaryEmbedding", [real(2, 5, 3, 8), *TABLES, POSITIONS], {"interleaved": 1}),
    Node("RotaryEmbedding", [real(2, 3, 16), *TABLES, POSITIONS], {"num_heads": 2}),
    Node("RotaryEmbedding", [real(2, 5, 3, 11), *TABLES, POSITIONS], {"rotary_embedding_dim": 8}),
    Node("RotaryEmbedding", [real(2, 5, 3, 8), *(np.tile(each[:3], (2, 1, 1)) for each in TABLES)]),
    Node("RotaryEmbedding", [real(2, 5, 3, 8), *(each[None, :3] for each in TABLES)]),
    Node("RotaryEmbedding", [real(2, 3, 16), *(each[None, :3] for each in TABLES)], {"num_heads": 2}),
    Node(
        "RotaryEmbedding",
        [*(each.astype(np.float16) for each in (real(2, 5, 3, 8), *TABLES)), POSITIONS],
        rtol=1e-2,
    ),
]


@pytest.mark.parametrize("batch", batches(ROTARY), ids=str)
def test_rotary_embedding(batch: Batch):
    check_batch(batch)


def test_positions_beyond_the_tables_are_an_error():
    session = check(ROTARY[0])
    feeds = {**ROTARY[0].feeds, "x3": np.full((2, 3), 9)}
    with pytest.raises(XonncError, match="it: position_ids has 9; 0 to 8 are in range"):
        session.run(None, feeds)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_rows_are_written_into_a_cache(mode: str):
    indices = np.array([1, 4]) if mode == "circular" else np.array([1, 3])
    node = Node("TensorScatter", [real(2, 3, 5, 4), real(2, 3, 2, 4), indices], {"mode": mode}, opset=24)
    check(node)
    check(node, opened(node.model()))


GROWING = """
<ir_version: 10, opset_import: ["" : 24]>
g (float[b,2,p,4] past, float[b,2,s,4] new, int64[b] at, float[t] mask) => (float[b,2,u,4] y) {
  past_length = Shape<start = 2, end = 3>(past)
  total = Shape(mask)
  more = Sub(total, past_length)
  missing = Max(more, zero)
  outer = Shape<start = 0, end = 2>(past)
  size = Shape<start = 3, end = 4>(past)
  shape = Concat<axis = 0>(outer, missing, size)
  zeros = ConstantOfShape(shape)
  grown = Concat<axis = 2>(past, zeros)
  y = TensorScatter<axis = 2>(grown, new, at)
}
"""


def test_a_cache_grows_if_it_is_too_short():
    model = onnx.parser.parse_model(GROWING)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "zero"))
    session = compile_native(model)
    for past, new, total in ((0, 3, 3), (3, 1, 4), (8, 2, 5), (3, 2, 7)):
        held, added, at = real(2, 2, past, 4), real(2, 2, new, 4), np.array([max(0, past - 3), 0])
        feeds = {"past": held, "new": added, "at": at, "mask": np.zeros(total, np.float32)}
        expected = np.zeros((2, 2, max(past, total), 4), np.float32)
        expected[:, :, :past] = held
        for batch, start in enumerate(at):
            expected[batch, :, start : start + new] = added[batch]
        np.testing.assert_array_equal(np.asarray(session.run(None, feeds)[0]), expected)
    assert session.compiled == 1
    assert "concat" not in " ".join(line.what for line in session.report())
