"""
Every operator on edge values: NaN, infinities, signed zeros, denormals, integer limits, empty tensors.

The results of constant propagation, native code and the reference evaluator are compared; C source is covered
by its own test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import onnx

from xonnc.errors import XonncError
from xonnc.fuzzing.edge_templates import DataOperand, NodeTemplate
from xonnc.fuzzing.edge_values import EdgeNode, is_same
from xonnc.fuzzing.model_builder import SPELLINGS
from xonnc.fuzzing.random_models import Array
from xonnc.model_check import check_model
from xonnc.native import compile_native
from xonnc.runtime.verification.reference_engines import Engine
from xonnc.runtime.verification.tolerance import differing

NAN, INF = float("nan"), float("inf")

ORDINARY = (0.5, -1.0, 1.5, 2.0, -0.25, 3.0, -2.5, 0.75)

TYPES = tuple(
    np.dtype(each)
    for each in (np.float16, np.float64, ml_dtypes.bfloat16, np.int8, np.uint8, np.int32, np.uint32, np.int64)
)
"""Further element types for each template."""


FLOATS = {"bfloat16": (127, 7), "float16": (15, 10), "float32": (127, 23), "float64": (1023, 52)}
"""Largest exponent and fraction bits of each float type."""


def _value_sets(dtype: np.dtype[Any]) -> Mapping[str, Sequence[float]]:
    """Named sets of edge values of a type; they are repeated to fill a tensor."""
    if dtype.kind == "b":
        return {"truths": (1, 0, 0, 1, 1)}
    if dtype.kind in "iu" or dtype.name in ("int4", "uint4"):
        limits = ml_dtypes.iinfo(dtype)
        least, most = int(limits.min), int(limits.max)
        ends = (least, most, 0, 1, most - 1, least + 1, 7, -1 if least else 3, 2)
        return {"extremes": ends, "zeros": (0,), "greatest": (most,), "least": (least,)}
    exponent, bits = FLOATS[dtype.name]
    most, tiny, least = (
        (2.0 - 2.0**-bits) * 2.0**exponent,
        2.0 ** (1 - exponent),
        2.0 ** (1 - exponent - bits),
    )
    return {
        "edges": (*(NAN, INF, -INF, -0.0, 0, least, -tiny / 2, most, -most), *(1, -1, 0.5, -0.5, 2.5, 8.25)),
        "not a number": (NAN, *ORDINARY),
        "infinity": (*ORDINARY[:3], INF, *ORDINARY[3:]),
        "minus infinity": (*ORDINARY[:5], -INF, *ORDINARY[5:]),
        "both infinities": (INF, *ORDINARY[:5], -INF),
        "zeros": (0, -0.0, -0.0),
        "minus zero": (-0.0,),
        "denormals": (least, -least, tiny / 2, -tiny / 2, tiny, 0, -tiny),
        "extremes": (most, -most, 1, most / 2, -1),
        "ties": (0.5, 1.5, -0.5, 2.5, -1.5, -2.5, 3.5),
    }


def value_sets(template: NodeTemplate) -> Sequence[str]:
    """Names of the value sets for a template."""
    held = template.data
    return tuple(_value_sets(next(iter(held.values())).dtype)) if held else ("nothing drawn",)


def instantiate(template: NodeTemplate, value_set: str) -> EdgeNode:
    """Fill the operands of a template from a value set, each operand starting at another value."""
    inputs = [
        _fill(each, value_set, place) if isinstance(each, DataOperand) else each
        for place, each in enumerate(template.inputs)
    ]
    constant = [place for place in range(len(inputs)) if place not in template.data]
    return EdgeNode(
        template.operator,
        inputs,
        template.attributes,
        template.outputs,
        template.opset,
        constant,
        template.domain,
    )


def _fill(data: DataOperand, value_set: str, turn: int) -> Array:
    kinds = _value_sets(data.dtype)
    # An integer operand beside floats has other value sets.
    numbers = np.array(kinds.get(value_set, next(iter(kinds.values()))), object)
    return np.resize(np.roll(numbers, -turn), data.shape).astype(data.dtype)


def variants(template: NodeTemplate) -> Iterator[NodeTemplate]:
    """Variants of a template: other element types, empty operands, rank 0; some may be invalid."""
    held = template.data
    if not held:
        return
    formals = onnx.defs.get_schema(template.operator, template.opset, template.domain).inputs
    named = {place: formals[min(place, len(formals) - 1)] for place in held}
    first = named[min(held)]
    for dtype in TYPES:
        if f"tensor({SPELLINGS.get(dtype.name, dtype.name)})" in first.types:
            same = [place for place in held if named[place].type_str == first.type_str]
            yield template.changed({place: replace(held[place], dtype=dtype) for place in same})
    yield template.changed({place: replace(each, shape=(0, *each.shape[1:])) for place, each in held.items()})
    yield template.changed({place: replace(each, shape=()) for place, each in held.items()})


def is_valid(template: NodeTemplate) -> bool:
    """Whether the model checker accepts a template."""
    return not check_model(instantiate(template, value_sets(template)[0]).model(is_constant=False))


APPROXIMATE = frozenset(
    """Acosh Adagrad Adam AffineGrid Asinh Atanh Attention AveragePool BatchNormalization CausalConvWithState
    Celu Col2Im Conv ConvTranspose Cosh CumProd CumSum DFT DeformConv Det Einsum Elu Erf Exp FlexAttention GRU
    Gelu Gemm GlobalAveragePool GlobalLpPool GridSample GroupNormalization HardSigmoid HardSwish
    InstanceNormalization LRN LSTM LayerNormalization LinearAttention LinearClassifier LinearRegressor Log
    LogSoftmax LpNormalization LpPool MatMul Mean MeanVarianceNormalization MelWeightMatrix Mish Momentum
    NegativeLogLikelihoodLoss Normalizer Pow RMSNormalization RNN ReduceL1 ReduceL2 ReduceLogSum
    ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare Resize RoiAlign RotaryEmbedding STFT
    SVMClassifier SVMRegressor Selu Sigmoid Sinh Softmax SoftmaxCrossEntropyLoss Softplus Sum SwiGLU Swish
    Tanh TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor Upsample""".split()
)
"""
Sums and approximated functions: results may differ by rounding error, in the sign of zero, and in whether
intermediate values overflow.
"""

EITHER_ZERO = frozenset("GlobalMaxPool MaxPool ReduceMax ReduceMin".split())
"""Minimum and maximum over many elements, which may return either of two signed zeros."""

OVERFLOWING = ("edges", "extremes")
"""Value sets whose sums overflow."""

REFERENCE_DEVIATIONS: Mapping[str, str] = {
    "Adam": "gives doubles",
    "AveragePool": "takes NaN to be padding",
    "Cast": "casts what is out of range as the processor does",
    "CastLike": "casts what is out of range as the processor does",
    "Clip": "leaves infinities that have no bounds",
    "DFT": "transforms each part by itself",
    "Det": "gives doubles for bfloat16, and infinities where one is subtracted from another",
    "DynamicQuantizeLinear": "casts NaN as the processor does, and has a scale for zeros",
    "LRN": "leaves the sum out",
    "LabelEncoder": "does not find NaN",
    "LogSoftmax": "takes logarithms of shares that are too small",
    "LpNormalization": "adds numbers with their signs for the norm 1",
    "LpPool": "takes NaN to be padding",
    "MaxPool": "finds too many windows between uneven pads",
    "Normalizer": "takes norms to be no less than 1e-30, and the greatest without sign",
    "OneHot": "multiplies values by 0 and 1",
    "QuantizeLinear": "casts what is out of range as the processor does",
    "Resize": "multiplies what has no weight, and clips",
    "STFT": "transforms each part by itself",
    "ScatterElements": "keeps NaN out of extremes",
    "TopK": "takes NaN to be the greatest",
}
"""Known deviations of the reference evaluator, by operator."""


def difference(operator: str, value_set: str, expected: Array, found: Array, *, is_exact: bool = True) -> str:
    """
    Describe how two results of an operator differ beyond the tolerance; empty if they do not.

    Unless `is_exact`, rounding errors and signs of zeros are ignored.
    """
    is_rounded = operator in APPROXIMATE or not is_exact
    if is_same(expected, found):
        return ""
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return f"{found.dtype}{list(found.shape)}, not {expected.dtype}{list(expected.shape)}"
    wrong = np.array([not is_same(*each) for each in zip(*map(_elements, (expected, found)), strict=True)])
    if operator in EITHER_ZERO or is_rounded:
        wrong &= ~((_elements(expected) == 0) & (_elements(found) == 0)).reshape(-1)
    if is_rounded and expected.dtype.name in FLOATS:
        wrong &= _differing(expected, found, value_set).reshape(-1)
    places = np.flatnonzero(wrong)
    if not places.size:
        return ""
    first = int(places[0])
    return f"{found.reshape(-1)[first]!s} at {first}, not {expected.reshape(-1)[first]!s}"


def _elements(array: Array) -> Array:
    return array.reshape(-1, 1)


def _differing(expected: Array, found: Array, value_set: str) -> Array:
    """Mask of floats that differ by more than rounding error of the largest magnitude, or of 1."""
    if expected.dtype.itemsize < 4:
        expected, found = expected.astype(np.float16), found.astype(np.float16)
    with np.errstate(all="ignore"):
        wrong = differing(expected, found, 1.0)
    if value_set in OVERFLOWING:
        wrong &= np.isfinite(expected) & np.isfinite(found) & (np.abs(expected) < 1e3)
    return wrong


def disagreements(template: NodeTemplate, kinds: Sequence[str] = ()) -> Iterator[str]:
    """Disagreements between constant propagation, native code and the reference evaluator, a line each."""
    session = None
    for value_set in kinds or value_sets(template):
        node = instantiate(template, value_set)
        about = f"{template.operator}, {value_set}"
        folded = node.folded()
        try:
            session = session or compile_native(node.model(is_constant=False), cache=False)
            native = [np.asarray(each) for each in session.run(None, node.feeds)]
        except XonncError as error:
            if folded is not None:
                yield f"{about}: folds, but native code says: {error}"
            continue
        others = {"folded": folded, "by the reference": _by_reference(node)}
        for what, values in others.items():
            if values is None or (what == "by the reference" and template.operator in REFERENCE_DEVIATIONS):
                continue
            for number, (expected, found) in enumerate(zip(values, native, strict=True)):
                wrong = difference(template.operator, value_set, expected, found, is_exact=what == "folded")
                if wrong:
                    yield f"{about}: native code gives {wrong}, which is {what}, for output {number}"


def _by_reference(node: EdgeNode) -> list[Array] | None:
    """Outputs of the reference evaluator, or `None` if it does not run the node."""
    try:
        return list(Engine(node.model(is_constant=False), by_reference=True).run(node.feeds).values())
    except XonncError:
        return None
