"""Products of two computed cubes of integers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import OperandMode, Stage, StageFunction
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.formats.nvdla.quantization import Grid
from xonnc.lowering.onnx_to_dla.integers import Integers
from xonnc.lowering.onnx_to_dla.lowering import Lowering, Operand
from xonnc.lowering.onnx_to_dla.reals import Sum, converter


@dataclass(frozen=True)
class Product:
    """
    `a b` of stored integers; `b` has the shape of `a`, or one position, and a zero only where the SDP has a
    third stage.
    """

    a: Sum
    b: Sum
    shape: tuple[int, ...]

    def rounded(self, grid: Grid, to: Lowering) -> SSAValue:
        """One pass of the SDP: X1 takes away the zero of `a`, X2 multiplies; Y if `b` has a zero as well."""
        is_spread = cube_of(self.a.value.type) != cube_of(self.b.value.type)
        mode = OperandMode.PER_KERNEL if is_spread else OperandMode.PER_POINT
        factor = Stage(StageFunction.MUL, mode=mode, mul_offset=self.b.grid.zero)
        stages: list[Operand] = [(factor, self.b.value)]
        if self.a.grid.zero:
            stages.insert(0, (Stage(StageFunction.ALU, alu_operand=-self.a.grid.zero), None))
        if self.b.grid.zero:
            stages = (
                [stages[0], (Stage(), None), stages[-1]]
                if self.a.grid.zero
                else [(Stage(), None)] * 2 + stages
            )
        unit = self.a.grid.scale * self.b.grid.scale
        return to.requantized(self.a.value, stages, converter(unit, grid, to))


def product_of(first: SSAValue, second: SSAValue, shape: tuple[int, ...], to: Integers) -> Product:
    """The product of two computed values, one of which has the result's shape."""
    (a, a_shape), (b, b_shape) = to.stored_row(first), to.stored_row(second)
    if a_shape != shape or (b_shape == shape and b.grid.zero):
        (a, a_shape), (b, b_shape) = (b, b_shape), (a, a_shape)
    if b.grid.zero and not to.target.sdp_y:
        to.refuse(
            "a product of integers whose zeros are not 0 (the third stage of the SDP takes such); use a "
            "symmetric quantisation for one factor"
        )
    here, other = cube_of(a.value.type), cube_of(b.value.type)
    if a_shape != shape or (other != here and other != CubeShape(here.channels, 1, 1)):
        to.refuse(f"a product of {list(a_shape)} and {list(b_shape)} (the SDP spreads one position over all)")
    if other == here and b_shape != shape:
        to.refuse(
            f"a product of {list(a_shape)} and {list(b_shape)} that lie alike; expand one of them first"
        )
    return Product(a, b, shape)
