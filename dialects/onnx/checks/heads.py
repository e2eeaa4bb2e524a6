"""Verification rules for attention: heads, sequences and key-value caches."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from xonnc.dialects.onnx.checks.verifier import (
    DYNAMIC,
    differ,
    integer_of,
    is_absent,
    refuse,
    shape_of,
    shown,
    text_of,
)


def attention(op: Operation) -> None:
    """`Attention`: operands of rank 3 with packed heads, or of rank 4; past key and value both or neither."""
    for first, second in (("past_key", "past_value"), ("present_key", "present_value")):
        if is_absent(op, first) != is_absent(op, second):
            refuse(op, f"{first} and {second} must be both present or both absent")
    q, k, v = (shape_of(op, name) for name in ("Q", "K", "V"))
    if q is None or k is None or v is None or not len(q) == len(k) == len(v):
        return
    if len({size for size in (q[0], k[0], v[0]) if size != DYNAMIC}) > 1:
        refuse(op, f"Q, K and V have {q[0]}, {k[0]} and {v[0]} batches; they must be the same")
    if differ(k[-2], v[-2]):
        refuse(op, f"K has {k[-2]} rows, V has {v[-2]}; they must be the same")
    queries, keys, width, depth = _heads(op, q, k, v)
    if DYNAMIC not in (queries, keys) and (keys < 1 or queries % keys):
        refuse(op, f"there are {queries} heads of queries, no multiple of the {keys} of keys")
    if differ(width, depth):
        refuse(op, f"heads of Q have {width} columns, those of K have {depth}; they must be the same")
    _check_past(op, q[0], keys)


def _heads(
    op: Operation, q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]
) -> tuple[int, int, int, int]:
    """Return the number of heads of queries and of keys, and their sizes."""
    given = integer_of(op, "q_num_heads"), integer_of(op, "kv_num_heads")
    if len(q) == 4:
        if differ(k[1], v[1]):
            refuse(op, f"K has {k[1]} heads, V has {v[1]}; they must be the same")
        return q[1], k[1], q[3], k[3]
    queries, keys = given
    if queries is None or keys is None:
        refuse(op, "q_num_heads and kv_num_heads are needed for operands of rank 3")
    for name, count, shape in (("Q", queries, q), ("K", keys, k), ("V", keys, v)):
        if count < 1:
            refuse(op, f"{name} has {count} heads; there is at least 1")
        if shape[2] != DYNAMIC and shape[2] % count:
            refuse(op, f"{name} has {shape[2]} columns, no multiple of its {count} heads")
    widths = [DYNAMIC if shape[2] == DYNAMIC else shape[2] // n for shape, n in ((q, queries), (k, keys))]
    return queries, keys, widths[0], widths[1]


def _check_past(op: Operation, batch: int, heads: int) -> None:
    for field in ("past_key", "past_value"):
        shape = None if is_absent(op, field) else shape_of(op, field)
        if shape is None:
            continue
        if len(shape) != 4:
            refuse(op, f"{field} has rank {len(shape)}; it has rank 4")
        if differ(shape[0], batch) or differ(shape[1], heads):
            refuse(op, f"{field} has {shape[0]} batches of {shape[1]} heads, not {batch} of {heads}")
    lengths = None if is_absent(op, "nonpad_kv_seqlen") else shape_of(op, "nonpad_kv_seqlen")
    if lengths is not None and (len(lengths) != 1 or differ(lengths[0], batch)):
        refuse(op, f"nonpad_kv_seqlen holds a length for each of {batch} batches")


def linear_attention(op: Operation) -> None:
    """`LinearAttention`: packed heads, and the gates that its update rule needs."""
    queries, keys = integer_of(op, "q_num_heads") or 0, integer_of(op, "kv_num_heads") or 0
    if queries < 1 or keys < 1 or queries % keys:
        refuse(op, f"q_num_heads is {queries}, which is no multiple of kv_num_heads, {keys}")
    update = text_of(op, "update_rule") or ""
    if "gated" in update and is_absent(op, "decay"):
        refuse(op, f"decay is needed for the update rule {update}")
    if "delta" in update and is_absent(op, "beta"):
        refuse(op, f"beta is needed for the update rule {update}")
    shapes = {name: shape_of(op, name) for name in ("query", "key", "value")}
    for name, shape in shapes.items():
        if shape is None:
            continue
        if len(shape) != 3:
            refuse(op, f"{name} has rank {len(shape)}; it has rank 3")
        heads = queries if name == "query" else keys
        if shape[2] != DYNAMIC and shape[2] % heads:
            refuse(op, f"{name} has {shape[2]} columns, no multiple of its {heads} heads")
    known = [shape for shape in shapes.values() if shape is not None]
    for axis, what in ((0, "batches"), (1, "steps")):
        if len({shape[axis] for shape in known} - {DYNAMIC}) > 1:
            refuse(op, f"query, key and value have different numbers of {what}")
    q, k = shapes["query"], shapes["key"]
    if q is not None and k is not None and DYNAMIC not in (q[2], k[2]) and q[2] // queries != k[2] // keys:
        refuse(op, "heads of query and key have different numbers of columns")


def rotary_embedding(op: Operation) -> None:
    """
    `RotaryEmbedding`: an even head size, and caches of half the rotated size.

    Without positions, caches may have one batch for all, as torch exports them, since the operator is a
    function whose products broadcast; onnxruntime takes as many as of `X` only.
    """
    x, heads = shape_of(op, "X"), integer_of(op, "num_heads") or 0
    rotated = integer_of(op, "rotary_embedding_dim") or 0
    if x is None:
        return
    if len(x) not in (3, 4):
        refuse(op, f"X has rank {len(x)}; it has rank 3 or 4")
    if len(x) == 3 and heads < 1:
        refuse(op, "num_heads is needed for an operand of rank 3")
    if len(x) == 3 and x[2] != DYNAMIC and x[2] % heads:
        refuse(op, f"X has {x[2]} columns, no multiple of its {heads} heads")
    width = x[3] if len(x) == 4 else DYNAMIC if x[2] == DYNAMIC else x[2] // heads
    rotary_width = rotated or width
    if rotated < 0 or (
        rotary_width != DYNAMIC and (rotary_width % 2 or (width != DYNAMIC and rotary_width > width))
    ):
        refuse(op, f"{rotary_width} columns of {width} are rotated; it is an even number of them")
    rank = 3 if is_absent(op, "position_ids") else 2
    for field in ("cos_cache", "sin_cache"):
        cache = shape_of(op, field)
        if cache is None:
            continue
        if len(cache) != rank:
            refuse(op, f"{field} has rank {len(cache)}; it has rank {rank}")
        if rotary_width != DYNAMIC and differ(cache[-1], rotary_width // 2):
            refuse(op, f"{field} has {cache[-1]} columns; half of the {rotary_width} rotated are needed")
        if rank == 3:
            _require_positions(op, field, cache[:-1], x, is_shared=cache[0] == 1)
    _require_positions(op, "position_ids", shape_of(op, "position_ids"), x)


def _require_positions(
    op: Operation, field: str, found: Sequence[int] | None, x: Sequence[int], is_shared: bool = False
) -> None:
    """Refuse an operand that has not one entry for each batch and position of `x`, or one for all batches."""
    needed = [1 if is_shared else x[0], x[-2]]
    if found is not None and (len(found) != 2 or any(map(differ, found, needed))):
        refuse(op, f"{field} has entries for {shown(found)} positions; {shown(needed)} are needed")
