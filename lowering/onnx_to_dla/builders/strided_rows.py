"""
Convolutions of one row with strides beyond the core's, as convolutions of several rows.

Rows of as many columns as the stride are the same elements in the same order. A kernel of whole such rows,
with zeros after its last tap, then takes steps of one row:

    [C, 1, 8000], kernel 1x80, stride 16    =    [C, 500, 16], kernel 5x16, stride 1
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xonnc.dialects.dla.storage import ReshapeOp
from xonnc.dialects.dla.types import CubeShape
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder
from xonnc.targets import limits


def in_rows(
    source: Cube, weights: Array, window: Window2D, builder: DlaBuilder
) -> tuple[Cube, Array, Window2D] | None:
    """
    Return a row as rows of one stride each, kernels `KxCxRxS` and a window for them.

    Returns: `None` if the core takes the stride, or if the input or its padding are no multiples of it. The
        result has a row for each column of the row's.
    """
    cube, stride, taps, left = source.cube, window.strides[1], window.kernel[1], window.pads[1]
    is_row = cube.height == window.kernel[0] == 1 and not any(window.pads[::2]) and source.factors is None
    if limits.CONV_STRIDE.broken(stride) is None or not is_row or window.dilations[1] > 1:
        return None
    if cube.width % stride or left % stride or limits.KERNEL.broken(stride) is not None:
        return None
    steps = -(-taps // stride)
    top, rows = left // stride, CubeShape(cube.channels, cube.width // stride, stride)
    bottom = window.output_size(cube)[1] - 1 + steps - top - rows.height
    whole = np.zeros((*weights.shape[:3], steps * stride), weights.dtype)
    whole[..., :taps] = weights
    return (
        replace(source, value=builder(ReshapeOp(source.value, builder.cube_type(rows))), shape=(1, *rows)),
        whole.reshape(*weights.shape[:2], steps, stride),
        Window2D((steps, stride), pads=(top, 0, max(bottom, 0), 0)),
    )
