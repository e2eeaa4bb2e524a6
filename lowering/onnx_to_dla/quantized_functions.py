"""Normalisation across channels and functions of one number in integers, by lookup tables of the CDP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter, ConverterAttr, LutAttr
from xonnc.dialects.dla.engines import CdpOp
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.nn import LRNOp
from xonnc.formats.nvdla.quantization import LARGEST, LEAST, Grid
from xonnc.lowering.onnx_to_dla.functions import FUNCTIONS, tabulated
from xonnc.lowering.onnx_to_dla.integers import Integers, lowers
from xonnc.lowering.onnx_to_dla.lowering import Array, Lowering
from xonnc.lowering.onnx_to_dla.normalization import check_lrn
from xonnc.lowering.onnx_to_dla.reals import Reals, Sum
from xonnc.lowering.planning.lookup import Function, integer_function_lut, integer_normalization_lut


@dataclass(frozen=True)
class Tabled:
    """A function of stored integers: each of the 256 has its result on the grid that follows."""

    source: Sum
    shape: tuple[int, ...]
    function: Function

    def then(self, function: Callable[[Array], Array]) -> Tabled:
        """With one more function behind."""
        return Tabled(self.source, self.shape, lambda x: function(self.function(x)))

    def rounded(self, grid: Grid, to: Lowering) -> SSAValue:
        """One pass of the CDP."""
        numbers = self.source.grid.numbers(np.arange(LEAST, LARGEST + 1)).astype(np.float64)
        results = np.clip(np.nan_to_num(self.function(numbers)), -1e30, 1e30)
        return tabulated(self.source.value, LutAttr(integer_function_lut(grid.stored(results))), to)


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
