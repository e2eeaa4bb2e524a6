"""Operators that move elements: slices, padding, triangles, ranges, unique elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import (
    FLOATS,
    Array,
    Samples,
    allowed,
    contrib,
    normal,
    rank_of,
    some_shape,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

INTEGERS: tuple[type[np.generic], ...] = (
    np.int64,
    np.int32,
    np.int16,
    np.int8,
    np.uint64,
    np.uint32,
    np.uint16,
    np.uint8,
)
ANY = (*FLOATS, *INTEGERS, np.bool_)
INDICES = (np.int64, np.int32)


def scalar_of(b: Builder, value: Value) -> Value:
    """Reshape a tensor of one element to rank 0."""
    return value if value.shape == () else b.Reshape(value, [])


@contrib("ExpandDims")
class ExpandDims:
    """Insertion of an axis of size 1 at a position given by a tensor."""

    inputs = (one("T", name="x"), one(np.int32, name="axis"))
    outputs = one("T")
    types = allowed(T=ANY)

    @staticmethod
    def infer(op: Any) -> TensorType:
        axis = op.constant(1)
        if op.x.shape is None or axis is None:
            return op.x.with_shape(None)
        sizes = list(op.x.shape)
        position = int(axis.reshape(()))
        if not -len(sizes) - 1 <= position <= len(sizes):
            raise op.fail(f"axis {position} of {len(sizes) + 1} axes")
        sizes.insert(position % (len(sizes) + 1), 1)
        return op.x.with_shape(sizes)

    @staticmethod
    def reference(op: Any, x: Array, axis: Array) -> Array:
        return np.expand_dims(x, int(axis.reshape(())))

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Unsqueeze(op.x, b.Reshape(b.Cast(op.axis, to=np.int64), [1]))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in (np.float32, np.int64, np.float64):
            shape = some_shape(rng)
            axis = rng.integers(-len(shape), len(shape) + 1)
            yield [normal(rng, *shape, dtype=dtype), np.asarray(axis, np.int32)], {}


@contrib("Trilu")
class Trilu:
    """Upper or lower triangle of the matrices in a tensor."""

    inputs = (one("T", name="x"), optional(np.int64, name="k"))
    outputs = one("T")
    types = allowed(T=ANY)
    upper = attribute(int, default=1)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, k: Array | None) -> Array:
        offset = 0 if k is None else int(k.reshape(()))
        return np.asarray(np.triu(x, offset) if op.upper else np.tril(x, offset), x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Trilu(op.x, None if op.k is None else scalar_of(b, op.k), upper=op.upper)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for upper, has_k, dtype in (
            (1, 0, np.float32),
            (0, 1, np.float32),
            (1, 1, np.int64),
            (0, 1, np.float64),
        ):
            x = normal(rng, *some_shape(rng, 2, 4)).astype(dtype)
            yield [x, np.asarray(rng.integers(-6, 7)) if has_k else None], {"upper": upper}


@contrib("Range")
class Range:
    """Arithmetic sequence from `start` to `limit`, exclusive, in steps of `delta`."""

    inputs = (one("T", name="start"), one("T", name="limit"), optional("T", name="delta"))
    outputs = one("T")
    types = allowed(T=(np.float32, np.float64, np.int64, np.int32, np.int16))

    @staticmethod
    def infer(op: Any) -> TensorType:
        bounds = [op.constant(0), op.constant(1)]
        step = np.ones(1) if op.delta is None else op.constant(2)
        if step is None or any(each is None for each in bounds):
            return op.start.with_shape(None)
        start, limit, delta = (float(each.reshape(())) for each in (*bounds, step))
        if not delta:
            raise op.fail("delta is 0")
        return op.start.with_shape([max(0, int(np.ceil((limit - start) / delta)))])

    @staticmethod
    def reference(op: Any, start: Array, limit: Array, delta: Array | None) -> Array:
        first, last = start.reshape(()), limit.reshape(())
        step = np.asarray(1, start.dtype) if delta is None else delta.reshape(())
        count = max(0, int(np.ceil((float(last) - float(first)) / float(step))))
        return np.asarray(first + np.arange(count).astype(start.dtype) * step, start.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        delta = b.constant(1, op.start) if op.delta is None else scalar_of(b, op.delta)
        return b.Range(scalar_of(b, op.start), scalar_of(b, op.limit), delta)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype, has_delta, shape in (
            (np.int64, 0, ()),
            (np.float32, 1, ()),
            (np.int32, 1, (1,)),
            (np.float64, 1, ()),
            (np.int16, 0, (1,)),
        ):
            start, count = int(rng.integers(-9, 9)), int(rng.integers(0, 9))
            # Steps that are exact in binary: rounding decides how many elements other steps give.
            delta = float(rng.choice([-2, -1, 1, 3])) * (0.25 if np.dtype(dtype).kind == "f" else 1)
            limit = start + count * (delta if has_delta else 1)
            values = [np.full(shape, each, dtype) for each in (start, limit, delta)]
            yield [*values[:2], values[2] if has_delta else None], {}


@contrib("Unique")
class Unique:
    """Unique elements in the order of their first occurrence, with indices and counts."""

    inputs = one("T", name="x")
    outputs = (one("T", name="y"), one(np.int64, name="idx"), one(np.int64, name="counts"))
    types = allowed(T=(np.float32, np.float64, np.int64, np.int32))

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        unknown = op.x.with_shape(None)
        return [unknown, op.x.with_dtype(np.int64), unknown.with_dtype(np.int64)]

    @staticmethod
    def reference(op: Any, x: Array) -> list[Array]:
        values, first, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
        )
        order = np.argsort(first)
        position = np.argsort(order)
        return [values[order], position[inverse.reshape(-1)].astype(np.int64), counts[order].astype(np.int64)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        y, _, inverse, counts = b.Unique(op.x, sorted=0)
        return [y, inverse, counts]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for count in (1, 7, 30):
            yield [rng.integers(-5, 5, count).astype(np.float32)], {}


@contrib("GatherND")
class GatherND:
    """Slices of a tensor at the index tuples in the last axis of another."""

    inputs = (one("T", name="data"), one("Tind", name="indices"))
    outputs = one("T")
    types = allowed(T=ANY, Tind=INDICES)

    @staticmethod
    def infer(op: Any) -> TensorType:
        data, indices = op.data.shape, op.indices.shape
        if data is None or not indices or not isinstance(indices[-1], int):
            return op.data.with_shape(None)
        return op.data.with_shape([*indices[:-1], *data[indices[-1] :]])

    @staticmethod
    def reference(op: Any, data: Array, indices: Array) -> Array:
        return np.asarray(data[tuple(np.moveaxis(indices, -1, 0))])

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.GatherND(op.data, b.Cast(op.indices, to=np.int64))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype, kind in ((np.float32, np.int64), (np.int64, np.int32), (np.float64, np.int64)):
            shape = some_shape(rng, 1, 4)
            depth = int(rng.integers(1, len(shape) + 1))
            leading = some_shape(rng, 1, 2)
            parts = [rng.integers(-size, size, leading) for size in shape[:depth]]
            yield [normal(rng, *shape, dtype=np.float32).astype(dtype), np.stack(parts, -1).astype(kind)], {}


@contrib("UnfoldTensor")
class UnfoldTensor:
    """Sliding windows along an axis, in a new last axis."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=ANY)
    dim = attribute(int, default=-1)
    size = attribute(int)
    step = attribute(int, default=1)

    @staticmethod
    def infer(op: Any) -> TensorType:
        if op.x.shape is None:
            return op.x
        sizes = list(op.x.shape)
        axis = op.dim % len(sizes)
        sizes[axis] = (sizes[axis] - op.size) // op.step + 1
        return op.x.with_shape([*sizes, op.size])

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        axis = op.dim % x.ndim
        found: Any = np.lib.stride_tricks.sliding_window_view(x, op.size, axis)
        return np.asarray(found.take(np.arange(0, found.shape[axis], op.step), axis))

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        rank = rank_of(op, op.x)
        axis = op.dim % rank
        size = op.x.shape[axis]
        offsets = np.arange(op.size, dtype=np.int64)
        if isinstance(size, int):
            indices: Any = np.arange(0, size - op.size + 1, op.step, dtype=np.int64)[:, None] + offsets
        else:
            end = b.Squeeze(b.Sub(b.Shape(op.x, start=axis, end=axis + 1), op.size - 1), [0])
            starts = b.Range(np.int64(0), end, np.int64(op.step))
            indices = b.Add(b.Unsqueeze(starts, [1]), offsets[None])
        found = b.Gather(op.x, indices, axis=axis)
        return b.Transpose(found, perm=[*range(axis + 1), *range(axis + 2, rank + 1), axis + 1])

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in (np.float32, np.int64, np.float64, np.float32):
            shape = some_shape(rng, 1, 4, 8)
            dim = int(rng.integers(-len(shape), len(shape)))
            given = {
                "dim": dim,
                "size": int(rng.integers(1, shape[dim] + 1)),
                "step": int(rng.integers(1, 4)),
            }
            yield [normal(rng, *shape).astype(dtype)], given


@contrib("Pad")
class Pad:
    """Padding by a constant, by reflection or by the edges, with sizes given by a tensor."""

    inputs = (one("T", name="data"), one(np.int64, name="pads"), optional("T", name="value"))
    outputs = one("T")
    types = allowed(T=(np.float32, np.float16, np.float64))
    mode = attribute(str, default="constant", choices=("constant", "reflect", "edge"))

    @staticmethod
    def infer(op: Any) -> TensorType:
        pads = op.constant(1)
        if op.data.shape is None or pads is None:
            return op.data if op.data.shape is None else op.data.with_shape(None)
        found = [int(each) for each in pads.reshape(-1)]
        rank = len(op.data.shape)
        sizes = [size + (found[axis] + found[axis + rank]) for axis, size in enumerate(op.data.shape)]
        return op.data.with_shape(sizes)

    @staticmethod
    def reference(op: Any, data: Array, pads: Array, value: Array | None) -> Array:
        found = [int(each) for each in pads.reshape(-1)]
        margins = list(zip(found[: data.ndim], found[data.ndim :], strict=True))
        # Negative padding crops.
        crop = tuple(
            slice(max(0, -before), size - max(0, -after))
            for size, (before, after) in zip(data.shape, margins, strict=True)
        )
        widths = [(max(0, before), max(0, after)) for before, after in margins]
        if op.mode != "constant":
            return np.pad(data[crop], widths, mode=op.mode)
        fill = 0 if value is None else value.reshape(())
        return np.pad(data[crop], widths, constant_values=fill)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        value = None if op.value is None else scalar_of(b, op.value)
        pads = b.Reshape(op.pads, [-1])
        given = op.constant(1)
        if given is not None and bool((given >= 0).all()):
            return b.Pad(op.data, pads, value, mode=op.mode)
        # Negative padding crops; native code has Pad for the rest.
        rank = rank_of(op, op.data)
        before, after = b.Split(b.Max(b.Neg(pads), np.int64(0)), [rank, rank], axis=0, outputs=2)
        cropped = b.Slice(op.data, before, b.Sub(b.Shape(op.data), after))
        return b.Pad(cropped, b.Max(pads, np.int64(0)), value, mode=op.mode)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for mode, has_value, nested in (
            ("constant", 0, 0),
            ("constant", 1, 1),
            ("reflect", 0, 0),
            ("edge", 0, 1),
        ):
            shape = tuple(int(each) for each in rng.integers(3, 6, rng.integers(1, 5)))
            low = -1 if mode == "constant" else 0
            pads = rng.integers(low, 3, 2 * len(shape)).astype(np.int64)
            value = normal(rng) if has_value else None
            yield [normal(rng, *shape), pads[None] if nested else pads, value], {"mode": mode}


@contrib("SampleOp")
class SampleOp:
    """The identity."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=(np.float32, np.float64, np.float16, np.int64, np.int32, np.uint64, np.uint32))

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        return x

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Identity(op.x)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield [normal(rng, *some_shape(rng))], {}
        yield [np.array([np.nan, -np.inf, -0.0], np.float32)], {}
