"""Products of two computed cubes of integers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import OperandMode, Stage, StageFunction
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.onnx_to_dla.dequantized import QuantizedCube, converter
from xonnc.lowering.onnx_to_dla.dla_builder import DlaBuilder, Operand
from xonnc.lowering.onnx_to_dla.quantized_builder import QuantizedDlaBuilder


@dataclass(frozen=True)
class ElementwiseProduct:
    """
    `a b` of stored integers; `b` has the shape of `a`, or one position, and a zero only where the SDP has a
    third stage.
    """

    a: QuantizedCube
    b: QuantizedCube
    shape: tuple[int, ...]

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """One pass of the SDP: X1 takes away the zero of `a`, X2 multiplies; Y if `b` has a zero as well."""
        is_spread = cube_of(self.a.value.type) != cube_of(self.b.value.type)
        mode = OperandMode.PER_KERNEL if is_spread else OperandMode.PER_POINT
        factor = Stage(StageFunction.MUL, mode=mode, mul_offset=self.b.qparams.zero_point)
        stages: list[Operand] = [(factor, self.b.value)]
        if self.a.qparams.zero_point:
            stages.insert(0, (Stage(StageFunction.ALU, alu_operand=-self.a.qparams.zero_point), None))
        if self.b.qparams.zero_point:
            stages = (
                [stages[0], (Stage(), None), stages[-1]]
                if self.a.qparams.zero_point
                else [(Stage(), None)] * 2 + stages
            )
        unit = self.a.qparams.scale * self.b.qparams.scale
        return builder.requantized(self.a.value, stages, converter(unit, qparams, builder))


def product_of(
    first: SSAValue, second: SSAValue, shape: tuple[int, ...], builder: QuantizedDlaBuilder
) -> ElementwiseProduct:
    """The product of two computed values, one of which has the result's shape."""
    (a, a_shape), (b, b_shape) = builder.stored_row(first), builder.stored_row(second)
    if a_shape != shape or (b_shape == shape and b.qparams.zero_point):
        (a, a_shape), (b, b_shape) = (b, b_shape), (a, a_shape)
    if b.qparams.zero_point and not builder.target.sdp_y:
        builder.refuse(
            "a product of integers whose zeros are not 0 (the third stage of the SDP takes such); use a "
            "symmetric quantisation for one factor"
        )
    here, other = cube_of(a.value.type), cube_of(b.value.type)
    if a_shape != shape or (other != here and other != CubeShape(here.channels, 1, 1)):
        builder.refuse(
            f"a product of {list(a_shape)} and {list(b_shape)} (the SDP spreads one position over all)"
        )
    if other == here and b_shape != shape:
        builder.refuse(
            f"a product of {list(a_shape)} and {list(b_shape)} that lie alike; expand one of them first"
        )
    return ElementwiseProduct(a, b, shape)
