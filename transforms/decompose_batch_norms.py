"""
Decompose batch normalisations with constant parameters to Mul and Add, which fuse with elementwise kernels.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.math import AddOp, MulOp
from xonnc.dialects.onnx.types import element_type, is_ranked
from xonnc.transforms.constant_dequantization import dequantized_constant


def decompose_batch_norms(module: ModuleOp, pool: DisposablePool) -> None:
    """
    Replace `(x - mean) scale / sqrt(variance + epsilon) + B` by `x a + b`.

    Per channel, `a = scale / sqrt(variance + epsilon)` and `b = B - mean a`, computed in float64. Parameters
    may be quantized constants.
    """
    for op in list(module.walk()):
        if isinstance(op, BatchNormalizationInferenceModeOp):
            _decompose(op, pool)


def _decompose(op: BatchNormalizationInferenceModeOp, pool: DisposablePool) -> None:
    shape = op.X.type.get_shape() if is_ranked(op.X.type) else None
    values = [dequantized_constant(value) for value in (op.scale, op.B, op.mean, op.var)]
    known = [value for value in values if value is not None]
    if shape is None or len(shape) < 2 or len(known) != len(values) or element_type(op.X.type) != f32:
        return
    scale, bias, mean, variance = (np.asarray(value, np.float64) for value in known)
    factor = scale / np.sqrt(variance + op.epsilon.value.data)
    axes = (-1, *(1,) * (len(shape) - 2))
    constants = [
        ConstantOp.from_attr(pool.create(array.astype(np.float32).reshape(axes)), derived(op.location))
        for array in (factor, bias - mean * factor)
    ]
    product = MulOp.create(operands=[op.X, constants[0].output], result_types=[op.results[0].type])
    total = AddOp.create(operands=[product.C, constants[1].output], result_types=[op.results[0].type])
    product.location, total.location = derived(op.location), op.location
    made: list[Operation] = [*constants, product, total]
    assert op.parent is not None
    op.parent.insert_ops_before(made, op)
    op.results[0].replace_all_uses_with(total.C)
    op.detach()
    op.erase()
