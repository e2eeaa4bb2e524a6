"""Rules for the shapes of operands."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.checks.rules import (
    DYNAMIC,
    Rule,
    differ,
    integer_of,
    refuse,
    shape_of,
    type_of,
    types_of,
)
from xonnc.dialects.onnx.types import is_ranked


def broadcast(*fields: str) -> Rule:
    """Operands that can be broadcast to a common shape, as in numpy."""

    def rule(op: Operation) -> None:
        _check_broadcast(op, [type_of(op, field) for field in fields])

    return rule


def broadcast_all(field: str) -> Rule:
    """The same for all of a variadic operand."""

    def rule(op: Operation) -> None:
        _check_broadcast(op, types_of(op, field))

    return rule


def _check_broadcast(op: Operation, types: Sequence[Attribute]) -> None:
    # Types are memoised, so most operands of one shape have one type object: the common case costs nothing.
    if all(type_ is types[0] for type_ in types):
        return
    shapes = [type_.get_shape() for type_ in types if is_ranked(type_)]
    if not _broadcasts(shapes):
        _refuse_broadcast(op, shapes)


def _broadcasts(shapes: Sequence[tuple[int, ...]]) -> bool:
    rank = max(map(len, shapes), default=0)
    for place in range(1, rank + 1):
        sizes = {shape[-place] for shape in shapes if len(shape) >= place} - {1, DYNAMIC}
        if len(sizes) > 1:
            return False
    return True


def _refuse_broadcast(op: Operation, shapes: Sequence[tuple[int, ...]]) -> None:
    texts = [
        "x".join("?" if size == DYNAMIC else str(size) for size in shape) or "scalar" for shape in shapes
    ]
    refuse(op, f"Broadcast op with incompatible shapes: {', '.join(texts)}")


def broadcast_into(field: str, onto: str, text: str) -> Rule:
    """An operand that can be broadcast to the shape of another, which stays as it is."""

    def rule(op: Operation) -> None:
        shape, target = shape_of(op, field), shape_of(op, onto)
        if shape is None or target is None:
            return
        fits = len(shape) <= len(target) and all(
            a == 1 or not differ(a, b) for a, b in zip(reversed(shape), reversed(target), strict=False)
        )
        if not fits:
            refuse(op, text)

    return rule


def rank_is(field: str, *ranks: int, text: str = "") -> Rule:
    """An operand of one of these ranks."""

    def rule(op: Operation) -> None:
        shape = shape_of(op, field)
        if shape is not None and len(shape) not in ranks:
            expected = " or ".join(map(str, ranks))
            refuse(op, text or f"operand '{field}' has rank {len(shape)}, rank should be {expected}")

    return rule


def rank_at_least(field: str, least: int, text: str = "") -> Rule:
    """An operand of this rank or a higher one."""

    def rule(op: Operation) -> None:
        shape = shape_of(op, field)
        if shape is not None and len(shape) < least:
            refuse(op, text or f"operand '{field}' has rank {len(shape)}, rank should be >= {least}")

    return rule


def same_rank(first: str, second: str) -> Rule:
    """Two operands of one rank."""

    def rule(op: Operation) -> None:
        a, b = shape_of(op, first), shape_of(op, second)
        if a is not None and b is not None and len(a) != len(b):
            raise VerifyException(
                f"{op.name}: '{first}' has rank {len(a)}, '{second}' has rank {len(b)}. "
                "The two inputs must have the same rank."
            )

    return rule


def same_size(first: str, axis: int, second: str, other: int, text: str) -> Rule:
    """Dimension `axis` of one operand is as long as dimension `other` of the other."""

    def rule(op: Operation) -> None:
        a, b = shape_of(op, first), shape_of(op, second)
        if a is None or b is None or not -len(a) <= axis < len(a) or not -len(b) <= other < len(b):
            return
        if differ(a[axis], b[other]):
            refuse(op, text)

    return rule


def size_is(field: str, axis: int, size: int, text: str) -> Rule:
    """A dimension of a fixed size."""

    def rule(op: Operation) -> None:
        shape = shape_of(op, field)
        if shape is not None and -len(shape) <= axis < len(shape) and differ(shape[axis], size):
            refuse(op, text)

    return rule


def divisible(field: str, axis: int, by: str, text: str, power: int = 1) -> Rule:
    """A dimension that is a multiple of an INT property, or of its square."""

    def rule(op: Operation) -> None:
        shape, divisor = shape_of(op, field), integer_of(op, by)
        if shape is None or divisor is None or axis >= len(shape) or shape[axis] == DYNAMIC:
            return
        if shape[axis] % divisor**power:
            refuse(op, text)

    return rule


def matrix_product(first: str, second: str) -> Rule:
    """Operands that `numpy.matmul` takes."""

    def rule(op: Operation) -> None:
        a, b = shape_of(op, first), shape_of(op, second)
        if a is None or b is None:
            return
        if not a or not b:
            refuse(op, "the product of matrices takes no scalars")
        if differ(a[-1], b[max(len(b) - 2, 0)]):
            refuse(op, "reduction dimension must be the same")
        if not _broadcasts([a[:-2], b[:-2]]):
            _refuse_broadcast(op, [a, b])

    return rule


def gemm(op: Operation) -> None:
    """Matrices that can be multiplied after they are transposed as asked."""
    shapes: list[tuple[int, ...] | None] = []
    for field, transposed in (("A", "transA"), ("B", "transB")):
        shape = shape_of(op, field)
        if shape is not None and len(shape) != 2:
            refuse(op, f"Gemm with {field} should be a 2D tensor")
        shapes.append(shape[::-1] if shape is not None and integer_of(op, transposed) else shape)
    a, b = shapes
    if a is not None and b is not None and differ(a[1], b[0]):
        refuse(op, "Gemm 2nd dim of A is different than 1st dim of B")
    c = shape_of(op, "C")
    if c is not None and len(c) > 2:
        refuse(op, "Gemm with C should be a 1D or 2D tensor")


def concatenation(op: Operation) -> None:
    """Tensors of one rank that differ in size only along the axis."""
    shapes = [type_.get_shape() for type_ in types_of(op, "inputs") if is_ranked(type_)]
    axis = integer_of(op, "axis")
    if not shapes or axis is None:
        return
    rank = len(shapes[0])
    if not -rank <= axis < rank:
        raise VerifyException(f"{op.name}: 'axis' value is {axis}, accepted range is [{-rank}, {rank - 1}]")
    for shape in shapes[1:]:
        if len(shape) != rank:
            refuse(op, f"inputs have ranks {rank} and {len(shape)}, which must be the same")
        for place in range(rank):
            if place != axis % rank and differ(shape[place], shapes[0][place]):
                refuse(
                    op,
                    f"inputs have sizes {shapes[0][place]} and {shape[place]} in dimension {place}, "
                    "which must be the same",
                )


def parts(field: str, of: str) -> Rule:
    """As many results as a split names, or `num_outputs` of them."""

    def rule(op: Operation) -> None:
        count = integer_of(op, field)
        if count is not None and count != len(types_of(op, of)):
            refuse(op, "Split size not equal to the number of results")

    return rule
