"""
Kernels whose products are negligible beside their bias, such as those of dead channels, become zero.

Training leaves channels with weights of 1e-18 and a bias of ordinary size. Weights are quantized per output
channel, so the bias would be a huge number of units of such a channel's sums, which no SDP operand holds, and
which makes the addends of the other channels coarse, since they share a shift.
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
from xonnc.dialects.onnx.ops.math import GemmOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.lowering.onnx_to_dla.value_ranges import ValueRanges

NEGLIGIBLE = 2.0**-12
"""Largest sum of products, relative to the bias, that is dropped: 1/32 of a step of int8."""


def drop_negligible_weights(function: FuncOp, ranges: ValueRanges, pool: DisposablePool) -> None:
    """Set kernels of `function` to zero where their products cannot change the result."""
    for op in list(function.body.block.ops):
        if not isinstance(op, ConvOp | GemmOp):
            continue
        weights, biases = _elements(op.operands[1]), _elements(op.operands[2])
        found = ranges.of(op.operands[0])
        if weights is None or biases is None or found is None:
            continue
        axis = 0 if isinstance(op, ConvOp) or op.transB.value.data else 1
        others = tuple(each for each in range(weights.ndim) if each != axis)
        sums = np.abs(weights.astype(np.float64)).sum(axis=others) * found.magnitude
        if biases.size != sums.size:
            continue
        is_negligible = (sums > 0) & (sums < NEGLIGIBLE * np.abs(biases.reshape(-1)))
        if is_negligible.any():
            shape = [-1 if each == axis else 1 for each in range(weights.ndim)]
            pruned = np.where(is_negligible.reshape(shape), np.zeros((), weights.dtype), weights)
            _replace_weights(op, pruned, pool)


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
