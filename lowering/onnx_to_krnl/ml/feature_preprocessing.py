"""Feature preprocessing of ai.onnx.ml: scalers, imputers, binarizers, encoders."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan, prod

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.ml import (
    ArrayFeatureExtractorOp,
    BinarizerOp,
    FeatureVectorizerOp,
    ImputerOp,
    LabelEncoderOp,
    NormalizerOp,
    OneHotEncoderOp,
    ScalerOp,
)
from xonnc.lowering.onnx_to_krnl.builders.checks import bounds_check, check_indices, index_within
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_results import store_count
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.rewriting.patterns import Array


@lowers(ArrayFeatureExtractorOp)
def array_feature_extractor(op: ArrayFeatureExtractorOp, builder: LoweringBuilder) -> str | None:
    """Gather columns by index from each row."""
    shape, count = builder.shape(op.X), prod(builder.shape(op.Y))
    size, rows = shape[-1], prod(shape[:-1])
    check_indices(op, op.Y, [size], len(shape) - 1, builder)
    operands = [(op.X, [rows, size]), (op.Y, [count])]
    kernel = Kernel(builder, "arrayfeatureextractor", [(op.Z, [rows, count])], operands)
    out, source, columns = kernel.buffers
    with kernel.loops([rows, count]) as (row, index):
        out.copy((row, index), source, (row, index_within(columns[index], size)))
    kernel.call()
    return None


@lowers(BinarizerOp)
def binarizer(op: BinarizerOp, builder: LoweringBuilder) -> str | None:
    """1 above the threshold, else 0."""
    count = [prod(builder.shape(op.X))]
    kernel = Kernel(builder, "binarizer", [(op.Y, count)], [(op.X, count)])
    out, source = kernel.buffers
    with kernel.loops(count) as (index,):
        x = source.read_as(_comparable(source.element), index)
        out[index] = x > float(op.threshold.value.data)
    kernel.call()
    return None


def _comparable(element: Attribute) -> Attribute:
    """
    Return the float type in which elements are compared with f32 attributes: f32 for floats up to f32, else
    f64.
    """
    return f32 if compute_type(element) == f32 else f64


@lowers(ScalerOp)
def scaler(op: ScalerOp, builder: LoweringBuilder) -> str | None:
    """`(X - offset) scale`, with parameters per column or one for all."""
    shape = builder.shape(op.X)
    columns = shape[-1] if shape else 1
    numbers = [
        np.full(1, plain, np.float32) if given is None else given
        for given, plain in ((numeric_values(op.offset), 0), (numeric_values(op.scale), 1))
    ]
    if any(len(each) not in (1, columns) for each in numbers):
        return f"{[len(each) for each in numbers]} offsets and scales for {columns} columns"
    sizes = [prod(shape) // max(columns, 1), columns]
    kernel = Kernel(builder, "scaler", [(op.Y, sizes)], [(op.X, sizes), *numbers])
    out, source, *parameters = kernel.buffers
    kind = _comparable(source.element)
    with kernel.loops(sizes) as (row, column):
        offset, scale = (
            each.read_as(kind, column if len(given) > 1 else 0)
            for each, given in zip(parameters, numbers, strict=True)
        )
        out[row, column] = (source.read_as(kind, row, column) - offset) * scale
    kernel.call()
    return None


@lowers(NormalizerOp)
def normalizer(op: NormalizerOp, builder: LoweringBuilder) -> str | None:
    """Normalize rows by their maximum, L1 norm or L2 norm."""
    rows, columns = sizes = (1, *builder.shape(op.X))[-2:]
    norm = op.norm.data
    kernel = Kernel(builder, "normalizer", [(op.Y, sizes)], [(op.X, sizes)])
    out, source = kernel.buffers
    kind = _comparable(source.element)
    start = kernel.constant(-inf if norm == "MAX" else 0.0, kind)
    with kernel.loops([rows]) as (row,):

        def add(total: Scalar, column: Scalar) -> Scalar:
            x = source.read_as(kind, row, column)
            match norm:
                case "MAX":
                    return (x > total).select(x, total)
                case "L1":
                    return total + x.abs()
                case _:
                    return total + x * x

        size = kernel.reduce(columns, start, add)
        size = size.sqrt() if norm == "L2" else size
        # A norm of 0 divides by 1, so that rows of zeros stay zeros.
        size = size.equals(0.0).select(size.like(1.0), size)
        with kernel.loops([columns]) as (column,):
            out[row, column] = source.read_as(kind, row, column) / size
    kernel.call()
    return None


@lowers(ImputerOp)
def imputer(op: ImputerOp, builder: LoweringBuilder) -> str | None:
    """Replace one value (such as NaN) by constants per column or one for all."""
    shape, element = builder.shape(op.X), builder.element(op.X)
    is_real = not is_integer(element)
    values = numeric_values(op.imputed_value_floats if is_real else op.imputed_value_int64s)
    replaced = op.replaced_value_float.value.data if is_real else op.replaced_value_int64.value.data
    columns = shape[-1] if shape else 1
    if values is None or len(values) not in (1, columns):
        return f"imputed values for {columns} columns are expected, or one"
    sizes = [prod(shape) // max(columns, 1), columns]
    numbers = values.astype(np.float64 if is_real else np.int64)
    kernel = Kernel(builder, "imputer", [(op.Y, sizes)], [(op.X, sizes), numbers])
    out, source, imputed = kernel.buffers
    with kernel.loops(sizes) as (row, column):
        x = source[row, column]
        other = imputed[column if len(values) > 1 else 0].to(x.type)
        is_other = x.differs(x) if is_real and isnan(replaced) else x.equals(replaced)
        out[row, column] = is_other.select(other, x)
    kernel.call()
    return None


@lowers(FeatureVectorizerOp)
def feature_vectorizer(op: FeatureVectorizerOp, builder: LoweringBuilder) -> str | None:
    """Concatenate the inputs' columns, each cropped or zero-padded to its `inputdimensions`."""
    shapes = [builder.shape(value) for value in op.X]
    matrices = [(shape[0], 1) if len(shape) == 1 else shape for shape in shapes]
    widths = int_values(op.inputdimensions) or tuple(shape[1] for shape in matrices if len(shape) == 2)
    rows, total = builder.shape(op.Y)
    if any(len(shape) != 2 for shape in matrices) or sum(widths) != total or len(widths) != len(matrices):
        return "the inputs are not matrices whose columns add up to those of the result"
    if any(shape[0] != rows for shape in matrices):
        return "the inputs have different numbers of rows"
    target = builder.result(op.Y)
    fill(target, rows * total, 0, builder)
    begin = 0
    for value, shape, width in zip(op.X, matrices, widths, strict=True):
        kernel = Kernel(builder, "featurevectorizer", [target], [(value, shape)])
        out, source = kernel.buffers
        with kernel.loops([rows, min(width, shape[1])]) as (row, column):
            x = source.read_as(compute_type(out.element), row, column)
            out[row, column.offset_by(begin)] = x
        if min(width, shape[1]):
            kernel.call()
        begin += width
    return None


@lowers(OneHotEncoderOp)
def one_hot_encoder(op: OneHotEncoderOp, builder: LoweringBuilder) -> str | None:
    """One-hot encoding of integer categories."""
    categories = int_values(op.cats_int64s) or ()
    if not categories:
        return "string categories"
    count, size, element = prod(builder.shape(op.X)), len(categories), builder.element(op.X)
    kind = i64 if is_integer(element) else f64
    # As in the reference evaluator, the last occurrence of a category counts.
    position_of = {category: index for index, category in enumerate(categories)}
    only = [category if position_of[category] == index else None for index, category in enumerate(categories)]
    first = next(category for category in only if category is not None)
    positions = np.array([first if each is None else each for each in only], np.int64)
    counted = np.array([each is not None for each in only])
    check_buffer = builder.allocate([2], i64)
    if not op.zeros.value.data:
        check_buffer = bounds_check(op, 0, 0, "{} elements are of no category, and zeros is 0", builder)
    operands = [(op.X, [count]), positions, counted]
    kernel = Kernel(builder, "onehotencoder", [(op.Y, [count, size]), check_buffer], operands)
    out, lacking, source, known, counts = kernel.buffers
    zero = kernel.constant(0, i64)
    with kernel.reducing([count], [zero]) as ((index,), (missing,), results):
        x = source.read_as(kind, index)
        with kernel.reducing([size], [zero]) as ((category,), (found,), sums):
            same = x.equals(known[category].to(kind)) & counts[category]
            out[index, category] = same
            sums.append(found + same.to(i64))
        results.append(missing + sums[0].equals(0).to(i64))
    store_count(results[0], lacking)
    kernel.call()
    return None


@lowers(LabelEncoderOp)
def label_encoder(op: LabelEncoderOp, builder: LoweringBuilder) -> str | None:
    """Map keys to values: by a table of dense integer keys, or binary search; others map to a default."""
    element = builder.element(op.X)
    keys = _first([op.keys_tensor, op.keys_floats, op.keys_int64s])
    values = _first([op.values_tensor, op.values_floats, op.values_int64s])
    if keys is None or values is None or len(keys) != len(values) or op.keys_strings or op.values_strings:
        return "keys or values are strings, or their numbers differ"
    # The last of equal keys counts.
    index_of = {key: index for index, key in enumerate(keys.tolist())}
    ordered = sorted(key for key in index_of if not isnan(key))
    if not ordered:
        return "all keys are NaN"
    chosen = values[[index_of[key] for key in ordered]]
    default = np.array([_default(op)]).astype(values.dtype)
    span = ordered[-1] - ordered[0] + 1
    if is_integer(element) and span <= max(MAX_TABLE_RATIO * len(ordered), MIN_TABLE):
        table = np.full(span + 1, default[0], values.dtype)
        table[np.array(ordered) - ordered[0]] = chosen
        _look_up(op, ordered[0], table, builder)
        return None
    none = [index for index, key in enumerate(keys.tolist()) if isnan(key)][-1:]
    _search(op, ordered, np.concatenate([chosen, default, values[none]]), builder)
    return None


MAX_TABLE_RATIO = 8
"""Entries of a table of values per integer key at most, with a default for numbers between keys."""

MIN_TABLE = 1024
"""Entries that a table may have for any number of keys."""


def _look_up(op: LabelEncoderOp, least: int, table: Array, builder: LoweringBuilder) -> None:
    """Map integers from `least` on by a table, whose last entry is that of all others."""
    count, last = [prod(builder.shape(op.X))], len(table) - 1
    kernel = Kernel(builder, "labelencoder", [(op.Y, count)], [(op.X, count), table])
    out, source, entries = kernel.buffers
    with kernel.loops(count) as (index,):
        x = source.read_as(i64, index)
        is_inside = (x >= least) & (x <= least + last - 1)
        out.copy(index, entries, is_inside.select(x - least, x.like(last)))
    kernel.call()


def _search(op: LabelEncoderOp, ordered: Sequence[float], values: Array, builder: LoweringBuilder) -> None:
    """
    Map elements by binary search in sorted keys; the last values are the default, and perhaps that of NaN.

    The search has no branches: keys are padded to one less than a power of two, and each step adds a power of
    two to the number of keys below the element.
    """
    count = [prod(builder.shape(op.X))]
    kind, dtype = (i64, np.int64) if is_integer(builder.element(op.X)) else (f64, np.float64)
    size = len(ordered)
    steps = size.bit_length()
    largest = np.iinfo(np.int64).max if kind == i64 else np.inf
    table = np.full((1 << steps) - 1, largest, dtype)
    table[:size] = ordered
    kernel = Kernel(builder, "labelencoder", [(op.Y, count)], [(op.X, count), table, values])
    out, source, keys, made = kernel.buffers
    with kernel.loops(count) as (index,):
        x = source.read_as(kind, index)
        start = [kernel.constant(0, i64), kernel.constant(1 << steps - 1, i64)]
        with kernel.reducing([steps], start) as (_, (below, step), results):
            key = keys[below + step - 1]
            results += [below + (key < x).select(step, 0), step.shift_right(1)]
        slot = results[0].minimum(size - 1)
        at = keys[slot].equals(x).select(slot, size)
        if len(values) > size + 1:
            at = x.differs(x).select(at.like(size + 1), at)
        out.copy(index, made, at)
    kernel.call()


def _first(attributes: Sequence[Attribute | None]) -> Array | None:
    """Return the values of the first attribute that is present."""
    for attribute in attributes:
        if attribute is not None:
            elements = elements_array(attribute)
            numbers = numeric_values(attribute) if elements is None else elements
            return None if numbers is None or numbers.dtype.kind not in "if" else numbers.reshape(-1)
    return None


def _default(op: LabelEncoderOp) -> float | int:
    if op.default_tensor is not None:
        elements = elements_array(op.default_tensor)
        return 0 if elements is None else elements.reshape(-1)[0].item()
    return op.default_float.value.data if op.values_floats else op.default_int64.value.data
