"""Functions of lookup tables at the ends of their pieces."""

from __future__ import annotations

import numpy as np

from xonnc.lowering.onnx_to_dla.builders.unary_functions import shrunk


def test_shrink_keeps_what_is_beyond_its_limit():
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert shrunk(x, bias=0.5, limit=1.0).tolist() == [-1.5, 0.0, 0.0, 0.0, 1.5]
