"""Normalisation across channels and functions of one number in integers, by lookup tables of the CDP."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter, ConverterAttr, LutAttr
from xonnc.dialects.dla.engines import CdpOp
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.nn import LRNOp
from xonnc.formats.nvdla.quantization import LARGEST, LEAST, Grid
from xonnc.lowering.dla_planning.lookup import integer_normalization_lut
from xonnc.lowering.onnx_to_dla.functions import FUNCTIONS
from xonnc.lowering.onnx_to_dla.integers import Integers, lowers
from xonnc.lowering.onnx_to_dla.lowering import Lowering
from xonnc.lowering.onnx_to_dla.normalization import check_lrn
from xonnc.lowering.onnx_to_dla.reals import Reals, Sum
from xonnc.lowering.onnx_to_dla.tabled import Tabled


@dataclass(frozen=True)
class Normalized:
    """`x (bias + scale * sum of squares)^-beta` of stored integers, the sum over `size` channels."""

    source: Sum
    shape: tuple[int, ...]
    size: int
    scale: float
    bias: float
    beta: float

    def rounded(self, grid: Grid, to: Lowering) -> SSAValue:
        """One pass of the CDP: integers without their zero in, the product shifted to the grid out."""
        here = self.source.grid
        widest = max(abs(LEAST - here.zero), abs(LARGEST - here.zero))
        found = integer_normalization_lut(
            self.scale * here.scale**2, self.bias, self.beta, here.scale / grid.scale, self.size * widest**2
        )
        made = CdpOp(
            self.source.value,
            self.source.value.type,
            local_size=self.size,
            lut=LutAttr(found.lut),
            in_cvt=ConverterAttr(Converter(offset=here.zero)),
            out_cvt=ConverterAttr(Converter(truncate=found.shift, offset=-grid.zero << found.shift)),
        )
        return to(made)


@lowers(LRNOp)
def lrn(op: LRNOp, to: Integers) -> Reals:
    """
    `X (bias + alpha / size * sum of squares)^-beta`, the power from the lookup table in 16 bits, its steps
    chosen for the least error.
    """
    scale, bias = check_lrn(op, to)
    return Normalized(
        to.stored_image(op.X), to.result_shape(op), op.size.value.data, scale, bias, op.beta.value.data
    )


@lowers(*FUNCTIONS)
def function(op: OnnxOp, to: Integers) -> Reals:
    """The function from the lookup table, an entry for each integer: exact."""
    source, shape = to.stored_row(op.operands[0])
    return Tabled(source, shape, FUNCTIONS[type(op)](op))
