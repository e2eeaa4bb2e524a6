"""Where real numbers become integers, and integers real numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import numpy_helper

from oracles.nvdla.affine import (
    Affine,
    Grid,
    Stored,
)
from oracles.nvdla.network import (
    LARGEST,
    LEAST,
    Attributes,
    Constant,
    Network,
    Operator,
    Quantized,
    Value,
    along,
)


def _quantize(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, zeros = here.number(inputs[1]), here.number(inputs[2])
    offset = 128 if zeros.dtype == np.uint8 else 0
    numbers = here.input(inputs[0])
    constant = here.constant(inputs[0])
    if constant is not None:
        spread = along(scale, attributes.get("axis", 1), constant.numbers.ndim)
        shift = along(zeros.astype(np.int64), attributes.get("axis", 1), constant.numbers.ndim)
        places = np.rint(constant.numbers / spread) + shift
        return Constant(np.clip(places, LEAST + offset, LARGEST + offset).astype(zeros.dtype))
    grid = Grid(float(scale.reshape(())), int(zeros.reshape(())) - offset)
    if numbers is not None:
        places = np.rint(numbers / np.float32(scale.reshape(()))) + grid.zero
        return Quantized(np.clip(places, LEAST, LARGEST).astype(np.int64), offset)
    return Quantized(here.reals(inputs[0]).rounded(grid, here.worst), offset)


def _dequantize(here: Network, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, zeros = here.number(inputs[1]), here.number(inputs[2]).astype(np.int64)
    constant = here.constant(inputs[0])
    if constant is None:
        found = here.quantized(inputs[0])
        grid = Grid(float(scale.reshape(())), int(zeros.reshape(())) - found.offset)
        return Affine.of(Stored(found.integers, grid))
    axis, rank = attributes.get("axis", 1), constant.numbers.ndim
    centred = constant.numbers.astype(np.int64) - along(zeros, axis, rank)
    numbers = (centred * along(scale.astype(np.float64), axis, rank)).astype(np.float32)
    return Constant(numbers, centred, scale.reshape(-1).astype(np.float64), axis % max(rank, 1))


def _constant(here: Network, _: Sequence[str], attributes: Attributes) -> Value:
    return Constant(numpy_helper.to_array(attributes["value"]))


OPERATORS: Mapping[str, Operator] = {
    "Constant": _constant,
    "DequantizeLinear": _dequantize,
    "QuantizeLinear": _quantize,
}
