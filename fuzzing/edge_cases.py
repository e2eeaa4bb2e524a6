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
from onnx import compose, helper

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
    data = template.data
    return tuple(_value_sets(next(iter(data.values())).dtype)) if data else ("nothing drawn",)


def instantiate(template: NodeTemplate, value_set: str) -> EdgeNode:
    """Fill the operands of a template from a value set, each operand starting at another value."""
    inputs = [
        _fill(each, value_set, index) if isinstance(each, DataOperand) else each
        for index, each in enumerate(template.inputs)
    ]
    constant = [index for index in range(len(inputs)) if index not in template.data]
    return EdgeNode(
        template.operator,
        inputs,
        template.attributes,
        template.outputs,
        template.opset,
        constant,
        template.domain,
    )


def joined(nodes: Sequence[EdgeNode]) -> onnx.ModelProto:
    """One model of all nodes, in the newest of their opsets; names of node 2 begin with `n2_`."""
    models = [
        compose.add_prefix(node.model(is_constant=False), f"n{index}_") for index, node in enumerate(nodes)
    ]
    whole = models[0]
    imports: dict[str, int] = {}
    for entry in (entry for model in models for entry in model.opset_import):
        imports[entry.domain] = max(entry.version, imports.get(entry.domain, 0))
    del whole.opset_import[:]
    whole.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in imports.items())
    for other in models[1:]:
        whole.graph.node.extend(other.graph.node)
        whole.graph.input.extend(other.graph.input)
        whole.graph.output.extend(other.graph.output)
        whole.graph.initializer.extend(other.graph.initializer)
    return whole


def _fill(data: DataOperand, value_set: str, iteration: int) -> Array:
    kinds = _value_sets(data.dtype)
    # An integer operand beside floats has other value sets.
    numbers = np.array(kinds.get(value_set, next(iter(kinds.values()))), object)
    return np.resize(np.roll(numbers, -iteration), data.shape).astype(data.dtype)


def variants(template: NodeTemplate) -> Iterator[NodeTemplate]:
    """Variants of a template: other element types, empty operands, rank 0; some may be invalid."""
    data = template.data
    if not data:
        return
    formals = onnx.defs.get_schema(template.operator, template.opset, template.domain).inputs
    named = {index: formals[min(index, len(formals) - 1)] for index in data}
    first = named[min(data)]
    for dtype in TYPES:
        if f"tensor({SPELLINGS.get(dtype.name, dtype.name)})" in first.types:
            same = [index for index in data if named[index].type_str == first.type_str]
            yield template.changed({index: replace(data[index], dtype=dtype) for index in same})
    yield template.changed({index: replace(each, shape=(0, *each.shape[1:])) for index, each in data.items()})
    yield template.changed({index: replace(each, shape=()) for index, each in data.items()})


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

CANCELLING = frozenset("AveragePool GRU LSTM RNN".split())
"""Sums and averages of narrow floats whose largest terms cancel, so that the order decides the rest."""

REFERENCE_DEVIATIONS: Mapping[str, str] = {
    "Adam": "gives doubles",
    "AveragePool": "takes NaN to be padding",
    "Cast": "casts what is out of range as the processor does",
    "CastLike": "casts what is out of range as the processor does",
    "Clip": "leaves infinities that have no bounds",
    "DFT": "transforms each part by itself",
    "Det": "gives doubles for bfloat16, and infinities where one is subtracted from another",
    "DynamicQuantizeLinear": "casts NaN as the processor does, and has a scale for zeros",
    "LabelEncoder": "does not find NaN",
    "LpPool": "takes NaN to be padding",
    "MaxPool": "finds too many windows between uneven pads",
    "Normalizer": "takes norms to be no less than 1e-30, and the greatest without sign",
    "OneHot": "multiplies values by 0 and 1",
    "QuantizeLinear": "casts what is out of range as the processor does",
    "Resize": "multiplies what has no weight, and clips",
    "STFT": "transforms each part by itself",
    "Scaler": "gives the type of its operand, of rank 1 at least",
    "ScatterElements": "keeps NaN out of extremes",
    "TopK": "takes NaN to be the greatest",
}
"""Known deviations of the reference evaluator, by operator."""


PARTIAL_DEVIATIONS: Mapping[str, tuple[Sequence[str], str]] = {
    "Adagrad": (("rank 0",), "gives a vector for a scalar"),
    "AffineGrid": (
        ("float16", "bfloat16", "float64", "infinity", "both infinities"),
        "gives float32, and multiplies infinities by rounding errors of 0",
    ),
    "DequantizeLinear": (("int32",), "subtracts no zero points of 32 bits"),
    "FeatureVectorizer": (("float64", "int32", "int64"), "keeps the type of its operands"),
    "Gelu": (("float64",), "computes the error function in 32 bits"),
    "GridSample": (("float64",), "interpolates at coordinates of 32 bits"),
    "HardSwish": (("float64",), "has 1/6 as a float32"),
    "LayerNormalization": (("float16",), "overflows where the operator computes in 32 bits"),
    "LinearClassifier": (("float64", "int32", "int64"), "gives scores of the type of its operand"),
    "LinearRegressor": (("float64", "int32", "int64"), "gives the type of its operand"),
    "Momentum": (("rank 0",), "gives a vector for a scalar"),
    "Pow": (("int32", "int64"), "casts what is out of range as the processor does"),
    "ReduceL2": (("int32", "uint32", "int64"), "overflows in squares"),
    "ReduceMean": (("int64",), "divides doubles"),
    "SVMClassifier": (("float64", "int32", "int64"), "gives scores of the type of its operand"),
    "SVMRegressor": (("float64", "int32", "int64"), "gives the type of its operand"),
    "TreeEnsembleRegressor": (("float64", "int32", "int64"), "gives the type of its operand"),
    "Unique": (("bfloat16",), "takes each NaN for another"),
}
"""Known deviations for some element types, value sets or ranks: these, and what the reference does."""


def deviates(template: NodeTemplate, value_set: str) -> bool:
    """Whether the reference evaluator is known to be wrong for a template and a value set."""
    where, _ = PARTIAL_DEVIATIONS.get(template.operator, ((), ""))
    operands = template.data.values()
    traits = {
        value_set,
        *(data.dtype.name for data in operands),
        *(f"rank {len(data.shape)}" for data in operands),
    }
    return template.operator in REFERENCE_DEVIATIONS or not traits.isdisjoint(where)


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
        wrong &= _differing(operator, expected, found, value_set).reshape(-1)
    positions = np.flatnonzero(wrong)
    if not positions.size:
        return ""
    first = int(positions[0])
    return f"{found.reshape(-1)[first]!s} at {first}, not {expected.reshape(-1)[first]!s}"


def _elements(array: Array) -> Array:
    return array.reshape(-1, 1)


def _differing(operator: str, expected: Array, found: Array, value_set: str) -> Array:
    """Mask of floats that differ by more than rounding error of the largest magnitude, or of 1."""
    if expected.dtype.itemsize < 4:
        expected, found = expected.astype(np.float16), found.astype(np.float16)
    with np.errstate(all="ignore"):
        wrong = differing(expected, found, 1.0)
    if value_set in OVERFLOWING:
        is_compared = operator not in CANCELLING or expected.dtype.itemsize > 2
        wrong &= np.isfinite(expected) & np.isfinite(found) & (np.abs(expected) < 1e3) & is_compared
    return wrong


def disagreements(template: NodeTemplate, kinds: Sequence[str] = ()) -> Iterator[str]:
    """Disagreements between constant propagation, native code and the reference evaluator, a line each."""
    session = None
    for value_set in kinds or value_sets(template):
        node = instantiate(template, value_set)
        about = f"{template.operator}, {value_set}"
        try:
            folded = node.folded()
        except XonncError as error:
            yield f"{about}: folding says: {error}"
            continue
        try:
            session = session or compile_native(node.model(is_constant=False), cache=False)
            native = [np.asarray(each) for each in session.run(None, node.feeds)]
        except XonncError as error:
            if folded is not None:
                yield f"{about}: folds, but native code says: {error}"
            continue
        others = {"folded": folded, "by the reference": _by_reference(node)}
        for what, values in others.items():
            if values is None or (what == "by the reference" and deviates(template, value_set)):
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
