"""The greatest and the mean of windows, and sums over axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log2, prod

import numpy as np

from oracles.nvdla.affine import (
    Affine,
    Grid,
    Moved,
)
from oracles.nvdla.network import (
    LARGEST,
    Attributes,
    Network,
    Operator,
    Unknown,
    Value,
)
from oracles.nvdla.products import products, window
from oracles.nvdla.rounding import Array, Integers
from oracles.nvdla.windows import (
    LARGEST_POOL,
    averaged,
    counted,
    everywhere,
    greatest,
)


def _max_pool(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    ceil = bool(attributes.get("ceil_mode", 0))

    def move(images: Integers) -> Integers:
        return greatest(images, window(attributes, attributes["kernel_shape"], images.shape[2:]), ceil=ceil)

    return Moved(here.reals(inputs[0]), move)


def _global_max_pool(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    return Moved(here.reals(inputs[0]), lambda images: images.max(axis=(2, 3), keepdims=True))


def _average_pool(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    source = here.stored(inputs[0])
    sizes = source.integers.shape[2:]
    frame, ceil = window(attributes, attributes["kernel_shape"], sizes), bool(attributes.get("ceil_mode", 0))
    if frame.kernel == tuple(sizes) and not any(frame.pads):
        return _global_average_pool(here, inputs, attributes)
    with_pads = bool(attributes.get("count_include_pad", 0))
    divided = counted(sizes, frame, ceil=ceil, with_pads=with_pads)
    means = averaged(source.integers, frame, ceil=ceil)
    return _mean(means, source.grid, np.float32(prod(frame.kernel)) / divided)


def _global_average_pool(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    source, grid = here.stored(inputs[0]), here.rounding_behind()
    channels, rows, columns = source.integers.shape[1:]
    is_small = 1 < rows * columns and max(rows, columns) <= LARGEST_POOL
    if is_small and grid is not None and source.grid.scale > grid.scale:
        # Means in coarser steps than the result's would be rounded twice: the sums are exact.
        sums = source.integers.sum(axis=(2, 3), keepdims=True)
        ones = np.ones((channels, 1, rows, columns), np.int64)
        return products(sums, ones, np.array([1 / (rows * columns)]), np.zeros(1), source.grid)
    means, factor = everywhere(source.integers)
    return _mean(means, source.grid, np.full((1, 1), factor))


def _mean(means: Integers, grid: Grid, factors: Array) -> Affine:
    """What the engine gives times a factor for each position; factors that differ have 7 bits."""
    largest, bias = float(factors.max()), np.array([-grid.zero * grid.scale])
    if np.all(factors == largest):
        return Affine(means, np.array([grid.scale]) * largest, bias)
    shift = floor(log2(LARGEST / largest))
    spread = np.rint(factors * 2.0**shift)
    return Affine(means, np.array([grid.scale]) * 2.0**-shift, bias, is_fine=True, spread=spread)


def _reduced(here: Network, inputs: Sequence[str], attributes: Attributes, *, is_mean: bool) -> Value:
    source = here.stored(inputs[0])
    given = here.number(inputs[1]).tolist() if len(inputs) > 1 and inputs[1] else attributes.get("axes", [])
    axes = tuple(given) or tuple(
        () if attributes.get("noop_with_empty_axes") else range(source.integers.ndim)
    )
    if source.integers.size > 1024:
        raise Unknown(f"{inputs[0]}: the reference adds up what a small convolution can")
    sums = source.integers.sum(axis=axes, keepdims=bool(attributes.get("keepdims", 1)))
    count = source.integers.size // max(sums.size, 1)
    scale = np.array([source.grid.scale / count if is_mean else source.grid.scale])
    return Affine(sums, scale, -source.grid.zero * count * scale, is_fine=True)


def _sum_over(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    return _reduced(here, inputs, attributes, is_mean=False)


def _mean_over(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    return _reduced(here, inputs, attributes, is_mean=True)


OPERATORS: Mapping[str, Operator] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "MaxPool": _max_pool,
    "ReduceMean": _mean_over,
    "ReduceSum": _sum_over,
}
