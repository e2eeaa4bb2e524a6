"""Precisions of the engines by element type."""

from __future__ import annotations

from xdsl.dialects.builtin import f16, i8, i16
from xdsl.ir import Attribute

from xonnc.dialects.dla.types import tensor_of
from xonnc.formats.nvdla.enumerations import Precision

PRECISIONS: dict[Attribute, Precision] = {f16: Precision.FP16, i8: Precision.INT8, i16: Precision.INT16}
"""The precision of each element type of cubes."""

MAX_FP16 = 65504.0


def precision_of(type_: Attribute) -> Precision:
    """Return the precision of a cube or constant."""
    return PRECISIONS[tensor_of(type_).element_type]
