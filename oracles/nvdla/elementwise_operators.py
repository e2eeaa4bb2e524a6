"""Reference of elementwise operators: sums, products, maxima, clamps and unary functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from oracles.nvdla.arithmetic import ChannelwisePRelu, ElementwiseExtremum, ElementwiseProduct
from oracles.nvdla.evaluation import (
    Attributes,
    Evaluation,
    Operator,
    UnsupportedOperator,
    Value,
)
from oracles.nvdla.fixed_point import Array
from oracles.nvdla.lrn import LrnLookup
from oracles.nvdla.requantization import (
    Affine,
    ClampBound,
    Concatenated,
    QuantizationParameters,
    TableLookup,
    clamped,
)
from oracles.nvdla.sums_lookup import SumsLookup
from oracles.nvdla.unary_functions import FUNCTIONS, EmulatedSoftmax, power


def _expanded(operands: Sequence[Affine]) -> list[Affine]:
    """
    Expand operands to the sizes of the result: the largest if none has those, and all but those with one
    number per channel, which the SDP broadcasts.
    """
    sizes = np.broadcast_shapes(*(one.source.shape for one in operands))
    by_channel = (1, *sizes[1:2], *(1,) * (len(sizes) - 2))
    result = list(operands)
    if all(one.source.shape != sizes for one in operands):
        index = max(range(len(operands)), key=lambda at: operands[at].source.size)
        result[index] = _expanded_to(sizes, result[index])
    return [one if one.source.shape in (sizes, by_channel) else _expanded_to(sizes, one) for one in result]


def _expanded_to(sizes: Sequence[int], operand: Affine) -> Affine:
    if operand.stored is None:
        raise UnsupportedOperator("the reference expands stored integers")
    return Affine.of(replace(operand.stored, integers=np.broadcast_to(operand.source, sizes)))


def _add(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    if len(inputs) == 2 and all(here.constant(name) is None for name in inputs):
        groups, other = (here.reals(name) for name in inputs)
        groups, other = (groups, other) if isinstance(groups, Concatenated) else (other, groups)
        if isinstance(groups, Concatenated) and isinstance(other, Affine) and other.stored is not None:
            return groups.plus(other.stored)
        for part, beside in ((groups, other), (other, groups)):
            if isinstance(part, ElementwiseProduct) and isinstance(beside, Affine):
                return replace(part, added=beside.stored)
    constants = [result.numbers for name in inputs if (result := here.constant(name)) is not None]
    computed = _expanded([here.affine(name) for name in inputs if here.constant(name) is None])
    # The sum is formed in the units of what lies in memory: the last of the operands that do, or the one with
    # one position.
    size = max(one.source.size for one in computed)
    computed.sort(key=lambda one: (one.source.size < size, one.stored is not None))
    result = computed[0]
    for numbers in constants:
        result = result.plus(numbers.reshape(-1).astype(np.float64))
    if len(computed) == 1:
        return result
    other = computed[1].stored
    if other is None or len(computed) > 2:
        raise UnsupportedOperator(f"{inputs[0]}: a sum of several passes")
    return result.then(other)


def _mul(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    first, second = inputs if here.constant(inputs[0]) is None else (inputs[1], inputs[0])
    if here.constant(second) is None:
        a, b = (one.stored for one in _expanded([here.affine(first), here.affine(second)]))
        if a is None or b is None:
            raise UnsupportedOperator(f"{first}: the reference multiplies stored integers")
        if a.integers.ndim != b.integers.ndim or (a.integers.size, b.qparams.zero_point) < (
            b.integers.size,
            1,
        ):
            a, b = b, a
        return ElementwiseProduct(a, b)
    return here.affine(first).times(here.number(second).reshape(-1).astype(np.float64))


def _div(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    first, second = inputs
    if (constant := here.constant(first)) is not None:
        number = float(constant.numbers.reshape(()))
        return TableLookup(here.stored(second), lambda x: number * power(x, -1.0))
    return here.affine(first).times(1 / here.number(second).reshape(-1).astype(np.float64))


def _sub(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    first, second = inputs
    if (constant := here.constant(second)) is not None:
        return here.affine(first).plus(-constant.numbers.reshape(-1).astype(np.float64))
    if (constant := here.constant(first)) is not None:
        negated = here.affine(second).times(np.array([-1.0]))
        return negated.plus(constant.numbers.reshape(-1).astype(np.float64))
    subtrahend, minuend = _expanded([here.affine(second), here.affine(first)])
    if minuend.stored is None:
        raise UnsupportedOperator(f"{first}: the reference subtracts from stored integers")
    return subtrahend.times(np.array([-1.0])).then(minuend.stored)


def _mean_of(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    if len(inputs) == 1:
        return here.value(inputs[0])
    if len(inputs) > 2:
        raise UnsupportedOperator(f"{inputs[0]}: a mean of more than two")
    added = here.stored(inputs[1])
    halved = replace(added, qparams=QuantizationParameters(added.qparams.scale / 2, added.qparams.zero_point))
    return here.affine(inputs[0]).times(np.array([0.5])).then(halved)


def _extreme(here: Evaluation, inputs: Sequence[str], *, is_maximum: bool) -> Value:
    constants = [found.numbers for name in inputs if (found := here.constant(name)) is not None]
    parts = [here.reals(name) for name in inputs if here.constant(name) is None]
    return parts[0] if len(inputs) == 1 else ElementwiseExtremum(parts, constants, is_maximum)


def _max(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    return _extreme(here, inputs, is_maximum=True)


def _min(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    return _extreme(here, inputs, is_maximum=False)


def _prelu(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    source, slopes = here.stored(inputs[0]), here.number(inputs[1]).astype(np.float64)
    if np.all(slopes == slopes.reshape(-1)[0]):
        alpha = float(slopes.reshape(-1)[0])
        return TableLookup(source, lambda x: np.where(x > 0, x, alpha * x))
    spread = np.broadcast_to(slopes, source.integers.shape)
    first = spread[(slice(0, 1), slice(None), *(slice(0, 1),) * (spread.ndim - 2))]
    if np.any(spread != first):
        raise UnsupportedOperator(f"{inputs[1]}: the reference needs one slope for each channel")
    return ChannelwisePRelu(source, first.reshape(-1))


def _power(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    exponent = float(here.number(inputs[1]).reshape(()))
    return TableLookup(here.stored(inputs[0]), lambda x: power(x, exponent))


def _batch_normalization(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, shift, mean, variance = (here.number(name).astype(np.float64) for name in inputs[1:])
    factor = scale / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    return here.affine(inputs[0]).times(factor).plus(shift - factor * mean)


def _normalization(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    size: int = attributes["size"]
    scale = attributes.get("alpha", 1e-4) / size
    bias, beta = attributes.get("bias", 1.0), attributes.get("beta", 0.75)
    return LrnLookup(here.stored(inputs[0]), size, scale, bias, beta)


def _function(name: str) -> Operator:
    """Return the operator that tabulates a function."""

    def look_up(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
        def result(numbers: Array) -> Array:
            with np.errstate(all="ignore"):
                return FUNCTIONS[name](numbers, attributes)

        found = here.reals(inputs[0])
        if isinstance(found, Concatenated):
            parts = [SumsLookup(part, result) for part in found.parts if isinstance(part, Affine)]
            return replace(found, parts=parts)
        if isinstance(found, Affine) and found.is_fine:
            return SumsLookup(found, result)
        return TableLookup(here.stored(inputs[0]), result)

    return look_up


def _relu(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    return clamped(here.reals(inputs[0]), ClampBound(0.0, True))


def _clip(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    result = here.reals(inputs[0])
    for name, is_minimum in zip(inputs[1:], (True, False), strict=False):
        if name:
            result = clamped(result, ClampBound(float(here.number(name).reshape(())), is_minimum))
    return result


def _softmax(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    return EmulatedSoftmax(here.stored(inputs[0]))


OPERATORS: Mapping[str, Operator] = {
    "Add": _add,
    "BatchNormalization": _batch_normalization,
    "Clip": _clip,
    "Div": _div,
    "LRN": _normalization,
    "Max": _max,
    "Mean": _mean_of,
    "Min": _min,
    "Mul": _mul,
    "PRelu": _prelu,
    "Pow": _power,
    "Relu": _relu,
    "Softmax": _softmax,
    "Sub": _sub,
    "Sum": _add,
    **{name: _function(name) for name in FUNCTIONS},
}
