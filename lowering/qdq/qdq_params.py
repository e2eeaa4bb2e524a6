"""Scales and zero points of activations, weights and biases of a QDQ model."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from xonnc.formats.nvdla.calibration import Range

Array = npt.NDArray[Any]

ActivationType: TypeAlias = Literal["uint8", "int8", "symmetric"]
"""The integers of activations: `uint8` or `int8` with a zero point, or `int8` with zero point 0."""

ACTIVATION_TYPES: tuple[ActivationType, ...] = ("uint8", "int8", "symmetric")

WEIGHT_MAX = 127
"""The largest quantized weight; -128 is not used, so that the range is symmetric."""

BIAS_MAX = 2**31 - 1


class QuantizationParams(NamedTuple):
    """Affine quantization of a tensor: `quantized = round(real / scale) + zero_point`, saturated."""

    scale: np.float32
    zero_point: Array
    """A scalar of the type of the quantized tensor."""


def activation_params(found: Range, kind: ActivationType) -> QuantizationParams:
    """Return the parameters that cover a range, in which 0 must be exact: padding and ReLU produce it."""
    if kind == "symmetric":
        return QuantizationParams(_positive(found.magnitude / 127), np.zeros((), np.int8))
    least, largest = min(found.least, 0.0), max(found.largest, 0.0)
    scale = _positive((largest - least) / 255)
    dtype = np.dtype(kind)
    zero = np.iinfo(dtype).min + np.clip(np.rint(-least / float(scale)), 0, 255)
    return QuantizationParams(scale, np.array(zero, dtype))


def _positive(scale: float) -> np.float32:
    """Return a scale as float32. A tensor of zeros alone has any scale; subnormal ones lose all accuracy."""
    rounded = np.float32(scale)
    return rounded if rounded >= np.finfo(np.float32).tiny else np.float32(1.0)


class QuantizedWeights(NamedTuple):
    """Symmetric int8 weights, and a bias in the scale of the products."""

    weights: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    """One per output channel, or a scalar."""
    bias: npt.NDArray[np.int32] | None
    bias_scales: npt.NDArray[np.float32]
    """`scales` times the scale of the activations."""


def quantize_weights(
    weights: Array, axis: int, bias: Array | None, scale: np.float32, is_per_tensor: bool
) -> QuantizedWeights:
    """
    Quantize the weights of a linear operator, and its bias as int32 in the scale of the sums.

    Parameters:
        weights: float weights.
        axis: the axis of output channels.
        bias: one value per channel.
        scale: the scale of the activations.
        is_per_tensor: whether all channels have one scale.
    """
    by_channel = np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1).astype(np.float64)
    steps = np.abs(by_channel).max(axis=1, initial=0.0) / WEIGHT_MAX
    if bias is not None:
        # A bias far larger than its channel's weights must still fit into int32.
        steps = np.maximum(steps, np.abs(bias.astype(np.float64)) / (float(scale) * BIAS_MAX) * 1.001)
    if is_per_tensor:
        steps = steps.max(keepdims=True, initial=0.0)
    scales = cast("npt.NDArray[np.float32]", steps.astype(np.float32))
    # A channel of zeros alone has any scale.
    scales[scales < np.finfo(np.float32).tiny] = 1.0
    shape = [1] * weights.ndim
    shape[axis] = scales.size
    integers = np.clip(np.rint(weights / scales.reshape(shape)), -WEIGHT_MAX, WEIGHT_MAX).astype(np.int8)
    if is_per_tensor:
        scales = scales.reshape(())
    products = np.asarray(scales * scale, np.float32)
    stored = None
    if bias is not None:
        wide = np.rint(bias.astype(np.float64) / products)
        stored = np.clip(wide, -BIAS_MAX, BIAS_MAX).astype(np.int32)
    return QuantizedWeights(integers, scales, stored, products)
