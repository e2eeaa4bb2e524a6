"""Results of detectors and recognizers, and how many of two models agree."""

from __future__ import annotations

import numpy as np
import pytest

from bench.task_results import (
    Objects,
    decoded,
    equal_anchors,
    equal_characters,
    equal_decisions,
    equal_objects,
    equal_results,
    of_yolov8,
    of_yolox,
    score_errors,
    suppressed,
)


def objects(*rows: tuple[float, ...]) -> Objects:
    """Objects of rows: left, top, right, bottom, and scores."""
    table = np.array(rows, np.float64).reshape(len(rows), -1)
    return Objects(table[:, :4], table[:, 4:])


ONE = (0.0, 0.0, 10.0, 10.0)
NEAR = (1.0, 0.0, 11.0, 10.0)
FAR = (50.0, 50.0, 60.0, 60.0)


def test_suppression_keeps_the_best_of_boxes_that_overlap():
    found = suppressed(objects((*NEAR, 0.5, 0.1), (*ONE, 0.2, 0.9), (*FAR, 0.3, 0.0), (*FAR, 0.1, 0.0)), 0.25)
    assert found.boxes.tolist() == [list(ONE), list(FAR)]
    assert suppressed(objects((*ONE, 0.2)), 0.25).boxes.shape == (0, 4)


@pytest.mark.parametrize(
    ("found", "count"),
    [
        ((*ONE, 0.8, 0.1), (2, 2)),
        ((*NEAR, 0.76, 0.1), (2, 2)),
        ((*ONE, 0.74, 0.1), (0, 2)),
        ((*ONE, 0.1, 0.8), (0, 2)),
        ((*FAR, 0.8, 0.1), (0, 2)),
        ((*ONE, 0.1, 0.1), (0, 1)),
    ],
)
def test_objects_are_equal_in_class_score_and_box(found: tuple[float, ...], count: tuple[int, int]):
    assert equal_objects(objects(found), objects((*ONE, 0.8, 0.1)), 0.25) == count


def test_a_score_just_below_the_lowest_shown_is_no_other_object():
    assert equal_objects(objects((*ONE, 0.24)), objects((*ONE, 0.26)), 0.25) == (1, 1)
    assert equal_objects(objects((*ONE, 0.2)), objects((*ONE, 0.2)), 0.25) == (0, 0)


def test_anchors_are_compared_in_their_places():
    found, expected = (
        objects((*ONE, 0.5), (*FAR, 0.9), (*FAR, 0)),
        objects((*ONE, 0.5), (*ONE, 0.9), (*ONE, 0)),
    )
    assert equal_anchors(found, expected, 0.25) == (1, 2)


def test_boxes_of_yolov8_have_a_centre_and_a_size():
    found = of_yolov8(np.array([[[20.0], [30.0], [4.0], [6.0], [0.5], [0.25]]]))
    assert (found.boxes.tolist(), found.scores.tolist()) == ([[18, 27, 22, 33]], [[0.5, 0.25]])


def test_boxes_of_yolox_are_relative_to_cells():
    # An image of 64: 8 by 8, 4 by 4 and 2 by 2 cells.
    output = np.zeros((1, 64 + 16 + 4, 6))
    output[0, 9] = [0.5, 0.25, np.log(2), 0, 0.5, 0.5]
    found = of_yolox(output)
    assert found.boxes[9].tolist() == pytest.approx([4, 6, 20, 14])
    assert found.boxes[-1].tolist() == [16, 16, 48, 48]
    assert found.scores[9].tolist() == [0.25]


def test_text_has_no_blanks_and_repeats_only_what_a_blank_separates():
    best = [0, 3, 3, 0, 3, 5, 5, 0]
    assert decoded(np.eye(6)[None, best]) == [3, 3, 5]
    assert decoded(np.eye(6)[None, [0, 0]]) == []


@pytest.mark.parametrize(
    ("found", "expected", "count"),
    [
        ("kitten", "sitting", (4, 7)),
        ("abc", "abc", (3, 3)),
        ("", "abc", (0, 3)),
        ("abc", "bc", (2, 3)),
        ("", "", (0, 0)),
    ],
)
def test_characters_without_an_edit(found: str, expected: str, count: tuple[int, int]):
    assert equal_characters(list(map(ord, found)), list(map(ord, expected))) == count


def test_other_networks_have_classes_or_pixels():
    scores, others = np.eye(3)[None, [0, 1, 2]], np.eye(3)[None, [0, 1, 1]]
    assert equal_results("rapidocr_cls", scores, others) == (2, 3)
    assert equal_results("rapidocr_rec", scores, others) == (1, 2)
    assert equal_decisions("rapidocr_rec", scores, others) == (2, 3)
    maps = np.array([0.4, 0.6, 0.1, 0.9]).reshape(1, 1, 2, 2)
    assert equal_results("rapidocr_det", maps, 1 - maps) == (0, 4)


def test_errors_of_scores_are_those_of_anchors_that_the_expected_output_shows():
    # Rows of [1, centre, size and two classes, anchors]; scores above 0.25 are shown.
    expected, found = np.zeros((2, 1, 6, 3))
    expected[0, 4:] = [[0.5, 0.2, 0.0], [0.1, 0.1, 0.75]]
    found[0, 4:] = [[0.25, 0.9, 0.0], [0.375, 0.1, 1.0]]
    assert score_errors("nudenet", found, expected).tolist() == [-0.125, 0.25]
    assert not score_errors("nudenet", found, np.zeros((1, 6, 3))).size
