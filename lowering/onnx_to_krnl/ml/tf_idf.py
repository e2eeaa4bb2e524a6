"""TfIdfVectorizer: counts of n-grams of integers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32, i1, i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values
from xonnc.dialects.onnx.ops.nn import TfIdfVectorizerOp
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill

Integers = npt.NDArray[np.int64]


@lowers(TfIdfVectorizerOp)
def tf_idf_vectorizer(op: TfIdfVectorizerOp, builder: LoweringBuilder) -> str | None:
    """
    Counts (TF), presence (IDF) or weighted counts (TFIDF) of n-grams, found by binary search in the sorted
    pool.
    """
    shape = builder.shape(op.X)
    rows, columns = (1, *shape)[-2:] if shape else (1, 1)
    targets = int_values(op.ngram_indexes) or ()
    size = max(targets, default=-1) + 1
    weights = numeric_values(op.weights)
    if op.pool_int64s is None or prod(builder.shape(op.Y)) != rows * size or min(targets, default=-1) < 0:
        return "string n-grams, or ngram_indexes that do not match the result"
    if weights is not None and len(weights) not in (0, len(targets)):
        return f"{len(weights)} weights for {len(targets)} n-grams"
    grams = _ngrams(op, targets)
    if grams is None:
        return "a number of n-grams in the pool that is not that of ngram_indexes"
    counts = builder.allocate([rows, size], i64)
    fill(counts, rows * size, 0, builder)
    least, most = op.min_gram_length.value.data, op.max_gram_length.value.data
    for apart in range(1, op.max_skip_count.value.data + 2):
        # Skips do not matter for unigrams, which are counted once.
        for length in range(max(least, min(apart, 2)), most + 1):
            reach = (length - 1) * apart
            if length in grams and reach < columns:
                sizes = rows, columns, size
                _count(op.X, counts, grams[length], apart, sizes, builder)
    by_output: npt.NDArray[np.float32] | None = None
    if weights is not None and len(weights) and op.mode.data != "TF":
        # A weight is of an n-gram of the pool, not of an output.
        by_output = np.ones(size, np.float32)
        by_output[list(targets)] = weights
    _weigh(op, counts, (rows, size), by_output, builder)
    return None


def _ngrams(op: TfIdfVectorizerOp, targets: Sequence[int]) -> dict[int, tuple[Integers, Integers]] | None:
    """Return, by length, the sorted n-grams and the output index of each; the last of equal ones counts."""
    pool = np.array(int_values(op.pool_int64s) or (), np.int64)
    begins = [*(int_values(op.ngram_counts) or ()), len(pool)]
    found: dict[int, tuple[Integers, Integers]] = {}
    known = 0
    for length, (begin, end) in enumerate(pairwise(begins), 1):
        count = max(end - begin, 0) // length
        table = pool[begin : begin + count * length].reshape(count, length)
        targets_of = np.array(targets[known : known + count], np.int64)
        known += count
        if len(targets_of) != count:
            return None
        if count:
            own, last = np.unique(table[::-1], axis=0, return_index=True)
            found[length] = own, targets_of[::-1][last]
    return found


def _count(
    x: SSAValue,
    counts: SSAValue,
    grams: tuple[Integers, Integers],
    apart: int,
    sizes: tuple[int, int, int],
    builder: LoweringBuilder,
) -> None:
    """Count n-grams of one length, whose elements are `apart` positions apart."""
    table, target_table = grams
    rows, columns, _ = sizes
    known, length = table.shape
    kernel = Kernel(builder, "ngram_counts", [counts], [(x, [rows, columns]), table, target_table])
    out, source, ngrams, targets = kernel.buffers
    with kernel.loops([rows]) as (row,), kernel.loops([columns - (length - 1) * apart]) as (first,):
        numbers = [source.read_as(i64, row, first.offset_by(index * apart)) for index in range(length)]
        ends = [kernel.constant(0, i64), kernel.constant(known, i64)]
        with kernel.reducing([known.bit_length()], ends) as (_, (low, high), results):
            middle = (low + high) // 2
            is_less, _ = _compared(kernel, ngrams, middle.minimum(known - 1), numbers)
            is_open = low < high
            results.append((is_open & is_less).select(middle + 1, low))
            results.append((is_open & ~is_less).select(middle, high))
        index = results[0].minimum(known - 1)
        _, is_same = _compared(kernel, ngrams, index, numbers)
        target = targets[index].to(INDEX)
        out[row, target] = out[row, target] + is_same.to(i64)
    kernel.call()


def _compared(
    kernel: Kernel, table: Buffer, index: Scalar, numbers: Sequence[Scalar]
) -> tuple[Scalar, Scalar]:
    """Return whether a row of the table sorts before the n-gram, and whether it is equal."""
    is_less, is_same = (kernel.constant(number, i1) for number in (0, 1))
    for column, number in enumerate(numbers):
        key = table[index, column]
        is_less = is_less | (is_same & (key < number))
        is_same = is_same & key.equals(number)
    return is_less, is_same


def _weigh(
    op: TfIdfVectorizerOp,
    counts: SSAValue,
    sizes: tuple[int, int],
    weights: npt.NDArray[np.float32] | None,
    builder: LoweringBuilder,
) -> None:
    tables = [] if weights is None else [weights]
    kernel = Kernel(builder, "tfidf_weights", [(op.Y, sizes)], [counts, *tables])
    out, source, *factors = kernel.buffers
    with kernel.loops(sizes) as (row, column):
        count = source[row, column]
        made = (count > 0).to(f32) if op.mode.data == "IDF" else count.to(f32)
        for each in factors:
            made = made * each[column]
        out[row, column] = made
    kernel.call()
