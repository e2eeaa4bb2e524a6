"""What pixels stand for: there and back, in loadables, and damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import Interface
from xonnc.formats.nvdla.loadable import Blob, Loadable
from xonnc.formats.nvdla.pixel_normalization import (
    BLOB_NAME,
    Normalization,
    normalization_blob,
    normalizations_of,
)

PIXELS = Normalization((120.0, 10.5), (60.0, 2.0))


def test_numbers_and_pixels():
    pixels = np.arange(256).repeat(2).reshape(1, 256, 1, 2).transpose(0, 3, 1, 2)
    numbers = PIXELS.numbers(pixels)
    assert numbers[0, :, 130, 0].tolist() == [np.float32(10 / 60), np.float32(119.5 / 2)]
    assert np.array_equal(PIXELS.pixels(numbers), pixels)


def test_numbers_of_no_pixel():
    numbers = np.array([[-1e9, 1e9, np.nan, 0.0]], np.float32).reshape(1, 1, 2, 2)
    assert Normalization((100.0,), (1.0,)).pixels(numbers).reshape(-1).tolist() == [0, 255, 0, 100]


def test_a_loadable_says_them():
    loadable = Loadable(blobs=(normalization_blob({"x": PIXELS}),))
    assert normalizations_of(loadable) == {"x": PIXELS}
    assert normalizations_of(Loadable()) == {}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[", "damaged"),
        ("[]", "damaged"),
        (json.dumps({"x": {"mean": [1.0]}}), "std"),
        (json.dumps({"x": {"mean": [1.0], "std": [1.0, 2.0]}}), "1 means and 2 deviations"),
        (json.dumps({"x": {"mean": [0.0] * 5, "std": [1.0] * 5}}), "1 to 4 channels"),
        (json.dumps({"x": {"mean": [0.0], "std": [0.0]}}), "deviations above 0"),
        (json.dumps({"x": {"mean": [float("inf")], "std": [1.0]}}), "means are finite"),
    ],
)
def test_damaged(table: str, message: str):
    blob = Blob(name=BLOB_NAME, data=table.encode(), interface=Interface.NONE)
    with pytest.raises(XonncError, match=message):
        normalizations_of(Loadable(blobs=(blob,)))
