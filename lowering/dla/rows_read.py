"""The rows of a cube that are read: strided convolutions and slices skip some."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import cube_of


def rows_read(value: SSAValue) -> frozenset[int]:
    """Return the rows of `value` that an operation reads, through views too."""
    return frozenset(row for use in value.uses for row in _read_by(use.operation, value))


def _read_by(op: Operation, value: SSAValue) -> frozenset[int]:
    height = cube_of(value.type).height
    match op:
        case ConvOp() if op.source is value:
            rows, stride, dilation = op.kernel[0], op.strides.get_values()[0], op.dilations.get_values()[0]
            top = op.pads.get_values()[0]
            taps = (
                output * stride + tap * dilation - top
                for output in range(cube_of(op.accumulator.type).height)
                for tap in range(rows)
            )
            return frozenset(row for row in taps if 0 <= row < height)
        case SliceOp():
            first = op.offsets.get_values()[1]
            return frozenset(row + first for row in rows_read(op.result))
        case ConcatOp():
            return frozenset(_read_of_source(op, value))
        case ReshapeOp():
            return _read_through(op)
        case _:
            return frozenset(range(height))


def _read_of_source(op: ConcatOp, value: SSAValue) -> Iterator[int]:
    """Yield the rows of a source that are read of the concatenation."""
    read, height, count = rows_read(op.result), cube_of(value.type).height, len(op.sources)
    if op.is_interleaved is None and op.axis.value.data != 2:
        # All rows of the result, whatever the source: there may be hundreds along the channels.
        yield from read
        return
    for index, (source, first) in enumerate(zip(op.sources, op.begins, strict=False)):
        if source is not value:
            continue
        if op.is_interleaved is not None:
            yield from (row // count for row in read if row % count == index)
        else:
            yield from (row - first for row in read if 0 <= row - first < height)


def _read_through(op: ReshapeOp) -> frozenset[int]:
    """Return the rows of a reshape's source that slices of its columns reach; all if it is read otherwise."""
    source, width = cube_of(op.source.type), cube_of(op.result.type).width
    found: set[int] = set()
    for use in op.result.uses:
        part = use.operation
        if not isinstance(part, SliceOp):
            return frozenset(range(source.height))
        _, first, column = part.offsets.get_values()
        last = column + cube_of(part.result.type).width - 1
        for row in rows_read(part.result):
            begin = (row + first) * width
            found |= set(range((begin + column) // source.width, (begin + last) // source.width + 1))
    return frozenset(found)
