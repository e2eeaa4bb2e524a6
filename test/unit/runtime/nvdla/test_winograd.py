"""Sums of Winograd's convolution on fp16, by the rule of the multiply-accumulate cells."""

from __future__ import annotations

import numpy as np
import pytest

from xonnc.runtime.nvdla import winograd
from xonnc.runtime.nvdla.winograd import accumulate_exactly, multiply, reduce_outputs


@pytest.mark.parametrize("block", [1, 2, 100])
def test_groups_of_channels_and_blocks_of_tiles_are_summed(block: int, monkeypatch: pytest.MonkeyPatch):
    def fixed(kernels: int, pairs: int) -> int:
        return block

    monkeypatch.setattr(winograd, "block_positions", fixed)
    random = np.random.default_rng(3)
    # Sums of small integers are exact in any order.
    data = random.integers(-8, 9, (5, 4, 4, 12)).astype(np.float16)
    weights = random.integers(-8, 9, (3, 4, 4, 12)).astype(np.float16)
    found = accumulate_exactly(data.view(np.uint16), weights.view(np.uint16))
    expected = reduce_outputs(multiply(data.astype(np.float32), weights.astype(np.float32)))
    np.testing.assert_array_equal(found, expected)
