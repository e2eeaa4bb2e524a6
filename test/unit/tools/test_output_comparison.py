"""The comparison of a compiled model with its reference."""

from __future__ import annotations

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.runtime.reference import ModelParameter
from xonnc.tools.output_comparison import compare, random_feeds


def test_equal_outputs_agree():
    scores = np.array([[0.1, 0.7, 0.2]], np.float32)
    agreement = compare("y", [scores], [scores])
    assert agreement.passed
    assert (agreement.cosine, agreement.largest_error) == (pytest.approx(1.0), 0.0)
    assert (agreement.same_top, agreement.clear_top, agreement.same_clear_top) == (1, 1, 1)


def test_another_winner_fails_although_the_cosine_is_high():
    reference = np.ones((1, 1000), np.float32)
    compiled = reference.copy()
    reference[0, 3] = 1.01
    compiled[0, 5] = 1.01
    agreement = compare("y", [reference], [compiled])
    assert agreement.cosine > 0.999
    assert not agreement.passed


def test_a_margin_below_noise_does_not_count():
    reference = np.array([1.0, 1.0001, 0.5], np.float32)
    compiled = np.array([1.0001, 1.0, 0.5], np.float32)
    agreement = compare("y", [reference], [compiled])
    assert (agreement.same_top, agreement.clear_top) == (0, 0)
    assert agreement.passed


def test_a_picture_has_no_winner():
    reference = np.zeros((1, 2, 8, 8), np.float32)
    reference[0, 0, 0, 0] = 1.0
    assert not compare("y", [reference], [reference]).scores


def test_the_worst_input_decides():
    good = np.array([1.0, 2.0])
    assert compare("y", [good, good], [good, -good]).cosine == pytest.approx(-1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_never_agrees_with_a_number(bad: float):
    agreement = compare("y", [np.array([1.0, 2.0])], [np.array([bad, 2.0])])
    assert (agreement.cosine, agreement.largest_error) == (0.0, np.inf)
    assert compare("y", [np.array([bad, 2.0])], [np.array([bad, 2.0])]).cosine == pytest.approx(1.0)


def test_large_elements_do_not_overflow():
    large = np.array([1e300, -1e300])
    assert compare("y", [large], [large]).cosine == pytest.approx(1.0)


def test_shapes_must_match():
    with pytest.raises(XonncError, match=r"y: shape \(2,\), but the reference gives \(3,\)"):
        compare("y", [np.zeros(3)], [np.zeros(2)])


def test_feeds_are_seeded_and_differ():
    ports = [ModelParameter("x", (2, 3), np.dtype(np.float32)), ModelParameter("i", (4,), np.dtype(np.int8))]
    first, second = random_feeds(ports, 2)
    again = next(random_feeds(ports, 1))
    assert np.array_equal(first["x"], again["x"])
    assert not np.array_equal(first["x"], second["x"])
    assert first["i"].dtype == np.int8


def test_a_dynamic_shape_cannot_be_made_up():
    with pytest.raises(XonncError, match="x: its shape is dynamic"):
        next(random_feeds([ModelParameter("x", (None, 3), np.dtype(np.float32))], 1))


@pytest.mark.parametrize(("margin", "is_clear"), [(0.01, False), (0.03, True)])
def test_probabilities_are_as_clear_as_their_logits(margin: float, is_clear: bool) -> None:
    """Logits between -4 and 4 are apart by 2^-8 of 4 at least, which is 1.6 % of a probability."""
    logits = np.array([4, 4 - margin, 0, -4])
    scores = np.exp(logits) / np.exp(logits).sum()
    agreement = compare("y", [scores], [scores])
    assert (agreement.clear_top, agreement.same_clear_top) == (int(is_clear), int(is_clear))
