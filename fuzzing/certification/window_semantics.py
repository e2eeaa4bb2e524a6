"""The meaning of convolutions and pooling, as terms of each element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xonnc.fuzzing.certification.scalar_semantics import Scalars
from xonnc.fuzzing.certification.tensor_semantics import (
    NoMeaningError,
    Operands,
    Tensorwise,
    broadcast,
    integer_list,
    present,
)
from xonnc.fuzzing.certification.terms import Attributes, Term, TermArray
from xonnc.transforms.shapes.convolution import same_pads


def _convolution(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
    x, w = present(operands, 0), present(operands, 1)
    sizes, kernel = x.shape[2:], w.shape[2:]
    count = len(sizes)
    strides, dilations = (integer_list(attributes, name, [1] * count) for name in ("strides", "dilations"))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = padding(attributes, sizes, spans, strides)
    outer = [
        (size + pads[axis] + pads[axis + count] - spans[axis]) // strides[axis] + 1
        for axis, size in enumerate(sizes)
    ]
    groups = integer_list(attributes, "group", [1])[0]
    made = np.empty((x.shape[0], w.shape[0], *outer), np.object_)
    for position in np.ndindex(*made.shape):
        first = position[1] // (w.shape[0] // groups) * w.shape[1]
        parts: list[Term] = []
        for tap in np.ndindex(*w.shape[1:]):
            at = [
                o * st + k * d - p
                for o, st, k, d, p in zip(position[2:], strides, tap[1:], dilations, pads, strict=False)
            ]
            if all(0 <= index < size for index, size in zip(at, sizes, strict=True)):
                parts.append(
                    s.same("mul", x.item((position[0], first + tap[0], *at)), w.item((position[1], *tap)))
                )
        made[position] = s.total(parts, w.reshape(-1)[0])
    return _with_bias(s, made, operands)


def _transposed_convolution(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
    x, w = present(operands, 0), present(operands, 1)
    kernel, sizes = w.shape[2:], x.shape[2:]
    count, groups = len(sizes), integer_list(attributes, "group", [1])[0]
    ones, zeros = [1] * count, [0] * count
    strides, dilations = (integer_list(attributes, name, ones) for name in ("strides", "dilations"))
    extra, pads = (
        integer_list(attributes, "output_padding", zeros),
        integer_list(attributes, "pads", zeros * 2),
    )
    if attributes.get("output_shape") or str(attributes.get("auto_pad", "NOTSET")) != "NOTSET":
        raise NoMeaningError("a transposed convolution padded by its result's shape")
    outer = [
        (size - 1) * strides[axis]
        + extra[axis]
        + (kernel[axis] - 1) * dilations[axis]
        + 1
        - pads[axis]
        - pads[axis + count]
        for axis, size in enumerate(sizes)
    ]
    inputs = x.shape[1] // groups
    parts: dict[tuple[int, ...], list[Term]] = {}
    for position in np.ndindex(*x.shape):
        for tap in np.ndindex(*w.shape[1:]):
            at = [
                i * st + k * d - p
                for i, st, k, d, p in zip(position[2:], strides, tap[1:], dilations, pads, strict=False)
            ]
            if all(0 <= index < size for index, size in zip(at, outer, strict=True)):
                key = (position[0], position[1] // inputs * w.shape[1] + tap[0], *at)
                parts.setdefault(key, []).append(s.same("mul", x.item(position), w.item((position[1], *tap))))
    made = np.empty((x.shape[0], w.shape[1] * groups, *outer), np.object_)
    for position in np.ndindex(*made.shape):
        made[position] = s.total(parts.get(position, []), w.reshape(-1)[0])
    return _with_bias(s, made, operands)


def _with_bias(s: Scalars, made: TermArray, operands: Operands) -> TermArray:
    if len(operands) < 3 or operands[2] is None:
        return made
    bias = operands[2].reshape((-1, *[1] * (made.ndim - 2)))
    return broadcast(lambda x: s.same("add", *x), made, bias)


def padding(
    attributes: Attributes, sizes: Sequence[int], spans: Sequence[int], strides: list[int]
) -> list[int]:
    """Return the pads of a window operator, explicit or by `auto_pad`."""
    auto = str(attributes.get("auto_pad", "NOTSET"))
    if auto.startswith("SAME"):
        return list(same_pads(tuple(sizes), tuple(spans), tuple(strides), auto == "SAME_UPPER"))
    return [0] * 2 * len(sizes) if auto == "VALID" else integer_list(attributes, "pads", [0] * 2 * len(sizes))


def _pool(is_mean: bool) -> Tensorwise:
    def pool(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
        x = present(operands, 0)
        sizes, kernel = x.shape[2:], integer_list(attributes, "kernel_shape", [])
        ones = [1] * len(kernel)
        strides, dilations = (integer_list(attributes, name, ones) for name in ("strides", "dilations"))
        if attributes.get("ceil_mode") == 1:
            raise NoMeaningError("windows that pass the end")
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        pads = padding(attributes, sizes, spans, strides)
        outer = [
            (size + pads[axis] + pads[axis + len(sizes)] - spans[axis]) // strides[axis] + 1
            for axis, size in enumerate(sizes)
        ]
        made = np.empty((*x.shape[:2], *outer), np.object_)
        window = int(np.prod(kernel)) if attributes.get("count_include_pad") == 1 else 0
        for position in np.ndindex(*made.shape):
            terms: list[Term] = []
            for tap in np.ndindex(*kernel):
                at = [
                    o * st + k * d - p
                    for o, st, k, d, p in zip(position[2:], strides, tap, dilations, pads, strict=False)
                ]
                if all(0 <= index < size for index, size in zip(at, sizes, strict=True)):
                    terms.append(x.item((*position[:2], *at)))
            if not terms:
                raise NoMeaningError("a window of padding alone")
            total = s.total(terms, terms[0]) if is_mean else s.chain("max", terms)
            made[position] = s.same("div", total, s.number(window or len(terms), total)) if is_mean else total
        return made

    return pool


WINDOWS: dict[str, Tensorwise] = {
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "AveragePool": _pool(True),
    "MaxPoolSingleOut": _pool(False),
}
"""Operators that move a window over the data."""
