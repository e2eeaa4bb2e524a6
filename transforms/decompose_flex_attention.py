"""Decompose FlexAttention to MatMul, Softmax and its two bodies."""

from __future__ import annotations

from math import sqrt

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, Operation, Region, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_array_attr, int_attr
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.builtin import YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import ExpandOp, MatMulOp, MulOp, SoftmaxOp
from xonnc.dialects.onnx.ops.preview import FlexAttentionOp
from xonnc.dialects.onnx.ops.tensor import CastOp, ReshapeOp, TransposeOp
from xonnc.dialects.onnx.types import (
    ELEMENT_TYPES_BY_CODE,
    element_type,
    numpy_dtype,
    static_shape,
    tensor_type,
)

Shape = tuple[int, ...]


def decompose_flex_attention(op: FlexAttentionOp, pool: DisposablePool) -> bool:
    """
    Decompose `prob_mod(softmax(score_mod(Q √scale (K √scale)ᵀ))) V`; return whether that was possible.

    With grouped-query attention each head of K and V is repeated. Shapes must be static. After the first
    MatMul scores are float32, or of the type of `softmax_precision`, as in the reference evaluator.
    """
    shapes = [static_shape(value.type) for value in (op.Q, op.K, op.V)]
    element = element_type(op.Q.type)
    known = [shape for shape in shapes if shape is not None and len(shape) == 4 and 0 not in shape]
    if len(known) < 3 or element is None:
        return False
    (_, heads, rows, width), (_, pairs, columns, depth), values = known
    if heads % pairs or values[1:3] != (pairs, columns) or depth != width:
        return False
    builder = _TypedBuilder(op, pool)
    kind = _softmax_type(op, element)
    scale = 1.0 / sqrt(width) if op.scale is None else float(op.scale.value.data)
    root = np.array(np.sqrt(np.float32(scale)), numpy_dtype(element))
    query = builder.product(op.Q, root)
    key = builder.transposed(builder.repeated(builder.product(op.K, root), heads // pairs))
    sizes = (*known[0][:2], rows, columns)
    scores = builder.cast(builder.matmul(query, key, sizes), kind)
    scores = builder.cast(builder.body(op.score_mod, scores), kind, sizes)
    softmax = SoftmaxOp.build(
        operands=[scores], result_types=[tensor_type(sizes, kind)], properties={"axis": int_attr(-1)}
    )
    shares = builder.cast(builder.body(op.prob_mod, builder.add(softmax)), kind, sizes)
    spread = builder.repeated(builder.cast(op.V, kind), heads // pairs)
    made = builder.matmul(shares, spread, (*known[0][:3], values[3]))
    op.Y.replace_all_uses_with(builder.cast(made, element))
    op.detach()
    op.erase()
    return True


def _softmax_type(op: FlexAttentionOp, element: Attribute) -> Attribute:
    if op.softmax_precision is not None:
        return ELEMENT_TYPES_BY_CODE.get(op.softmax_precision.value.data, element)
    return f32 if element in (f16, bf16) else element


class _TypedBuilder:
    """Inserts ops of static types before one op."""

    def __init__(self, op: FlexAttentionOp, pool: DisposablePool) -> None:
        self._op = op
        self._pool = pool

    def add(self, op: Operation) -> SSAValue:
        """Insert an op; return its result."""
        assert self._op.parent is not None
        op.location = derived(self._op.location)
        self._op.parent.insert_op_before(op, self._op)
        return op.results[0]

    def _known(self, value: SSAValue) -> tuple[Shape, Attribute]:
        shape, element = static_shape(value.type), element_type(value.type)
        assert shape is not None
        assert element is not None
        return shape, element

    def product(self, value: SSAValue, factor: np.ndarray[Shape, np.dtype[np.generic]]) -> SSAValue:
        """Multiply by a scalar constant."""
        constant = self.add(ConstantOp.from_attr(self._pool.create(factor), self._op.location))
        return self.add(MulOp.create(operands=[value, constant], result_types=[value.type]))

    def matmul(self, a: SSAValue, b: SSAValue, shape: Shape) -> SSAValue:
        """Return the matrix product, of the given shape."""
        element = element_type(a.type)
        assert element is not None
        return self.add(MatMulOp.create(operands=[a, b], result_types=[tensor_type(shape, element)]))

    def transposed(self, value: SSAValue) -> SSAValue:
        """Swap the last two axes."""
        (batch, heads, rows, columns), element = self._known(value)
        type_ = tensor_type((batch, heads, columns, rows), element)
        return self.add(
            TransposeOp.build(
                operands=[value], result_types=[type_], properties={"perm": int_array_attr(0, 1, 3, 2)}
            )
        )

    def repeated(self, value: SSAValue, count: int) -> SSAValue:
        """Repeat each head `count` times."""
        if count == 1:
            return value
        (batch, heads, rows, columns), _ = self._known(value)
        apart = self._shaped(ReshapeOp, value, (batch, heads, 1, rows, columns))
        wide = self._shaped(ExpandOp, apart, (batch, heads, count, rows, columns))
        return self._shaped(ReshapeOp, wide, (batch, heads * count, rows, columns))

    def _shaped(self, kind: type[Operation], value: SSAValue, shape: Shape) -> SSAValue:
        sizes = self._pool.create(np.array(shape, np.int64))
        constant = self.add(ConstantOp.from_attr(sizes, self._op.location))
        type_ = tensor_type(shape, self._known(value)[1])
        properties = {"allowzero": int_attr(0)} if kind is ReshapeOp else {}
        return self.add(kind.create(operands=[value, constant], result_types=[type_], properties=properties))

    def cast(self, value: SSAValue, element: Attribute, shape: Shape | None = None) -> SSAValue:
        """Cast to another element type; `shape` is the shape of a body's result, whose type may lack it."""
        if element_type(value.type) == element:
            return value
        type_ = tensor_type(self._known(value)[0] if shape is None else shape, element)
        return self.add(CastOp.build(operands=[value], result_types=[type_], properties={"to": element}))

    def body(self, region: Region, value: SSAValue) -> SSAValue:
        """Inline a body; without one return the tensor itself."""
        if not region.blocks:
            return value
        block = region.block
        (argument,) = block.args
        argument.replace_all_uses_with(value)
        end = block.last_op
        assert isinstance(end, YieldOp)
        made = end.operands[0]
        for inner in list(block.ops):
            inner.detach()
            if inner is not end:
                assert self._op.parent is not None
                self._op.parent.insert_op_before(inner, self._op)
        end.erase()
        return made
