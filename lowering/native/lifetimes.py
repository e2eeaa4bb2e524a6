"""
Lifetime analysis: which buffers each step of a program accesses, and from which step to which each is live.

An allocation scope is a block with an arena of its own: the function of a model, a function that runs after a
data-dependent shape is known, or the body of a control-flow operator that the session runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.memory import CallOp, GlobalOp, KeepOp, SeedOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE, element_type, numpy_dtype, static_shape
from xonnc.formats.native.program import aligned
from xonnc.lowering.native.read_program import SIZE_OPS, TERMINATORS
from xonnc.lowering.onnx_to_krnl.builders.checks import CHECK
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_shapes import is_outlined
from xonnc.lowering.onnx_to_krnl.planning.session_ops import is_session_op
from xonnc.transforms.constant_evaluation import captured

# Sets of exact types: lookups are frequent, and `isinstance` with operation classes takes ten times as long.
VIEW_OPS = frozenset((UnrealizedConversionCastOp, ShapedOp, memref.LoadOp, memref.SubviewOp))
"""Operations whose result aliases their first operand."""

NATIVE_STEPS = (CallOp, scf.IfOp, scf.WhileOp)
"""Operations in native code; every other operation that computes ends a sequence of calls."""

NON_COMPUTING_OPS = frozenset((*VIEW_OPS, *SIZE_OPS, *TERMINATORS, ConstantOp, GlobalOp, memref.AllocOp))
"""Operations that compute no tensor elements."""

OPS_WITHOUT_BUFFERS = NON_COMPUTING_OPS.union(NATIVE_STEPS, [KeepOp]) - {memref.AllocOp}
"""Operations whose results take no memory of the arena."""


def allocation_scopes(module: ModuleOp) -> Iterator[tuple[FuncOp, Block]]:
    """Yield the allocation scopes of a module with the function that each is in."""
    for function in module.ops:
        if isinstance(function, FuncOp) and function.body.blocks:
            if function.sym_visibility is None or is_outlined(function):
                yield from ((function, block) for block in _scopes_in(function.body.block))


def _scopes_in(block: Block) -> Iterator[Block]:
    yield block
    for op in block.ops:
        if is_session_op(op):
            for region in op.regions:
                yield from _scopes_in(region.block)


def root_of(value: SSAValue) -> SSAValue:
    """Return the value that owns the memory of a value, following views."""
    while isinstance(owner := value.owner, Operation) and type(owner) in VIEW_OPS:
        value = owner.operands[0]
    return value


def is_full_view(value: SSAValue) -> bool:
    """Whether a value covers all of its root, with no subview in between."""
    while isinstance(owner := value.owner, Operation) and type(owner) in VIEW_OPS:
        if isinstance(owner, memref.SubviewOp):
            return False
        value = owner.operands[0]
    return True


def is_dynamic(block: Block) -> bool:
    """Whether buffers of a scope have dynamic shapes."""
    return any(isinstance(op, SIZE_OPS) or _is_dynamic_buffer(op) for op in _scope_ops(block))


def _scope_ops(block: Block) -> Iterator[Operation]:
    """Iterate over the operations of a scope, including those in branches and loops of native code."""
    for op in block.ops:
        yield op
        if isinstance(op, scf.IfOp | scf.WhileOp):
            for region in op.regions:
                yield from _scope_ops(region.block)


def _is_dynamic_buffer(op: Operation) -> bool:
    types = [result.type for result in op.results] if isinstance(op, memref.AllocOp | ShapedOp) else []
    return any(is_buffer(type_) and DYNAMIC_INDEX in type_.get_shape() for type_ in types)


def arena_buffers(block: Block) -> dict[SSAValue, int]:
    """
    Return the buffers in the arena of a scope, in order, with their sizes rounded up to `ALIGNMENT`.

    Results of the scope are allocated separately. The size of a buffer of dynamic shape is 0.
    """
    end = block.last_op
    returned = set[SSAValue]() if end is None else {root_of(value) for value in end.operands}
    found: dict[SSAValue, int] = {}
    for op in _scope_ops(block):
        for result in op.results:
            size = _buffer_bytes(op, result)
            if size is not None and result not in returned:
                found[result] = aligned(size)
    return found


def _buffer_bytes(op: Operation, result: SSAValue) -> int | None:
    """Return the size of a result that the arena holds; `None` if it takes no memory there."""
    if type(op) in OPS_WITHOUT_BUFFERS or result.type == NONE:
        return None
    if isinstance(op, memref.AllocOp | SeedOp):
        assert is_buffer(result.type)
        return _volume(result.type.get_shape()) * numpy_dtype(result.type.element_type).itemsize
    shape, element = static_shape(result.type), element_type(result.type)
    if shape is None or element is None or numpy_dtype(element).hasobject:
        return None
    return _volume(shape) * numpy_dtype(element).itemsize


def _volume(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= 0 if size == DYNAMIC_INDEX else size
    return count


def checked_buffers(block: Block) -> list[SSAValue]:
    """Return the buffers of range checks, which are read after a sequence of calls."""
    return [
        op.memref for op in _scope_ops(block) if isinstance(op, memref.AllocOp) and CHECK in op.attributes
    ]


@dataclass(frozen=True)
class Lifetime:
    """The first and the last step that touches a buffer."""

    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether both lifetimes have a step in common."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Lifetimes:
    """The steps of a scope in order, and the lifetimes of its buffers."""

    steps: Sequence[Operation]
    """The operation of each step; a loop is listed at its start and at its end."""
    of: dict[SSAValue, Lifetime]


def lifetimes(block: Block) -> Lifetimes:
    """Compute the lifetime of every buffer that a scope accesses."""
    walk = _LifetimeWalk([], [], [])
    walk.block(block)
    end = block.last_op
    assert end is not None
    walk.flush_checks(end)
    found: dict[SSAValue, Lifetime] = {}
    for step, buffers in enumerate(walk.accessed):
        for buffer in buffers:
            first = found[buffer].first if buffer in found else step
            found[buffer] = Lifetime(first, step)
    return Lifetimes(walk.steps, found)


def accessed_buffers(op: Operation) -> list[SSAValue]:
    """Return the root buffers that a step accesses, including accesses in its regions."""
    walk = _LifetimeWalk([], [], [])
    walk.step(op)
    return list(dict.fromkeys(buffer for buffers in walk.accessed for buffer in buffers))


@dataclass
class _LifetimeWalk:
    steps: list[Operation]
    accessed: list[list[SSAValue]]
    """The root buffers that each step accesses."""
    checked: list[SSAValue]
    """Buffers of range checks since the last step that is not native."""

    def access(self, op: Operation, values: Sequence[SSAValue]) -> None:
        self.steps.append(op)
        self.accessed.append([root_of(value) for value in values if value.type != NONE])

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, memref.AllocOp) and CHECK in op.attributes:
                self.checked.append(op.memref)
            if type(op) not in NON_COMPUTING_OPS:
                self.step(op)

    def flush_checks(self, op: Operation) -> None:
        """Keep the buffers of range checks alive until the sequence of calls has run."""
        if self.checked:
            self.access(op, self.checked)
            self.checked = []

    def step(self, op: Operation) -> None:
        match op:
            case CallOp():
                self.access(op, [value for value in op.parameters if is_buffer(value.type)])
            case scf.IfOp():
                self.access(op, [op.cond])
                for region in op.regions:
                    if region.blocks:
                        self.block(region.block)
            case scf.WhileOp():
                self._loop(op)
            case _:
                self.flush_checks(op)
                self.access(op, [*op.operands, *captured(op), *op.results])

    def _loop(self, op: scf.WhileOp) -> None:
        """
        Visit a loop: buffers defined before it and accessed in it are live from its start to its end.

        Otherwise a later iteration would read memory that another buffer has taken in the meantime. Buffers
        defined inside are written before they are read in each iteration, so they need no extension.
        """
        start = len(self.accessed)
        self.access(op, [])
        self.block(op.before_region.block)
        end = op.before_region.block.last_op
        assert isinstance(end, scf.ConditionOp)
        self.access(op, [end.condition])
        self.block(op.after_region.block)
        inside = dict.fromkeys(buffer for buffers in self.accessed[start:] for buffer in buffers)
        outer = [buffer for buffer in inside if not op.is_ancestor(buffer.owner)]
        self.accessed[start] = outer
        self.access(op, outer)
