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
from xdsl.ir import Block, Operation, Region, SSAValue

from xonnc.dialects.krnl.attributes import CUT
from xonnc.dialects.krnl.memory import DeferredCallOp
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.tensor import SliceOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape
from xonnc.lowering.onnx_to_krnl.lowering_builder import may_be_cut
from xonnc.lowering.onnx_to_krnl.session_ops import CONTROL, is_session_op
from xonnc.lowering.onnx_to_krnl.shape_inputs import depends_on_known_sizes
from xonnc.lowering.onnx_to_krnl.size_computations import clone_sizes, is_size, producers_of
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.functions import DIM_PARAMS, shared_dim_names

OUTLINED = "krnl.deferred"
"""Attribute of functions that take tensors of data-dependent shapes."""


def is_outlined(function: FuncOp) -> bool:
    """Whether a function takes tensors of data-dependent shapes."""
    return OUTLINED in function.attributes


def has_data_dependent_shapes(module: ModuleOp) -> bool:
    """Whether any op depends on a data-dependent shape."""
    return any(_followers(block, found, {}, set()).later for block, found in _blocks(module))


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


@dataclass(frozen=True)
class OutlinedFunctions:
    """Functions that ops were moved to, and a number for each op of the module before."""

    functions: Sequence[FuncOp]
    numbers: Mapping[Operation, int]


def outline_data_dependent(module: ModuleOp, left: AbstractSet[int]) -> OutlinedFunctions | None:
    """
    Move ops that depend on data-dependent shapes to functions, and call these with `krnl.deferred_call`.

    There is one function for the model, and one for each body of a loop or branch; a further call makes
    functions of the ops after control flow that depends on the first ones. Ops whose number is in `left`
    stay, with all that depends on them. Return None if nothing is moved; the module is unchanged then.
    """
    numbers = {op: number for number, op in enumerate(module.walk())}
    facts = DimAnalysis(module)
    before = sum(is_outlined(op) for op in module.ops if isinstance(op, FuncOp))
    functions: list[FuncOp] = []
    for block, found in list(_blocks(module)):
        followers = _followers(block, found, numbers, left)
        if followers.later:
            functions.append(_move(block, followers, f"found_{before + len(functions)}", facts, numbers))
    for function in functions:
        module.body.block.add_op(function)
    return OutlinedFunctions(functions, numbers) if functions else None


def _blocks(module: ModuleOp) -> Iterator[tuple[Block, AbstractSet[SSAValue]]]:
    """Yield the blocks of the model and of its control-flow bodies, with their inputs of dynamic shape."""
    function = next((op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks), None)
    if function is None:
        return
    for op in function.walk():
        for region in op.regions if isinstance(op, CONTROL) else ():
            around = {value for inner in region.block.walk() for value in inner.operands}
            yield region.block, {value for value in (*region.block.args, *around) if _is_dynamic(value)}
    yield function.body.block, set()


def _move(
    block: Block, followers: _Followers, name: str, facts: DimAnalysis, numbers: dict[Operation, int]
) -> FuncOp:
    """Move ops to a new function, called at the end of their block."""
    later, moved = followers.later, set(followers.later)
    computed_again = clone_sizes(later)
    all_ops = *followers.copied, *later
    read = dict.fromkeys(value for op in all_ops for value in op.operands if value.owner not in all_ops)
    inputs = [value for value in read if not isinstance(value.owner, ConstantOp | NoValueOp)]
    given = [
        result
        for op in later
        for result in op.results
        if any(use.operation not in moved for use in result.uses)
    ]
    sizes = [_named_sizes(names) for names in shared_dim_names([*inputs, *given], facts)]
    end = block.last_op
    assert isinstance(end, ReturnOp | YieldOp)
    body = Block(arg_types=[value.type for value in inputs])
    inside = dict[SSAValue, SSAValue](zip(inputs, body.args, strict=True))
    for value in read:
        if value not in inside and isinstance(value.owner, Operation):
            copy = value.owner.clone()
            body.add_op(copy)
            inside[value] = copy.results[0]
    call = DeferredCallOp(name, inputs, [value.type for value in given])
    block.insert_op_before(call, end)
    for op in computed_again:
        block.insert_op_before(op, end)
    for op in followers.left:
        op.detach()
        block.insert_op_before(op, end)
    for op in followers.copied:
        copy = op.clone(inside)
        body.add_op(copy)
        numbers[copy] = numbers[op]
    for value, made in zip(given, call.results, strict=True):
        value.replace_uses_with_if(made, lambda use: use.operation not in moved)
    for op in later:
        op.detach()
        op.operands = [inside.get(value, value) for value in op.operands]
        body.add_op(op)
    for op in reversed(followers.copied):
        if not any(result.uses.get_length() for result in op.results):
            op.detach()
            op.erase()
    body.add_op(ReturnOp.create(operands=given))
    type_ = FunctionType.from_lists([each.type for each in body.args], [each.type for each in given])
    function = FuncOp(name, type_, Region(body), "private")
    function.attributes[OUTLINED] = UnitAttr()
    function.arg_attrs, function.res_attrs = ArrayAttr(sizes[: len(inputs)]), ArrayAttr(sizes[len(inputs) :])
    return function


def _named_sizes(names: str) -> DictionaryAttr:
    return DictionaryAttr({DIM_PARAMS: StringAttr(names)} if names else {})


@dataclass(frozen=True)
class _Followers:
    """
    Ops that depend on data-dependent shapes, in order: those to move to a function, computations of sizes to
    copy into it, and those to leave.
    """

    later: list[Operation]
    copied: list[Operation]
    left: list[Operation]


def _followers(
    block: Block, given: AbstractSet[SSAValue], numbers: Mapping[Operation, int], left: AbstractSet[int]
) -> _Followers:
    """
    Collect the ops of a block that depend on values `given`, or on data-dependent results in it.

    Control flow itself stays. If it depends on ops that move, it is called after their function, and what
    depends on it stays for now: once they are moved, only ops after the call of their function are collected.
    """
    calls = [op for op in block.ops if isinstance(op, DeferredCallOp)]
    results = {value for call in calls for value in filter(_is_dynamic, call.outputs)}
    collector = _Collector(given | results, numbers, left)
    for op in _after_calls(block):
        collector.visit(op)
    return collector.followers


class _Collector:
    """Visits the ops of a block in order, and collects those that depend on data-dependent shapes."""

    def __init__(
        self, found: AbstractSet[SSAValue], numbers: Mapping[Operation, int], left: AbstractSet[int]
    ) -> None:
        self.followers = _Followers([], [], [])
        self._numbers, self._left = numbers, left
        self._found = set(found)
        """Values of data-dependent shape, and what ops that move compute from them."""
        self._moved: set[SSAValue] = set()
        self._stuck: set[SSAValue] = set()
        """Results of ops that are left, and of data-dependent size in the function itself: no op that moves
        reads them."""
        self._sizes: dict[SSAValue, Operation] = {}
        """Sizes that may stay where they are: functions copy the ops that compute them."""

    def visit(self, op: Operation) -> None:
        """Collect an op if it depends on data-dependent shapes."""
        read = set(_read(op))
        if isinstance(op, (*CONTROL, ReturnOp, YieldOp)):
            self._move_sizes(op)
        if isinstance(op, ReturnOp | YieldOp):
            return
        if self._must_wait(op, read) or read & self._stuck:
            self.followers.left.append(op)
            self._stuck.update(op.results)
        elif isinstance(op, CONTROL):
            self._found.update(filter(_is_dynamic, op.results))
        elif not read & (self._found | self._sizes.keys()):
            if may_be_cut(op) and all(map(_is_known, op.operands)):
                self._found.update(filter(_is_dynamic, op.results))
        elif not read & self._moved and is_size(op, self._sizes):
            self._sizes.update((result, op) for result in op.results)
        else:
            self._move(op)

    def _must_wait(self, op: Operation, read: AbstractSet[SSAValue]) -> bool:
        if isinstance(op, CONTROL):
            return bool(read & self._moved)
        depends = bool(read & (self._found | self._sizes.keys()))
        return depends and (self._numbers.get(op) in self._left or not _may_move(op))

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
        moved = {value for op in producers_of(_read(reader), self._sizes) for value in op.results}
        for op in dict.fromkeys(self._sizes.values()):
            if moved.intersection(op.operands):
                moved.update(op.results)
        producers = [op for op in dict.fromkeys(self._sizes.values()) if op.results[0] in moved]
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
