"""Sums, products, extremes, bounds and functions of each number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from oracles.nvdla.affine import (
    Affine,
    Bound,
    Grid,
    Joined,
    Tabled,
    bounded,
)
from oracles.nvdla.arithmetic import Extreme, Product, Sloped
from oracles.nvdla.functions import FUNCTIONS, Shares, raised
from oracles.nvdla.network import (
    Attributes,
    Network,
    Operator,
    Unknown,
    Value,
)
from oracles.nvdla.normalization import Normalized
from oracles.nvdla.rounding import Array


def _add(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    if len(inputs) == 2 and all(here.constant(name) is None for name in inputs):
        groups, other = (here.reals(name) for name in inputs)
        groups, other = (groups, other) if isinstance(groups, Joined) else (other, groups)
        if isinstance(groups, Joined) and isinstance(other, Affine) and other.stored is not None:
            return groups.plus(other.stored)
    constants = [found.numbers for name in inputs if (found := here.constant(name)) is not None]
    computed = [here.affine(name) for name in inputs if here.constant(name) is None]
    # The sum is formed in the units of what lies in memory: the last of the operands that do.
    computed.sort(key=lambda one: one.stored is not None)
    found = computed[0]
    for numbers in constants:
        found = found.plus(numbers.reshape(-1).astype(np.float64))
    if len(computed) == 1:
        return found
    other = computed[1].stored
    if other is None or len(computed) > 2:
        raise Unknown(f"{inputs[0]}: a sum of several passes")
    return found.then(other)


def _mul(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    first, second = inputs if here.constant(inputs[0]) is None else (inputs[1], inputs[0])
    if here.constant(second) is None:
        a, b = here.stored(first), here.stored(second)
        if a.integers.ndim != b.integers.ndim or (a.integers.size, b.grid.zero) < (b.integers.size, 1):
            a, b = b, a
        return Product(a, b)
    return here.affine(first).times(here.number(second).reshape(-1).astype(np.float64))


def _sub(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    first, second = inputs
    if (constant := here.constant(second)) is not None:
        return here.affine(first).plus(-constant.numbers.reshape(-1).astype(np.float64))
    negated = here.affine(second).times(np.array([-1.0]))
    if (constant := here.constant(first)) is not None:
        return negated.plus(constant.numbers.reshape(-1).astype(np.float64))
    return negated.then(here.stored(first))


def _mean_of(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    if len(inputs) == 1:
        return here.value(inputs[0])
    if len(inputs) > 2:
        raise Unknown(f"{inputs[0]}: a mean of more than two")
    added = here.stored(inputs[1])
    halved = replace(added, grid=Grid(added.grid.scale / 2, added.grid.zero))
    return here.affine(inputs[0]).times(np.array([0.5])).then(halved)


def _extreme(here: Network, inputs: Sequence[str], *, is_greatest: bool) -> Value:
    constants = [found.numbers for name in inputs if (found := here.constant(name)) is not None]
    parts = [here.reals(name) for name in inputs if here.constant(name) is None]
    return parts[0] if len(inputs) == 1 else Extreme(parts, constants, is_greatest)


def _max(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    return _extreme(here, inputs, is_greatest=True)


def _min(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    return _extreme(here, inputs, is_greatest=False)


def _prelu(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    source, slopes = here.stored(inputs[0]), here.number(inputs[1]).astype(np.float64)
    if np.all(slopes == slopes.reshape(-1)[0]):
        alpha = float(slopes.reshape(-1)[0])
        return Tabled(source, lambda x: np.where(x > 0, x, alpha * x))
    spread = np.broadcast_to(slopes, source.integers.shape)
    first = spread[(slice(0, 1), slice(None), *(slice(0, 1),) * (spread.ndim - 2))]
    if np.any(spread != first):
        raise Unknown(f"{inputs[1]}: the reference needs one slope for each channel")
    return Sloped(source, first.reshape(-1))


def _power(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    exponent = float(here.number(inputs[1]).reshape(()))
    return Tabled(here.stored(inputs[0]), lambda x: raised(x, exponent))


def _batch_normalization(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, shift, mean, variance = (here.number(name).astype(np.float64) for name in inputs[1:])
    factor = scale / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    return here.affine(inputs[0]).times(factor).plus(shift - factor * mean)


def _normalization(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    size: int = attributes["size"]
    scale = attributes.get("alpha", 1e-4) / size
    bias, beta = attributes.get("bias", 1.0), attributes.get("beta", 0.75)
    return Normalized(here.stored(inputs[0]), size, scale, bias, beta)


def _function(name: str) -> Operator:
    """The operator that looks a function up."""

    def look_up(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
        def result(numbers: Array) -> Array:
            with np.errstate(all="ignore"):
                return FUNCTIONS[name](numbers, attributes)

        return Tabled(here.stored(inputs[0]), result)

    return look_up


def _relu(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    return bounded(here.reals(inputs[0]), Bound(0.0, True))


def _clip(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    found = here.reals(inputs[0])
    for name, is_least in zip(inputs[1:], (True, False), strict=False):
        if name:
            found = bounded(found, Bound(float(here.number(name).reshape(())), is_least))
    return found


def _softmax(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    return Shares(here.stored(inputs[0]))


OPERATORS: Mapping[str, Operator] = {
    "Add": _add,
    "BatchNormalization": _batch_normalization,
    "Clip": _clip,
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
