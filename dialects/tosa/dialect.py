"""The `tosa` dialect: xDSL's, with the ops, types and attributes that it lacks."""

from __future__ import annotations

from xdsl.dialects import tosa
from xdsl.ir import Dialect

from xonnc.dialects.tosa import convolution, data_movement, elementwise
from xonnc.dialects.tosa.types import ResizeModeAttr, ShapeType

OURS = {op.name: op for op in (*convolution.OPS, *data_movement.OPS, *elementwise.OPS)}

TOSA = Dialect(
    "tosa",
    [*(op for op in tosa.TOSA.operations if op.name not in OURS), *OURS.values()],
    [*tosa.TOSA.attributes, ResizeModeAttr, ShapeType],
)
