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


def require_windows(
    op: Operation, image: Sequence[int], out: Sequence[int], properties: Sequence[DenseArrayBase[I64]]
) -> None:
    """
    Raise VerifyException unless all windows lie in the image.

    `image` and `out` are rows and columns, `properties` the start, kernel, strides and dilations. Of dynamic
    sizes at most the start is known.
    """
    rows = [list(map(int, each.get_values())) for each in properties]
    for axis, (size, count) in enumerate(zip(image, out, strict=True)):
        start, kernel, stride, dilation = (each[axis] for each in rows)
        if start == DYNAMIC_INDEX:
            continue
        is_known = DYNAMIC_INDEX not in (size, count)
        end = start + (count - 1) * stride + (kernel - 1) * dilation + 1 if is_known else 0
        if start < 0 or (is_known and end > size):
            name = ("rows", "columns")[axis]
            raise VerifyException(f"{op.name}: windows begin at {start}, end at {end}, of {size} {name}")


def require_sizes(
    op: Operation, sizes: Sequence[int], start: DenseArrayBase[I64], operands: Sequence[SSAValue]
) -> None:
    """Raise VerifyException unless results have two sizes above 0, and each dynamic number an operand."""
    _, *out = sizes
    if len(out) != 2 or min(1 if size == DYNAMIC_INDEX else size for size in out) < 1:
        raise VerifyException(f"{op.name}: out holds two sizes above 0, found {out}")
    count = [*sizes, *start.get_values()].count(DYNAMIC_INDEX)
    if len(operands) != count:
        raise VerifyException(f"{op.name}: {count} dynamic sizes, found {len(operands)} operands")
