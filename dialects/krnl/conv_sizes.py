"""Sizes of convolutions, some of which are found at run time (`-9223372036854775808`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DenseArrayBase
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.krnl.memory import shape_of


def conv_sizes(y: SSAValue, out: DenseArrayBase[I64]) -> list[int]:
    """Return images, and rows and columns that are computed."""
    return [shape_of(y)[0], *(int(size) for size in out.get_values())]


def iterations_of(panels: int, sizes: Sequence[int]) -> int:
    """Return the iterations of panels; those of one image if images are dynamic, of one row if rows are."""
    images, rows, _ = sizes
    return panels * prod(1 if size == DYNAMIC_INDEX else size for size in (images, rows))


def require_sizes(op: Operation, sizes: Sequence[int], operands: Sequence[SSAValue]) -> None:
    """Raise VerifyException unless results have two sizes above 0, and each dynamic size an operand."""
    _, *out = sizes
    if len(out) != 2 or min(1 if size == DYNAMIC_INDEX else size for size in out) < 1:
        raise VerifyException(f"{op.name}: out holds two sizes above 0, found {out}")
    count = sizes.count(DYNAMIC_INDEX)
    if len(operands) != count:
        raise VerifyException(f"{op.name}: {count} dynamic sizes, found {len(operands)} operands")
