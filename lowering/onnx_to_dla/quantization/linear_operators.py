"""Linear operators with constant weights: their kernels and biases, and how they are replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import GemmOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE, element_type_of, tensor_type

Array = npt.NDArray[Any]
LinearOp = ConvOp | GemmOp


def is_plain(op: LinearOp) -> bool:
    """Whether an op has constant float32 weights and a constant bias."""
    weights, bias = _numbers(op.operands[1]), _numbers(op.operands[2])
    if weights is None or weights.dtype != np.float32 or (bias is None and op.operands[2].type != NONE):
        return False
    if bias is not None and bias.size != weights.shape[_output_axis(op)]:
        return False
    if isinstance(op, ConvOp):
        return True
    return op.alpha.value.data == op.beta.value.data == 1.0 and not op.transA.value.data


def _output_axis(op: LinearOp) -> int:
    return 0 if isinstance(op, ConvOp) or op.transB.value.data else 1


def kernels_of(op: LinearOp) -> Array:
    """Return weights as [groups, kernels per group, input channels, taps]."""
    groups = op.group.value.data if isinstance(op, ConvOp) else 1
    rows = np.moveaxis(_weights(op), _output_axis(op), 0).astype(np.float64)
    return rows.reshape(groups, rows.shape[0] // groups, rows.shape[1], -1)


def set_kernels(op: LinearOp, kernels: Array, pool: DisposablePool) -> None:
    weights, axis = _weights(op), _output_axis(op)
    rows = kernels.reshape(np.moveaxis(weights, axis, 0).shape)
    replace_operand(op, 1, np.moveaxis(rows, 0, axis), pool)


def bias_of(op: LinearOp) -> Array:
    found = _numbers(op.operands[2])
    if found is None:
        found = np.zeros(_weights(op).shape[_output_axis(op)], np.float32)
    return found.reshape(-1)


def scale_results(op: LinearOp, centers: Array, factors: Array, pool: DisposablePool) -> None:
    """Shift and scale the results of an operator by its bias and kernels."""
    if centers.any() or op.operands[2].type != NONE:
        replace_operand(op, 2, (bias_of(op) - centers) * factors, pool)
    kernels = kernels_of(op)
    set_kernels(op, kernels * factors.reshape(kernels.shape[0], -1, 1, 1), pool)


def replace_operand(op: Operation, index: int, values: Array, pool: DisposablePool) -> None:
    constant = constant_before(values, op, pool)
    Builder(InsertPoint.before(op)).insert(constant)
    op.operands[index] = constant.output


def constant_before(values: Array, before: Operation, pool: DisposablePool) -> ConstantOp:
    array = np.ascontiguousarray(values, np.float32)
    return ConstantOp.create(
        properties={"value": pool.create(array)},
        result_types=[tensor_type(array.shape, element_type_of(array.dtype))],
        location=derived(before.location),
    )


def _weights(op: LinearOp) -> Array:
    result = _numbers(op.operands[1])
    assert result is not None, "paths are between sums with constant weights"
    return result


def _numbers(value: SSAValue) -> Array | None:
    """A constant's numbers."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp) or value.op.value is None:
        return None
    return elements_array(value.op.value)
