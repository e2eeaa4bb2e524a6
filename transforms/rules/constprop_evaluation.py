"""
Constant folding by the ONNX reference evaluator, for every operator without a rule of its own.

Random operators are never folded, nor is DequantizeLinear, which marks the quantized regions of a network;
QuantizeLinear has a rule of its own. `docs/folding.md` lists the other exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import prod

import numpy as np
from xdsl.ir import Attribute, Operation
from xdsl.irdl import VariadicDef

from xonnc.dialects.onnx.op import OnnxOp, RandomEffect
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp, MaxPoolSingleOutOp
from xonnc.dialects.onnx.registry import op_classes
from xonnc.dialects.onnx.types import NONE, element_type, numpy_dtype, static_shape
from xonnc.errors import XonncError
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import ONNX
from xonnc.rewriting.patterns import (
    AnyValue,
    Array,
    MatchFailure,
    MaybeConst,
    Rest,
    RewriteResult,
    Template,
    compute,
    root,
)
from xonnc.rewriting.rules import Rule, RuleSet, rule, rules
from xonnc.transforms.constant_evaluation import (
    ConstantValue,
    captured,
    constant_value,
    program_of_op,
    result_parts,
)
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.folding_limits import MAX_BYTES
from xonnc.transforms.rules.reference_faults import fault

MAX_WORK = 1 << 22
"""Maximum number of elements that the reference may visit one by one, at a few microseconds each."""

KEPT = frozenset({"QuantizeLinear", "DequantizeLinear"})
"""Operators that are kept although they could be folded."""

NOT_HERE = KEPT | {"Constant", "Gradient", "If", "Loop", "Optional", "SequenceConstruct", "SequenceEmpty"}
"""Operators without a rule here: constants, never folded, or folded by rules in other modules."""

OF_SEQUENCES = frozenset(
    {
        "ConcatFromSequence",
        "Identity",
        "OptionalGetElement",
        "OptionalHasElement",
        "SequenceAt",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SequenceMap",
        "SplitToSequence",
    }
)
"""Operators with sequence or optional operands, for which there is no constant."""

GROWING = frozenset(
    {
        "AffineGrid",
        "BlackmanWindow",
        "CenterCropPad",
        "Col2Im",
        "HammingWindow",
        "HannWindow",
        "MaxUnpool",
        "MelWeightMatrix",
        "Resize",
        "Upsample",
    }
)
"""Operators whose results may be much larger than their operands: the size is checked first."""

MULTIPLYING = frozenset(
    {
        "Attention",
        "CausalConvWithState",
        "Conv",
        "ConvInteger",
        "ConvTranspose",
        "DFT",
        "DeformConv",
        "Einsum",
        "FlexAttention",
        "GRU",
        "LSTM",
        "LinearAttention",
        "QLinearConv",
        "QLinearMatMul",
        "RNN",
    }
)
"""Operators with matrix products or recurrences: a result element depends on a whole row of weights."""

OWN = (BatchNormalizationInferenceModeOp, MaxPoolSingleOutOp)
"""Ops of the compiler that are special cases of an ONNX operator."""


MOVING = frozenset(
    {
        "ArrayFeatureExtractor",
        "BitCast",
        "Cast",
        "CastLike",
        "CenterCropPad",
        "Concat",
        "ConcatFromSequence",
        "Identity",
        "OptionalGetElement",
        "OptionalHasElement",
        "Pad",
        "Reshape",
        "SequenceAt",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "Slice",
        "Split",
        "SplitToSequence",
        "TensorScatter",
        "Tile",
    }
)
"""Operators that only move or convert elements: the reference handles NaN and infinities correctly."""


def rules_but(elsewhere: Iterable[str]) -> RuleSet:
    """Return a rule for every deterministic operator that has no rule `elsewhere`."""
    return _rules(frozenset(elsewhere))


@cache
def _rules(elsewhere: frozenset[str]) -> RuleSet:
    found: dict[str, Rule] = {}
    for kind in op_classes():
        name = kind.name.removeprefix("onnx.")
        if kind.has_trait(RandomEffect) or name in elsewhere:
            continue
        if kind in OWN or (kind.OP_TYPE and kind.OP_TYPE not in NOT_HERE):
            found[f"{name}ofConst"] = _rule(kind)
    return rules(**found)


def _rule(kind: type[OnnxOp]) -> Rule:
    template = Template(ONNX, kind.name.removeprefix("onnx."))
    bound = AnyValue if kind.OP_TYPE in OF_SEQUENCES else MaybeConst
    operands = [
        Rest(name) if isinstance(constraint, VariadicDef) else bound(name)
        for name, constraint in kind.get_irdl_definition().operands
    ]
    # Lowest priority: rules for this operator in particular come first.
    return rule(template(*operands), compute(evaluated, root), bonus=-100)


def evaluated(root: Operation) -> RewriteResult:
    """The result of the reference evaluator"""
    inputs = [value for value in dict.fromkeys(root.operands) if value.type != NONE]
    constants = [found for value in inputs if (found := constant_value(value)) is not None]
    if len(constants) < len(inputs):
        return MatchFailure("an operand is not constant")
    if not all(isinstance(value.owner, ConstantOp) or value.type == NONE for value in captured(root)):
        return MatchFailure("a value that its body reads is no constant")
    refusal = fault(root) or _too_much(root, constants) or refusal_inside(root)
    if refusal is not None:
        return MatchFailure(refusal)
    if (unsure := _not_finite(root, constants)) is not None:
        return unsure
    try:
        found = program_of_op(root, inputs)([each.value for each in constants])
    except XonncError as error:
        return MatchFailure(str(error))
    return _not_finite(root, [ConstantValue(each) for each in found]) or result_parts(root, found)


def _not_finite(op: Operation, values: Sequence[ConstantValue]) -> MatchFailure | None:
    """
    Return why values with NaN or infinities are not left to the reference, or `None`.

    It may compute inf · 0 or inf - inf, or overflow, where ONNX does not.
    """
    if _operator(op) in MOVING:
        return None
    arrays = [array for each in values for array in each.arrays]
    if all(bool(np.all(np.isfinite(array))) for array in arrays if is_float(array.dtype)):
        return None
    return MatchFailure("the reference evaluator is not used for NaN and infinities")


def _too_much(op: Operation, operands: Sequence[ConstantValue]) -> str | None:
    """Return why folding would take too much time or memory, or `None`."""
    arrays = [array for each in operands for array in each.arrays]
    sizes = [_size(result.type) for result in op.results if result.type != NONE]
    if any(size is None for size, _ in sizes) and _operator(op) in GROWING:
        return "the size of the result is not known"
    made = sum(elements or 0 for elements, _ in sizes)
    taken = sum(nbytes for _, nbytes in sizes) + sum(array.nbytes for array in arrays)
    if taken > MAX_BYTES:
        return f"operands and results take {taken} bytes, {MAX_BYTES} are allowed"
    work = sum(array.size for array in arrays) + made * _terms(op, arrays)
    return None if work <= MAX_WORK else f"{work} elements to go through, {MAX_WORK} are allowed"


def _size(type_: Attribute) -> tuple[int | None, int]:
    """Return elements and bytes of a result, as far as known."""
    shape, element = static_shape(type_), element_type(type_)
    if shape is None or element is None:
        return None, 0
    return prod(shape), prod(shape) * numpy_dtype(element).itemsize


def _terms(op: Operation, arrays: Sequence[Array]) -> int:
    """Estimate the number of input elements per result element: a window, or a row of weights."""
    kernel = decode(op.properties.get("kernel_shape"))
    window = prod(size for size in kernel if isinstance(size, int)) if isinstance(kernel, tuple) else 1
    if _operator(op) not in MULTIPLYING:
        return window
    return max(
        (array.size // array.shape[0] for array in arrays[1:] if array.ndim > 1 and array.size),
        default=window,
    )


def _operator(op: Operation) -> str:
    return op.OP_TYPE if isinstance(op, OnnxOp) else ""


def refusal_inside(op: Operation) -> str | None:
    """Return why an op, or an op nested in it, must not be folded, or `None`."""
    for inner in op.walk():
        if inner.has_trait(RandomEffect):
            return f"{inner.name} draws random numbers"
        if _operator(inner) in KEPT:
            return f"{inner.name} stays"
    return None
