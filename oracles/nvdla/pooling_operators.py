"""Reference of poolings, ReduceMean and ReduceSum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log2, prod

import numpy as np

from oracles.nvdla.evaluation import (
    INT8_MAX,
    Attributes,
    Evaluation,
    Operator,
    UnsupportedOperator,
    Value,
)
from oracles.nvdla.fixed_point import Array, Integers
from oracles.nvdla.linear_operators import checked_window
from oracles.nvdla.requantization import (
    Affine,
    MovedElements,
    QuantizationParameters,
    StoredIntegers,
)
from oracles.nvdla.window_operators import (
    MAX_POOL,
    SlidingWindow,
    average_pool,
    average_steps,
    averages_of_blocks,
    convolve,
    divisor_counts,
    global_average,
    max_pool,
)


def _max_pool(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    ceil = bool(attributes.get("ceil_mode", 0))

    def move(images: Integers) -> Integers:
        return max_pool(
            images, checked_window(attributes, attributes["kernel_shape"], images.shape[2:]), ceil=ceil
        )

    return MovedElements(here.reals(inputs[0]), move)


def _global_max_pool(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    return MovedElements(here.reals(inputs[0]), lambda images: images.max(axis=(2, 3), keepdims=True))


def _average_pool(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    source = here.stored(inputs[0])
    sizes = source.integers.shape[2:]
    window, ceil = (
        checked_window(attributes, attributes["kernel_shape"], sizes),
        bool(attributes.get("ceil_mode", 0)),
    )
    if window.kernel == tuple(sizes) and not any(window.pads):
        return _global_average_pool(here, inputs, attributes)
    with_pads = bool(attributes.get("count_include_pad", 0))
    divided = divisor_counts(sizes, window, ceil=ceil, with_pads=with_pads)
    if max(window.kernel) > MAX_POOL:
        return _wide_mean(source, window, divided)
    fill = source.qparams.zero_point if with_pads else 0
    means = average_pool(source.integers, window, ceil=ceil, fill=fill)
    return _mean(means, source.qparams, np.float32(prod(window.kernel)) / divided)


def _wide_mean(source: StoredIntegers, window: SlidingWindow, divided: Array) -> Value:
    """
    Return means over windows that exceed the PDP's, by a convolution, whose sums are exact; windows side by
    side are means of blocks first.
    """
    integers, steps = source.integers, [whole_steps(size) for size in window.kernel]
    if window.kernel == window.strides and not any(window.pads) and all(steps):
        count = max(map(len, steps))
        blocks = list(zip(*((1,) * (count - len(one)) + one for one in steps), strict=True))
        rows, columns = window.outputs(integers.shape[2:])
        integers = integers[:, :, : rows * window.kernel[0], : columns * window.kernel[1]]
        integers, divided = averages_of_blocks(integers, blocks[:-1]), np.full((1, 1), prod(blocks[-1]))
        window = SlidingWindow(blocks[-1], blocks[-1])
    if np.any(divided != divided[0, 0]):
        raise UnsupportedOperator("the reference divides wide windows by one number")
    channels = integers.shape[1]
    ones = np.ones((channels, 1, *window.kernel), np.int64)
    sums = convolve(integers, ones, window, channels, source.qparams.zero_point)
    scale = np.array([source.qparams.scale / float(divided[0, 0])])
    return Affine(sums, scale, -source.qparams.zero_point * prod(window.kernel) * scale, is_fine=True)


def whole_steps(size: int) -> tuple[int, ...]:
    """Return factors of at most 8 of a kernel, the largest last, `()` if a prime exceeds that."""
    found: list[int] = []
    for factor in range(MAX_POOL, 1, -1):
        while size % factor == 0:
            found.append(factor)
            size //= factor
    return tuple(reversed(found)) if size == 1 else ()


def _global_average_pool(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    source, qparams = here.stored(inputs[0]), here.consumer_qparams()
    rows, columns = source.integers.shape[2:]
    if rows * columns > 1 and qparams is not None and source.qparams.scale > qparams.scale:
        # A mean in a coarser scale than the result's would be rounded twice; a convolution's sums are exact.
        first = average_steps(rows, columns)[:0:-1]
        sums = averages_of_blocks(source.integers, first).sum(axis=(2, 3), keepdims=True)
        scale = np.array([source.qparams.scale * prod(map(prod, first)) / (rows * columns)])
        bias = np.array([-source.qparams.zero_point * source.qparams.scale])
        if not np.allclose(bias / scale, np.rint(bias / scale)):
            # Zeros that pad blocks leave no whole units of the sums as bias: a weight of 64 makes them finer.
            sums, scale = 64 * sums, scale / 64
        return Affine(sums, scale, bias, is_fine=True)
    means, factor = global_average(source.integers)
    return _mean(means, source.qparams, np.full((1, 1), factor))


def _mean(means: Integers, qparams: QuantizationParameters, factors: Array) -> Affine:
    """Return the engine's mean times a factor per position; factors that differ have 7 bits."""
    largest, bias = float(factors.max()), np.array([-qparams.zero_point * qparams.scale])
    if np.all(factors == largest):
        return Affine(means, np.array([qparams.scale]) * largest, bias)
    shift = floor(log2(INT8_MAX / largest))
    spread = np.rint(factors * 2.0**shift)
    return Affine(means, np.array([qparams.scale]) * 2.0**-shift, bias, is_fine=True, spread=spread)


def _reduced(here: Evaluation, inputs: Sequence[str], attributes: Attributes, *, is_mean: bool) -> Value:
    source = here.stored(inputs[0])
    given = here.number(inputs[1]).tolist() if len(inputs) > 1 and inputs[1] else attributes.get("axes", [])
    axes = tuple(given) or tuple(
        () if attributes.get("noop_with_empty_axes") else range(source.integers.ndim)
    )
    if source.integers.size > 1024 and axes != (1,):
        raise UnsupportedOperator(f"{inputs[0]}: the reference adds up what a small convolution can")
    sums = source.integers.sum(axis=axes, keepdims=bool(attributes.get("keepdims", 1)))
    count = source.integers.size // max(sums.size, 1)
    scale = np.array([source.qparams.scale / count if is_mean else source.qparams.scale])
    return Affine(sums, scale, -source.qparams.zero_point * count * scale, is_fine=True)


def _sum_over(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    return _reduced(here, inputs, attributes, is_mean=False)


def _mean_over(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    return _reduced(here, inputs, attributes, is_mean=True)


OPERATORS: Mapping[str, Operator] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "MaxPool": _max_pool,
    "ReduceMean": _mean_over,
    "ReduceSum": _sum_over,
}
