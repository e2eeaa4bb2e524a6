"""Convolution for the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import cast

import numpy as np

from xonnc.formats.onnx.tensors import AnyArray


def convolution(
    operands: Sequence[AnyArray | None], attributes: Mapping[str, object], _outputs: int
) -> list[AnyArray]:
    """
    Compute Conv as a sum over the elements of its kernel.

    The evaluator's own takes up to eight times as long, and fills the gaps of dilated kernels with zeros,
    which makes NaN of infinities there.
    """
    data, weights = np.asarray(operands[0]), np.asarray(operands[1])
    groups = cast("int | None", attributes.get("group")) or 1
    if data.shape[1] != weights.shape[1] * groups or len(weights) % groups:
        raise ValueError(f"Conv: {data.shape} data and {weights.shape} weights in {groups} groups")
    kernel = weights.shape[2:]
    strides = _integers(attributes, "strides", [1] * len(kernel))
    dilations = _integers(attributes, "dilations", [1] * len(kernel))
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    pads = _pads(data.shape[2:], spans, strides, attributes)
    padded = np.pad(data, [(0, 0), (0, 0), *pads])
    sizes = [
        max((size - span) // stride + 1, 0)
        for size, span, stride in zip(padded.shape[2:], spans, strides, strict=True)
    ]
    # Sums of 16 bits are of 32, as in the evaluator's matrix products.
    sums = np.result_type(data, np.float32)
    total = np.zeros((groups, len(data), len(weights) // groups, *sizes), sums)
    by_group = np.moveaxis(
        padded.reshape(len(data), groups, weights.shape[1], *padded.shape[2:]), 1, 0
    ).astype(sums)
    filters = weights.reshape(groups, len(weights) // groups, *weights.shape[1:]).astype(sums)
    for at in product(*map(range, kernel)):
        window = tuple(
            slice(index * dilation, index * dilation + size * stride, stride)
            for index, dilation, size, stride in zip(at, dilations, sizes, strides, strict=True)
        )
        total += _products(filters[(..., *at)], by_group[(..., *window)])
    found = np.moveaxis(total, 0, 1).reshape(len(data), len(weights), *sizes)
    bias = operands[2] if len(operands) > 2 else None
    if bias is not None:
        found = found + bias.reshape(-1, *[1] * len(kernel))
    return [found.astype(data.dtype)]


def transposed_convolution(
    operands: Sequence[AnyArray | None], attributes: Mapping[str, object], _outputs: int
) -> list[AnyArray]:
    """
    Compute ConvTranspose as a sum over the elements of its kernel.

    The evaluator's own adds the first biases to all groups, fails for groups of several channels, and ignores
    `output_shape`. A larger `output_shape` than there are elements adds zeros at the ends.
    """
    data, weights = np.asarray(operands[0]), np.asarray(operands[1])
    groups = cast("int | None", attributes.get("group")) or 1
    if len(weights) != data.shape[1] or len(weights) % groups:
        raise ValueError(f"ConvTranspose: {data.shape} data and {weights.shape} weights in {groups} groups")
    sizes, kernel = data.shape[2:], weights.shape[2:]
    strides = _integers(attributes, "strides", [1] * len(kernel))
    dilations = _integers(attributes, "dilations", [1] * len(kernel))
    full = [
        max((size - 1) * stride + (taps - 1) * dilation + 1, 0)
        for size, stride, taps, dilation in zip(sizes, strides, kernel, dilations, strict=True)
    ]
    # Sums of 16 bits are of 32, as in the evaluator's matrix products.
    sums = np.result_type(data, np.float32)
    per_group = weights.shape[1]
    total = np.zeros((groups, len(data), per_group, *full), sums)
    by_group = np.moveaxis(data.reshape(len(data), groups, len(weights) // groups, *sizes), 1, 0).astype(sums)
    filters = weights.reshape(groups, len(weights) // groups, per_group, *kernel).astype(sums)
    for at in product(*map(range, kernel)):
        target = tuple(
            slice(index * dilation, index * dilation + size * stride, stride)
            for index, dilation, size, stride in zip(at, dilations, sizes, strides, strict=True)
        )
        total[(..., *target)] += _products(np.swapaxes(filters[(..., *at)], 1, 2), by_group)
    found = np.moveaxis(total, 0, 1).reshape(len(data), groups * per_group, *full)
    kept = _kept(sizes, full, strides, attributes)
    found = np.pad(
        found, [(0, 0), (0, 0), *((0, max(end - size, 0)) for size, (_, end) in zip(full, kept, strict=True))]
    )
    found = found[(..., *(slice(*each) for each in kept))]
    bias = operands[2] if len(operands) > 2 else None
    if bias is not None:
        found = found + bias.reshape(-1, *[1] * len(kernel))
    return [found.astype(data.dtype)]


def _products(weights: AnyArray, data: AnyArray) -> AnyArray:
    """Multiply matrices of weights, [group, output, input], with all pixels, [group, image, input, …]."""
    groups, images, channels, *sizes = data.shape
    pixels = data.reshape(groups, images, channels, prod(sizes))
    # Contiguous matrices are multiplied by BLAS, those of one column are scaled pixels.
    matrices = np.ascontiguousarray(weights)[:, np.newaxis]
    found = matrices * pixels if channels == 1 else np.matmul(matrices, pixels)
    return found.reshape(groups, images, weights.shape[1], *sizes)


def _kept(
    sizes: Sequence[int], full: Sequence[int], strides: Sequence[int], attributes: Mapping[str, object]
) -> list[tuple[int, int]]:
    """Return begin and end of the result of a transposed convolution in the sum, on each axis."""
    auto_pad = attributes.get("auto_pad")
    extra = _integers(attributes, "output_padding", [0] * len(sizes))
    asked = cast("Sequence[int] | None", attributes.get("output_shape"))
    if not asked and auto_pad in ("SAME_LOWER", "SAME_UPPER"):
        asked = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    if not asked:
        pads = _pads(sizes, [0] * len(sizes), strides, attributes)
        return [
            (begin, max(size + more - end, begin))
            for size, more, (begin, end) in zip(full, extra, pads, strict=True)
        ]
    found: list[tuple[int, int]] = []
    for size, more, result in zip(full, extra, asked, strict=True):
        surplus = max(size + more - result, 0)
        begin = surplus // 2 if auto_pad == "SAME_UPPER" else surplus - surplus // 2
        found.append((begin, begin + result))
    return found


def _pads(
    sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int], attributes: Mapping[str, object]
) -> list[tuple[int, int]]:
    """Return the pads before and after each axis."""
    auto_pad = attributes.get("auto_pad")
    if auto_pad == "VALID":
        return [(0, 0)] * len(sizes)
    if auto_pad not in ("SAME_LOWER", "SAME_UPPER"):
        pads = _integers(attributes, "pads", [0] * (2 * len(sizes)))
        return list(zip(pads[: len(sizes)], pads[len(sizes) :], strict=True))
    found: list[tuple[int, int]] = []
    for size, span, stride in zip(sizes, spans, strides, strict=True):
        needed = max((-(-size // stride) - 1) * stride + span - size, 0)
        small, large = needed // 2, needed - needed // 2
        found.append((large, small) if auto_pad == "SAME_LOWER" else (small, large))
    return found


def _integers(attributes: Mapping[str, object], name: str, default: Sequence[int]) -> list[int]:
    # The evaluator passes attributes that a node does not have as `None`.
    return list(cast("Sequence[int] | None", attributes.get(name)) or default)
