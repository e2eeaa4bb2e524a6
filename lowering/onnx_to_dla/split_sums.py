"""Split Sum and Mean of three and more tensors into additions of two, each of which is quantized."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import AddOp, MeanOp, MulOp, SumOp
from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape, tensor_type

MAX_ADDENDS = 2
"""Tensors that one SDP pass adds."""


def split_sums(module: ModuleOp, pool: DisposablePool) -> None:
    """
    Split every Sum and Mean in `module` of more than two tensors with static shapes.

    The SDP quantizes to int8 after each addition of two tensors, so each needs a range of its own.
    """
    for op in [op for op in module.walk() if isinstance(op, SumOp | MeanOp)]:
        operands = list(op.data_0)
        if len(operands) > MAX_ADDENDS and all(static_shape(value.type) is not None for value in operands):
            _split(op, operands, pool)


def _split(op: SumOp | MeanOp, operands: Sequence[SSAValue], pool: DisposablePool) -> None:
    added = operands[0]
    for operand in operands[1:]:
        added = _insert(AddOp, (added, operand), op)
    if isinstance(op, MeanOp):
        element = element_type(added.type)
        assert element is not None
        share = np.array(1 / len(operands), numpy_dtype(element))
        constant = ConstantOp.create(
            properties={"value": pool.create(share)}, result_types=[tensor_type((), element)]
        )
        Builder(InsertPoint.before(op)).insert(constant)
        added = _insert(MulOp, (added, constant.output), op)
    last = added.owner
    assert isinstance(last, Operation)
    # The last operation keeps the name of the node's result.
    last.location = op.location
    drop_attributes(op)
    Rewriter.replace_op(op, [], [added])


def _insert(kind: type[AddOp | MulOp], operands: tuple[SSAValue, SSAValue], before: Operation) -> SSAValue:
    shapes = [static_shape(value.type) or () for value in operands]
    element = element_type(operands[0].type)
    assert element is not None
    made = kind.create(
        operands=operands,
        result_types=[tensor_type(np.broadcast_shapes(*shapes), element)],
        location=derived(before.location),
    )
    Builder(InsertPoint.before(before)).insert(made)
    return made.results[0]
