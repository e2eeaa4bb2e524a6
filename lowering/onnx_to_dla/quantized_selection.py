"""Slice, Split, Gather, Tile, Expand and Pad in int8."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter, OperandMode, SdpStage, StageFunction
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.dequantized import Affine, Dequantized
from xonnc.lowering.onnx_to_dla.dla_builder import DlaBuilder
from xonnc.lowering.onnx_to_dla.quantized_builder import QuantizedDlaBuilder, StoredIntegers, lowers
from xonnc.lowering.onnx_to_dla.selection import (
    FILL,
    SELECTIONS,
    Indices,
    one_hot,
    selected,
    selection_of,
)

ADDED = SdpStage(StageFunction.ALU, mode=OperandMode.PER_KERNEL)


@dataclass(frozen=True)
class SelectedElements:
    """Elements selected from a tensor, and a fill value; commutes with quantization."""

    source: Dequantized
    indices: Indices
    fill: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the model's tensor."""
        return self.indices.shape

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Quantize the source, then select."""
        padding = int(qparams.quantize(np.array(self.fill)))
        return _selected(self.source.quantized(qparams, builder), self.indices, padding, builder)


@lowers(*SELECTIONS)
def select(op: OnnxOp, builder: QuantizedDlaBuilder) -> list[Dequantized | StoredIntegers]:
    """
    Lower a selection: rows and columns by slices and concatenation, strides by pooling single positions,
    channels by a slice or a one-hot 1x1 convolution.
    """
    found = builder.lowered(op.operands[0])
    selection = selection_of(op, found.shape, builder)
    return [_of_one(found, indices, selection.fill, builder) for indices in selection.results]


def _of_one(
    found: Dequantized | StoredIntegers, indices: Indices, fill: float, builder: QuantizedDlaBuilder
) -> Dequantized | StoredIntegers:
    if isinstance(found, StoredIntegers):
        padding = int(np.clip(fill - found.offset, -128, 127))
        return StoredIntegers(_selected(found.value, indices, padding, builder), indices.shape, found.offset)
    if not isinstance(found, Affine) or found.stored is None or (fill and FILL in indices):
        return SelectedElements(found, indices, fill)
    stored = found.stored
    value = _selected(stored.value, indices, stored.qparams.zero_point, builder)
    return Affine.of(value, cube_of(value.type), indices.shape, stored.qparams)


def _selected(source: SSAValue, indices: Indices, padding: int, builder: DlaBuilder) -> SSAValue:
    def fill(cube: CubeShape) -> SSAValue:
        return builder.requantized(
            builder.constant_cube(np.full((1, *cube), padding, np.int8)), [], Converter()
        )

    def pick(value: SSAValue, indices: Indices) -> SSAValue:
        weights = one_hot(indices, cube_of(value.type).channels)
        sums = builder.conv(value, builder.kernels(weights), Window2D((1, 1)))
        added = np.where(indices == FILL, padding, 0).astype(np.int16)
        return builder.requantized(
            sums, [(ADDED, builder.per_kernel(added))] if np.any(added) else [], Converter()
        )

    return selected(source, indices, pick, fill, builder)
