"""
Kernels whose products are negligible beside their bias or the result become zero: those of dead channels.

Training leaves channels with weights of 1e-18, and branches of residual blocks begin with a factor of 1e-5,
beside which what they are added to is large. Weights are quantized per output channel, so a bias of
ordinary size, or the zero point of what is added, would be a huge number of units of such a channel's sums,
which no SDP operand holds, and which makes the addends of the other channels coarse: they share a shift.

The weights that remain bound these units. With `r` the magnitude of the result, `x` that of the input and `K`
the size of a kernel, the largest weight is at least `2^-12 r / (K x)`, and a unit `x / 127` times 1/127 of
it; so `r` is at most `2^26 K` units, and the SDP takes `2^46` of a bias. The sum with a cube that is added
has 32 bits, though: a kernel is dropped too if that cube exceeds `2^30` units. Its products are then below
1/28 of the cube with 2,304 weights, if all have one sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import AddOp, GemmOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.nvdla.quantization import INT8_MAX
from xonnc.lowering.onnx_to_dla.int8.saturation import varying_range
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges

NEGLIGIBLE = 2.0**-12
"""Largest sum of products, relative to the bias or the result, that is dropped: 1/32 of a step of int8."""


MAX_UNITS = 2.0**30
"""Largest magnitude of an added cube in units of a kernel's sums, half of what the SDP's 32 bits hold."""


def drop_negligible_weights(function: FuncOp, ranges: ValueRanges, pool: DisposablePool) -> None:
    """Set kernels of `function` to zero where their products cannot change the result."""
    for op in list(function.body.block.ops):
        if not isinstance(op, ConvOp | GemmOp):
            continue
        weights, found = _elements(op.operands[1]), ranges.of(op.operands[0])
        if weights is None or weights.ndim < 2 or found is None:
            continue
        is_row = isinstance(op, ConvOp) or op.transB.value.data
        axis = 0 if is_row else weights.ndim - 1
        others = tuple(each for each in range(weights.ndim) if each != axis)
        alpha = op.alpha.value.data if isinstance(op, GemmOp) else 1.0
        sums = np.abs(weights.astype(np.float64)).sum(axis=others) * found.magnitude * abs(alpha)
        results = _magnitudes(op, ranges)
        if results is None or results.size not in (1, sums.size):
            continue
        largest = np.abs(weights.astype(np.float64)).max(axis=others) * abs(alpha)
        units = largest * found.magnitude / INT8_MAX**2
        overflows = _added_magnitude(op.results[0], ranges) > MAX_UNITS * units
        is_negligible = (sums > 0) & ((sums < NEGLIGIBLE * results) | overflows)
        if is_negligible.any():
            shape = [-1 if each == axis else 1 for each in range(weights.ndim)]
            pruned = np.where(is_negligible.reshape(shape), np.zeros((), weights.dtype), weights)
            _replace_weights(op, pruned, pool)


def _magnitudes(op: ConvOp | GemmOp, ranges: ValueRanges) -> npt.NDArray[Any] | None:
    """Return the larger of the bias and the result for each channel; `None` if the bias is computed."""
    found = ranges.of(op.results[0])
    # The integers of the result cover the range in which what reads it varies.
    result = varying_range(op.results[0], found).magnitude if found is not None else 0.0
    result = max(result, _sum_magnitude(op.results[0], ranges))
    if op.operands[2].type == NONE:
        return np.array([result])
    biases, beta = _elements(op.operands[2]), op.beta.value.data if isinstance(op, GemmOp) else 1.0
    return None if biases is None else np.maximum(np.abs(biases.reshape(-1) * beta), result)


def _sum_magnitude(value: SSAValue, ranges: ValueRanges) -> float:
    """Return the magnitude of the result of an Add, the only reader of a value; 0 if there is none."""
    use = value.get_user_of_unique_use()
    found = ranges.of(use.results[0]) if isinstance(use, AddOp) else None
    return 0.0 if use is None or found is None else varying_range(use.results[0], found).magnitude


def _added_magnitude(value: SSAValue, ranges: ValueRanges) -> float:
    """Return the magnitude of what an Add, the only reader of a value, adds to it; 0 if there is none."""
    use = value.get_user_of_unique_use()
    if not isinstance(use, AddOp):
        return 0.0
    found = ranges.of(use.B if use.A is value else use.A)
    return 0.0 if found is None else found.magnitude


def _replace_weights(op: ConvOp | GemmOp, weights: npt.NDArray[Any], pool: DisposablePool) -> None:
    """Make a constant the weights of one operator; others may share the old ones."""
    constant = ConstantOp.create(
        properties={"value": pool.create(weights)},
        result_types=[op.operands[1].type],
        location=derived(op.location),
    )
    Builder(InsertPoint.before(op)).insert(constant)
    op.operands[1] = constant.output


def _elements(value: SSAValue) -> npt.NDArray[Any] | None:
    """Return the elements of a constant, or `None`."""
    owner: Operation | None = value.op if isinstance(value, OpResult) else None
    if not isinstance(owner, ConstantOp) or owner.value is None:
        return None
    return elements_array(owner.value)
