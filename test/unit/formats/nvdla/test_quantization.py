"""What integers of inputs and outputs stand for, in a blob of the loadable."""

from __future__ import annotations

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.loadable import Blob, Loadable
from xonnc.formats.nvdla.quantization import (
    BLOB_NAME,
    QuantizationParameters,
    covering,
    quantization_blob,
    quantization_of,
)

GRIDS = {"x": QuantizationParameters(0.5, -3), "y": QuantizationParameters(1.0, 0)}


def test_the_blob_says_the_grids():
    assert quantization_of(Loadable(blobs=(quantization_blob(GRIDS),))) == GRIDS
    assert quantization_of(Loadable()) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "Expecting property name"),
        (b"[]", "has no attribute 'items'"),
        (b'{"x": {"scale": 1}}', "zero_point"),
        (b'{"x": {"scale": -1, "zero_point": 0}}', "scale -1; scales are above 0"),
        (b'{"x": 3}', "not subscriptable"),
        (b"\xff", "codec"),
    ],
)
def test_a_damaged_blob(text: bytes, message: str):
    with pytest.raises(XonncError) as caught:
        quantization_of(Loadable(blobs=(Blob(name=BLOB_NAME, data=text),)))
    assert f"blob '{BLOB_NAME}' is damaged: " in str(caught.value)
    assert message in str(caught.value)


def test_numbers_become_the_nearest_integers():
    grid = QuantizationParameters(0.5, 1)
    numbers = np.array([0.0, 0.25, 0.75, -0.26, 1e9, -1e9, np.nan, np.inf])
    assert grid.quantize(numbers).tolist() == [1, 1, 3, 0, 127, -128, 1, 127]
    assert grid.dequantize(np.array([1, 3, -128], np.int8)).tolist() == [0.0, 1.0, -64.5]


@pytest.mark.parametrize(
    ("least", "largest", "is_symmetric", "expected"),
    [
        (-12.7, 12.7, False, (0.1, 0)),
        (-12.7, 8.0, True, (0.1, 0)),
        (-0.5, 25.0, False, (0.1, -123)),
        (-25.5, 0.0, False, (0.1, 127)),
        (3.0, 25.5, False, (0.1, -128)),
        (-25.5, -3.0, False, (0.1, 127)),
        (0.0, 12.7, True, (0.1, 0)),
        (0.0, 0.0, False, (1 / 127, 0)),
    ],
)
def test_integers_cover_a_range_and_zero(
    least: float, largest: float, is_symmetric: bool, expected: tuple[float, int]
):
    found = covering(least, largest, is_symmetric)
    assert (pytest.approx(found.scale), found.zero_point) == expected
    stored = found.quantize(np.array([least, largest, 0.0]))
    assert np.abs(found.dequantize(stored) - [least, largest, 0.0]).max() <= found.scale * 0.51
