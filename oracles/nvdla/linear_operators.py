"""Reference of Conv, ConvTranspose, Gemm and MatMul with constant weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oracles.nvdla.evaluation import (
    INT8_MAX,
    Attributes,
    Constant,
    Evaluation,
    Operator,
    UnsupportedOperator,
    Value,
)
from oracles.nvdla.fixed_point import Array, Integers
from oracles.nvdla.requantization import (
    Affine,
    Concatenated,
    Dequantized,
    MovedElements,
    QuantizationParameters,
    StoredIntegers,
    side_by_side,
)
from oracles.nvdla.transposed_convolution import TransposedGeometry, dense_kernels
from oracles.nvdla.window_operators import (
    Region,
    SlidingWindow,
    convolve,
    is_wide,
    only_reading_tap,
    regions,
    window_of,
)


def kernels(constant: Constant, outputs: int) -> tuple[Integers, Array]:
    """Return weights with outputs first, and their scales: as given, or requantized per output channel."""
    given, scales = constant.integers, constant.scales
    if given is not None and scales is not None and (scales.size == 1 or constant.axis == outputs):
        return np.moveaxis(given, outputs, 0), scales
    rows = np.moveaxis(constant.numbers, outputs, 0).astype(np.float64)
    largest = np.abs(rows).max(axis=tuple(range(1, rows.ndim)))
    scales = np.where(largest > 0, largest, 1.0) / INT8_MAX
    return np.rint(rows / scales.reshape(-1, *(1,) * (rows.ndim - 1))).astype(np.int64), scales


def _conv(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    source = here.stored(inputs[0])
    constant = here.constant(inputs[1])
    if constant is None:
        raise UnsupportedOperator(f"{inputs[1]}: the reference needs constant kernels")
    weights, scales = kernels(constant, 0)
    bias = here.number(inputs[2]).astype(np.float64) if len(inputs) > 2 else np.zeros(1)
    window = checked_window(attributes, weights.shape[2:], source.integers.shape[2:])
    batch = len(source.integers)
    if batch > 1:
        # The images of a batch are groups of channels.
        scales, bias = (one if one.size == 1 else np.tile(one, batch) for one in (scales, bias))
        weights = np.tile(weights, (batch, 1, 1, 1))
    images = source.integers.reshape(1, -1, *source.integers.shape[2:])
    groups: int = attributes.get("group", 1) * batch
    if (tap := only_reading_tap(images.shape[2:], window)) is not None:
        # Others read padding alone, and a bias without their part of the zero point has finer units.
        images = tap.read(images, window)
        weights = weights[:, :, tap.row : tap.row + 1, tap.column : tap.column + 1]
        window = SlidingWindow((1, 1), window.strides)
    layer = _Convolution(images, weights, window, groups, scales, bias, source.qparams)
    found = layer.by_regions() if is_wide(images, window) else layer.by_groups(here)
    return found if batch == 1 else MovedElements(found, lambda y: y.reshape(batch, -1, *y.shape[2:]))


@dataclass(frozen=True)
class _Convolution:
    """A convolution of one image."""

    images: Integers
    weights: Integers
    window: SlidingWindow
    groups: int
    scales: Array
    bias: Array
    qparams: QuantizationParameters

    def by_groups(self, here: Evaluation) -> Dequantized:
        """Return the groups of the result, those of a layer together."""
        sums = convolve(self.images, self.weights, self.window, self.groups, self.qparams.zero_point)
        merged = here.layers.groups_at_once(self.images.shape[1:], sums.shape[1], self.window, self.groups)
        step = merged * sums.shape[1] // self.groups
        parts: list[Dequantized] = [
            products(
                sums[:, rows],
                self.weights[rows],
                _part(self.scales, rows),
                _part(self.bias, rows),
                self.qparams,
            )
            for rows in (slice(begin, begin + step) for begin in range(0, sums.shape[1], step))
        ]
        return parts[0] if len(parts) == 1 else side_by_side(parts, 1)

    def by_regions(self) -> Dequantized:
        """Return the regions of the result, each with the taps alone that read the image there."""
        sizes = self.images.shape[2:]
        rows, columns = (regions(sizes, self.window, axis) for axis in (0, 1))
        return side_by_side(
            [side_by_side([self._region(row, column) for column in columns], 3) for row in rows], 2
        )

    def _region(self, row: Region, column: Region) -> Affine:
        read = np.zeros(self.weights.shape[2:], np.int64)
        read[np.ix_(row.taps, column.taps)] = 1
        weights = self.weights * read
        sums = convolve(self.images, weights, self.window, self.groups, self.qparams.zero_point)
        part = sums[:, :, row.begin : row.end, column.begin : column.end]
        return products(part, weights, self.scales, self.bias, self.qparams)


def _part(numbers: Array, rows: slice) -> Array:
    return numbers if numbers.size == 1 else numbers[rows]


def products(
    sums: Integers, weights: Integers, scales: Array, bias: Array, qparams: QuantizationParameters
) -> Affine:
    """Return sums of products, whose sources exceed what they mean by the zero point."""
    scale = qparams.scale * scales
    shift = scale * (qparams.zero_point * weights.sum(axis=tuple(range(1, weights.ndim))))
    return Affine(sums, scale, bias - shift, is_fine=True)


def _conv_transpose(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    source, constant = here.stored(inputs[0]), here.constant(inputs[1])
    if (
        constant is None
        or len(source.integers) > 1
        or attributes.get("output_shape")
        or attributes.get("auto_pad", b"NOTSET") != b"NOTSET"
    ):
        raise UnsupportedOperator(f"{inputs[1]}: the reference needs constant kernels and pads")
    given, scales = kernels(constant, 1)
    bias = here.number(inputs[2]).astype(np.float64) if len(inputs) > 2 else np.zeros(1)
    groups: int = attributes.get("group", 1)
    weights = dense_kernels(given, groups, attributes.get("dilations", (1, 1)))
    sy, sx = attributes.get("strides", (1, 1))
    pads, extra = attributes.get("pads", (0, 0, 0, 0)), attributes.get("output_padding", (0, 0))
    height, width = (
        (size - 1) * stride + reach + more - before - after
        for size, stride, reach, more, before, after in zip(
            source.integers.shape[2:], (sy, sx), weights.shape[2:], extra, pads[:2], pads[2:], strict=True
        )
    )
    # A single row or column is one layer, whatever the stride.
    rows, columns = source.integers.shape[2:]
    spread = TransposedGeometry(
        (sy if rows > 1 else 1, sx if columns > 1 else 1), (pads[0], pads[1]), (height, width)
    )
    phases = spread.phases(source.integers, weights, source.qparams.zero_point)
    return Concatenated(
        [products(sums, kernels, scales, bias, source.qparams) for sums, kernels in phases],
        spread.interleaved,
    )


def checked_window(attributes: Attributes, kernel: Sequence[int], sizes: Sequence[int]) -> SlidingWindow:
    """Return the window of an operator over images of `sizes`."""
    if len(kernel) != 2:
        raise UnsupportedOperator(f"{len(kernel)} dimensions; the reference has images")
    return window_of(attributes, kernel, sizes)


def _gemm(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    alpha, beta = (attributes.get(factor, 1.0) for factor in ("alpha", "beta"))
    outputs = 1 - attributes.get("transB", 0)
    if attributes.get("transA", 0):
        raise UnsupportedOperator(f"{inputs[0]}: the reference multiplies rows")
    if len(inputs) > 2 and here.constant(inputs[2]) is None:
        if beta != 1.0:
            raise UnsupportedOperator(f"{inputs[2]}: the reference adds computed tensors as they are")
        return _plus(_product(here, inputs, outputs, alpha, np.zeros(1)), here.stored(inputs[2]))
    bias = here.number(inputs[2]) if len(inputs) > 2 else np.zeros(1, np.float32)
    return _product(here, inputs, outputs, alpha, bias.reshape(-1) * np.float32(beta))


def _plus(sums: Value, addend: StoredIntegers) -> Value:
    """Add a tensor to sums of one row, in the pass that requantizes them."""
    if not isinstance(sums, Affine):
        raise UnsupportedOperator("the reference adds to one row")
    integers = np.broadcast_to(addend.integers, sums.source.shape)
    return sums.then(StoredIntegers(integers, addend.qparams))


def _matmul(here: Evaluation, inputs: Sequence[str], _: Attributes) -> Value:
    return _product(here, inputs, 1, 1.0, np.zeros(1))


def _product(here: Evaluation, inputs: Sequence[str], outputs: int, alpha: float, bias: Array) -> Value:
    source, constant = here.stored(inputs[0]), here.constant(inputs[1])
    if constant is None or constant.numbers.ndim != 2:
        raise UnsupportedOperator(f"{inputs[1]}: the reference needs a constant matrix")
    weights, scales = kernels(constant, outputs)
    if weights.ndim != 2 or bias.size not in (1, len(weights)):
        raise UnsupportedOperator(f"{inputs[1]}: the reference needs a matrix, and one bias for each column")
    sums = source.integers.reshape(-1, weights.shape[1]) @ weights.T
    found = products(sums, weights, scales * alpha, bias.astype(np.float64), source.qparams)
    shape = (*source.integers.shape[:-1], len(weights))
    return found if sums.shape == shape else MovedElements(found, lambda y: y.reshape(shape))


OPERATORS: Mapping[str, Operator] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
}
