"""
Coarser scales for weights whose own would make the biases of other channels coarse.

Weights have a scale per output channel, and the SDP adds the bias in units of a channel's sums, in int16 with
a shift that all channels share. Training leaves channels with weights of 1e-6 and a bias of ordinary size,
which is then so many units that the shift rounds the biases of the other channels away. With a coarser scale
the bias is fewer units; the weights lose bits, which such a channel does not need.
"""

from __future__ import annotations

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.math import GemmOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
from xonnc.formats.nvdla.quantization import INT8_MAX
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.builders.kernels import quantize_kernels
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import constant_op, elements
from xonnc.lowering.onnx_to_dla.builders.sdp_operands import MAX_OPERAND, MAX_SHIFT
from xonnc.lowering.onnx_to_dla.quantization.keep_float import stays_float

TYPICAL = 32.0
"""Root mean square of the stored integers of activations, to weigh rounded weights against rounded biases."""

MIN_GAIN = 4.0
"""Factor by which the squared rounding error must fall: most layers have no such channel."""


def coarsen_weight_scales(function: FuncOp, pool: DisposablePool) -> None:
    """Give weights of `function` coarser scales where that lowers the rounding error of their layer."""
    for op in list(function.body.block.ops):
        if not isinstance(op, ConvOp | GemmOp) or stays_float(op):
            continue
        weights, biases = elements(op.operands[1]), elements(op.operands[2])
        read = op.operands[0].owner
        if weights is None or biases is None or not isinstance(read, DequantizeLinearOp):
            continue
        unit, zero = elements(read.x_scale), elements(read.x_zero_point)
        axis = 0 if isinstance(op, ConvOp) or op.transB.value.data else 1
        rows = np.moveaxis(weights, axis, 0)
        is_plain = isinstance(op, ConvOp) or op.alpha.value.data == op.beta.value.data == 1.0
        if unit is None or unit.size != 1 or not is_plain or biases.size != len(rows):
            continue
        # The integers of uint8 are stored less 128, as their zero point is.
        offset = 0 if zero is None else int(zero.reshape(())) - (128 if zero.dtype == np.uint8 else 0)
        scales = coarser_scales(rows, biases.reshape(-1), float(unit.reshape(())), offset)
        if scales is not None:
            _set_scales(op, rows, scales, axis, pool)


def coarser_scales(rows: Array, biases: Array, unit: float, zero: int) -> Array | None:
    """
    Return the scale of each row of weights, `None` if those of `quantize_kernels` are as good.

    `unit` and `zero` are the scale and the zero point of the activations.
    """
    kernels = quantize_kernels(rows)
    sums = kernels.array.reshape(len(rows), -1).sum(axis=1, dtype=np.int64)
    addends = np.abs(biases / (unit * kernels.scales) - zero * sums)
    products = rows[0].size * TYPICAL**2
    given = least = np.inf
    best = kernels.scales
    for shift in range(MAX_SHIFT, -1, -1):
        scales = kernels.scales * np.maximum(addends / (MAX_OPERAND * 2.0**shift), 1.0)
        error = float(np.sum(scales**2)) * (4.0**shift + products)
        if np.array_equal(scales, kernels.scales):
            given = error
        if error < least:
            best, least = scales, error
    return best if least * MIN_GAIN < given else None


def _set_scales(op: ConvOp | GemmOp, rows: Array, scales: Array, axis: int, pool: DisposablePool) -> None:
    """Make weights integers of 8 bits after a DequantizeLinear of these scales."""
    stored = scales.astype(np.float32)
    integers = np.rint(rows / stored.astype(np.float64).reshape(-1, *[1] * (rows.ndim - 1)))
    integers = np.clip(integers, -INT8_MAX, INT8_MAX).astype(np.int8)
    location = derived(op.location)
    constants = [
        constant_op(np.ascontiguousarray(array), location, pool)
        for array in (np.moveaxis(integers, 0, axis), stored, np.zeros(len(rows), np.int8))
    ]
    real = DequantizeLinearOp.create(
        operands=[each.output for each in constants],
        properties={"axis": int_attr(axis)},
        result_types=[op.operands[1].type],
        location=location,
    )
    Builder(InsertPoint.before(op)).insert([*constants, real])
    op.operands[1] = real.y
