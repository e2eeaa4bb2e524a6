"""Rules for the values of properties."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.checks.rules import (
    Rule,
    integer_of,
    integers_of,
    length_of,
    property_of,
    real_of,
    refuse,
    shape_of,
    text_of,
)


def _require_range(op: Operation, name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise VerifyException(f"{op.name}: '{name}' value is {value}, accepted range is [{low}, {high}]")


def axis_in_range(field: str, of: str, beyond: int = 0) -> Rule:
    """An axis of operand `of`, negative ones counted from the end; `beyond` more are allowed at the end."""

    def rule(op: Operation) -> None:
        axis, shape = integer_of(op, field), shape_of(op, of)
        if axis is not None and shape is not None:
            rank = len(shape)
            _require_range(op, field, axis, -rank, rank - 1 + beyond)

    return rule


def new_axis_in_range(field: str, of: str) -> Rule:
    """An axis of the result, which has one more than operand `of`."""

    def rule(op: Operation) -> None:
        axis, shape = integer_of(op, field), shape_of(op, of)
        if axis is not None and shape is not None:
            _require_range(op, field, axis, -len(shape) - 1, len(shape))

    return rule


def axes_in_range(field: str, of: str) -> Rule:
    """Axes of operand `of`, no two the same."""

    def rule(op: Operation) -> None:
        axes, shape = integers_of(op, field), shape_of(op, of)
        if axes is None or shape is None:
            return
        rank = len(shape)
        for axis in axes:
            _require_range(op, field, axis, -rank, rank - 1)
        if len({axis % rank for axis in axes}) != len(axes):
            refuse(op, f"{field} names an axis twice: {list(axes)}")

    return rule


def new_axes_differ(field: str) -> Rule:
    """Axes of the result, no two the same as written."""

    def rule(op: Operation) -> None:
        axes = integers_of(op, field)
        if axes is not None and len(set(axes)) != len(axes):
            refuse(op, "Duplicated axes")

    return rule


def is_permutation(field: str, of: str) -> Rule:
    """Each axis of operand `of` once."""

    def rule(op: Operation) -> None:
        perm = integers_of(op, field)
        if perm is None:
            return
        shape = shape_of(op, of)
        rank = len(perm) if shape is None else len(shape)
        for place, axis in enumerate(perm):
            if axis < 0:
                refuse(op, f"Transpose op with too low a permute value ({axis} at index {place})")
            if axis >= rank:
                refuse(op, f"Transpose op with too high a permute value ({axis} at index {place})")
        if len(perm) != rank or len(set(perm)) != rank:
            refuse(op, f"{field} is {list(perm)}, which is no permutation of {rank} axes")

    return rule


def integer_in(field: str, low: int, high: int) -> Rule:
    """An integer from `low` to `high`."""

    def rule(op: Operation) -> None:
        value = integer_of(op, field)
        if value is not None:
            _require_range(op, field, value, low, high)

    return rule


def at_least(field: str, low: int, text: str = "") -> Rule:
    """An integer or number of at least `low`."""

    def rule(op: Operation) -> None:
        value = integer_of(op, field)
        if value is None:
            value = real_of(op, field)
        if value is not None and value < low:
            refuse(op, text or f"{field} is {value}; it is at least {low}")

    return rule


def one_of(field: str, *texts: str) -> Rule:
    """One of the strings ONNX gives a meaning."""

    def rule(op: Operation) -> None:
        text = text_of(op, field)
        if text is not None and text not in texts:
            refuse(op, f'{field} is "{text}"; it is one of {", ".join(texts)}')

    return rule


def either(first: str, second: str) -> Rule:
    """Exactly one of two properties."""

    def rule(op: Operation) -> None:
        found = [field for field in (first, second) if property_of(op, field) is not None]
        if len(found) != 1:
            refuse(op, f"takes either {first} or {second}, found {' and '.join(found) or 'neither'}")

    return rule


def same_length(first: str, second: str) -> Rule:
    """Two lists that belong together element by element."""

    def rule(op: Operation) -> None:
        lengths = length_of(op, first), length_of(op, second)
        if None not in lengths and lengths[0] != lengths[1]:
            refuse(op, f"{first} and {second} should have the same size")

    return rule
