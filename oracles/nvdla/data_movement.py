"""Reference of reshapes, transposes, concatenation and Resize."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor, prod

import numpy as np
from onnx import helper

from oracles.nvdla.evaluation import (
    Attributes,
    Constant,
    Evaluation,
    Operator,
    Quantized,
    UnsupportedOperator,
    Value,
)
from oracles.nvdla.fixed_point import Integers
from oracles.nvdla.interpolation import MAX_PHASES, ResizedAxis, phases, unchanged
from oracles.nvdla.onnx_evaluator import evaluate_move
from oracles.nvdla.requantization import (
    Affine,
    Concatenated,
    MovedElements,
    StoredIntegers,
    side_by_side,
)
from oracles.nvdla.transposed_convolution import TransposedGeometry


def move_elements(here: Evaluation, inputs: Sequence[str], move: Callable[[Integers], Integers]) -> Value:
    """Return the first operand with its elements rearranged."""
    found = here.value(inputs[0])
    match found:
        case Quantized():
            return Quantized(move(found.integers), found.offset)
        case Constant():
            return Constant(move(found.numbers))
        case Affine(stored=StoredIntegers(integers=integers, qparams=qparams)):
            return Affine.of(StoredIntegers(move(integers), qparams))
        case _:
            return MovedElements(here.reals(inputs[0]), move)


def _concat(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    return side_by_side([here.reals(name) for name in inputs], attributes["axis"])


def _reshape(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    sizes = here.number(inputs[1])

    def move(images: Integers) -> Integers:
        return images.reshape([images.shape[i] if size == 0 else size for i, size in enumerate(sizes)])

    return move_elements(here, inputs, move)


def _flatten(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    axis = attributes.get("axis", 1)
    return move_elements(here, inputs, lambda images: images.reshape(prod(images.shape[:axis]), -1))


def _transpose(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    return move_elements(here, inputs, lambda images: images.transpose(attributes["perm"]))


def _identity(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    return here.value(inputs[0])


def _resize(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    mode = attributes.get("mode", b"nearest")
    if mode not in (b"nearest", b"linear"):
        raise UnsupportedOperator(
            f"{inputs[0]}: the reference repeats rows and columns, or draws lines between them"
        )
    if attributes.get("axes") or attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        raise UnsupportedOperator(f"{inputs[0]}: the reference takes a factor or a size for each axis")

    if mode == b"linear":
        source = here.stored(inputs[0])
        if source.integers.shape[2] * source.integers.shape[3] > 1:
            axes = _resized_axes(here, inputs, attributes, source.integers.shape)
            if min(axes[0].period, axes[1].period) > 1 and axes[0].period * axes[1].period > MAX_PHASES:
                # Rows first, rounded in steps of the source.
                by_rows = _interpolated(source, (axes[0], unchanged(axes[1].before)))
                integers = by_rows.requantized(source.qparams, here.deviations)
                return _interpolated(
                    StoredIntegers(integers, source.qparams), (unchanged(axes[0].after), axes[1])
                )
            return _interpolated(source, axes)

    slot = 3 if len(inputs) > 3 else 2
    factors = here.number(inputs[slot])

    def move(images: Integers) -> Integers:
        for axis in (2, 3):
            picked = _nearest(images.shape[axis], factors[axis], slot, attributes)
            images = images.take(picked, axis=axis)
        return images

    return MovedElements(here.reals(inputs[0]), move)


def _interpolated(source: StoredIntegers, axes: tuple[ResizedAxis, ResizedAxis]) -> Concatenated:
    """Return the phases of an interpolation, interleaved."""
    sums, unit = phases(source.integers, axes)
    scale = np.array([source.qparams.scale / unit])
    bias = -source.qparams.zero_point * source.qparams.scale * np.ones(1)
    rows, columns = axes
    spread = TransposedGeometry((rows.period, columns.period), (0, 0), (rows.after, columns.after))
    return Concatenated([Affine(one, scale, bias, is_fine=True) for one in sums], spread.interleaved)


def _resized_axes(
    here: Evaluation, inputs: Sequence[str], attributes: Attributes, shape: Sequence[int]
) -> tuple[ResizedAxis, ResizedAxis]:
    """Return how a linear Resize reads rows and columns."""
    coordinates = attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
    if coordinates in ("tf_crop_and_resize", "half_pixel_symmetric") or attributes.get("antialias"):
        raise UnsupportedOperator(f"{inputs[0]}: the reference reads two neighbors by {coordinates}")

    def along(axis: int) -> ResizedAxis:
        if len(inputs) > 3:
            after = int(here.number(inputs[3])[axis])
            return ResizedAxis(shape[axis], after, Fraction(after, shape[axis]), coordinates)
        scale = here.number(inputs[2])[axis].item()
        # The ratio that float32 rounded.
        ratio = Fraction(scale).limit_denominator(1024)
        return ResizedAxis(shape[axis], floor(shape[axis] * scale), ratio, coordinates)

    return along(2), along(3)


def _nearest(size: int, factor: np.generic, slot: int, attributes: Attributes) -> Integers:
    """Return the position nearest to each of the result along one axis, by ONNX's reference evaluator."""
    inputs = ["x", "", "", ""][: slot + 1]
    inputs[slot] = "f"
    node = helper.make_node("Resize", inputs, ["y"], **attributes)
    (found,) = evaluate_move(node, 19, np.arange(size), {"f": np.array([factor])})
    return found.astype(np.int64)


OPERATORS: Mapping[str, Operator] = {
    "Concat": _concat,
    "Flatten": _flatten,
    "Identity": _identity,
    "Reshape": _reshape,
    "Resize": _resize,
    "Transpose": _transpose,
}
