"""The operations, attributes and types of the `dla` dialect."""

from __future__ import annotations

from xdsl.ir import Dialect

from xonnc.dialects.dla.attributes import BankPlanAttr, ConverterAttr, LutAttr, StageAttr
from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, PowerOp, SdpOp, SoftmaxOp
from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, KernelsOp, MemoryOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import FlowType, ImageType, PackedType, SurfaceType

DLA = Dialect(
    "dla",
    [
        CdpOp,
        ConcatOp,
        ConstantOp,
        ConvOp,
        KernelsOp,
        MemoryOp,
        PdpOp,
        PowerOp,
        ReshapeOp,
        SdpOp,
        SliceOp,
        SoftmaxOp,
    ],
    [BankPlanAttr, ConverterAttr, FlowType, ImageType, LutAttr, PackedType, StageAttr, SurfaceType],
)
