"""Reference of QuantizeLinear, DequantizeLinear and Constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import numpy_helper

from oracles.nvdla.evaluation import (
    INT8_MAX,
    INT8_MIN,
    Attributes,
    Constant,
    Evaluation,
    Operator,
    Quantized,
    Value,
    broadcast_axis,
)
from oracles.nvdla.requantization import (
    Affine,
    QuantizationParameters,
    StoredIntegers,
)


def _quantize(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, zeros = here.number(inputs[1]), here.number(inputs[2])
    offset = 128 if zeros.dtype == np.uint8 else 0
    numbers = here.input(inputs[0])
    constant = here.constant(inputs[0])
    if constant is not None:
        spread = broadcast_axis(scale, attributes.get("axis", 1), constant.numbers.ndim)
        shift = broadcast_axis(zeros.astype(np.int64), attributes.get("axis", 1), constant.numbers.ndim)
        levels = np.rint(constant.numbers / spread) + shift
        return Constant(np.clip(levels, INT8_MIN + offset, INT8_MAX + offset).astype(zeros.dtype))
    qparams = QuantizationParameters(float(scale.reshape(())), int(zeros.reshape(())) - offset)
    if numbers is not None:
        levels = np.rint(numbers / np.float32(scale.reshape(()))) + qparams.zero_point
        return Quantized(np.clip(levels, INT8_MIN, INT8_MAX).astype(np.int64), offset)
    return Quantized(here.reals(inputs[0]).requantized(qparams, here.deviations), offset)


def _dequantize(here: Evaluation, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, zeros = here.number(inputs[1]), here.number(inputs[2]).astype(np.int64)
    constant = here.constant(inputs[0])
    if constant is None:
        found = here.quantized(inputs[0])
        qparams = QuantizationParameters(float(scale.reshape(())), int(zeros.reshape(())) - found.offset)
        return Affine.of(StoredIntegers(found.integers, qparams))
    axis, rank = attributes.get("axis", 1), constant.numbers.ndim
    centred = constant.numbers.astype(np.int64) - broadcast_axis(zeros, axis, rank)
    numbers = (centred * broadcast_axis(scale.astype(np.float64), axis, rank)).astype(np.float32)
    return Constant(numbers, centred, scale.reshape(-1).astype(np.float64), axis % max(rank, 1))


def _constant(here: Evaluation, _: Sequence[str], attributes: Attributes) -> Value:
    return Constant(numpy_helper.to_array(attributes["value"]))


OPERATORS: Mapping[str, Operator] = {
    "Constant": _constant,
    "DequantizeLinear": _dequantize,
    "QuantizeLinear": _quantize,
}
