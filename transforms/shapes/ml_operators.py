"""Shapes of ai.onnx.ml operators; rows are observations."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute

from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    InferenceContext,
    Shape,
    Types,
    infers,
    shown,
    typed,
)


@infers("Imputer", "Normalizer", "Scaler")
def each_feature(ctx: InferenceContext) -> Types:
    """The shape of the operand."""
    data = ctx.shape(0)
    return [None] if data is None else typed(data, ctx.result_element())


@infers("ArrayFeatureExtractor")
def array_feature_extractor(ctx: InferenceContext) -> Types:
    """[rows, indices]; a vector is one row."""
    data, index_shape = ctx.shape(0), ctx.shape(1)
    if data is None or not data or index_shape is None:
        return [None]
    count = UNKNOWN if UNKNOWN in index_shape else prod(index_shape)
    return ctx.ranked((*(data[:-1] or (1,)), count))


@infers("FeatureVectorizer")
def feature_vectorizer(ctx: InferenceContext) -> Types:
    """[rows, sum of `inputdimensions`]."""
    shapes = ctx.shapes()
    if shapes is None or any(len(shape) not in (1, 2) for shape in shapes):
        return [None]
    widths = ctx.integers("inputdimensions") or tuple((*shape, 1)[1] for shape in shapes)
    rows = next((shape[0] for shape in shapes if shape[0] != UNKNOWN), UNKNOWN)
    total = UNKNOWN if UNKNOWN in widths else sum(widths)
    return typed((rows, total), ctx.result_element())


@infers("LinearRegressor", "SVMRegressor", "TreeEnsemble", "TreeEnsembleRegressor")
def regressor(ctx: InferenceContext) -> Types:
    """[rows, targets]."""
    name = "targets" if ctx.name == "LinearRegressor" else "n_targets"
    rows = _rows(ctx)
    return [None] if rows is None else typed((rows, ctx.integer(name, 1)), ctx.result_element())


@infers("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier")
def classifier(ctx: InferenceContext) -> Types:
    """[rows] labels and [rows, classes] scores."""
    rows = _rows(ctx)
    if rows is None:
        return [None, None]
    names = ("classlabels_ints", "classlabels_int64s", "classlabels_strings")
    counts = [len(labels) for name in names if isinstance(labels := ctx.property(name), tuple)]
    scores = max(counts, default=UNKNOWN)
    if scores == 1:
        # Tree ensembles return two scores even for one class.
        scores = 2 if ctx.name == "TreeEnsembleClassifier" else UNKNOWN
    if ctx.name == "SVMClassifier" and scores > 2 and _votes(ctx):
        scores = scores * (scores - 1) // 2
    label: Attribute | None = ctx.result_element(0)
    return [*typed((rows,), label or i64), *typed((rows, scores), f32)]


def _votes(ctx: InferenceContext) -> bool:
    """Return whether an SVM returns one score per pair of classes instead of one per class."""
    probabilities, vectors = ctx.property("prob_a"), ctx.integers("vectors_per_class")
    return not probabilities and sum(vectors or ()) > 0


@infers("DictVectorizer")
def dict_vectorizer(ctx: InferenceContext) -> Types:
    """[1, keys], as in onnxruntime."""
    keys = ctx.property("int64_vocabulary") or ctx.property("string_vocabulary")
    return typed((1, len(keys)), ctx.result_element()) if isinstance(keys, tuple) else [None]


@infers("StringNormalizer")
def string_normalizer(ctx: InferenceContext) -> Types:
    """The number of strings, unless stop words may remove some."""
    shape = ctx.shape(0)
    if shape is None:
        return [None]
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] not in (1, UNKNOWN)):
        raise ctx.fail(f"X of shape {shown(shape)} must be [C] or [1, C]")
    if ctx.property("stopwords"):
        shape = (*shape[:-1], UNKNOWN)
    return typed(shape, ctx.result_element())


@infers("TfIdfVectorizer")
def tf_idf_vectorizer(ctx: InferenceContext) -> Types:
    """[rows, n-grams]."""
    shape, index_shape = ctx.shape(0), ctx.integers("ngram_indexes")
    if shape is None or index_shape is None or len(shape) > 2:
        return [None]
    return typed((*shape[:-1], max(index_shape, default=-1) + 1), f32)


def _rows(ctx: InferenceContext) -> int | None:
    """Return the number of rows; 1 without a row axis."""
    data: Shape | None = ctx.shape(0)
    if data is None or len(data) > 2:
        return None
    return data[0] if len(data) == 2 else 1
