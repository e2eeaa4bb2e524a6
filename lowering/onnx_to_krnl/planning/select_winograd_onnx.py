"""
`select-winograd-onnx`: compute 3x3 convolutions with fewer multiplications.

```mlir
%y = "onnx.Conv"(%x, %w, %b) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, …) -> tensor<1x64x54x54xf32>
```

becomes

```mlir
%y = "onnx.Conv"(%x, %w, %b) {krnl.winograd = 4 : i64} : (tensor<1x64x56x56xf32>, …) -> …
```

A tile of 4x4 results is then 36 products for each input channel instead of 144
(`dialects/krnl/winograd.py`). No optimization level includes this pass, since sums lose some accuracy, and
infinite pixels make results around them NaN: a user allows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, f32, i64
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.attributes import WINOGRAD
from xonnc.dialects.krnl.winograd import MAGNITUDES, WINDOW, transformed_size
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked
from xonnc.lowering.onnx_to_krnl.planning.krnl_attach_core import on_core
from xonnc.lowering.onnx_to_krnl.planning.layout_preferences import preferred_layout
from xonnc.lowering.onnx_to_krnl.planning.select_bf16_onnx import has_bf16_operands
from xonnc.targets.cpu import CpuTarget, load_cpu


@dataclass(frozen=True)
class SelectWinograd(ModulePass):
    """
    Compute 3x3 convolutions with fewer multiplications.

    Only where that takes less time: of whole blocks of channels, on enough pixels.
    """

    name = "select-winograd-onnx"

    processor: str = "avx512"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark every convolution that takes less time with the tile that takes the least."""
        target = on_core(load_cpu(self.processor), op)
        for each in op.walk():
            sizes = _sizes(each, target.vector_bytes // 4) if isinstance(each, ConvOp) else None
            tile = None if sizes is None else fastest_tile(sizes, target)
            if tile is not None:
                each.attributes[WINOGRAD] = IntegerAttr(tile, i64)


def winograd_tile(op: Operation, lanes: int) -> int | None:
    """
    Return the rows and columns of tiles of results, or None for a direct convolution.

    The attribute may come from a file: without a kernel for what it asks for, it has no effect.
    """
    attribute = op.attributes.get(WINOGRAD)
    sizes = _sizes(op, lanes) if isinstance(op, ConvOp) else None
    if sizes is None or not isinstance(attribute, IntegerAttr):
        return None
    tile = attribute.value.data
    return tile if tile in MAGNITUDES and min(sizes[3:]) >= tile else None


ConvSizes: TypeAlias = tuple[int, int, int, int, int]
"""Input channels, output channels, images, rows and columns of results."""


def _sizes(op: ConvOp, lanes: int) -> ConvSizes | None:
    """Return the sizes of a convolution with a kernel for Winograd's filtering; None for others."""
    weights, y = constant_elements(op.W), op.Y.type
    if weights is None or weights.shape[2:] != (WINDOW, WINDOW) or element_type(y) != f32 or not is_ranked(y):
        return None
    steps = {*(int_values(op.strides) or ()), *(int_values(op.dilations) or ())}
    has_bias = op.B.type == NONE or constant_elements(op.B) is not None
    if op.group.value.data != 1 or not steps <= {1} or not has_bias:
        return None
    if has_bf16_operands(op) or preferred_layout(op) == "NCHW":
        return None
    (filters, channels), (images, _, rows, columns) = weights.shape[:2], y.get_shape()
    # Channels of the last block that do not exist hold anything.
    is_blocked = channels % lanes == 0 and 2 * filters >= lanes
    # Of an unknown number of images there may be one.
    return (
        (channels, filters, max(1, images), rows, columns) if is_blocked and min(rows, columns) > 0 else None
    )


TRANSFORM_CYCLES = {2: 190.0, 4: 430.0}
"""Cycles for the transformations of a tile, for a vector of input channels and one of results."""

FAR_BYTES = 8.0
"""Bytes of weights a cycle that arrive from beyond L2."""

MIN_GAIN = 0.9
"""The share of the time of a direct convolution at most."""


def fastest_tile(sizes: ConvSizes, target: CpuTarget) -> int | None:
    """Return the tile that takes the least time by estimate; None if a direct convolution does."""
    channels, filters, images, rows, columns = sizes
    lanes = target.vector_bytes // 4
    per_product = channels * filters / (lanes * target.core.fmas(target.vector_bytes))
    costs: dict[float, int | None] = {MIN_GAIN * per_product * WINDOW**2 * images * rows * columns: None}
    for tile in MAGNITUDES:
        if min(rows, columns) < tile:
            continue
        count = images * prod(-(-size // tile) for size in (rows, columns))
        products = transformed_size(tile) ** 2
        transforms = TRANSFORM_CYCLES[tile] * count * (channels + filters) / (2 * lanes)
        size = 4 * products * channels * filters
        loads = size / FAR_BYTES if size > target.core.l2_bytes // 2 else 0.0
        costs[max(per_product * products * count, loads) + transforms] = tile
    return costs[min(costs)]
