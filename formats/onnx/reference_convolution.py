"""Convolution for the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import cast

import numpy as np

from xonnc.formats.onnx.tensors import AnyArray


def dilated_convolution(operands: Sequence[AnyArray | None], attributes: Mapping[str, object]) -> AnyArray:
    """
    Compute Conv as a sum over the elements of its kernel.

    The evaluator's own fills the gaps of dilated kernels with zeros, which makes NaN of infinities there.
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
        total += np.einsum("gnc...,gfc->gnf...", by_group[(..., *window)], filters[(..., *at)])
    found = np.moveaxis(total, 0, 1).reshape(len(data), len(weights), *sizes)
    bias = operands[2] if len(operands) > 2 else None
    if bias is not None:
        found = found + bias.reshape(-1, *[1] * len(kernel))
    return found.astype(data.dtype)


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
