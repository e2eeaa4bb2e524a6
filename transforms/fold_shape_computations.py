"""
Fold and merge computations of shapes.

A Reshape copies dimensions of its data by 0 instead of reading them from a Shape. Values of equal symbolic
elements are merged, values of constant elements become constants (docs/internals/onnx-rules.md §9.1, nos. 16,
17, 35, 36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.traits import Pure

from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math.elementwise import ExpandOp
from xonnc.dialects.onnx.ops.tensor.shape import ReshapeOp
from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape
from xonnc.rewriting.attribute_conversion import decode, encode
from xonnc.rewriting.decision_limit import may_decide
from xonnc.rewriting.editing import replace_uses
from xonnc.transforms.dims.dim_context import Elements
from xonnc.transforms.dims.expressions import DimExpr
from xonnc.transforms.dims.shape_analysis import ShapeAnalysis
from xonnc.transforms.rules.op_builder import OpBuilder
from xonnc.transforms.shape_inference_onnx import infer
from xonnc.transforms.shapes.inference_context import UNKNOWN

COPIED, INFERRED = 0, -1
"""Entries of a Reshape target: copy the dimension of the data; infer from the number of elements."""

Key = tuple[Attribute, tuple[DimExpr, ...]]


def fold_shape_computations(module: Operation, facts: ShapeAnalysis) -> bool:
    """
    Fold the shape computations in `module`, given the shape analysis `facts`; return whether it changed.
    """
    if not any(_is_computed(op) for op in module.walk()):
        return False
    folder = _ShapeFolder(facts)
    for region in module.regions:
        for block in region.blocks:
            folder.block(block, {})
    return folder.changed


def _is_computed(op: Operation) -> bool:
    """Return whether an op reads shapes, or has a shape operand that is no constant."""
    if op.name in ("onnx.Shape", "onnx.Size"):
        return True
    return isinstance(op, ReshapeOp | ExpandOp) and not isinstance(op.shape.owner, ConstantOp)


@dataclass
class _ShapeFolder:
    """One walk over a module."""

    dims: ShapeAnalysis
    changed: bool = False
    stale: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values whose types were refined by a fold before them."""

    def block(self, block: Block, known: dict[Key, SSAValue]) -> None:
        """Process a block; `known` holds the values available from enclosing blocks."""
        for op in block.ops:
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner, dict(known))
            if any(operand in self.stale for operand in op.operands):
                self.refresh(op)
            if isinstance(op, ReshapeOp):
                self.reshape(op)
            elif isinstance(op, ExpandOp):
                self.bypass(op)
            if len(op.results) == 1 and op.results[0].first_use is not None:
                self.integers(op, known)

    def refresh(self, op: Operation) -> None:
        """Infer the result types and symbolic shapes of an op again."""
        infer(op, self.dims, certain=isinstance(op.parent_op(), FuncOp))
        self.stale.update(op.results)

    def integers(self, op: Operation, known: dict[Key, SSAValue]) -> None:
        """Replace a shape tensor by a constant, or by an earlier one of equal elements."""
        result = op.results[0]
        if isinstance(op, ConstantOp) or element_type(result.type) != i64 or not op.has_trait(Pure):
            return
        shape, elements = static_shape(result.type), self.dims.elements(result)
        if shape is None or len(shape) > 1 or elements is None or len(elements) != int(np.prod(shape)):
            return
        exprs = tuple(expr for expr, _ in elements)
        numbers = [expr.number for expr in exprs if expr.number is not None]
        if (len(numbers) == len(exprs) or (result.type, exprs) in known) and not may_decide(
            "shape-inference-onnx", "fold-shape-computation", op
        ):
            return
        if len(numbers) == len(exprs):
            replace_uses(result, OpBuilder(op).constant(np.array(numbers, np.int64).reshape(shape)))
            self.changed = True
            return
        twin = known.setdefault((result.type, exprs), result)
        if twin is not result:
            replace_uses(result, twin)
            self.changed = True

    def reshape(self, op: ReshapeOp) -> None:
        """Make the target a constant if each dimension is static, copied, or the only one to infer."""
        if self.bypass(op):
            return
        elements, sizes = self.dims.elements(op.shape), self.dims.sizes(op.data)
        if sizes is None or elements is None or isinstance(op.shape.owner, ConstantOp):
            return
        made = self.dims.sizes(op.results[0]) or ()
        target = constant_target_shape(elements, sizes, made, decode(op.properties.get("allowzero")) == 1)
        if target is not None and may_decide("shape-inference-onnx", "fold-reshape-target", op):
            shape = OpBuilder(op).ints(*target)
            assert isinstance(shape, OpResult)
            self.dims.learn(shape.op)
            op.operands = [op.data, shape]
            op.properties["allowzero"] = encode(0)
            self.changed = True
            self.refresh(op)

    def bypass(self, op: ReshapeOp | ExpandOp) -> bool:
        """Remove a Reshape or Expand that keeps the shape of its data."""
        data, result = op.operands[0], op.results[0]
        sizes, elements = self.dims.sizes(data), self.dims.elements(op.shape)
        if sizes is None or not says_more(data.type, result.type):
            return False
        target = None if elements is None else tuple(expr for expr, _ in elements)
        if sizes != target and sizes != self.dims.sizes(result):
            return False
        replace_uses(result, data)
        self.changed = True
        return True


def says_more(type_: Attribute, than: Attribute) -> bool:
    """Return whether a tensor type is at least as refined as another."""
    if element_type(type_) != element_type(than) or not is_ranked(type_):
        return False
    if not is_ranked(than):
        return True
    ours, theirs = type_.get_shape(), than.get_shape()
    pairs = zip(ours, theirs, strict=False)
    return len(ours) == len(theirs) and all(other in (UNKNOWN, size) for size, other in pairs)


def constant_target_shape(
    elements: Elements, sizes: Sequence[DimExpr], made: Sequence[DimExpr], allows_zero: bool
) -> list[int] | None:
    """
    Return the target of a Reshape as integers, or `None` if it must be computed.

    A copied dimension may be 0, and with a 0 dimension no other can be inferred: a -1 becomes the size of
    the result (`made`) where that is known, and else is allowed only if the model has one.
    """
    numbers = [expr.number for expr, _ in elements]
    for index, expr in enumerate(made[: len(numbers)]):
        if numbers[index] == INFERRED:
            numbers[index] = expr.number or INFERRED
    target: list[int] = []
    for index, ((expr, _), number) in enumerate(zip(elements, numbers, strict=True)):
        if number is not None:
            if number == 0 and allows_zero:
                return None
            target.append(number)
        elif index < len(sizes) and expr == sizes[index]:
            target.append(COPIED)
        else:
            target.append(INFERRED)
    if target.count(INFERRED) > 1:
        return None
    return None if INFERRED in target and COPIED in target and INFERRED not in numbers else target
