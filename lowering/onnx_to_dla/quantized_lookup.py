"""LRN and unary functions in int8, by lookup tables of the CDP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter, ConverterAttr, LutAttr
from xonnc.dialects.dla.engines import CdpOp
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.nn import LRNOp
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.dla_planning.lookup_tables import Function, integer_normalization_lut
from xonnc.lowering.onnx_to_dla import unary_functions
from xonnc.lowering.onnx_to_dla.dequantized import Dequantized, QuantizedCube
from xonnc.lowering.onnx_to_dla.dla_builder import DlaBuilder
from xonnc.lowering.onnx_to_dla.dla_builder import lowers as lowers_fp16
from xonnc.lowering.onnx_to_dla.normalization import check_lrn
from xonnc.lowering.onnx_to_dla.quantized_builder import QuantizedDlaBuilder, lowers
from xonnc.lowering.onnx_to_dla.table_lookup import TableLookup
from xonnc.lowering.onnx_to_dla.unary_functions import FP16_FUNCTIONS, INT8_FUNCTIONS


@dataclass(frozen=True)
class LrnLookup:
    """`x (bias + scale * sum of squares)^-beta` of stored integers, the sum over `size` channels."""

    source: QuantizedCube
    shape: tuple[int, ...]
    size: int
    scale: float
    bias: float
    beta: float

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """
        Emit one CDP pass: the input converter subtracts the zero point, the output converter shifts the
        product.
        """
        here = self.source.qparams
        widest = max(abs(INT8_MIN - here.zero_point), abs(INT8_MAX - here.zero_point))
        found = integer_normalization_lut(
            self.scale * here.scale**2,
            self.bias,
            self.beta,
            here.scale / qparams.scale,
            self.size * widest**2,
        )
        made = CdpOp(
            self.source.value,
            self.source.value.type,
            local_size=self.size,
            lut=LutAttr(found.lut),
            in_cvt=ConverterAttr(Converter(offset=here.zero_point)),
            out_cvt=ConverterAttr(Converter(truncate=found.shift, offset=-qparams.zero_point << found.shift)),
        )
        return builder(made)


@lowers(LRNOp)
def lrn(op: LRNOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower LRN; the power comes from a 16-bit lookup table whose steps minimize the error."""
    scale, bias = check_lrn(op, builder)
    return LrnLookup(
        builder.stored_spatial(op.X),
        builder.result_shape(op),
        op.size.value.data,
        scale,
        bias,
        op.beta.value.data,
    )


def add_unary_function(kind: type[OnnxOp], function_of: Callable[[Any], Function]) -> None:
    """
    Register the elementwise function of an operator from outside of the compiler, for FP16 and int8.

    In FP16 a function is refused that no lookup table approximates; int8 takes any.
    """
    FP16_FUNCTIONS[kind] = INT8_FUNCTIONS[kind] = function_of
    lowers_fp16(kind)(unary_functions.function)
    lowers(kind)(function)


@lowers(*INT8_FUNCTIONS)
def function(op: OnnxOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower a unary function as a lookup table with an entry per integer, which is exact."""
    source, shape = builder.stored_row(op.operands[0])
    return TableLookup(source, shape, INT8_FUNCTIONS[type(op)](op))
