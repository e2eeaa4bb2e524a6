"""NumPy element types of NVDLA's three precisions; the simulator carries fp16 as bits."""

from __future__ import annotations

import numpy as np

from xonnc.formats.nvdla.enumerations import Precision


def element_type(precision: Precision) -> np.dtype[np.int8] | np.dtype[np.int16] | np.dtype[np.uint16]:
    """Return the element type in memory: int8, int16, or uint16 for the bits of fp16."""
    if precision is Precision.INT8:
        return np.dtype(np.int8)
    return np.dtype(np.int16) if precision is Precision.INT16 else np.dtype(np.uint16)
