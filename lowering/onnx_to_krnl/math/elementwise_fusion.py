"""
Elementwise operators and their fusion into one loop nest.

Each operator is a scalar function. A chain of them becomes one kernel (injective operators in TVM's terms),
and neighboring axes along which the same operands are broadcast become one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp, ReluOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.lowering.onnx_to_krnl.builders.blocking_tensors import blocking_tensor
from xonnc.lowering.onnx_to_krnl.builders.byte_tables import BYTES, byte_table, found_in, takes_table
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import blocked, blocked_result, channel_constants
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.loop_chunks import split_into_chunks
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import (
    compute_type,
    is_sub_byte,
    is_unsigned_element,
    storage_type,
)
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import SHAPE_OPERANDS, FusionScope
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import is_blocked, is_like
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, are_static, is_static, volume

OpT = TypeVar("OpT", bound=Operation)

MAX_CHUNK = 4096
"""Elements of a chunk of a parallel loop: enough to make its overhead negligible."""

MIN_CHUNKS = 8
"""Chunks of a parallel loop at least, for load balance between threads."""

MAX_FUSED_OPS = 40
"""Operators in one kernel: more would spill registers."""

MIN_FUNCTION = 4
"""Operators of a function of a computed byte for which a table pays."""

ElementwiseFunction: TypeAlias = Callable[[OpT, "ElementwiseBody"], "Scalar | None"]
"""Emits the scalar result of an op, or returns None if the op is not lowered in this form."""

ELEMENTWISE: dict[type[Operation], ElementwiseFunction[Operation]] = {}
"""The scalar function of each elementwise kind of op."""


def lowers_elementwise(
    *kinds: type[OpT],
) -> Callable[[ElementwiseFunction[OpT]], ElementwiseFunction[OpT]]:
    """Register the scalar function of one or more kinds of op."""

    def register(function: ElementwiseFunction[OpT]) -> ElementwiseFunction[OpT]:
        for kind in kinds:

            def checked(op: Operation, body: ElementwiseBody, kind: type[OpT] = kind) -> Scalar | None:
                assert isinstance(op, kind)
                return function(op, body)

            checked.__doc__ = function.__doc__
            ELEMENTWISE[kind] = checked
        return function

    return register


class _MatchFailureError(Exception):
    """An op has no scalar function in this form."""


class ElementwiseBody:
    """
    The body of an elementwise loop nest: maps tensors to their scalars in one iteration.

    It is the counterpart of the region of `linalg.generic`.
    """

    def __init__(
        self, kernel: KernelBuilder, leaves: Mapping[SSAValue, tuple[SSAValue, Sequence[SSAValue]]]
    ) -> None:
        self.kernel = kernel
        self._leaves = leaves
        self._known: dict[SSAValue, Scalar] = {}

    def __call__(self, value: SSAValue) -> Scalar:
        """Return the scalar of a tensor in this iteration; narrow floats are widened to f32."""
        if value not in self._known:
            element = element_type(value.type)
            assert element is not None
            if value in self._leaves:
                buffer, indices = self._leaves[value]
                number = Scalar(self.kernel, self.kernel.read(buffer, indices, element))
            else:
                owner = value.owner
                assert isinstance(owner, Operation)
                number = self.compute(owner)
                # Casts return the stored type, since they round to it.
                if number.type != compute_type(element):
                    number = number.widened(element)
            self._known[value] = number
        return self._known[value]

    def define(self, value: SSAValue, number: Scalar) -> None:
        """Set the scalar of a value."""
        self._known[value] = number

    def is_defined(self, value: SSAValue) -> bool:
        """Whether the scalar of a value was loaded, computed or set."""
        return value in self._known

    def compute(self, op: Operation) -> Scalar:
        """Emit the scalar result of an op."""
        number = ELEMENTWISE[type(op)](op, self)
        if number is None:
            raise _MatchFailureError
        return number


def is_unsigned(value: SSAValue) -> bool:
    """Whether a tensor holds unsigned integers."""
    element = element_type(value.type)
    return element is not None and is_unsigned_element(element)


@dataclass(frozen=True)
class ElementwisePlan:
    """A kernel for an op and its fused producers, and the tensors that it reads."""

    kernel: KernelBuilder
    leaves: Sequence[SSAValue]
    fused: set[Operation]
    is_blocked: bool = False
    """Whether it computes NCHWc images."""
    byte: SSAValue | None = None
    """The tensor of which it computes a function by a table: the kernel makes the table of all bytes."""


def plan_elementwise(op: Operation, builder: LoweringBuilder) -> ElementwisePlan | str:
    """Build the kernel that computes an op with its producers, or return why there is none."""
    shape = builder.sizes(op.results[0])
    fused = producers(op, shape, builder)
    while True:
        leaves = _leaves(fused)
        if (reason := blocking_tensor(leaves, False, builder)) is not None:
            return reason
        is_channel_blocked = is_blocked(op.results[0], leaves, builder.layouts)
        try:
            if is_channel_blocked:
                kernel = _blocked_kernel(op, shape, fused, leaves, builder)
                return ElementwisePlan(kernel, leaves, fused, is_blocked=True)
            byte = _byte(op, leaves, builder)
            if byte is None:
                shapes = [_broadcast_along(builder.sizes(leaf), shape, builder) for leaf in leaves]
                return ElementwisePlan(_kernel(op, shape, shapes, leaves, builder), leaves, fused)
            leaves = [byte, *(leaf for leaf in leaves if leaf is not byte)]
            shapes = [(BYTES,), *(builder.sizes(leaf) for leaf in leaves[1:])]
            return ElementwisePlan(_kernel(op, (BYTES,), shapes, leaves, builder), leaves, fused, byte=byte)
        except _MatchFailureError:
            if len(fused) == 1:
                return "not for these types or attributes"
            fused = {op}


def _byte(op: Operation, leaves: Sequence[SSAValue], builder: LoweringBuilder) -> SSAValue | None:
    """Return the 8-bit tensor of which an 8-bit result is a function, together with scalars."""
    if not all(map(builder.has_known_sizes, leaves)):
        return None
    tensors = [leaf for leaf in leaves if volume(builder.sizes(leaf)) != 1]
    if len(tensors) != 1 or builder.sizes(tensors[0]) != builder.sizes(op.results[0]):
        return None
    are_bytes = all(_is_byte(value, builder) for value in (op.results[0], tensors[0]))
    return tensors[0] if are_bytes and takes_table(builder.sizes(tensors[0])) else None


def _is_byte(value: SSAValue, builder: LoweringBuilder) -> bool:
    """Whether the elements of a tensor are integers of 8 bits."""
    element = builder.element(value)
    return is_integer(element) and element.width.data == 8


def lower_elementwise(op: Operation, plan: ElementwisePlan, builder: LoweringBuilder) -> None:
    """Call the kernel of a plan."""
    result = op.results[0]
    name = type(op).name.removeprefix("onnx.").lower()
    full = f"{name}_fused" if len(plan.fused) > 1 else name
    if plan.byte is not None:
        others = [builder.buffer(leaf) for leaf in plan.leaves[1:]]
        table = byte_table(f"{full}_table", plan.kernel, builder.element(result), others, builder)
        _look_up(full, (result, plan.byte), table, builder)
        return
    if plan.is_blocked:
        channels = builder.sizes(result)[1]
        assert is_static(channels)
        buffers = [
            blocked(leaf, builder).buffer
            if is_like(leaf, result, builder.layouts)
            else _of_channels(leaf, channels, builder)
            for leaf in plan.leaves
        ]
    else:
        buffers = [builder.buffer(leaf) for leaf in plan.leaves]
    target = blocked_result(result, builder).buffer if plan.is_blocked else builder.result(result)
    builder.call(full, plan.kernel, [target], buffers)


def _look_up(name: str, values: tuple[SSAValue, SSAValue], table: SSAValue, builder: LoweringBuilder) -> None:
    """Call a kernel that finds each element of a result in a table."""
    result, source = values
    total = [volume(builder.sizes(result))]
    sizes = _split(total) or total
    kernel = KernelBuilder([buffer_type(sizes, i8), buffer_type(sizes, i8), buffer_type([BYTES], i8)])
    with kernel.loops(sizes) as indices:
        byte = kernel.load(kernel.buffers[1], indices)
        kernel.store(found_in(kernel, kernel.buffers[2], byte, builder), kernel.buffers[0], indices)
    builder.call(name, kernel, [builder.result(result)], [builder.buffer(source), table])


def _of_channels(value: SSAValue, channels: int, builder: LoweringBuilder) -> SSAValue:
    """Return one number per channel in NCHWc order, or a scalar."""
    array = builder.constant(value)
    if array is None:
        return builder.buffer(value)
    return (
        builder.constant_buffer(array.reshape(-1))
        if array.size == 1
        else channel_constants(array, channels, builder)
    )


def producers(op: Operation, shape: tuple[Size, ...], builder: LoweringBuilder) -> set[Operation]:
    """Return `op` and the elementwise ops before it that can be fused into it."""
    fused = {op}
    waiting = [op]
    while waiting and len(fused) < MAX_FUSED_OPS:
        for value in waiting.pop().operands:
            owner = value.owner
            if (
                isinstance(owner, Operation)
                and type(owner) in ELEMENTWISE
                and owner.parent is op.parent
                and owner not in fused
                and builder.is_computable(value)
                and builder.sizes(value) == shape
                and all(user in fused for user in builder.scope.users(value))
                and builder.scope.may_join(owner, op)
                and not ends_product(owner, builder.scope)
                and owner not in builder.layouts.fused_ops
                and owner not in builder.fused
            ):
                fused.add(owner)
                waiting.append(owner)
    return _after_byte(op, fused, builder)


def _after_byte(op: Operation, fused: set[Operation], builder: LoweringBuilder) -> set[Operation]:
    """Return those of some ops that are a function of an 8-bit result of another, or all if none are."""
    if not _is_byte(op.results[0], builder) or _byte(op, _leaves(fused), builder) is not None:
        return fused
    found = fused
    for byte in [each.results[0] for each in fused if each is not op and _is_byte(each.results[0], builder)]:
        after = {op}
        waiting = [op]
        while waiting:
            owners = {value.owner for value in waiting.pop().operands if value is not byte}
            new = [each for each in fused if each in owners and each not in after]
            after.update(new)
            waiting += new
        is_longer = found is fused or len(after) > len(found)
        if len(after) >= MIN_FUNCTION and is_longer and _byte(op, _leaves(after), builder) is byte:
            found = after
    return found


def ends_product(op: Operation, scope: FusionScope) -> bool:
    """Whether an op is the Relu that is fused into a matrix product."""
    made = op.operands[0].owner if isinstance(op, ReluOp) else None
    return isinstance(made, ConvOp | GemmOp | MatMulOp) and len(scope.users(op.operands[0])) == 1


def _leaves(fused: set[Operation]) -> list[SSAValue]:
    """Return the elements that the ops read from outside, in a deterministic order."""
    found: dict[SSAValue, None] = {}
    for op in sorted(fused, key=_order):
        for index, value in enumerate(op.operands):
            is_shape = index in SHAPE_OPERANDS.get(type(op), ())
            if value.owner not in fused and value.type != NONE and not is_shape:
                found[value] = None
    return list(found)


def _order(op: Operation) -> int:
    assert op.parent is not None
    return op.parent.get_operation_index(op)


def _kernel(
    op: Operation,
    shape: tuple[Size, ...],
    shapes: Sequence[Sequence[Size]],
    leaves: Sequence[SSAValue],
    builder: LoweringBuilder,
) -> KernelBuilder:
    """Build the kernel for a result of a shape, and leaves of `shapes`."""
    groups = axis_groups(shape, shapes)
    sizes = [volume(shape[axis] for axis in group) for group in groups]
    split = _split(sizes)
    result = builder.element(op.results[0])
    types = [buffer_type(split or sizes, result)]
    varying: list[list[bool]] = []
    for leaf, known in zip(leaves, shapes, strict=True):
        own = (*(1,) * (len(shape) - len(known)), *known)
        extents = [volume(own[axis] for axis in group) for group in groups]
        if split is not None:
            extents = [1, 1] if extents == [1] else split
        varying.append([size != 1 for size in extents])
        types.append(buffer_type(extents, builder.element(leaf)))
    kernel = KernelBuilder(types)
    sizes = sizes if split is None else split
    with kernel.loops(sizes) as indices:
        zero = kernel.index(0)
        leaf_indices: dict[SSAValue, tuple[SSAValue, Sequence[SSAValue]]] = {}
        for leaf, buffer, extents in zip(leaves, kernel.buffers[1:], varying, strict=True):
            own = [index if keeps else zero for index, keeps in zip(indices, extents, strict=False)]
            leaf_indices[leaf] = buffer, own if sizes else []
        number = ElementwiseBody(kernel, leaf_indices).compute(op)
        if number.type != storage_type(result) or is_sub_byte(result):
            number = number.stored_as(result)
        kernel.store(number.value, kernel.buffers[0], indices if sizes else [])
    return kernel


def _split(sizes: Sequence[Size]) -> list[Size] | None:
    """Split a single long loop of static length into chunks and elements, so that it can run in parallel."""
    if len(sizes) != 1 or not isinstance(sizes[0], int) or sizes[0] < 2 * MAX_CHUNK:
        return None
    count, width = split_into_chunks(sizes[0], min(MAX_CHUNK, sizes[0] // MIN_CHUNKS))
    return [count, width] if count > 1 else None


def _broadcast_along(own: Sequence[Size], shape: Sequence[Size], builder: LoweringBuilder) -> Sequence[Size]:
    """Return the sizes of an operand broadcast to a result: each is the result's, or 1."""
    if are_static((*own, *shape)):
        return own
    if len(own) > len(shape):
        raise _MatchFailureError
    found: list[Size] = []
    for size, full_size in zip(own, shape[len(shape) - len(own) :], strict=True):
        if size not in (1, full_size) and not builder.require_same_size(size, full_size):
            raise _MatchFailureError
        found.append(1 if size == 1 else full_size)
    return found


def _blocked_kernel(
    op: Operation,
    shape: tuple[Size, ...],
    fused: set[Operation],
    leaves: Sequence[SSAValue],
    builder: LoweringBuilder,
) -> KernelBuilder:
    """
    Build the kernel on NCHWc images, inside their halos; operands have the result's shape or one value per
    channel, which may differ by image.
    """
    layouts, result = builder.layouts, op.results[0]
    values = [result, *leaves]
    shapes = [_blocked_shape(value, result, builder) for value in values]
    images, blocks, _, _, lanes = layouts.shape(result)
    pixels = layouts.images_of(result)
    assert pixels is not None
    _, _, rows, width = pixels
    halos = [layouts.halo(value) for value in values]
    per_channel = any(len(each) in (2, 3) for each in shapes)
    is_tight = not any(map(any, halos))
    # Without halos, rows and columns are contiguous and become one loop, with the lanes unless a constant
    # varies by channel.
    sizes: list[Size] = [images, blocks, rows, width if per_channel else width * lanes]
    if is_tight:
        sizes[2:] = [rows * sizes[3]]
    sizes = [*sizes, lanes] if per_channel else sizes
    kernel = KernelBuilder([buffer_type(_merged(each, is_tight, per_channel), f32) for each in shapes])
    with kernel.loops(sizes) as indices:
        accesses: list[Sequence[SSAValue]] = []
        for own, halo in zip(shapes, halos, strict=True):
            if len(own) == 1:
                accesses.append([kernel.index(0)])
            elif len(own) == 2:
                accesses.append([indices[1], indices[-1]])
            elif len(own) == 3:
                accesses.append([*indices[:2], indices[-1]])
            elif is_tight:
                accesses.append(indices)
            else:
                step = 1 if per_channel else lanes
                row = kernel.affine(indices[2], 1, halo.top)
                column = kernel.affine(indices[3], 1, halo.left * step)
                accesses.append([*indices[:2], row, column, *indices[4:]])
        read = dict(zip(leaves, zip(kernel.buffers[1:], accesses[1:], strict=True), strict=True))
        kernel.store(ElementwiseBody(kernel, read).compute(op).value, kernel.buffers[0], accesses[0])
    return kernel


def _blocked_shape(value: SSAValue, result: SSAValue, builder: LoweringBuilder) -> Sequence[Size]:
    if is_like(value, result, builder.layouts):
        return builder.layouts.shape(value)
    array = builder.constant(value)
    images, blocks, _, _, lanes = builder.layouts.shape(result)
    if array is None:
        return [images, blocks, lanes]
    return [1] if array.size == 1 else [blocks, lanes]


def _merged(shape: Sequence[Size], is_tight: bool, per_channel: bool) -> list[Size]:
    """Return the shape of a buffer with the axes merged that are one loop."""
    if len(shape) < 5:
        return list(shape)
    images, blocks, rows, columns, lanes = shape
    inner = [columns, lanes] if per_channel else [columns * lanes]
    if is_tight:
        return [images, blocks, rows * inner[0], *inner[1:]]
    return [images, blocks, rows, *inner]


def axis_groups(shape: Sequence[Size], operands: Sequence[Sequence[Size]]) -> list[list[int]]:
    """Group neighboring axes along which the same operands are broadcast; axes of size 1 are dropped."""
    groups: list[list[int]] = []
    before: tuple[bool, ...] | None = None
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        back = axis - len(shape)
        varies = tuple(len(operand) >= -back and operand[back] != 1 for operand in operands)
        if varies == before:
            groups[-1].append(axis)
        else:
            groups.append([axis])
        before = varies
    return groups
