"""Conditions shared by rules; each returns the reason of a match failure."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType, NoneType
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape
from xonnc.rewriting.patterns import Constant
from xonnc.transforms.numerics import is_float


def rank(value: SSAValue) -> int | None:
    """Return the rank of a value, or `None`."""
    return len(value.type.get_shape()) if is_ranked(value.type) else None


def is_absent(value: SSAValue) -> bool:
    """Return whether a value is an absent operand."""
    return isinstance(value.type, NoneType)


def is_scalar(value: SSAValue) -> bool:
    """Return whether a value has rank 0 or shape [1]."""
    return static_shape(value.type) in ((), (1,))


def first_type_is_result_type(root: Operation) -> str | None:
    """The first operand has the type of the result and can replace it."""
    if root.operands[0].type == root.results[0].type:
        return None
    return "the result has another type than the first operand"


def x_gives_the_shape(root: Operation, x: SSAValue, c: Constant) -> str | None:
    """x has the result type even if its dimensions are dynamic: c adds no axis and broadcasts to x."""
    if x.type != root.results[0].type:
        return "the result has another type than x"
    axes = c.array.shape
    if not is_ranked(x.type):
        return "x may have fewer axes than c" if axes else None
    sizes = x.type.get_shape()
    if len(axes) > len(sizes):
        return "c has more axes than x"
    trailing = sizes[len(sizes) - len(axes) :]
    if any(own not in (1, size) for own, size in zip(axes, trailing, strict=True)):
        return "c may have a size that x has not"
    return None


def result_is_static(root: Operation) -> str | None:
    """The shape of the result is known."""
    return None if static_shape(root.results[0].type) is not None else "the result's shape is not static"


def result_is_integer(root: Operation) -> str | None:
    """The result is integer: for floats, 0 x is NaN if x is infinite or NaN."""
    if isinstance(element_type(root.results[0].type), IntegerType):
        return None
    return "the result does not hold integers"


def all_zeros(c: Constant) -> str | None:
    """c = 0 everywhere"""
    return "c is not zero everywhere" if np.any(c.array) else None


def is_finite(c: Constant) -> str | None:
    """c is finite everywhere: infinite factors inside a sum can make NaN (inf - inf, 0 · inf)."""
    if not is_float(c.array.dtype) or np.all(np.isfinite(c.array)):
        return None
    return "c is not finite everywhere"


def is_not_zero(c: Constant) -> str | None:
    """c has no 0: quotients by 0 inside a sum can make NaN (inf - inf, 0 / 0)."""
    return None if np.all(c.array) else "c is zero somewhere"


def all_ones(c: Constant) -> str | None:
    """c = 1 everywhere"""
    return None if np.all(c.array == np.ones((), c.array.dtype)) else "c is not one everywhere"
