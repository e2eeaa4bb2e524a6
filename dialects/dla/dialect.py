"""The list of everything in the `dla` dialect."""

from __future__ import annotations

from xdsl.ir import Dialect

from xonnc.dialects.dla.attributes import BankPlanAttr, ConverterAttr, StageAttr
from xonnc.dialects.dla.engines import ConvOp, PdpOp, PowerOp, SdpOp, SoftmaxOp
from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, MemoryOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import FlowType, PackedType, SurfaceType

DLA = Dialect(
    "dla",
    [ConcatOp, ConstantOp, ConvOp, MemoryOp, PdpOp, PowerOp, ReshapeOp, SdpOp, SliceOp, SoftmaxOp],
    [BankPlanAttr, ConverterAttr, FlowType, PackedType, StageAttr, SurfaceType],
)
