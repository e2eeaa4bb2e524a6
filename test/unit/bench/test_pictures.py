"""Pictures for benchmarks: drawn text, sizes."""

from __future__ import annotations

import numpy as np
import pytest

from bench.pictures import WORDS, drawn_captcha, drawn_line, picture, resized


def test_words_to_compare_are_none_to_calibrate_with():
    assert not set(WORDS["calibration"]) & set(WORDS["test"])


@pytest.mark.parametrize("seed", range(4))
def test_a_line_has_dark_text_within_paper(seed: int):
    line = drawn_line(np.random.default_rng(seed), ["zebra", "Zone"], 48, 160)
    assert line.shape == (3, 48, 160)
    grey = line.mean(axis=0)
    assert grey.min() < 0.6 * np.median(grey)
    assert np.abs(grey[0] - np.median(grey)).max() < 0.3


def test_a_picture_is_one_of_8_bits_that_seed_and_use_choose():
    one = picture(0, "line", "test", 48, 160)
    assert np.array_equal(one, picture(0, "line", "test", 48, 160))
    assert np.array_equal(one * 255, np.round(one * 255))
    assert not np.array_equal(one, picture(1, "line", "test", 48, 160))
    assert not np.array_equal(one, picture(0, "line", "calibration", 48, 160))


def test_characters_of_a_captcha_cover_a_part_of_the_background():
    found = drawn_captcha(np.random.default_rng(0), np.full((3, 96, 96), 0.5))
    assert 0.01 < np.mean(np.any(np.abs(found - 0.5) > 0.05, axis=0)) < 0.5


@pytest.mark.parametrize(("height", "width"), [(2, 3), (4, 6), (1, 1), (7, 5)])
def test_a_resized_picture_keeps_the_mean_of_a_plain_one(height: int, width: int):
    assert np.allclose(resized(np.full((3, 4, 6), 0.6), height, width), 0.6)
