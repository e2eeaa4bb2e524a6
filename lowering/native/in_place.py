"""
In-index analysis: which result a kernel may write into the memory of an operand that dies at the call.

A kernel may do so if it reads each element before it overwrites it. For a load and a store of buffers of the
same type this holds if

1. for each loop around both there is an axis whose index is the loop's induction variable, plus the same
   constant, in the load and in the store. Then different iterations access different elements, whatever the
   order and the thread they run in;
2. and within one iteration of these loops the load precedes the store.

A convolution loads each element of its residual immediately before it stores the result to the same element.
A smaller result may be written over the front of an operand (`compaction.py`) by a call that runs in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.loops import IterateOp
from xonnc.dialects.krnl.memory import CallOp, LoadOp, StoreOp
from xonnc.dialects.krnl.tiles import ConvOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.native.compaction import may_compact
from xonnc.lowering.native.lifetimes import is_full_view, root_of

INDEX = IndexType()

Kernels: TypeAlias = Mapping[str, FuncOp]
"""The kernel functions of a module by name."""


def in_place_candidates(call: CallOp, kernels: Kernels) -> Iterator[tuple[int, int]]:
    """
    Yield pairs (output, input) of parameter indices: the call may write the output in index of the input.

    All pairs have the same output, the first for which there is one: a call writes one result in index.
    """
    kernel = kernels.get(call.func_name.data)
    if kernel is None or kernel.is_declaration:
        return
    written = len(call.outputs)
    roots = [root_of(value) for value in call.parameters]
    for target in range(written):
        found = False
        for source in range(written, len(roots)):
            # A call may pass one buffer as several parameters: all of them must be safe.
            same = [index for index, root in enumerate(roots) if root is roots[source]]
            is_candidate = roots.count(roots[target]) == 1 and same[0] == source
            if is_candidate and all(_call_may_write_in_place(call, kernel, target, index) for index in same):
                found = True
                yield target, source
        if found:
            return


def needs_order(call: CallOp, kernels: Kernels, target: int, source: int) -> bool:
    """Whether a call may write one parameter over the other only if its iterations run in order."""
    return not may_write_in_place(call, kernels[call.func_name.data], target, source)


def reused_buffer(buffer: SSAValue, hosts: Mapping[SSAValue, SSAValue]) -> SSAValue:
    """Return the buffer in whose memory, perhaps by way of others, a buffer lies."""
    while buffer in hosts:
        buffer = hosts[buffer]
    return buffer


def _call_may_write_in_place(call: CallOp, kernel: FuncOp, target: int, source: int) -> bool:
    return all(is_full_view(call.parameters[index]) for index in (target, source)) and (
        may_write_in_place(call, kernel, target, source) or may_compact(call, kernel, target, source)
    )


def may_write_in_place(call: CallOp, kernel: FuncOp, target: int, source: int) -> bool:
    """Whether the kernel of a call may write parameter `target` in index of parameter `source`."""
    arguments = kernel.body.block.args
    written, read = (_accessed(arguments[index]) for index in (target, source))
    if not _have_same_shape(written, read):
        return False
    loads = [use.operation for use in read.uses]
    stores = [use.operation for use in written.uses]
    convolution = stores[0] if len(stores) == 1 else None
    if isinstance(convolution, ConvOp):
        return loads == [convolution] and _reads_residual_in_place(convolution, read)
    has_range = call.iterations is not None or call.iterations_parameter is not None
    iterations = arguments[-2:] if has_range else ()
    return all(isinstance(load, LoadOp) for load in loads) and all(
        isinstance(store, LoadOp)
        or (
            isinstance(store, StoreOp)
            and all(
                isinstance(load, LoadOp) and _reads_before_write(load, store, iterations) for load in loads
            )
        )
        for store in stores
    )


def _accessed(buffer: SSAValue) -> SSAValue:
    """Return the value through which a kernel accesses a buffer: with its dynamic sizes, if it has some."""
    uses = list(buffer.uses)
    is_shaped = len(uses) == 1 and isinstance(uses[0].operation, ShapedOp)
    return uses[0].operation.results[0] if is_shaped else buffer


def _have_same_shape(written: SSAValue, read: SSAValue) -> bool:
    """Whether two buffers of a kernel have the same type, and the same dynamic sizes."""
    if written.type != read.type or not is_buffer(read.type):
        return False
    if DYNAMIC_INDEX not in read.type.get_shape():
        return True
    one, other = written.owner, read.owner
    return isinstance(one, ShapedOp) and isinstance(other, ShapedOp) and list(one.sizes) == list(other.sizes)


def _reads_residual_in_place(op: ConvOp, residual: SSAValue) -> bool:
    """Whether a convolution reads its residual only at the elements that it stores."""
    is_beside = op.residual_start == op.out_start and set(op.out_strides.get_values()) == {1}
    return op.residual is residual and residual not in (op.x, op.w, op.bias) and is_beside


def _reads_before_write(load: LoadOp, store: StoreOp, iterations: Sequence[SSAValue]) -> bool:
    """Whether a load reads each element before the store writes it."""
    around, own = _ancestors(load), _ancestors(store)
    depth = 0
    while depth < min(len(around), len(own)) and around[depth] is own[depth]:
        depth += 1
    shared = around[:depth]
    if not all(_iterations_are_disjoint(op, load, store) for op in shared):
        return False
    # The parallel range is a loop around the kernel, whose iterations run in any order and on any thread:
    # it must be among the loops that were found to access disjoint elements.
    if iterations and not any(
        isinstance(op, IterateOp) and set(iterations) & set(op.operands) for op in shared
    ):
        return False
    first = around[depth] if depth < len(around) else load
    second = own[depth] if depth < len(own) else store
    block = first.parent
    return isinstance(block, Block) and first.is_before_in_block(second)


def _ancestors(op: Operation) -> list[Operation]:
    """Return the ancestors of an operation up to its kernel, outermost first."""
    found: list[Operation] = []
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _iterations_are_disjoint(op: Operation, load: LoadOp, store: StoreOp) -> bool:
    """Whether different iterations of a loop access different elements; an `scf.if` has one iteration."""
    if isinstance(op, scf.IfOp):
        return True
    if not isinstance(op, IterateOp):
        return False
    pairs = [
        (_base_and_offset(left), _base_and_offset(right))
        for left, right in zip(load.indices, store.indices, strict=True)
    ]
    same = {left[0] for left, right in pairs if left == right}
    variables = [argument for argument in op.body.block.args if argument.type == INDEX]
    return same.issuperset(variables[: len(op.input_loops())])


def _base_and_offset(index: SSAValue) -> tuple[SSAValue, int]:
    """Split an index into a value and a constant offset."""
    owner = index.owner
    if isinstance(index, BlockArgument) or not isinstance(owner, arith.AddiOp):
        return index, 0
    for value, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
        constant = other.owner
        if isinstance(constant, arith.ConstantOp) and isinstance(constant.value, IntegerAttr):
            inner, shift = _base_and_offset(value)
            return inner, shift + constant.value.value.data
    return index, 0
