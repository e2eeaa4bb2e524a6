"""
NonMaxSuppression: greedy selection of boxes by score, dropping boxes whose IoU with a selected one is too
large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops.object_detection import NonMaxSuppressionOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.native.program import MAX_BYTES
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_results import DataDependentResults, store_count
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    DATA_DEPENDENT,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.math.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, max_size, min_size
from xonnc.lowering.onnx_to_krnl.tensor.sort_keys import keys_of_rows
from xonnc.lowering.onnx_to_krnl.tensor.sorting import (
    DIGITS,
    MIN_RADIX_SORT,
    sort_by_keys,
    sort_indices,
    sorted_half,
)

DATA_DEPENDENT.add(NonMaxSuppressionOp)
supports_dynamic_shapes(NonMaxSuppressionOp)


@lowers(NonMaxSuppressionOp)
def non_max_suppression(op: NonMaxSuppressionOp, builder: LoweringBuilder) -> str | None:
    """Selected boxes per batch and class, by descending score."""
    batches, boxes, _ = builder.sizes(op.boxes)
    classes = builder.sizes(op.scores)[1]
    limit: Size = 0 if op.max_output_boxes_per_class.type == NONE else boxes
    constant = builder.constant(op.max_output_boxes_per_class)
    most = int(constant.reshape(-1)[0]) if constant is not None and constant.size else MAX_BYTES
    # Exporters write the largest integer where there is no limit, which is more than sizes may be.
    limit = min_size(limit, max(most, 0)) if most < MAX_BYTES else limit
    rows = batches, classes
    found = DataDependentResults(op, [(op.selected_indices, 0)], batches * classes * limit, builder)
    chosen, counts = builder.allocate([*rows, max_size(limit, 1)], i64), builder.allocate(rows, i64)
    thresholds = [op.max_output_boxes_per_class, op.iou_threshold, op.score_threshold]
    given = [value for value in thresholds if value.type != NONE and builder.sizes(value) != (0,)]
    for size in (size for value in given for size in builder.sizes(value)):
        builder.require_at_most(1, size, "a threshold without elements")
    capacity = _whole_vectors(limit)
    made = [
        ([2, *rows, boxes], i64),
        ([*rows, DIGITS], i64),
        ([*rows, len(_Box._fields), capacity], f32),
    ]
    # The sort is stable: of equal scores, the first box is selected first.
    keys = keys_of_rows(op.scores, AxisSplit(batches * classes, boxes, 1), f32, True, builder)
    buffers = [chosen, counts, *(builder.allocate(sizes, element) for sizes, element in made)]
    inputs = [_corners(op, builder), (keys, [*rows, boxes]), (op.scores, [*rows, boxes])]
    kernel = Kernel(builder, "nonmaxsuppression", buffers, [*inputs, *((value, [1]) for value in given)])
    known = len(buffers) + len(inputs)
    limits = dict(zip(given, kernel.buffers[known:], strict=True))
    most, overlap, least = (limits.get(value) for value in thresholds)
    selection = _Selection(
        kernel, *kernel.buffers[:known], limit=most, overlap=overlap, least=least, size=boxes, most=limit
    )
    with kernel.loops(rows) as (batch, kind):
        selection.select(batch, kind)
    kernel.call()
    _list(op, found, (chosen, counts), builder)
    return None


LANES = 16
"""Boxes that are compared at a time: a full vector on any processor."""


def _whole_vectors(limit: Size) -> Size:
    """Return a number of boxes, at least one, rounded up to whole vectors."""
    return (max_size(limit, 1) + (LANES - 1)) // LANES * LANES


class _Box(NamedTuple):
    """Corners and area of a box."""

    top: Scalar
    left: Scalar
    bottom: Scalar
    right: Scalar
    area: Scalar

    def exceeds_iou(self, other: _Box, most: Scalar | float) -> Scalar:
        """Whether the intersection over union (IoU) with another box exceeds the threshold."""
        height = self.bottom.minimum(other.bottom) - self.top.maximum(other.top)
        width = self.right.minimum(other.right) - self.left.maximum(other.left)
        overlap = height * width
        union = self.area + other.area - overlap
        is_real = (height > 0.0) & (width > 0.0) & (overlap > 0.0)
        is_real = is_real & (self.area > 0.0) & (other.area > 0.0) & (union > 0.0)
        return is_real & (overlap / union > most)


def _corners(op: NonMaxSuppressionOp, builder: LoweringBuilder) -> SSAValue:
    """Return corners and area of all boxes as a structure of arrays: `f32[batches, 5, boxes]`."""
    batches, boxes, _ = builder.sizes(op.boxes)
    sizes = [batches, len(_Box._fields), boxes]
    made = builder.allocate(sizes, f32)
    kernel = Kernel(builder, "box_corners", [made], [op.boxes])
    out, source = kernel.buffers
    with kernel.loops([batches, boxes]) as (batch, box):
        first, second, third, fourth = (source[batch, box, index] for index in range(4))
        if op.center_point_box.value.data:
            ends = [
                (first - third / 2.0, first + third / 2.0),
                (second - fourth / 2.0, second + fourth / 2.0),
            ]
        else:
            ends = [
                (first.minimum(third), first.maximum(third)),
                (second.minimum(fourth), second.maximum(fourth)),
            ]
        (top, bottom), (left, right) = ends
        area = (bottom - top) * (right - left)
        for index, number in enumerate((top, left, bottom, right, area)):
            out[batch, index, box] = number
    kernel.call()
    return made


def _list(
    op: NonMaxSuppressionOp,
    found: DataDependentResults,
    chosen: tuple[SSAValue, SSAValue],
    builder: LoweringBuilder,
) -> None:
    """Write batch, class and box of each selection, up to the capacity of the result."""
    made = found.result(op.selected_indices, [found.size, 3], 0)
    kernel = Kernel(builder, "selected_boxes", [made, found.count_buffer], chosen)
    out, count_buffer, boxes, counts = kernel.buffers
    sizes = builder.sizes(op.scores)[:2]
    with kernel.reducing(sizes, [kernel.constant(0, i64)]) as ((batch, kind), (start,), results):
        count = counts[batch, kind]
        capacity = count.clamp(0, (kernel.count([found.size]) - start).maximum(0))
        with kernel.loops([capacity]) as (index,):
            box = boxes[batch, kind, index]
            position = (start + index.to(i64)).to(INDEX)
            for column, number in enumerate([batch.to(i64), kind.to(i64), box]):
                out[position, column] = number
        results.append(start + count)
    store_count(results[0], count_buffer)
    kernel.call()
    found.cut()


@dataclass(frozen=True)
class _Selection:
    """The kernel that selects boxes, its buffers and its limits."""

    kernel: Kernel
    chosen: Buffer
    counts: Buffer
    order: Buffer
    digits: Buffer
    selected: Buffer
    corners: Buffer
    keys: Buffer
    scores: Buffer
    limit: Buffer | None
    overlap: Buffer | None
    least: Buffer | None
    size: Size
    most: Size

    def select(self, batch: Scalar, kind: Scalar) -> None:
        """Select the boxes of one class; store them and their number."""
        kernel, order, keys = self.kernel, self.order, self.keys
        candidates = self._candidates(batch, kind)
        outer = [batch, kind]
        half = 0
        if not is_static(self.size) or self.size >= MIN_RADIX_SORT:
            sort_by_keys(kernel, order, keys, self.digits, outer, candidates)
        else:

            def is_sooner(a: Scalar, b: Scalar) -> Scalar:
                return keys[*outer, a] < keys[*outer, b]

            sort_indices(kernel, order, outer, candidates, self.size, is_sooner)
            half = sorted_half(self.size)
        self._clear(outer)
        zero = kernel.constant(0, i64)
        capacity = kernel.count([self.most])
        if self.limit is not None:
            capacity = capacity.minimum(self.limit[0])
        # With a limit of 0, no candidate is visited.
        iterations = (capacity > 0).select(candidates.to(i64), zero)
        with kernel.reducing([iterations], [zero]) as ((iteration,), (count,), results):
            has_capacity = count < capacity
            number = order[half, *outer, iteration]
            box = _box(self.corners, [batch], number.to(INDEX))
            # Compare whole vectors: unused boxes have area 0, so their IoU with any box is 0.
            compared = has_capacity.select((count + (LANES - 1)) // LANES * LANES, zero)
            with kernel.reducing([compared], [kernel.constant(0, i32)]) as ((other,), (near,), ends):
                known = _box(self.selected, outer, other)
                is_near = box.exceeds_iou(known, 0.0 if self.overlap is None else self.overlap[0])
                ends.append(near.maximum(is_near.to(i32)))
            is_kept = has_capacity & ends[0].equals(0)
            with kernel.when(is_kept):
                slot = count.to(INDEX)
                self.chosen[*outer, slot] = number
                for index, each in enumerate(box):
                    self.selected[*outer, index, slot] = each
            results.append(count + is_kept.to(i64))
        self.counts[*outer] = results[0]

    def _clear(self, outer: Sequence[Scalar]) -> None:
        """Set all selected boxes to area 0."""
        sizes = [len(_Box._fields), _whole_vectors(self.most)]
        with self.kernel.loops(sizes) as (index, slot):
            self.selected[*outer, index, slot] = 0.0

    def _candidates(self, batch: Scalar, kind: Scalar) -> Scalar:
        """List the boxes with a score above the threshold; return their number."""
        kernel, order = self.kernel, self.order
        if self.least is None:
            with kernel.loops([self.size]) as (box,):
                order[0, batch, kind, box] = box
            return kernel.size(self.size)
        least = self.least[0]
        with kernel.reducing([self.size], [kernel.constant(0, i64)]) as ((box,), (count,), results):
            # Branch-free compaction: a box below the threshold is overwritten by the next one above it.
            order[0, batch, kind, count] = box
            results.append(count + (self.scores[batch, kind, box] > least).to(i64))
        return results[0].to(INDEX)


def _box(buffer: Buffer, outer: Sequence[Scalar], box: Scalar) -> _Box:
    return _Box(*(buffer[*outer, index, box] for index in range(len(_Box._fields))))
