"""Split Sum and Mean of three and more tensors, and Gemm of a computed C, into additions of two tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.dialects.onnx.ops.math import AddOp, ExpandOp, GemmOp, MeanOp, MulOp, SumOp
from xonnc.dialects.onnx.types import NONE, element_type, numpy_dtype, static_shape, tensor_type
from xonnc.lowering.onnx_to_dla.dla_builder import Array
from xonnc.lowering.onnx_to_dla.qdq_pairs import constant_op, is_constant

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
    addend, absent = op.C, NoValueOp(derived(op.location))
    if op.beta.value.data != 1.0:
        addend = _insert(MulOp, (addend, _scalar(op.beta.value.data, addend, op, pool)), op)
    if addend.type != op.Y.type:
        shape = _constant(np.array(static_shape(op.Y.type), np.int64), op, pool)
        addend = _insert(ExpandOp, (addend, shape), op, static_shape(op.Y.type))
    product = GemmOp.create(
        operands=[op.A, op.B, absent.results[0]],
        result_types=[op.Y.type],
        properties=op.properties.copy(),
        location=derived(op.location),
    )
    Builder(InsertPoint.before(op)).insert([absent, product])
    total = AddOp.create(operands=[product.Y, addend], result_types=[op.Y.type], location=op.location)
    Rewriter.replace_op(op, total)


def _scalar(number: float, like: SSAValue, before: Operation, pool: DisposablePool) -> SSAValue:
    """Insert a scalar of the element type of another value."""
    element = element_type(like.type)
    assert element is not None
    return _constant(np.array(number, numpy_dtype(element)), before, pool)


def _constant(array: Array, before: Operation, pool: DisposablePool) -> SSAValue:
    """Insert a constant."""
    constant = constant_op(array, derived(before.location), pool)
    Builder(InsertPoint.before(before)).insert(constant)
    return constant.output


def _split(op: SumOp | MeanOp, operands: Sequence[SSAValue], pool: DisposablePool) -> None:
    added = operands[0]
    for operand in operands[1:]:
        added = _insert(AddOp, (added, operand), op)
    if isinstance(op, MeanOp):
        added = _insert(MulOp, (added, _scalar(1 / len(operands), added, op, pool)), op)
    last = added.owner
    assert isinstance(last, Operation)
    # The last operation keeps the name of the node's result.
    last.location = op.location
    drop_attributes(op)
    Rewriter.replace_op(op, [], [added])


def _insert(
    kind: type[AddOp | ExpandOp | MulOp],
    operands: tuple[SSAValue, SSAValue],
    before: Operation,
    shape: tuple[int, ...] | None = None,
) -> SSAValue:
    """Insert an operator; its result has the shape that the operands are broadcast to, unless it is given."""
    shapes = [static_shape(value.type) or () for value in operands] if shape is None else [shape]
    element = element_type(operands[0].type)
    assert element is not None
    made = kind.create(
        operands=operands,
        result_types=[tensor_type(np.broadcast_shapes(*shapes), element)],
        location=derived(before.location),
    )
    Builder(InsertPoint.before(before)).insert(made)
    return made.results[0]
