"""Boxes that overlap no better one too much: NonMaxSuppression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i1, i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops.object_detection import NonMaxSuppressionOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.along_axis import is_before
from xonnc.lowering.onnx_to_krnl.counts import Found, tell
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering import FINDS, Lowering, lowers
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.sorting import passes, sort_places

FINDS.add(NonMaxSuppressionOp)


@lowers(NonMaxSuppressionOp)
def non_max_suppression(op: NonMaxSuppressionOp, to: Lowering) -> str | None:
    """The best boxes of each class in order, but for those that overlap one of them too much."""
    batches, boxes, _ = to.shape(op.boxes)
    classes = to.shape(op.scores)[1]
    limit = 0 if op.max_output_boxes_per_class.type == NONE else boxes
    constant = to.constant(op.max_output_boxes_per_class)
    if constant is not None and constant.size:
        limit = min(limit, max(int(constant.reshape(-1)[0]), 0))
    rows = batches, classes
    found = Found(op, [(op.selected_indices, 0)], batches * classes * limit, to)
    chosen, counts = to.allocate([*rows, max(limit, 1)], i64), to.allocate(rows, i64)
    held = to.allocate([2, *rows, boxes], i64)
    thresholds = [op.max_output_boxes_per_class, op.iou_threshold, op.score_threshold]
    given = [value for value in thresholds if value.type != NONE and to.shape(value) != (0,)]
    kernel = Kernel(
        [
            buffer_type([*rows, max(limit, 1)], i64),
            buffer_type(rows, i64),
            buffer_type([2, *rows, boxes], i64),
            buffer_type([batches, boxes, 4], f32),
            buffer_type([*rows, boxes], f32),
            *(buffer_type([1], to.element(value)) for value in given),
        ]
    )
    limits = dict(zip(given, kernel.buffers[5:], strict=True))
    most, overlap, least = (limits.get(value) for value in thresholds)
    selection = _Selection(
        kernel,
        kernel.buffers,
        most,
        overlap,
        least,
        boxes,
        limit,
        bool(op.center_point_box.value.data),
    )
    with kernel.loops(rows) as (batch, kind):
        selection.choose(batch, kind)
    inputs = [op.boxes, op.scores, *given]
    to.call("nonmaxsuppression", kernel, [chosen, counts, held], [to.buffer(value) for value in inputs])
    _list(op, found, (chosen, counts), (*rows, max(limit, 1)), to)
    return None


def _list(
    op: NonMaxSuppressionOp,
    found: Found,
    chosen: tuple[SSAValue, SSAValue],
    sizes: tuple[int, int, int],
    to: Lowering,
) -> None:
    """Writes batch, class and box of all that is chosen, as far as there is room."""
    kernel = Kernel(
        [
            buffer_type([found.size, 3], i64),
            buffer_type([2], i64),
            buffer_type(sizes, i64),
            buffer_type(sizes[:2], i64),
        ]
    )
    out, cell, boxes, counts = kernel.buffers
    with kernel.reducing(sizes[:2], [kernel.number(0, i64)]) as ((batch, kind), carried, results):
        start = Scalar(kernel, carried[0])
        count = Scalar(kernel, kernel.load(counts, [batch, kind]))
        room = count.between(0, (start.like(found.size) - start).at_least(0))
        with kernel.loops([room.to(INDEX).value]) as (index,):
            box = Scalar(kernel, kernel.load(boxes, [batch, kind, index]))
            place = (start + Scalar(kernel, index).to(i64)).to(INDEX).value
            numbers = [Scalar(kernel, each).to(i64) for each in (batch, kind)]
            for column, number in enumerate([*numbers, box]):
                kernel.store(number.value, out, [place, kernel.index(column)])
        results.append((start + count).value)
    tell(kernel, results[0], cell)
    made = found.result(op.selected_indices, [found.size, 3], 0)
    to.call("listboxes", kernel, [made, found.cell], list(chosen))
    found.cut()


@dataclass(frozen=True)
class _Selection:
    """A kernel that chooses boxes: what it is given, and in which buffers."""

    kernel: Kernel
    buffers: Sequence[SSAValue]
    limit: SSAValue | None
    overlap: SSAValue | None
    least: SSAValue | None
    size: int
    most: int
    is_by_center: bool

    def choose(self, batch: SSAValue, kind: SSAValue) -> None:
        """The boxes of one class, and how many."""
        kernel = self.kernel
        chosen, counts, held, _, all_scores = self.buffers[:5]
        candidates = self._candidates(batch, kind)

        def is_better(a: Scalar, b: Scalar) -> SSAValue:
            scores = [kernel.load(all_scores, [batch, kind, place.value]) for place in (a, b)]
            return is_before(kernel, f32, True, *scores)

        sort_places(kernel, held, [batch, kind], candidates.value, self.size, is_better)
        half = kernel.index(passes(self.size) % 2)
        zero = Scalar(kernel, kernel.number(0, i64))
        room = zero.like(self.most)
        if self.limit is not None:
            room = room.at_most(Scalar(kernel, kernel.load(self.limit, [kernel.index(0)])))
        # Once there is no room, none of the rest is looked at.
        turns = (room > 0).choose(candidates.to(i64), zero).to(INDEX)
        with kernel.reducing([turns.value], [zero.value]) as ((turn,), carried, results):
            count = Scalar(kernel, carried[0])
            has_room = count < room
            box = Scalar(kernel, kernel.load(held, [half, batch, kind, turn]))
            compared = has_room.choose(count, zero).to(INDEX)
            with kernel.reducing([compared.value], [kernel.number(1, i1)]) as ((other,), kept, ends):
                better = Scalar(kernel, kernel.load(chosen, [batch, kind, other])).to(INDEX)
                apart = ~self._is_too_near(batch, box.to(INDEX), better)
                ends.append((Scalar(kernel, kept[0]) & apart).value)
            is_kept = has_room & Scalar(kernel, ends[0])
            with kernel.when(is_kept.value):
                kernel.store(box.value, chosen, [batch, kind, count.to(INDEX).value])
            results.append((count + is_kept.to(i64)).value)
        kernel.store(results[0], counts, [batch, kind])

    def _candidates(self, batch: SSAValue, kind: SSAValue) -> Scalar:
        """Lists the boxes with a score above the least; how many there are, an index."""
        kernel = self.kernel
        held, scores = self.buffers[2], self.buffers[4]
        if self.least is None:
            with kernel.loops([self.size]) as (box,):
                place = Scalar(kernel, box).to(i64).value
                kernel.store(place, held, [kernel.index(0), batch, kind, box])
            return Scalar(kernel, kernel.index(self.size))
        least = Scalar(kernel, kernel.load(self.least, [kernel.index(0)]))
        with kernel.reducing([self.size], [kernel.number(0, i64)]) as ((box,), carried, results):
            count = Scalar(kernel, carried[0])
            # What is not listed is overwritten by the next that is.
            place = [kernel.index(0), batch, kind, count.to(INDEX).value]
            kernel.store(Scalar(kernel, box).to(i64).value, held, place)
            score = Scalar(kernel, kernel.load(scores, [batch, kind, box]))
            results.append((count + (score > least).to(i64)).value)
        return Scalar(kernel, results[0]).to(INDEX)

    def _is_too_near(self, batch: SSAValue, a: Scalar, b: Scalar) -> Scalar:
        """Whether two boxes share more of what they cover together than they may."""
        ends = [self._ends(batch, box) for box in (a, b)]
        shared: list[Scalar] = []
        areas: list[Scalar] = [low.like(1.0) for low, _ in (ends[0][0], ends[1][0])]
        for axis in range(2):
            (low, high), (other_low, other_high) = ends[0][axis], ends[1][axis]
            shared.append(high.at_most(other_high) - low.at_least(other_low))
            areas = [areas[0] * (high - low), areas[1] * (other_high - other_low)]
        overlap = shared[0] * shared[1]
        union = areas[0] + areas[1] - overlap
        is_real = (shared[0] > 0.0) & (shared[1] > 0.0) & (overlap > 0.0)
        is_real = is_real & (areas[0] > 0.0) & (areas[1] > 0.0) & (union > 0.0)
        most: Scalar | float = 0.0
        if self.overlap is not None:
            most = Scalar(self.kernel, self.kernel.load(self.overlap, [self.kernel.index(0)]))
        return is_real & (overlap / union > most)

    def _ends(self, batch: SSAValue, box: Scalar) -> list[tuple[Scalar, Scalar]]:
        """Where a box begins and ends on both axes."""
        kernel = self.kernel
        first, second, third, fourth = (
            Scalar(kernel, kernel.load(self.buffers[3], [batch, box.value, kernel.index(place)]))
            for place in range(4)
        )
        if self.is_by_center:
            return [
                (first - third / 2.0, first + third / 2.0),
                (second - fourth / 2.0, second + fourth / 2.0),
            ]
        return [
            (first.at_most(third), first.at_least(third)),
            (second.at_most(fourth), second.at_least(fourth)),
        ]
