"""
One mechanism for all operators that compute each element from elements at the same place.

Such an operator is a function of numbers. Those that follow one another become one kernel, and axes that no
operand is broadcast along become one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp, ReluOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE, element_type, static_shape
from xonnc.lowering.onnx_to_krnl.elements import is_nibble, is_unsigned_element, stored, wide
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering import Lowering, is_native

OpT = TypeVar("OpT", bound=Operation)

MOST_OPS = 40
"""Operators in one kernel: more use more registers than there are."""

PointFunction: TypeAlias = Callable[[OpT, "Point"], "SSAValue | None"]
"""What an op gives at a point, or `None` where this kind of it is not lowered."""

POINTS: dict[type[Operation], PointFunction[Operation]] = {}
"""The function of each kind of op."""


def at_each_point(
    *kinds: type[OpT],
) -> Callable[[Callable[[OpT, Point], SSAValue | None]], Callable[[OpT, Point], SSAValue | None]]:
    """Registers the function of numbers that one or more kinds of op are."""

    def register(
        function: Callable[[OpT, Point], SSAValue | None],
    ) -> Callable[[OpT, Point], SSAValue | None]:
        for kind in kinds:

            def checked(op: Operation, at: Point, kind: type[OpT] = kind) -> SSAValue | None:
                assert isinstance(op, kind)
                return function(op, at)

            POINTS[kind] = checked
        return function

    return register


class _DeclinedError(Exception):
    """An op is not lowered in this form."""


class Point:
    """One place in the result of a kernel, and the numbers there."""

    def __init__(
        self, kernel: Kernel, leaves: Mapping[SSAValue, tuple[SSAValue, Sequence[SSAValue]]]
    ) -> None:
        self.kernel = kernel
        self.add = kernel.add
        self._leaves = leaves
        self._known: dict[SSAValue, SSAValue] = {}

    def __call__(self, value: SSAValue) -> SSAValue:
        """The number of an operand here; small floats are computed with in f32."""
        if value not in self._known:
            element = element_type(value.type)
            assert element is not None
            if value in self._leaves:
                buffer, indices = self._leaves[value]
                number = self.kernel.read(buffer, indices, element)
            else:
                owner = value.owner
                assert isinstance(owner, Operation)
                number = self.compute(owner)
                # Casts give elements as they lie in a buffer, since they round.
                if number.type != wide(element):
                    number = self.kernel.widened(number, element)
            self._known[value] = number
        return self._known[value]

    def compute(self, op: Operation) -> SSAValue:
        """What an op gives here."""
        number = POINTS[type(op)](op, self)
        if number is None:
            raise _DeclinedError
        return number

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A constant of the type that `like` has."""
        return self.kernel.number(value, like.type)


def is_unsigned(value: SSAValue) -> bool:
    """Whether a tensor holds integers without sign."""
    element = element_type(value.type)
    return element is not None and is_unsigned_element(element)


def is_float(number: SSAValue) -> bool:
    """Whether a number is a float."""
    return not is_integer(number.type)


@dataclass(frozen=True)
class PointPlan:
    """A kernel for an op and those before it that only it reads, and what it reads itself."""

    kernel: Kernel
    leaves: Sequence[SSAValue]
    fused: set[Operation]


def plan_points(op: Operation, to: Lowering) -> PointPlan | str:
    """The kernel that computes an op, or why there is none; writes nothing."""
    shape = to.shape(op.results[0])
    fused = _producers(op, shape)
    while True:
        leaves = _leaves(fused)
        if not all(map(is_native, leaves)):
            return "an operand is dynamic or of a type that code does not compute with"
        try:
            return PointPlan(_kernel(op, shape, fused, leaves, to), leaves, fused)
        except _DeclinedError:
            if len(fused) == 1:
                return "not in this form"
            fused = {op}


def lower_points(op: Operation, plan: PointPlan, to: Lowering) -> None:
    """Calls the kernel of a plan."""
    buffers = [to.buffer(leaf) for leaf in plan.leaves]
    name = type(op).name.removeprefix("onnx.").lower()
    full = f"{name}_fused" if len(plan.fused) > 1 else name
    to.call(full, plan.kernel, [to.result(op.results[0])], buffers)


def _producers(op: Operation, shape: tuple[int, ...]) -> set[Operation]:
    """`op` and the ops before it that may be computed with it."""
    fused = {op}
    waiting = [op]
    while waiting and len(fused) < MOST_OPS:
        for value in waiting.pop().operands:
            owner = value.owner
            if (
                isinstance(owner, Operation)
                and type(owner) in POINTS
                and owner.parent is op.parent
                and owner not in fused
                and static_shape(value.type) == shape
                and is_native(value)
                and all(use.operation in fused for use in value.uses)
                and not ends_product(owner)
            ):
                fused.add(owner)
                waiting.append(owner)
    return fused


def ends_product(op: Operation) -> bool:
    """Whether an op is done to the sums of a product before they are stored."""
    made = op.operands[0].owner if isinstance(op, ReluOp) else None
    return isinstance(made, ConvOp | GemmOp | MatMulOp) and len(list(op.operands[0].uses)) == 1


def _leaves(fused: set[Operation]) -> list[SSAValue]:
    """What the ops read from outside, in a fixed order."""
    found: dict[SSAValue, None] = {}
    for op in sorted(fused, key=_order):
        for value in op.operands:
            if value.owner not in fused and value.type != NONE:
                found[value] = None
    return list(found)


def _order(op: Operation) -> int:
    assert op.parent is not None
    return op.parent.get_operation_index(op)


def _kernel(
    op: Operation, shape: tuple[int, ...], fused: set[Operation], leaves: Sequence[SSAValue], to: Lowering
) -> Kernel:
    groups = axis_groups(shape, [to.shape(leaf) for leaf in leaves])
    sizes = [prod(shape[axis] for axis in group) for group in groups]
    result = to.element(op.results[0])
    types = [buffer_type(sizes, result)]
    kept: list[list[bool]] = []
    for leaf in leaves:
        own = (1,) * (len(shape) - len(to.shape(leaf))) + to.shape(leaf)
        held = [prod(own[axis] for axis in group) for group in groups]
        kept.append([size > 1 for size in held])
        types.append(buffer_type(held, to.element(leaf)))
    kernel = Kernel(types)
    with kernel.loops(sizes) as indices:
        zero = kernel.index(0)
        places: dict[SSAValue, tuple[SSAValue, Sequence[SSAValue]]] = {}
        for leaf, buffer, held in zip(leaves, kernel.buffers[1:], kept, strict=True):
            own = [index if keeps else zero for index, keeps in zip(indices, held, strict=False)]
            places[leaf] = buffer, own if sizes else []
        number = Point(kernel, places).compute(op)
        if number.type != stored(result) or is_nibble(result):
            number = kernel.narrowed(number, result)
        kernel.store(number, kernel.buffers[0], indices if sizes else [])
    return kernel


def axis_groups(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> list[list[int]]:
    """Neighbouring axes along which the same operands are broadcast, together; axes of size 1 left out."""
    groups: list[list[int]] = []
    before: tuple[bool, ...] | None = None
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        back = axis - len(shape)
        varies = tuple(len(operand) >= -back and operand[back] > 1 for operand in operands)
        if varies == before:
            groups[-1].append(axis)
        else:
            groups.append([axis])
        before = varies
    return groups
