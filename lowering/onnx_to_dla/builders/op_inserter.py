"""Inserts operators of static shapes before one that they replace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.locations import derived, node_location, node_name, output_names
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.dialects.onnx.types import element_type, tensor_type
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import constant_op

SQUARED_PART = 1 / 4
"""
In FP16 squares of numbers above 255 exceed the largest number, as outliers of trained networks do. Those of
a quarter allow 1023, and a standard deviation of 0.001 is still found to 5 %; of a sixteenth it would be 0.
"""


def erase_unread(values: Iterable[SSAValue]) -> None:
    """Erase what computes values that an erased operator read, if nothing else reads its results."""
    pending = list(values)
    while pending:
        op = pending.pop().owner
        if not isinstance(op, OnnxOp) or op.parent is None or not is_side_effect_free(op):
            continue
        if all(result.first_use is None for result in op.results):
            pending += op.operands
            drop_attributes(op)
            Rewriter.erase_op(op)


def by_channel(constant: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the number of a constant for each channel, `None` if it differs between positions."""
    aligned = constant.reshape((1,) * (len(shape) - constant.ndim) + constant.shape)
    if any(size != 1 for axis, size in enumerate(aligned.shape) if axis != 1):
        return None
    return np.broadcast_to(aligned.reshape(-1), (shape[1],))


@dataclass(frozen=True)
class OpInserter:
    """Inserts operators before `root`, with its node's location, and the element type of its result."""

    root: Operation
    pool: DisposablePool

    @property
    def location(self) -> LocationAttr:
        """The location of constants."""
        return derived(self.root.location)

    def location_of(self, kind: type[OnnxOp]) -> LocationAttr:
        """Return the location of an operator."""
        return self.location

    def op(
        self, kind: type[OnnxOp], operands: Sequence[SSAValue], shape: Sequence[int], **properties: Attribute
    ) -> SSAValue:
        """Insert an operator with one result."""
        element = element_type(self.root.results[0].type)
        assert element is not None, "the result has numbers"
        made = kind.create(
            operands=operands,
            result_types=[tensor_type(shape, element)],
            properties=properties,
            location=self.location_of(kind),
        )
        Builder(InsertPoint.before(self.root)).insert(made)
        return made.results[0]

    def constant(self, array: Array) -> SSAValue:
        """Insert a constant."""
        made = constant_op(array, self.location, self.pool)
        Builder(InsertPoint.before(self.root)).insert(made)
        return made.output

    def none(self) -> SSAValue:
        """Insert an absent operand."""
        made = NoValueOp(self.location)
        Builder(InsertPoint.before(self.root)).insert(made)
        return made.results[0]


@dataclass(frozen=True)
class NormalizationInserter(OpInserter):
    """Inserts operators that normalize, each named after its operator."""

    def location_of(self, kind: type[OnnxOp]) -> LocationAttr:
        """Return the location of an operator."""
        name = node_name(self.root)
        return node_location(f"{name}/{kind.OP_TYPE}") if name else self.location

    def replace(self, result: SSAValue, before: Sequence[OnnxOp] = ()) -> None:
        """
        Replace the root's first result, whose name the new one gets.

        Erase the root, operators `before` it that are replaced too, and what only these read.
        """
        made, root = result.owner, self.root
        assert isinstance(made, OnnxOp)
        assert isinstance(root, OnnxOp)
        made.location = node_location(node_name(made), output_names(root))
        read = [value for op in (*before, root) for value in op.operands]
        drop_attributes(root)
        Rewriter.replace_op(root, [], [result, *[None] * (len(root.results) - 1)])
        for op in reversed(before):
            drop_attributes(op)
            Rewriter.erase_op(op)
        erase_unread(read)
