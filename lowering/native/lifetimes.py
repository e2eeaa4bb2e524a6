"""
Which buffers the steps of a program touch, and from which step to which each is alive.

A frame is what has an arena of its own: the function of a model, a function of data-dependent shapes, the
body of an operator that the session runs.
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
from xonnc.lowering.native.read_program import ENDS, SIZE_OPS
from xonnc.lowering.onnx_to_krnl.checks import CHECK
from xonnc.lowering.onnx_to_krnl.data_dependent_shapes import is_outlined
from xonnc.lowering.onnx_to_krnl.session_ops import is_session_op
from xonnc.transforms.evaluation import captured

# Sets of types, since each op is looked up often, and `isinstance` of classes of ops takes ten times as long.
VIEWS = frozenset((UnrealizedConversionCastOp, ShapedOp, memref.LoadOp, memref.SubviewOp))
"""What is another buffer, or a part of it, as something else."""

NATIVE_STEPS = (CallOp, scf.IfOp, scf.WhileOp)
"""What native code runs; everything else that computes ends a row of calls."""

SUPPORT = frozenset((*VIEWS, *SIZE_OPS, *ENDS, ConstantOp, GlobalOp, memref.AllocOp))
"""What computes no tensor."""

NO_BUFFERS = SUPPORT.union(NATIVE_STEPS, [KeepOp]) - {memref.AllocOp}
"""What makes no buffer in an arena."""


def frames(module: ModuleOp) -> Iterator[tuple[FuncOp, Block]]:
    """The frames of a module with the functions that they are in."""
    for function in module.ops:
        if isinstance(function, FuncOp) and function.body.blocks:
            if function.sym_visibility is None or is_outlined(function):
                yield from ((function, block) for block in _frames(function.body.block))


def _frames(block: Block) -> Iterator[Block]:
    yield block
    for op in block.ops:
        if is_session_op(op):
            for region in op.regions:
                yield from _frames(region.block)


def root_of(value: SSAValue) -> SSAValue:
    """The value whose memory a value is."""
    while isinstance(owner := value.owner, Operation) and type(owner) in VIEWS:
        value = owner.operands[0]
    return value


def is_whole(value: SSAValue) -> bool:
    """Whether a value is all of its root, not a part of it."""
    while isinstance(owner := value.owner, Operation) and type(owner) in VIEWS:
        if isinstance(owner, memref.SubviewOp):
            return False
        value = owner.operands[0]
    return True


def is_dynamic(block: Block) -> bool:
    """Whether a run computes sizes of a frame's buffers."""
    return any(isinstance(op, SIZE_OPS) or _is_dynamic_buffer(op) for op in _own_ops(block))


def _own_ops(block: Block) -> Iterator[Operation]:
    """The ops of a frame, those of branches and loops in native code too."""
    for op in block.ops:
        yield op
        if isinstance(op, scf.IfOp | scf.WhileOp):
            for region in op.regions:
                yield from _own_ops(region.block)


def _is_dynamic_buffer(op: Operation) -> bool:
    types = [result.type for result in op.results] if isinstance(op, memref.AllocOp | ShapedOp) else []
    return any(is_buffer(type_) and DYNAMIC_INDEX in type_.get_shape() for type_ in types)


def arena_buffers(block: Block) -> dict[SSAValue, int]:
    """
    What lies in the arena of a frame, in order, with its bytes, as many as to the next buffer.

    Results of the frame have memory of their own. The bytes of a buffer are 0 where only a run tells them.
    """
    end = block.last_op
    returned = set[SSAValue]() if end is None else {root_of(value) for value in end.operands}
    found: dict[SSAValue, int] = {}
    for op in _own_ops(block):
        for result in op.results:
            size = _bytes(op, result)
            if size is not None and result not in returned:
                found[result] = aligned(size)
    return found


def _bytes(op: Operation, result: SSAValue) -> int | None:
    """Bytes of a result in memory that the program has for it; `None` for others."""
    if type(op) in NO_BUFFERS or result.type == NONE:
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
    """The buffers of numbers that are looked at when a row of calls has run."""
    return [op.memref for op in _own_ops(block) if isinstance(op, memref.AllocOp) and CHECK in op.attributes]


@dataclass(frozen=True)
class Lifetime:
    """The first and the last step that touches a buffer."""

    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        """Whether both are alive in some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Lifetimes:
    """The steps of a frame in order, and when buffers are alive."""

    steps: Sequence[Operation]
    """What runs in each; for the start and the end of a loop the loop itself."""
    of: dict[SSAValue, Lifetime]


def lifetimes(block: Block) -> Lifetimes:
    """When what the steps of a frame touch is alive."""
    walk = _Walk([], [], [])
    walk.block(block)
    end = block.last_op
    assert end is not None
    walk.end_row(end)
    found: dict[SSAValue, Lifetime] = {}
    for step, buffers in enumerate(walk.touched):
        for buffer in buffers:
            first = found[buffer].first if buffer in found else step
            found[buffer] = Lifetime(first, step)
    return Lifetimes(walk.steps, found)


def touched_by(op: Operation) -> list[SSAValue]:
    """The roots that a step reads or writes, those that native code inside of it does too."""
    walk = _Walk([], [], [])
    walk.step(op)
    return list(dict.fromkeys(buffer for buffers in walk.touched for buffer in buffers))


@dataclass
class _Walk:
    steps: list[Operation]
    touched: list[list[SSAValue]]
    """The roots that each step touches."""
    checked: list[SSAValue]
    """Buffers of numbers that are looked at when the row of calls has run."""

    def touch(self, op: Operation, values: Sequence[SSAValue]) -> None:
        self.steps.append(op)
        self.touched.append([root_of(value) for value in values if value.type != NONE])

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, memref.AllocOp) and CHECK in op.attributes:
                self.checked.append(op.memref)
            if type(op) not in SUPPORT:
                self.step(op)

    def end_row(self, op: Operation) -> None:
        """What is checked stays until the row has run."""
        if self.checked:
            self.touch(op, self.checked)
            self.checked = []

    def step(self, op: Operation) -> None:
        match op:
            case CallOp():
                self.touch(op, [value for value in op.parameters if is_buffer(value.type)])
            case scf.IfOp():
                self.touch(op, [op.cond])
                for region in op.regions:
                    if region.blocks:
                        self.block(region.block)
            case scf.WhileOp():
                self._loop(op)
            case _:
                self.end_row(op)
                self.touch(op, [*op.operands, *captured(op), *op.results])

    def _loop(self, op: scf.WhileOp) -> None:
        """
        A loop: what is made before it and touched in it is alive from its start to its end.

        What is made inside is written before it is read in each iteration.
        """
        start = len(self.touched)
        self.touch(op, [])
        self.block(op.before_region.block)
        end = op.before_region.block.last_op
        assert isinstance(end, scf.ConditionOp)
        self.touch(op, [end.condition])
        self.block(op.after_region.block)
        inside = dict.fromkeys(buffer for buffers in self.touched[start:] for buffer in buffers)
        around = [buffer for buffer in inside if not op.is_ancestor(buffer.owner)]
        self.touched[start] = around
        self.touch(op, around)
