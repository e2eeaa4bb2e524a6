"""
Which of its results a kernel may write where an operand lies that nothing reads afterwards.

A kernel may do so if it reads each element before it writes over it. That holds of a load and a store, of
buffers of one type, if

1. each loop around both has an axis along which both are at the same iteration (the index is its induction
   variable, perhaps plus a constant): different iterations touch different elements, in whatever order and by
   whichever thread they run;
2. and within an iteration of these loops the load comes before the store.

A convolution reads its residual as it stores each element, once each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xonnc.dialects.krnl.loops import IterateOp
from xonnc.dialects.krnl.memory import CallOp, LoadOp, StoreOp
from xonnc.dialects.krnl.tiles import ConvOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.native.lifetimes import is_whole, root_of

Kernels: TypeAlias = Mapping[str, FuncOp]
"""The kernels of a module by name."""


def replaceable(call: CallOp, kernels: Kernels) -> Iterator[tuple[int, int]]:
    """
    The parameter of a call that it may write where another lies, and each such other one, by number.

    That one parameter alone is a choice: of several that are written, the first that may be.
    """
    kernel = kernels.get(call.func_name.data)
    if kernel is None or kernel.is_declaration:
        return
    written = len(call.outputs)
    roots = [root_of(value) for value in call.parameters]
    for target in range(written):
        found = False
        for source in range(written, len(roots)):
            # A kernel may be given one buffer more than once.
            same = [place for place, root in enumerate(roots) if root is roots[source]]
            is_free = roots.count(roots[target]) == 1 and same[0] == source
            if is_free and all(_may_replace(call, kernel, target, place) for place in same):
                found = True
                yield target, source
        if found:
            return


def _may_replace(call: CallOp, kernel: FuncOp, target: int, source: int) -> bool:
    return all(is_whole(call.parameters[place]) for place in (target, source)) and may_replace(
        call, kernel, target, source
    )


def may_replace(call: CallOp, kernel: FuncOp, target: int, source: int) -> bool:
    """Whether the kernel of a call may write its parameter `target` where `source` lies, by number."""
    arguments = kernel.body.block.args
    written, read = arguments[target], arguments[source]
    if written.type != read.type or not is_buffer(read.type) or DYNAMIC_INDEX in read.type.get_shape():
        return False
    loads = [use.operation for use in read.uses]
    stores = [use.operation for use in written.uses]
    convolution = stores[0] if len(stores) == 1 else None
    if isinstance(convolution, ConvOp):
        return loads == [convolution] and _adds_where_it_stores(convolution, read)
    has_turns = call.iterations is not None or call.iterations_parameter is not None
    turns = arguments[-2:] if has_turns else ()
    return all(isinstance(load, LoadOp) for load in loads) and all(
        isinstance(store, LoadOp)
        or (
            isinstance(store, StoreOp)
            and all(isinstance(load, LoadOp) and _comes_first(load, store, turns) for load in loads)
        )
        for store in stores
    )


def _adds_where_it_stores(op: ConvOp, residual: SSAValue) -> bool:
    """Whether a convolution reads its residual at the elements that it stores, and nowhere else."""
    is_beside = op.residual_start == op.out_start and set(op.out_strides.get_values()) == {1}
    return op.residual is residual and residual not in (op.x, op.w, op.bias) and is_beside


def _comes_first(load: LoadOp, store: StoreOp, turns: Sequence[SSAValue]) -> bool:
    """Whether a load reads each element before the store writes it."""
    around, own = _ancestors(load), _ancestors(store)
    depth = 0
    while depth < min(len(around), len(own)) and around[depth] is own[depth]:
        depth += 1
    shared = around[:depth]
    if not all(_is_apart(op, load, store) for op in shared):
        return False
    # A range of iterations is a loop around the kernel: it must be one of those that both are in.
    if turns and not any(isinstance(op, IterateOp) and set(turns) & set(op.operands) for op in shared):
        return False
    first = around[depth] if depth < len(around) else load
    second = own[depth] if depth < len(own) else store
    block = first.parent
    return isinstance(block, Block) and first.is_before_in_block(second)


def _ancestors(op: Operation) -> list[Operation]:
    """The ops around an op inside of its kernel, the outermost first."""
    found: list[Operation] = []
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _is_apart(op: Operation, load: LoadOp, store: StoreOp) -> bool:
    """Whether iterations of a loop load and store different elements; an op that is no loop has one."""
    if isinstance(op, scf.IfOp):
        return True
    if not isinstance(op, IterateOp):
        return False
    pairs = [
        (_shifted(left), _shifted(right)) for left, right in zip(load.indices, store.indices, strict=True)
    ]
    same = {left[0] for left, right in pairs if left == right}
    variables = [argument for argument in op.body.block.args if argument.type == IndexType()]
    return same.issuperset(variables[: len(op.input_loops())])


def _shifted(index: SSAValue) -> tuple[SSAValue, int]:
    """An index as a value and a constant that is added to it."""
    owner = index.owner
    if isinstance(index, BlockArgument) or not isinstance(owner, arith.AddiOp):
        return index, 0
    for value, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
        constant = other.owner
        if isinstance(constant, arith.ConstantOp) and isinstance(constant.value, IntegerAttr):
            inner, shift = _shifted(value)
            return inner, shift + constant.value.value.data
    return index, 0
