"""
Outlining of ops that depend on data-dependent shapes (of NonZero, NonMaxSuppression, …).

They become functions with dynamic kernels, which the runtime calls once the shapes are known. The same is
done in bodies of loops whose tensors grow, and after branches of different shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.rewriter import Rewriter

from xonnc.dialects.krnl.attributes import CUT
from xonnc.dialects.krnl.memory import DeferredCallOp
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.tensor import SliceOp
from xonnc.dialects.onnx.types import NONE, SeqType, element_type, is_ranked, static_shape
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import may_be_cut
from xonnc.lowering.onnx_to_krnl.planning.session_ops import CONTROL, is_session_op
from xonnc.lowering.onnx_to_krnl.planning.shape_inputs import (
    depends_on_known_sizes,
    shape_determining_operands,
)
from xonnc.lowering.onnx_to_krnl.planning.size_computations import (
    clone_sizes,
    is_operator_beside,
    is_size,
    producers_of,
    repeated_sizes,
)
from xonnc.transforms.dims.functions import DIM_PARAMS, shared_dim_names
from xonnc.transforms.dims.shape_analysis import ShapeAnalysis

OUTLINED = "krnl.deferred"
"""Attribute of functions that take tensors of data-dependent shapes."""


def is_outlined(function: FuncOp) -> bool:
    """Whether a function takes tensors of data-dependent shapes."""
    return OUTLINED in function.attributes


def mark_cut_slices(module: ModuleOp) -> None:
    """Set `krnl.cut` of slices of one axis whose start and end are computed from data."""
    for function in module.ops:
        if isinstance(function, FuncOp) and function.body.blocks and not is_outlined(function):
            for op in function.walk():
                if isinstance(op, SliceOp) and _is_cut(op, function.body.block):
                    op.attributes[CUT] = UnitAttr()


def _is_cut(op: SliceOp, block: Block) -> bool:
    if not is_ranked(op.data.type) or 0 in op.data.type.get_shape() or not _is_dynamic(op.output):
        return False
    has_one_axis = static_shape(op.starts.type) == static_shape(op.ends.type) == (1,)
    bounds = op.starts, op.ends
    if not has_one_axis or not _are_constant((op.axes, op.steps)) or _are_constant(bounds):
        return False
    return not depends_on_known_sizes(bounds, block)


def _are_constant(values: Sequence[SSAValue]) -> bool:
    """Whether the operands that are there are constants."""
    return all(value.type == NONE or isinstance(value.owner, ConstantOp) for value in values)


def blocks_of(module: ModuleOp) -> Iterator[tuple[Block, AbstractSet[SSAValue]]]:
    """Yield the bodies of control flow with their inputs of dynamic shape, then the block of the model."""
    function = next((op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks), None)
    if function is None:
        return
    for op in function.walk():
        for region in op.regions if isinstance(op, CONTROL) else ():
            around = {value for inner in region.block.walk() for value in inner.operands}
            yield region.block, {value for value in (*region.block.args, *around) if _is_dynamic(value)}
    yield function.body.block, set()


class Outlined:
    """Ops of one block, and the function that they move to."""

    def __init__(self, followers: Followers, facts: ShapeAnalysis) -> None:
        """Find what the function takes and gives; nothing is changed yet."""
        self._followers = followers
        self._ops = (*followers.copied, *followers.later)
        self._moved = set(followers.later)
        self._repeated = repeated_sizes(followers.later)
        inside = set(self._ops)
        self._read = dict.fromkeys(
            value for op in self._ops for value in op.operands if value.owner not in inside
        )
        self._inputs = [value for value in self._read if not isinstance(value.owner, ConstantOp | NoValueOp)]
        # Clones of repeated ops read clones of each other.
        repeated = {
            value for op in self._repeated for value in op.operands if value.owner not in self._repeated
        }
        self._given = [
            result
            for op in followers.later
            for result in op.results
            if result in repeated or any(self._takes_result(use, op) for use in result.uses)
        ]
        names = shared_dim_names([*self._inputs, *self._given], facts)
        self._sizes = [DictionaryAttr({DIM_PARAMS: StringAttr(each)} if each else {}) for each in names]

    def _takes_result(self, use: Use, op: Operation) -> bool:
        """Whether a use reads the result of the call: neither moves nor reads what is computed again."""
        reads_again = op in self._repeated and is_operator_beside(use, op, self._moved)
        return use.operation not in self._moved and not reads_again

    def function(self, name: str) -> tuple[FuncOp, Mapping[Operation, Operation]]:
        """Return a function with clones of the ops, and the op that each is a clone of."""
        body = Block(arg_types=[value.type for value in self._inputs])
        inside = dict[SSAValue, SSAValue](zip(self._inputs, body.args, strict=True))
        for value in self._read:
            if value not in inside and isinstance(value.owner, Operation):
                body.add_op(value.owner.clone(inside))
        origins = {op.clone(inside): op for op in self._ops}
        body.add_ops(origins)
        body.add_op(ReturnOp.create(operands=[inside[value] for value in self._given]))
        type_ = FunctionType.from_lists(
            [value.type for value in self._inputs], [value.type for value in self._given]
        )
        function = FuncOp(name, type_, Region(body), "private")
        function.attributes[OUTLINED] = UnitAttr()
        count = len(self._inputs)
        function.arg_attrs = ArrayAttr(self._sizes[:count])
        function.res_attrs = ArrayAttr(self._sizes[count:])
        return function, origins

    def replace(self, name: str) -> None:
        """Replace the ops by a call of their function at the end of their block."""
        later = self._followers.later
        block = later[0].parent
        assert block is not None
        end = block.last_op
        assert isinstance(end, ReturnOp | YieldOp)
        call = DeferredCallOp(name, self._inputs, [value.type for value in self._given])
        again = clone_sizes([op for op in later if op in self._repeated], self._moved)
        for op in self._followers.left:
            op.detach()
        for op in (call, *again, *self._followers.left):
            block.insert_op_before(op, end)
        for value, made in zip(self._given, call.results, strict=True):
            value.replace_uses_with_if(made, lambda use: use.operation not in self._moved)
        for op in reversed(later):
            Rewriter.erase_op(op)
        for op in reversed(self._followers.copied):
            if not any(result.uses.get_length() for result in op.results):
                Rewriter.erase_op(op)


@dataclass(frozen=True)
class Followers:
    """
    Ops that depend on data-dependent shapes, in order: those to move to a function, computations of sizes to
    copy into it, and those to leave.
    """

    later: list[Operation]
    copied: list[Operation]
    left: list[Operation]


def followers_of(block: Block, given: AbstractSet[SSAValue], left: AbstractSet[Operation]) -> Followers:
    """
    Collect the ops of a block that depend on values `given`, or on data-dependent results in it.

    Ops in `left` stay, and so does control flow. If they depend on ops that move, they run after their
    function, and what depends on them stays for now: once they are moved, only ops after the call of their
    function are collected. Else the function takes their results.
    """
    calls = [op for op in block.ops if isinstance(op, DeferredCallOp)]
    results = {value for call in calls for value in filter(_is_dynamic, call.outputs)}
    collector = _Collector(block, given | results, left)
    for op in _after_calls(block):
        collector.visit(op)
    return collector.followers


class _Collector:
    """Visits the ops of a block in order, and collects those that depend on data-dependent shapes."""

    def __init__(self, block: Block, found: AbstractSet[SSAValue], left: AbstractSet[Operation]) -> None:
        self._block = block
        self.followers = Followers([], [], [])
        self._left = left
        self._found = set(found)
        """Values of data-dependent shape, and what ops that move compute from them."""
        self._moved: set[SSAValue] = set()
        self._stuck: set[SSAValue] = set()
        """Results of ops that are left, and of data-dependent size in the function itself: no op that moves
        reads them."""
        self._sizes: dict[SSAValue, Operation] = {}
        """Sizes that may stay where they are: functions copy the ops that compute them."""
        self._pinned: set[Operation] = set()
        """Of the ops that compute those, the ones that stay: what runs before the function reads them."""

    def visit(self, op: Operation) -> None:
        """Collect an op if it depends on data-dependent shapes."""
        read = set(_read(op))
        if isinstance(op, (*CONTROL, ReturnOp, YieldOp)):
            self._move_sizes(op)
        if isinstance(op, ReturnOp | YieldOp):
            return
        if self._must_wait(op, read) and not read & (self._moved | self._stuck):
            # It runs before the function, which takes its results. So do the sizes that it reads.
            self._found.update(filter(_is_dynamic, op.results))
            self._pinned.update(producers_of(read, self._sizes))
        elif self._must_wait(op, read) or read & self._stuck:
            self.followers.left.append(op)
            self._stuck.update(op.results)
        elif isinstance(op, CONTROL):
            self._found.update(filter(_is_dynamic, op.results))
        elif not read & (self._found | self._sizes.keys()):
            if (may_be_cut(op) and all(map(_is_known, op.operands))) or self._is_sized_by_values(op):
                self._found.update(filter(_is_dynamic, op.results))
        elif not read & self._moved and is_size(op, self._sizes):
            self._sizes.update((result, op) for result in op.results)
        else:
            self._move(op)

    def _is_sized_by_values(self, op: Operation) -> bool:
        """Whether sizes of results are known once the op ran: by values of operands, or from a sequence."""
        if not isinstance(op, OnnxOp) or op.regions:
            return False
        if any(isinstance(value.type, SeqType) for value in op.operands):
            return not any(map(_is_dynamic, op.operands))
        sized = shape_determining_operands(op)
        return bool(sized) and all(map(_is_known, op.operands)) and not self._depends_on_inputs(sized)

    def _depends_on_inputs(self, values: Sequence[SSAValue]) -> bool:
        """Whether values are computed from sizes of inputs, or of small inputs, which a program is for."""
        return _are_constant(values) or depends_on_known_sizes(values, self._block)

    def _must_wait(self, op: Operation, read: AbstractSet[SSAValue]) -> bool:
        if isinstance(op, CONTROL):
            return bool(read & self._moved)
        depends = bool(read & (self._found | self._sizes.keys()))
        return depends and (op in self._left or not _may_move(op))

    def _move(self, op: Operation) -> None:
        copied = self.followers.copied
        copied += [each for each in producers_of(op.operands, self._sizes) if each not in copied]
        self.followers.later.append(op)
        self._moved.update(op.results)
        # What reads a size that the function finds is computed after it.
        waits = may_be_cut(op) and any(map(_is_dynamic, op.results))
        (self._stuck if waits else self._found).update(op.results)

    def _move_sizes(self, reader: Operation) -> None:
        """
        Move the ops that compute sizes for what is no operator: it reads them from the function.

        Ops that compute other sizes from those move too, as the function is called after them.
        """
        free = [op for op in dict.fromkeys(self._sizes.values()) if op not in self._pinned]
        wanted = set(producers_of(_read(reader), self._sizes))
        moved = {value for op in free if op in wanted for value in op.results}
        for op in free:
            if moved.intersection(op.operands):
                moved.update(op.results)
        producers = [op for op in free if op.results[0] in moved]
        self.followers.later[:0] = producers
        self.followers.copied[:] = [op for op in self.followers.copied if op not in producers]
        self._sizes = {value: op for value, op in self._sizes.items() if value not in moved}
        self._moved |= moved
        self._found |= moved


def _after_calls(block: Block) -> Iterator[Operation]:
    """Yield the ops of a block after the last `krnl.deferred_call` in it."""
    ops = list(block.ops)
    calls = [number for number, op in enumerate(ops) if isinstance(op, DeferredCallOp)]
    yield from ops[calls[-1] + 1 if calls else 0 :]


def _is_dynamic(value: SSAValue) -> bool:
    """Whether a value is a tensor of known rank with a dynamic dimension."""
    return is_ranked(value.type) and static_shape(value.type) is None


def _may_move(op: Operation) -> bool:
    """Whether an op is an ONNX operator on ranked tensors, without a body."""
    is_operator = isinstance(op, OnnxOp) and not is_session_op(op) and not op.regions
    values = [value for value in (*op.operands, *op.results) if value.type != NONE]
    return is_operator and all(
        element_type(each.type) is not None and is_ranked(each.type) for each in values
    )


def _is_known(value: SSAValue) -> bool:
    return value.type == NONE or static_shape(value.type) is not None


def _read(op: Operation) -> Iterator[SSAValue]:
    """The operands of an op and of the ops in its bodies."""
    for inner in op.walk():
        yield from inner.operands
