"""
NonMaxSuppression: greedy selection of boxes by score, dropping boxes whose IoU with a selected one is too
large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops.object_detection import NonMaxSuppressionOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.data_dependent_results import DataDependentResults, store_count
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import DATA_DEPENDENT, LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.sort_keys import keys_of_rows
from xonnc.lowering.onnx_to_krnl.sorting import DIGITS, MIN_RADIX_SORT, passes, sort_by_keys, sort_indices

DATA_DEPENDENT.add(NonMaxSuppressionOp)


@lowers(NonMaxSuppressionOp)
def non_max_suppression(op: NonMaxSuppressionOp, builder: LoweringBuilder) -> str | None:
    """Selected boxes per batch and class, by descending score."""
    batches, boxes, _ = builder.shape(op.boxes)
    classes = builder.shape(op.scores)[1]
    limit = 0 if op.max_output_boxes_per_class.type == NONE else boxes
    constant = builder.constant(op.max_output_boxes_per_class)
    if constant is not None and constant.size:
        limit = min(limit, max(int(constant.reshape(-1)[0]), 0))
    rows = batches, classes
    found = DataDependentResults(op, [(op.selected_indices, 0)], batches * classes * limit, builder)
    chosen, counts = builder.allocate([*rows, max(limit, 1)], i64), builder.allocate(rows, i64)
    thresholds = [op.max_output_boxes_per_class, op.iou_threshold, op.score_threshold]
    given = [value for value in thresholds if value.type != NONE and builder.shape(value) != (0,)]
    capacity = -(-max(limit, 1) // LANES) * LANES
    made = [
        ([*rows, max(limit, 1)], i64),
        (rows, i64),
        ([2, *rows, boxes], i64),
        ([*rows, DIGITS], i64),
        ([*rows, len(_Box._fields), capacity], f32),
    ]
    read = [([batches, len(_Box._fields), boxes], f32), ([*rows, boxes], i32), ([*rows, boxes], f32)]
    kernel = KernelBuilder(
        [
            *(buffer_type(sizes, element) for sizes, element in (*made, *read)),
            *(buffer_type([1], builder.element(value)) for value in given),
        ]
    )
    limits = dict(zip(given, kernel.buffers[len(made) + len(read) :], strict=True))
    most, overlap, least = (limits.get(value) for value in thresholds)
    selection = _Selection(
        kernel,
        kernel.buffers,
        most,
        overlap,
        least,
        boxes,
        limit,
    )
    with kernel.loops(rows) as (batch, kind):
        selection.select(batch, kind)
    scores = builder.buffer(op.scores)
    # The sort is stable: of equal scores, the first box is selected first.
    keys = keys_of_rows(scores, AxisSplit(batches * classes, boxes, 1), f32, True, builder)
    buffers = [chosen, counts, *(builder.allocate(sizes, element) for sizes, element in made[2:])]
    inputs = [_corners(op, builder), keys, scores, *(builder.buffer(value) for value in given)]
    builder.call("nonmaxsuppression", kernel, buffers, inputs)
    _list(op, found, (chosen, counts), (*rows, max(limit, 1)), builder)
    return None


LANES = 16
"""Boxes that are compared at a time: a full vector on any processor."""


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
    batches, boxes, _ = builder.shape(op.boxes)
    sizes = [batches, len(_Box._fields), boxes]
    made = builder.allocate(sizes, f32)
    kernel = KernelBuilder([buffer_type(sizes, f32), buffer_type([batches, boxes, 4], f32)])
    out, source = kernel.buffers
    with kernel.loops([batches, boxes]) as (batch, box):
        first, second, third, fourth = (
            Scalar(kernel, kernel.load(source, [batch, box, kernel.index(index)])) for index in range(4)
        )
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
            kernel.store(number.value, out, [batch, kernel.index(index), box])
    builder.call("box_corners", kernel, [made], [builder.buffer(op.boxes)])
    return made


def _list(
    op: NonMaxSuppressionOp,
    found: DataDependentResults,
    chosen: tuple[SSAValue, SSAValue],
    sizes: tuple[int, int, int],
    builder: LoweringBuilder,
) -> None:
    """Write batch, class and box of each selection, up to the capacity of the result."""
    kernel = KernelBuilder(
        [
            buffer_type([found.size, 3], i64),
            buffer_type([2], i64),
            buffer_type(sizes, i64),
            buffer_type(sizes[:2], i64),
        ]
    )
    out, count_buffer, boxes, counts = kernel.buffers
    with kernel.reducing(sizes[:2], [kernel.constant(0, i64)]) as ((batch, kind), carried, results):
        start = Scalar(kernel, carried[0])
        count = Scalar(kernel, kernel.load(counts, [batch, kind]))
        capacity = count.clamp(0, (start.like(found.size) - start).maximum(0))
        with kernel.loops([capacity.to(INDEX).value]) as (index,):
            box = Scalar(kernel, kernel.load(boxes, [batch, kind, index]))
            position = (start + Scalar(kernel, index).to(i64)).to(INDEX).value
            numbers = [Scalar(kernel, each).to(i64) for each in (batch, kind)]
            for column, number in enumerate([*numbers, box]):
                kernel.store(number.value, out, [position, kernel.index(column)])
        results.append((start + count).value)
    store_count(kernel, results[0], count_buffer)
    made = found.result(op.selected_indices, [found.size, 3], 0)
    builder.call("selected_boxes", kernel, [made, found.count_buffer], list(chosen))
    found.cut()


@dataclass(frozen=True)
class _Selection:
    """The kernel that selects boxes, its buffers and its limits."""

    kernel: KernelBuilder
    buffers: Sequence[SSAValue]
    limit: SSAValue | None
    overlap: SSAValue | None
    least: SSAValue | None
    size: int
    most: int

    def select(self, batch: SSAValue, kind: SSAValue) -> None:
        """Select the boxes of one class; store them and their number."""
        kernel = self.kernel
        chosen, counts, order, digits, selected, corners, keys = self.buffers[:7]
        candidates = self._candidates(batch, kind)
        outer = [batch, kind]
        if self.size >= MIN_RADIX_SORT:
            sort_by_keys(kernel, order, keys, digits, outer, candidates.value)
            half = kernel.index(0)
        else:

            def is_sooner(a: Scalar, b: Scalar) -> SSAValue:
                one, other = (Scalar(kernel, kernel.load(keys, [*outer, index.value])) for index in (a, b))
                return (one < other).value

            sort_indices(kernel, order, outer, candidates.value, self.size, is_sooner)
            half = kernel.index(passes(self.size) % 2)
        self._clear(selected, outer)
        zero = Scalar(kernel, kernel.constant(0, i64))
        capacity = zero.like(self.most)
        if self.limit is not None:
            capacity = capacity.minimum(Scalar(kernel, kernel.load(self.limit, [kernel.index(0)])))
        # With a limit of 0, no candidate is visited.
        iterations = (capacity > 0).select(candidates.to(i64), zero).to(INDEX)
        with kernel.reducing([iterations.value], [zero.value]) as ((iteration,), carried, results):
            count = Scalar(kernel, carried[0])
            has_capacity = count < capacity
            number = kernel.load(order, [half, *outer, iteration])
            box = self._box(corners, [batch], Scalar(kernel, number).to(INDEX).value)
            # Compare whole vectors: unused boxes have area 0, so their IoU with any box is 0.
            compared = has_capacity.select((count + (LANES - 1)) // LANES * LANES, zero).to(INDEX)
            with kernel.reducing([compared.value], [kernel.constant(0, i32)]) as ((other,), near, ends):
                is_near = box.exceeds_iou(self._box(selected, outer, other), self._most_overlap())
                ends.append(kernel.add(arith.MaxSIOp(near[0], is_near.to(i32).value)))
            is_kept = has_capacity & Scalar(kernel, ends[0]).equals(0)
            with kernel.when(is_kept.value):
                slot = count.to(INDEX).value
                kernel.store(number, chosen, [*outer, slot])
                for index, each in enumerate(box):
                    kernel.store(each.value, selected, [*outer, kernel.index(index), slot])
            results.append((count + is_kept.to(i64)).value)
        kernel.store(results[0], counts, outer)

    def _clear(self, selected: SSAValue, outer: Sequence[SSAValue]) -> None:
        """Set all selected boxes to area 0."""
        kernel = self.kernel
        with kernel.loops([len(_Box._fields), -(-max(self.most, 1) // LANES) * LANES]) as (index, slot):
            kernel.store(kernel.constant(0.0, f32), selected, [*outer, index, slot])

    def _box(self, buffer: SSAValue, outer: Sequence[SSAValue], box: SSAValue) -> _Box:
        kernel = self.kernel
        return _Box(
            *(
                Scalar(kernel, kernel.load(buffer, [*outer, kernel.index(index), box]))
                for index in range(len(_Box._fields))
            )
        )

    def _most_overlap(self) -> Scalar | float:
        if self.overlap is None:
            return 0.0
        return Scalar(self.kernel, self.kernel.load(self.overlap, [self.kernel.index(0)]))

    def _candidates(self, batch: SSAValue, kind: SSAValue) -> Scalar:
        """List the boxes with a score above the threshold; return their number."""
        kernel = self.kernel
        order, scores = self.buffers[2], self.buffers[7]
        if self.least is None:
            with kernel.loops([self.size]) as (box,):
                number = Scalar(kernel, box).to(i64).value
                kernel.store(number, order, [kernel.index(0), batch, kind, box])
            return Scalar(kernel, kernel.index(self.size))
        least = Scalar(kernel, kernel.load(self.least, [kernel.index(0)]))
        with kernel.reducing([self.size], [kernel.constant(0, i64)]) as ((box,), carried, results):
            count = Scalar(kernel, carried[0])
            # Branch-free compaction: a box below the threshold is overwritten by the next one above it.
            indices = [kernel.index(0), batch, kind, count.to(INDEX).value]
            kernel.store(Scalar(kernel, box).to(i64).value, order, indices)
            score = Scalar(kernel, kernel.load(scores, [batch, kind, box]))
            results.append((count + (score > least).to(i64)).value)
        return Scalar(kernel, results[0]).to(INDEX)
