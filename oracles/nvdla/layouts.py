"""Numbers in other orders and shapes, side by side, and in larger images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from oracles.nvdla.affine import (
    Affine,
    Joined,
    Moved,
    Stored,
    side_by_side,
)
from oracles.nvdla.interpolation import phases
from oracles.nvdla.network import (
    Attributes,
    Constant,
    Network,
    Operator,
    Quantized,
    Unknown,
    Value,
)
from oracles.nvdla.rounding import Integers
from oracles.nvdla.upsampling import Spread


def reordered(here: Network, inputs: Sequence[str], move: Callable[[Integers], Integers]) -> Value:
    """The first operand with its elements in other places."""
    found = here.value(inputs[0])
    match found:
        case Quantized():
            return Quantized(move(found.integers), found.offset)
        case Constant():
            return Constant(move(found.numbers))
        case Affine(stored=Stored(integers=integers, grid=grid)):
            return Affine.of(Stored(move(integers), grid))
        case _:
            return Moved(here.reals(inputs[0]), move)


def _concat(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    return side_by_side([here.reals(name) for name in inputs], attributes["axis"])


def _reshape(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    sizes = here.number(inputs[1])

    def move(images: Integers) -> Integers:
        return images.reshape([images.shape[i] if size == 0 else size for i, size in enumerate(sizes)])

    return reordered(here, inputs, move)


def _flatten(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    axis = attributes.get("axis", 1)
    return reordered(here, inputs, lambda images: images.reshape(prod(images.shape[:axis]), -1))


def _transpose(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    return reordered(here, inputs, lambda images: images.transpose(attributes["perm"]))


def _identity(here: Network, inputs: Sequence[str], _: Attributes) -> Value:
    return here.value(inputs[0])


def _resize(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    mode = attributes.get("mode", b"nearest")
    if mode not in (b"nearest", b"linear"):
        raise Unknown(f"{inputs[0]}: the reference repeats rows and columns, or draws lines between them")
    if attributes.get("axes") or attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        raise Unknown(f"{inputs[0]}: the reference takes a factor or a size for each axis")

    def counts(images: Integers) -> tuple[int, int]:
        sizes = here.number(inputs[3]) if len(inputs) > 3 else here.number(inputs[2]) * images.shape
        rows, columns = (int(sizes[axis]) // images.shape[axis] for axis in (2, 3))
        return rows, columns

    if mode == b"linear":
        source = here.stored(inputs[0])
        height, width = source.integers.shape[2:]
        if height * width > 1:
            factors = counts(source.integers)
            coordinates = attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
            sums, unit = phases(source.integers, factors, coordinates)
            scale = np.array([source.grid.scale / unit])
            bias = -source.grid.zero * source.grid.scale * np.ones(1)
            spread = Spread(factors, (0, 0), (height * factors[0], width * factors[1]))
            return Joined([Affine(one, scale, bias, is_fine=True) for one in sums], spread.interleaved)

    def move(images: Integers) -> Integers:
        rows, columns = counts(images)
        return images.repeat(rows, axis=2).repeat(columns, axis=3)

    return Moved(here.reals(inputs[0]), move)


OPERATORS: Mapping[str, Operator] = {
    "Concat": _concat,
    "Flatten": _flatten,
    "Identity": _identity,
    "Reshape": _reshape,
    "Resize": _resize,
    "Transpose": _transpose,
}
