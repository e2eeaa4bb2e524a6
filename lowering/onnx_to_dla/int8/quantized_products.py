"""Elementwise products of two computed int8 cubes, in the SDP."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2

from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import OperandMode, SdpStage, StageFunction
from xonnc.dialects.dla.types import cube_of
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Cube, DlaBuilder, Operand
from xonnc.lowering.onnx_to_dla.builders.sdp_stages import is_per_channel
from xonnc.lowering.onnx_to_dla.int8.dequantized import QuantizedCube, converter

MAX_SHIFT = 16
"""The most bits by which what is added to a product is shifted to its unit."""


NEGLIGIBLE = 2.0**-20
"""Rounding of the scales to float32 may change the shift by this."""


@dataclass(frozen=True)
class ElementwiseProduct:
    """
    `a b` of stored integers; `b` has the shape of `a` or one position. It has a zero point only if the SDP
    has a Y stage.
    """

    a: QuantizedCube
    b: QuantizedCube
    shape: tuple[int, ...]
    added: QuantizedCube | None = None
    """What X2 adds to the product, if X1 can multiply."""

    def plus(self, added: QuantizedCube) -> ElementwiseProduct | None:
        """
        Add stored integers of the same cube in the same pass: none has a zero point, and X2 shifts what it
        adds to the unit of the product. `None` if no pass can do that.
        """
        shift = log2(added.qparams.scale / self._unit)
        parts = (self.a, self.b, added)
        fits = (
            self.added is None
            and round(shift) in range(MAX_SHIFT + 1)
            and abs(shift - round(shift)) < NEGLIGIBLE
            and not any(part.qparams.zero_point for part in parts)
            and len({cube_of(part.value.type) for part in parts}) == 1
        )
        return replace(self, added=added) if fits else None

    @property
    def _unit(self) -> float:
        return self.a.qparams.scale * self.b.qparams.scale

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """
        Emit one SDP pass: X1 subtracts the zero point of `a`, X2 multiplies. Y multiplies if `b` has a zero
        point, which only its operand converter can subtract.
        """
        is_spread = cube_of(self.a.value.type) != cube_of(self.b.value.type)
        mode = OperandMode.PER_KERNEL if is_spread else OperandMode.PER_POINT
        factor = SdpStage(StageFunction.MUL, mode=mode, mul_offset=self.b.qparams.zero_point)
        stages: list[Operand] = [(factor, self.b.value)]
        if self.a.qparams.zero_point:
            stages.insert(0, (SdpStage(StageFunction.ALU, alu_operand=-self.a.qparams.zero_point), None))
        if self.b.qparams.zero_point:
            stages = (
                [stages[0], (SdpStage(), None), stages[-1]]
                if self.a.qparams.zero_point
                else [(SdpStage(), None)] * 2 + stages
            )
        if self.added is not None:
            shift = round(log2(self.added.qparams.scale / self._unit))
            addition = SdpStage(StageFunction.ALU, mode=OperandMode.PER_POINT, shift_value=shift)
            stages.append((addition, self.added.value))
        return builder.requantized(self.a.value, stages, converter(self._unit, qparams, builder))


def product_of(a: Cube, b: Cube, shape: tuple[int, ...], builder: DlaBuilder) -> ElementwiseProduct:
    """Return the product of stored integers, one of which has the shape of the result."""
    if a.shape != shape or (b.shape == shape and b.zero_point):
        a, b = b, a
    if b.zero_point and not builder.target.sdp_y:
        builder.refuse(
            "both factors have zero points other than 0 (this takes the SDP's Y stage, which the target "
            "lacks); use symmetric quantization for one factor"
        )
    here, other = a.cube, b.cube
    if a.shape != shape or (other != here and not is_per_channel(b.shape, other, shape, here)):
        builder.refuse(
            f"factors of {list(a.shape)} and {list(b.shape)} (the SDP broadcasts per-channel tensors only)",
            cause=builder.reshape_before(shape) if a.shape == b.shape == shape else None,
        )
    if other == here and b.shape != shape:
        builder.refuse(f"factors of {list(a.shape)} and {list(b.shape)}; expand one of them first")
    return ElementwiseProduct(QuantizedCube.of(a), QuantizedCube.of(b), shape)
