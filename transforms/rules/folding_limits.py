"""Limits of size and time of constant folding."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape
from xonnc.rewriting.patterns import MatchFailure

MAX_BYTES = 64 << 20
"""Maximum size of a folded constant; larger ones are folded only from operands of similar size (`GROWTH`)."""

GROWTH = 2
"""Factor by which a constant larger than `MAX_BYTES` may exceed the bytes of its operands."""

MAX_PRODUCTS = 1 << 33
"""Maximum number of float multiply-adds of a folded MatMul: a few seconds of work."""

MAX_INTEGER_PRODUCTS = 1 << 29
"""Maximum number of integer multiply-adds of a folded MatMul; lower, because NumPy has no integer BLAS."""


def too_large(shape: Sequence[int], dtype: np.dtype[np.generic], operands: int = 0) -> MatchFailure | None:
    """Return a match failure if a constant of this shape is too large for operands of this many bytes."""
    made = prod(shape) * dtype.itemsize
    allowed = max(MAX_BYTES, GROWTH * operands)
    return MatchFailure(f"the result takes {made} bytes, {allowed} are allowed") if made > allowed else None


def modest(root: Operation) -> str | None:
    """The result takes up to 64 MiB, or not much more than the operands."""
    made = bytes_of(root.results[0].type)
    if made is None or made <= MAX_BYTES:
        return None
    allowed = max(MAX_BYTES, GROWTH * sum(bytes_of(operand.type) or 0 for operand in root.operands))
    return None if made <= allowed else f"the result takes {made} bytes, {allowed} are allowed"


def bytes_of(type_: Attribute) -> int | None:
    """Return the number of bytes of a tensor, or `None` if its shape is not static."""
    shape, element = static_shape(type_), element_type(type_)
    return None if shape is None or element is None else prod(shape) * numpy_dtype(element).itemsize


def too_much_work(left: Sequence[int], right: Sequence[int], is_float: bool) -> MatchFailure | None:
    """Return a match failure if the product of two matrices, or batches of them, takes too long."""
    rows, columns = (left if len(left) > 1 else (1, *left)), (right if len(right) > 1 else (*right, 1))
    batches = prod(np.broadcast_shapes(tuple(rows[:-2]), tuple(columns[:-2])))
    products = batches * rows[-2] * rows[-1] * columns[-1]
    allowed = MAX_PRODUCTS if is_float else MAX_INTEGER_PRODUCTS
    return MatchFailure(f"{products} products to sum, {allowed} are allowed") if products > allowed else None
