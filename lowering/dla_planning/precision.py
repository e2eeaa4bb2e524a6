"""Element types of cubes as the engines name them."""

from __future__ import annotations

from xdsl.dialects.builtin import f16, i8, i16
from xdsl.ir import Attribute

from xonnc.dialects.dla.types import tensor_of
from xonnc.formats.nvdla.constants import Precision

PRECISIONS: dict[Attribute, Precision] = {f16: Precision.FP16, i8: Precision.INT8, i16: Precision.INT16}
"""The element types of cubes."""

MAX_FP16 = 65504.0


def precision_of(type_: Attribute) -> Precision:
    """The precision of a cube's or constant's elements."""
    return PRECISIONS[tensor_of(type_).element_type]
