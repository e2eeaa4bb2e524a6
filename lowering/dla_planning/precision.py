"""Precisions of the engines by element type."""

from __future__ import annotations

from xdsl.dialects.builtin import f16, i8, i16
from xdsl.ir import Attribute

from xonnc.dialects.dla.engines import ConvOp, SdpOp
from xonnc.dialects.dla.types import tensor_of
from xonnc.formats.nvdla.enumerations import Precision

PRECISIONS: dict[Attribute, Precision] = {f16: Precision.FP16, i8: Precision.INT8, i16: Precision.INT16}
"""The precision of each element type of cubes."""

MAX_FP16 = 65504.0


def precision_of(type_: Attribute) -> Precision:
    """Return the precision of a cube or constant."""
    return PRECISIONS[tensor_of(type_).element_type]


def processed_precision(op: SdpOp) -> Precision:
    """Return the precision that an SDP pass computes in: that of its source or the convolution before."""
    maker = op.source.owner
    return precision_of(maker.source.type if isinstance(maker, ConvOp) else op.source.type)
