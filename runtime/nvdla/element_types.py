"""Element types of the three precisions; fp16 elements travel as their bits."""

from __future__ import annotations

import numpy as np

from xonnc.formats.nvdla.constants import Precision


def element_type(precision: Precision) -> np.dtype[np.int8] | np.dtype[np.int16] | np.dtype[np.uint16]:
    """What memory holds: int8, int16, or fp16 bits as uint16."""
    if precision is Precision.INT8:
        return np.dtype(np.int8)
    return np.dtype(np.int16) if precision is Precision.INT16 else np.dtype(np.uint16)
