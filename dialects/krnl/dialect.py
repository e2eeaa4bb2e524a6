"""The operations, attributes and types of the `krnl` dialect."""

from __future__ import annotations

from xdsl.ir import Dialect

from xonnc.dialects.krnl.dynamic_shapes import RequireOp, ShapedOp, SubviewOp
from xonnc.dialects.krnl.fusion import FusedOp
from xonnc.dialects.krnl.int8_tiles import Int8ConvOp, StoredOp
from xonnc.dialects.krnl.layout import LayoutAttr, RelayoutOp
from xonnc.dialects.krnl.loops import (
    BlockOp,
    DefineLoopsOp,
    GetInductionVarValueOp,
    IterateOp,
    ParallelOp,
    PermuteOp,
    UnrollOp,
    YieldOp,
)
from xonnc.dialects.krnl.math import DecodeOp, EncodeOp, ErfOp, RemainderOp, ToOddOp
from xonnc.dialects.krnl.memory import (
    CallOp,
    DeferredCallOp,
    EntryPointOp,
    GlobalOp,
    KeepOp,
    LoadOp,
    LookUpOp,
    MemcpyOp,
    MemsetOp,
    SameBufferOp,
    SeedOp,
    StoreOp,
    TransposeOp,
)
from xonnc.dialects.krnl.packing import PackOp
from xonnc.dialects.krnl.prepacked_weights import PrepackedWeights
from xonnc.dialects.krnl.quantized_tiles import DequantizeGemmOp, QuantizedGemmOp
from xonnc.dialects.krnl.strip_mining import StripMinedLoopOp
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.dialects.krnl.types import LoopType

OPS = (
    BlockOp,
    Int8ConvOp,
    CallOp,
    ConvOp,
    DecodeOp,
    DefineLoopsOp,
    DequantizeGemmOp,
    EncodeOp,
    EntryPointOp,
    ErfOp,
    FusedOp,
    GemmOp,
    GetInductionVarValueOp,
    GlobalOp,
    IterateOp,
    KeepOp,
    DeferredCallOp,
    LoadOp,
    LookUpOp,
    MemcpyOp,
    MemsetOp,
    PackOp,
    ParallelOp,
    QuantizedGemmOp,
    SubviewOp,
    PermuteOp,
    RelayoutOp,
    RemainderOp,
    RequireOp,
    SameBufferOp,
    SeedOp,
    ShapedOp,
    StoredOp,
    StoreOp,
    StripMinedLoopOp,
    ToOddOp,
    TransposeOp,
    UnrollOp,
    YieldOp,
)
"""Loops over buffers, the tiles that products are made of, and calls of kernels."""


def new_krnl() -> Dialect:
    """Return a dialect object for one context, which caches weights prepacked from its constants."""
    return Dialect("krnl", list(OPS), [LayoutAttr, LoopType], [PrepackedWeights()])
