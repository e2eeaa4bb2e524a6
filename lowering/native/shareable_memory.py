"""
Results of a function that the caller may let share memory with an argument, such as a cache updated in place.

A call that works with the same memory for both says so (`mayShare` of `krnl.call`). It stays so only if the
call is the one step that accesses the argument, and the first that accesses the result.
"""

from __future__ import annotations

from itertools import chain

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xonnc.dialects.krnl.memory import CallOp
from xonnc.lowering.native.lifetimes import NON_COMPUTING_OPS, accessed_buffers, is_full_view, root_of


def restrict_sharing(block: Block) -> None:
    """Keep the pairs in `mayShare` of which the caller may give the same memory; the others are dropped."""
    calls = [op for op in block.ops if isinstance(op, CallOp) and op.may_share is not None]
    if not calls:
        return
    end = block.last_op
    returned = [] if end is None else [root_of(value) for value in end.operands]
    steps = [op for op in block.ops if type(op) not in NON_COMPUTING_OPS]
    accesses = {op: accessed_buffers(op) for op in steps}
    for call in calls:
        valid = [pair for pair in call.shareable_pairs if _may_share(call, pair, accesses, returned)]
        call.may_share = DenseArrayBase.from_list(i64, list(chain(*valid))) if valid else None


def _may_share(
    call: CallOp,
    pair: tuple[int, int],
    accesses: dict[Operation, list[SSAValue]],
    returned: list[SSAValue],
) -> bool:
    result, argument = (call.parameters[index] for index in pair)
    target, source = root_of(result), root_of(argument)
    if not is_full_view(result) or not is_full_view(argument) or not isinstance(source, BlockArgument):
        return False
    # Once both are one memory, any other reader of the argument would see the result's elements, and
    # an earlier writer of the result would destroy the argument's.
    accessing = [op for op, buffers in accesses.items() if source in buffers]
    first = next((op for op, buffers in accesses.items() if target in buffers), None)
    is_read_once = [root_of(each) for each in call.parameters].count(source) == 1
    is_alone = accessing == [call] and first is call and is_read_once
    return is_alone and returned.count(target) == 1 and source not in returned
