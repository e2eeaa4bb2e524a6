"""Feature preprocessing of ai.onnx.ml: scalers, imputers, binarizers, encoders."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan, prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i1, i64
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
from xonnc.lowering.onnx_to_krnl.checks import bounds_check, check_indices, index_in
from xonnc.lowering.onnx_to_krnl.data_dependent_results import store_count
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.strided_copies import fill
from xonnc.rewriting.patterns import Array


@lowers(ArrayFeatureExtractorOp)
def array_feature_extractor(op: ArrayFeatureExtractorOp, builder: LoweringBuilder) -> str | None:
    """Gather columns by index from each row."""
    shape, count, element = builder.shape(op.X), prod(builder.shape(op.Y)), builder.element(op.X)
    size = shape[-1]
    rows = prod(shape[:-1])
    check_indices(op, op.Y, [size], len(shape) - 1, builder)
    types = [buffer_type([rows, count], element), buffer_type([rows, size], element)]
    kernel = KernelBuilder([*types, buffer_type([count], i64)])
    out, source, index_buffer = kernel.buffers
    with kernel.loops([rows, count]) as (row, index):
        at = index_in(kernel, kernel.load(index_buffer, [index]), size)
        kernel.store(kernel.load(source, [row, at]), out, [row, index])
    builder.call(
        "arrayfeatureextractor", kernel, [builder.result(op.Z)], [builder.buffer(op.X), builder.buffer(op.Y)]
    )
    return None


@lowers(BinarizerOp)
def binarizer(op: BinarizerOp, builder: LoweringBuilder) -> str | None:
    """1 above the threshold, else 0."""
    count, element = prod(builder.shape(op.X)), builder.element(op.X)
    kernel = KernelBuilder([buffer_type([count], element)] * 2)
    out, source = kernel.buffers
    kind = _comparable(element)
    with kernel.loops([count]) as (index,):
        x = read_as(kernel, source, [index], element, kind)
        made = (x > float(op.threshold.value.data)).to(compute_type(element))
        kernel.write(made.value, out, [index], element)
    builder.call("binarizer", kernel, [builder.result(op.Y)], [builder.buffer(op.X)])
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
    shape, element = builder.shape(op.X), builder.element(op.X)
    columns = shape[-1] if shape else 1
    numbers = [
        np.full(1, plain, np.float32) if given is None else given
        for given, plain in ((numeric_values(op.offset), 0), (numeric_values(op.scale), 1))
    ]
    if any(len(each) not in (1, columns) for each in numbers):
        return f"{[len(each) for each in numbers]} offsets and scales for {columns} columns"
    kind = _comparable(element)
    constants = [builder.constant_buffer(each) for each in numbers]
    rows = prod(shape) // max(columns, 1)
    types = [buffer_type([rows, columns], each) for each in (builder.element(op.Y), element)]
    kernel = KernelBuilder([*types, *[buffer_type([len(each)], f32) for each in numbers]])
    out, source, *buffers = kernel.buffers
    with kernel.loops([rows, columns]) as (row, column):
        offset, scale = (
            read_as(kernel, buffer, [column if len(each) > 1 else kernel.index(0)], f32, kind)
            for buffer, each in zip(buffers, numbers, strict=True)
        )
        made = (read_as(kernel, source, [row, column], element, kind) - offset) * scale
        kernel.write(
            made.to(compute_type(builder.element(op.Y))).value, out, [row, column], builder.element(op.Y)
        )
    builder.call("scaler", kernel, [builder.result(op.Y)], [builder.buffer(op.X), *constants])
    return None


@lowers(NormalizerOp)
def normalizer(op: NormalizerOp, builder: LoweringBuilder) -> str | None:
    """Normalize rows by their maximum, L1 norm or L2 norm."""
    shape, element, result = builder.shape(op.X), builder.element(op.X), builder.element(op.Y)
    rows, columns = (1, *shape)[-2:]
    kind, norm = _comparable(element), op.norm.data
    kernel = KernelBuilder([buffer_type([rows, columns], result), buffer_type([rows, columns], element)])
    out, source = kernel.buffers
    with kernel.loops([rows]) as (row,):
        start = kernel.constant(-inf if norm == "MAX" else 0.0, kind)
        with kernel.reducing([columns], [start]) as ((column,), accumulators, results):
            x, total = read_as(kernel, source, [row, column], element, kind), Scalar(kernel, accumulators[0])
            match norm:
                case "MAX":
                    total = (x > total).select(x, total)
                case "L1":
                    total = total + x.abs()
                case _:
                    total = total + x * x
            results.append(total.value)
        size = Scalar(kernel, results[0])
        size = size.sqrt() if norm == "L2" else size
        # A norm of 0 divides by 1, so that rows of zeros stay zeros.
        size = size.equals(0.0).select(size.like(1.0), size)
        with kernel.loops([columns]) as (column,):
            x = read_as(kernel, source, [row, column], element, kind)
            kernel.write((x / size).to(compute_type(result)).value, out, [row, column], result)
    builder.call("normalizer", kernel, [builder.result(op.Y)], [builder.buffer(op.X)])
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
    kind = compute_type(element)
    rows = prod(shape) // max(columns, 1)
    imputed = builder.constant_buffer(values.astype(np.float64 if is_real else np.int64))
    sizes = [buffer_type([rows, columns], element)] * 2
    kernel = KernelBuilder([*sizes, buffer_type([len(values)], f64 if is_real else i64)])
    out, source, numbers = kernel.buffers
    with kernel.loops([rows, columns]) as (row, column):
        x = Scalar(kernel, kernel.read(source, [row, column], element))
        other = Scalar(kernel, kernel.load(numbers, [column if len(values) > 1 else kernel.index(0)]))
        is_other = x.differs(x) if is_real and isnan(replaced) else x.equals(replaced)
        kernel.write(is_other.select(other.to(kind), x).value, out, [row, column], element)
    builder.call("imputer", kernel, [builder.result(op.Y)], [builder.buffer(op.X), imputed])
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
    result = builder.element(op.Y)
    target = builder.result(op.Y)
    fill(target, rows * total, 0, builder)
    begin = 0
    for value, shape, width in zip(op.X, matrices, widths, strict=True):
        element = builder.element(value)
        kernel = KernelBuilder([buffer_type([rows, total], result), buffer_type(shape, element)])
        out, source = kernel.buffers
        with kernel.loops([rows, min(width, shape[1])]) as (row, column):
            x = read_as(kernel, source, [row, column], element, compute_type(result))
            kernel.write(x.value, out, [row, kernel.affine(column, 1, begin)], result)
        if min(width, shape[1]):
            builder.call("featurevectorizer", kernel, [target], [builder.buffer(value)])
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
    positions = builder.constant_buffer(
        np.array([first if each is None else each for each in only], np.int64)
    )
    counted = builder.constant_buffer(np.array([each is not None for each in only]))
    check_buffer = builder.allocate([2], i64)
    if not op.zeros.value.data:
        check_buffer = bounds_check(op, 0, 0, "{} elements are of no category, and zeros is 0", builder)
    types = [buffer_type([count, size], builder.element(op.Y)), buffer_type([2], i64)]
    types += [buffer_type([count], element), buffer_type([size], i64), buffer_type([size], i1)]
    kernel = KernelBuilder(types)
    out, lacking, source, known, counts = kernel.buffers
    with kernel.reducing([count], [kernel.constant(0, i64)]) as ((index,), missing, results):
        x = read_as(kernel, source, [index], element, kind)
        with kernel.reducing([size], [kernel.constant(0, i64)]) as ((category,), found, sums):
            same = x.equals(Scalar(kernel, kernel.load(known, [category])).to(kind))
            same = same & Scalar(kernel, kernel.load(counts, [category]))
            kernel.write(
                same.to(compute_type(builder.element(op.Y))).value,
                out,
                [index, category],
                builder.element(op.Y),
            )
            sums.append((Scalar(kernel, found[0]) + same.to(i64)).value)
        none = Scalar(kernel, sums[0]).equals(0).to(i64)
        results.append((Scalar(kernel, missing[0]) + none).value)
    store_count(kernel, results[0], lacking)
    builder.call(
        "onehotencoder",
        kernel,
        [builder.result(op.Y), check_buffer],
        [builder.buffer(op.X), positions, counted],
    )
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
    count, element, result = prod(builder.shape(op.X)), builder.element(op.X), builder.element(op.Y)
    last = len(table) - 1
    sizes = ((count, result), (count, element), (len(table), result))
    kernel = KernelBuilder([buffer_type([size], kind) for size, kind in sizes])
    out, source, entries = kernel.buffers
    with kernel.loops([count]) as (index,):
        x = read_as(kernel, source, [index], element, i64)
        is_inside = (x >= least) & (x <= least + last - 1)
        at = is_inside.select(x - least, x.like(last))
        kernel.store(kernel.load(entries, [at.to(INDEX).value]), out, [index])
    builder.call(
        "labelencoder", kernel, [builder.result(op.Y)], [builder.buffer(op.X), builder.constant_buffer(table)]
    )


def _search(op: LabelEncoderOp, ordered: Sequence[float], values: Array, builder: LoweringBuilder) -> None:
    """
    Map elements by binary search in sorted keys; the last values are the default, and perhaps that of NaN.

    The search has no branches: keys are padded to one less than a power of two, and each step adds a power of
    two to the number of keys below the element.
    """
    count, element, result = prod(builder.shape(op.X)), builder.element(op.X), builder.element(op.Y)
    kind, dtype = (i64, np.int64) if is_integer(element) else (f64, np.float64)
    size = len(ordered)
    steps = size.bit_length()
    largest = np.iinfo(np.int64).max if kind == i64 else np.inf
    table = np.full((1 << steps) - 1, largest, dtype)
    table[:size] = ordered
    types = [buffer_type([count], result), buffer_type([count], element)]
    kernel = KernelBuilder([*types, buffer_type([len(table)], kind), buffer_type([len(values)], result)])
    out, source, keys, made = kernel.buffers
    with kernel.loops([count]) as (index,):
        x = read_as(kernel, source, [index], element, kind)
        start = [kernel.constant(0, i64), kernel.constant(1 << steps - 1, i64)]
        with kernel.reducing([steps], start) as (_, carried, results):
            below, step = (Scalar(kernel, each) for each in carried)
            key = Scalar(kernel, kernel.load(keys, [(below + step - 1).to(INDEX).value]))
            results.append((below + (key < x).select(step, 0)).value)
            results.append(kernel.add(arith.ShRUIOp(step.value, kernel.constant(1, i64))))
        slot = Scalar(kernel, results[0]).minimum(size - 1)
        is_key = Scalar(kernel, kernel.load(keys, [slot.to(INDEX).value])).equals(x)
        at = is_key.select(slot, size)
        if len(values) > size + 1:
            at = x.differs(x).select(at.like(size + 1), at)
        kernel.store(kernel.load(made, [at.to(INDEX).value]), out, [index])
    buffers = [builder.buffer(op.X), builder.constant_buffer(table), builder.constant_buffer(values)]
    builder.call("labelencoder", kernel, [builder.result(op.Y)], buffers)


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
