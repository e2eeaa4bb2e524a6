"""The bytes of tensors that are alive at each kernel of a block, in the order of the IR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.nn import AveragePoolOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import operators_in
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ELEMENTWISE
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionGroup
from xonnc.rewriting.editing import operands_of


@dataclass(frozen=True)
class LiveBytes:
    """The steps of a block, each the operators of one kernel, and the lifetimes of tensors between them."""

    steps: Sequence[Sequence[Operation]]
    step: Mapping[Operation, int]
    """The step of each operator."""
    sizes: Mapping[SSAValue, int]
    """Bytes of each tensor that one step computes for others; not those that the block returns."""
    first: Mapping[SSAValue, int]
    """The step that computes a tensor."""
    last: Mapping[SSAValue, int]
    """The last step that reads it."""

    @classmethod
    def of(cls, block: Block, groups: Mapping[Operation, FusionGroup]) -> LiveBytes:
        """Compute the lifetimes of the tensors of a block; a tensor of dynamic shape has no bytes."""
        steps: list[list[Operation]] = []
        for op in operators_in(block):
            group = groups.get(op)
            if group is not None and steps and groups.get(steps[-1][-1]) is group:
                steps[-1].append(op)
            else:
                steps.append([op])
        number = {op: index for index, ops in enumerate(steps) for op in ops}
        end = block.last_op
        returned = set(() if end is None else end.operands)
        first: dict[SSAValue, int] = {}
        last: dict[SSAValue, int] = {}
        for op, index in number.items():
            for result in op.results:
                reads = [number.get(_ancestor(use.operation, block), index) for use in result.uses]
                if result not in returned and any(read != index for read in reads):
                    first[result], last[result] = index, max(reads)
        return cls(steps, number, {value: _bytes(value) for value in first}, first, last)

    @property
    def peak(self) -> int:
        """The first of the steps with the most bytes alive."""
        changes = [0] * (len(self.steps) + 1)
        for value, size in self.sizes.items():
            changes[self.first[value]] += size
            changes[self.last[value] + 1] -= size
        alive, peak, most = 0, 0, -1
        for index, ops in enumerate(self.steps):
            alive += changes[index]
            own = alive - self._saved(index, ops)
            if own > most:
                peak, most = index, own
        return peak

    def steps_reading(self, value: SSAValue) -> list[int]:
        """Return the steps that read a tensor."""
        return [index for index, ops in enumerate(self.steps) if any(value in _operands(op) for op in ops)]

    def last_op(self, step: int) -> Operation:
        """Return the last operator of a step."""
        return self.steps[step][-1]

    def _saved(self, index: int, ops: Sequence[Operation]) -> int:
        """Return the bytes of results that are written in place of operands which die."""
        made = sum(self.sizes.get(result, 0) for op in ops for result in op.results)
        dying = {
            value
            for op in ops
            if _writes_in_place(op)
            for value in _operands(op)
            if self.last.get(value) == index and self.first[value] < index
        }
        return min(made, sum(self.sizes[value] for value in dying))


def _writes_in_place(op: Operation) -> bool:
    """Whether an operator may write its result where its operands lie."""
    is_of_one = isinstance(op, AveragePoolOp) and prod(int_values(op.kernel_shape) or ()) == 1
    return type(op) in ELEMENTWISE or isinstance(op, ConcatOp) or is_of_one


def _operands(op: Operation) -> Iterable[SSAValue]:
    """Return what an operator reads, in its regions too."""
    return (value for each in (op.walk() if op.regions else (op,)) for value in operands_of(each))


def _ancestor(op: Operation, block: Block) -> Operation:
    """Return the operator of a block that an operator is in."""
    while op.parent is not block and (parent := op.parent_op()) is not None:
        op = parent
    return op


def _bytes(value: SSAValue) -> int:
    shape, element = static_shape(value.type), element_type(value.type)
    if shape is None or element is None:
        return 0
    return prod(shape) * numpy_dtype(element).itemsize
