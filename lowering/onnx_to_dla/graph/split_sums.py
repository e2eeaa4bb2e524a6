"""Split Sum and Mean of three and more tensors, and Gemm of a computed C, into additions of two tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.ops.math import AddOp, ExpandOp, GemmOp, MeanOp, MulOp, SumOp
from xonnc.dialects.onnx.types import NONE, element_type, numpy_dtype, static_shape
from xonnc.lowering.onnx_to_dla.builders.op_inserter import OpInserter
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import is_constant

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


def split_products(module: ModuleOp, pool: DisposablePool) -> None:
    """
    Split every Gemm in `module` of constant weights and a computed C: `A B + beta C`.

    A bias is of the kernels, so it is constant; the SDP adds a computed tensor to the sums, once it has their
    shape.
    """
    for op in [op for op in module.walk() if isinstance(op, GemmOp)]:
        is_computed = op.C.type != NONE and not is_constant(op.C)
        shapes = static_shape(op.C.type), static_shape(op.Y.type)
        if is_computed and is_constant(op.B) and None not in shapes:
            _split_product(op, pool)


def _split_product(op: GemmOp, pool: DisposablePool) -> None:
    builder, addend = OpInserter(op, pool), op.C
    shapes = [static_shape(value.type) for value in (addend, op.Y)]
    given, shape = (each or () for each in shapes)
    if op.beta.value.data != 1.0:
        factor = _scalar(op.beta.value.data, addend, builder)
        addend = builder.op(MulOp, (addend, factor), given)
    if given != shape:
        addend = builder.op(ExpandOp, (addend, builder.constant(np.array(shape, np.int64))), shape)
    product = builder.op(GemmOp, (op.A, op.B, builder.none()), shape, **op.properties)
    total = AddOp.create(operands=[product, addend], result_types=[op.Y.type], location=op.location)
    Rewriter.replace_op(op, total)


def _scalar(number: float, like: SSAValue, builder: OpInserter) -> SSAValue:
    """Insert a scalar of the element type of another value."""
    element = element_type(like.type)
    assert element is not None
    return builder.constant(np.array(number, numpy_dtype(element)))


def _split(op: SumOp | MeanOp, operands: Sequence[SSAValue], pool: DisposablePool) -> None:
    builder, added = OpInserter(op, pool), operands[0]
    shape = static_shape(added.type) or ()
    for operand in operands[1:]:
        shape = np.broadcast_shapes(shape, static_shape(operand.type) or ())
        added = builder.op(AddOp, (added, operand), shape)
    if isinstance(op, MeanOp):
        added = builder.op(MulOp, (added, _scalar(1 / len(operands), added, builder)), shape)
    last = added.owner
    assert isinstance(last, Operation)
    # The last operation keeps the name of the node's result.
    last.location = op.location
    drop_attributes(op)
    Rewriter.replace_op(op, [], [added])
