"""
Key-value caches that hold the last tokens alone, for attention to a window (`sliding_window_cache`).

Of T tokens, a cache of capacity C for a window W holds the last L(T) in its first rows. Where T exceeds C, it
drops G = C - W + 1 tokens at once: L(T) = T - G ceil((T - C) / G). C is at least W.
"""

from __future__ import annotations

import numpy as np

from xonnc.contrib.microsoft.common import Array, range_of
from xonnc.plugin import Builder, Value


def resident(tokens: Array, capacity: int, window: int) -> Array:
    """Return how many of the last tokens a cache holds."""
    step = capacity - window + 1
    return np.asarray(tokens - step * np.maximum(-((capacity - tokens) // step), 0), np.int64)


def build_resident(b: Builder, tokens: Value, capacity: Value, window: int) -> Value:
    """Build `resident` from ONNX operators; -1, no row to write, if the window is longer than the cache."""
    step = b.Sub(capacity, np.int64(window - 1))
    beyond = b.Max(b.Sub(tokens, capacity), np.int64(0))
    # ONNX divides integers toward zero; the dividend is not negative.
    drops = b.Div(b.Sub(b.Add(beyond, step), np.int64(1)), step)
    return b.Where(b.Greater(step, np.int64(0)), b.Sub(tokens, b.Mul(step, drops)), np.int64(-1))


def with_new_rows(past: Array, new: Array, rows: Array, added_rows: int) -> Array:
    """Return a cache `added_rows` longer, with new tokens after the first `rows` of each sequence."""
    staged = np.pad(past, [(0, 0), (0, 0), (0, added_rows), (0, 0)])
    for batch, start in enumerate(rows):
        staged[batch, :, start : start + new.shape[2]] = new[batch]
    return staged


def build_with_new_rows(b: Builder, past: Value, new: Value, rows: Value, added_rows: Value) -> Value:
    """Build `with_new_rows` from ONNX operators."""
    shape = b.Concat(b.Shape(past, start=0, end=2), added_rows, b.Shape(past, start=3, end=4), axis=0)
    zeros = b.ConstantOfShape(shape)
    zeros = zeros if past.dtype == np.float32 else b.Cast(zeros, to=past.dtype)
    return b.TensorScatter(b.Concat(past, zeros, axis=2), new, rows, axis=2)


def kept(staged: Array, dropped: Array, capacity: int) -> Array:
    """Return the cache of the rows after the first `dropped` of each sequence."""
    # Rows beyond the last token hold anything.
    rows = np.minimum(dropped[:, None] + np.arange(capacity), staged.shape[2] - 1)
    return np.take_along_axis(staged, rows[:, None, :, None], 2)


def build_kept(b: Builder, staged: Value, dropped: Value, capacity: Value) -> Value:
    """Build `kept` from ONNX operators."""
    length = b.Shape(staged, start=2, end=3)
    rows = b.Add(b.Unsqueeze(dropped, [1]), b.Unsqueeze(range_of(b, capacity), [0]))
    rows = b.Min(rows, b.Sub(length, np.int64(1)))
    sequences = b.Mul(b.Shape(staged, start=0, end=1), b.Shape(staged, start=1, end=2))
    firsts = b.Mul(range_of(b, sequences), length)
    firsts = b.Reshape(firsts, b.Concat(b.Shape(staged, start=0, end=2), [1], axis=0))
    flat = b.Reshape(staged, b.Concat([-1], b.Shape(staged, start=3, end=4), axis=0))
    return b.Gather(flat, b.Add(firsts, b.Unsqueeze(rows, [1])), axis=0)
