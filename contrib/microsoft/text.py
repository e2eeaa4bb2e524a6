"""Operators on words and tokens: hashes, embeddings from characters, repeated n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, some_shape
from xonnc.plugin import Builder, TensorType, Value, attribute, one

HASHED: tuple[type[np.generic], ...] = (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
C1, C2 = 0xCC9E2D51, 0x1B873593
"""Multipliers of MurmurHash3_x86_32."""
MASK = 0xFFFFFFFF

UINT32, UINT64 = 12, 13
"""ONNX's numbers of the element types."""


@contrib("MurmurHash3")
class MurmurHash3:
    """The hash MurmurHash3_x86_32 of the bytes of each element."""

    inputs = one("T1", name="x")
    outputs = one("T2")
    types = allowed(T1=HASHED, T2=(np.uint32, np.int32))
    positive = attribute(int, default=1)
    seed = attribute(int, default=0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x.with_dtype(np.uint32 if op.positive else np.int32)

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        words = np.ascontiguousarray(x).reshape(-1).view(np.uint32).reshape((x.size, -1))
        found = np.full(x.size, op.seed & MASK, np.uint32)

        def rotate(value: Array, count: int) -> Array:
            return (value << np.uint32(count)) | (value >> np.uint32(32 - count))

        for index in range(words.shape[1]):
            found ^= rotate(words[:, index] * np.uint32(C1), 15) * np.uint32(C2)
            found = rotate(found, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        found ^= np.uint32(x.dtype.itemsize)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            found = (found ^ (found >> np.uint32(shift))) * np.uint32(factor)
        found ^= found >> np.uint32(16)
        return found.reshape(x.shape).view(np.uint32 if op.positive else np.int32)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        def rotate(value: Value, count: int) -> Value:
            left = b.BitShift(value, np.uint32(count), direction="LEFT")
            return b.BitwiseOr(left, b.BitShift(value, np.uint32(32 - count), direction="RIGHT"))

        x = op.x
        if x.dtype.kind == "f":
            x = b.BitCast(x, to=UINT32 if x.dtype.itemsize == 4 else UINT64)
        size = x.dtype.itemsize
        if size == 4:
            words = [b.Cast(x, to=np.uint32)]
        else:
            wide = b.Cast(x, to=np.uint64)
            high = b.BitShift(wide, np.uint64(32), direction="RIGHT")
            words = [b.Cast(b.BitwiseAnd(wide, np.uint64(MASK)), to=np.uint32), b.Cast(high, to=np.uint32)]
        found: Any = np.uint32(op.seed & MASK)
        for word in words:
            mixed = b.Mul(rotate(b.Mul(word, np.uint32(C1)), 15), np.uint32(C2))
            found = b.BitwiseXor(mixed, found)
            found = b.Add(b.Mul(rotate(found, 13), np.uint32(5)), np.uint32(0xE6546B64))
        found = b.BitwiseXor(found, np.uint32(size))
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            high = b.BitShift(found, np.uint32(shift), direction="RIGHT")
            found = b.Mul(b.BitwiseXor(found, high), np.uint32(factor))
        found = b.BitwiseXor(found, b.BitShift(found, np.uint32(16), direction="RIGHT"))
        return found if op.positive else b.Cast(found, to=np.int32)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in HASHED:
            given = {"positive": int(rng.integers(0, 2)), "seed": int(rng.integers(0, 100))}
            shape = some_shape(rng)
            if np.dtype(dtype).kind == "f":
                yield [normal(rng, *shape, dtype=dtype)], given
                continue
            yield (
                [rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]],
                given,
            )


@contrib("NGramRepeatBlock")
class NGramRepeatBlock:
    """Scores of next tokens, negative infinity for those that would repeat an n-gram of the sequence."""

    inputs = (one(np.int64, name="ids"), one("T", name="scores"))
    outputs = one("T")
    types = allowed(T=(np.float32,))
    ngram_size = attribute(int)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.scores

    @staticmethod
    def reference(op: Any, ids: Array, scores: Array) -> Array:
        found = scores.copy()
        size, length = op.ngram_size, ids.shape[1]
        for row, values in enumerate(ids):
            last = values[length - size + 1 :]
            for begin in range(length - size + 1):
                if np.array_equal(values[begin : begin + size - 1], last):
                    found[row, values[begin + size - 1]] = -np.inf
        return found

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        size = op.ngram_size
        length = None if op.ids.shape is None else op.ids.shape[1]
        if size < 1:
            raise op.fail(f"ngram_size {size}; it is at least 1")
        if isinstance(length, int) and length < size:
            return b.Identity(op.scores)
        # The token after each earlier position of the last n - 1 tokens is banned.
        tokens = b.Slice(op.ids, [size - 1], [np.iinfo(np.int64).max], [1])
        repeated: Any = np.array(True)
        for index in range(size - 1):
            end = index + 1 - size
            window = b.Slice(op.ids, [index], [end], [1])
            last = b.Slice(op.ids, [end], [end + 1 or np.iinfo(np.int64).max], [1])
            same = b.Equal(window, last)
            repeated = same if index == 0 else b.And(repeated, same)
        # The minimum leaves scores alone where nothing is repeated.
        least, most = np.float32(-np.inf), np.float32(np.inf)
        bans = b.Add(b.Where(repeated, least, most), b.Cast(b.Mul(tokens, np.int64(0)), to=np.float32))
        return b.ScatterElements(op.scores, tokens, bans, axis=1, reduction="min")

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for size in (1, 2, 3, 4):
            rows, length = int(rng.integers(1, 4)), int(rng.integers(size, 12))
            ids = rng.integers(0, 4, (rows, length)).astype(np.int64)
            yield [ids, normal(rng, rows, 6)], {"ngram_size": size}


@contrib("WordConvEmbedding")
class WordConvEmbedding:
    """Embeddings of words: a convolution over their characters' embeddings, tanh, and the maximum."""

    inputs = (
        one(np.int32, name="sequence"),
        one("T1", name="w"),
        one("T1", name="bias"),
        one("T1", name="chars"),
    )
    outputs = one("T1")
    types = allowed(T1=(np.float32,))
    char_embedding_size = attribute(int, default=None)
    conv_window_size = attribute(int, default=None)
    embedding_size = attribute(int, default=None)

    @staticmethod
    def infer(op: Any) -> TensorType:
        if op.sequence.shape is None or op.w.shape is None:
            return op.w.with_shape(None)
        return op.w.with_shape([op.sequence.shape[0], op.w.shape[0]])

    @staticmethod
    def reference(op: Any, sequence: Array, w: Array, bias: Array, chars: Array) -> Array:
        width = w.shape[2]
        y = np.zeros((len(sequence), w.shape[0]), np.float32)
        for row, word in enumerate(sequence):
            length = int(np.count_nonzero(word > 0))
            if word[0] <= 0:
                continue
            letters = chars[word[: max(length, width)]]
            counts = range(max(1, length - width + 1))
            parts = [letters[at : at + width].reshape(-1) @ w.reshape((len(w), -1)).T for at in counts]
            y[row] = np.tanh(np.max(np.stack(parts) + bias, 0))
        return y

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        shape, weights = op.sequence.shape, op.w.shape
        if (
            shape is None
            or weights is None
            or not all(isinstance(each, int) for each in (shape[-1], *weights))
        ):
            raise op.fail("the size of the words or the shape of the weights is not known")
        letters, width = shape[-1], weights[2]
        # Characters after the end of a word are 0; a word that begins with 0 is empty.
        letter = b.Cast(b.Greater(op.sequence, np.int32(0)), to=np.float32)
        length = b.ReduceSum(letter, [1], keepdims=1)
        first = b.Slice(op.sequence, [0], [1], [1])
        images = b.Unsqueeze(b.Gather(op.chars, op.sequence), [1])
        found = b.Squeeze(b.Conv(images, op.w, op.bias), [3])
        starts = np.arange(letters - width + 1, dtype=np.float32)
        # Windows of the word alone; a word shorter than the window has one.
        windows = b.Max(b.Sub(length, np.float32(width)), 0.0)
        inside = b.Unsqueeze(b.LessOrEqual(starts, windows), [1])
        best = b.Tanh(b.ReduceMax(b.Where(inside, found, np.float32(-np.inf)), [2], keepdims=0))
        return b.Where(b.Greater(first, np.int32(0)), best, 0.0)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            letters, width = int(rng.integers(4, 9)), int(rng.integers(1, 4))
            count, depth, filters = (int(each) for each in rng.integers(1, 5, 3))
            words = rng.integers(1, 10, (count, letters))
            words *= np.arange(letters) < rng.integers(1, letters + 1, (count, 1))
            w, chars = normal(rng, filters, 1, width, depth), normal(rng, 10, depth)
            operands: list[Array | None] = [words.astype(np.int32), w, normal(rng, filters), chars]
            yield (
                operands,
                {"embedding_size": filters, "conv_window_size": width, "char_embedding_size": depth},
            )
