"""LRN of stored integers, by a lookup table of the CDP."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter, ConverterAttr, LutAttr
from xonnc.dialects.dla.engines import CdpOp
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.dla_planning.lookup_tables import integer_normalization_lut
from xonnc.lowering.onnx_to_dla.builders.dla_builder import DlaBuilder
from xonnc.lowering.onnx_to_dla.int8.dequantized import QuantizedCube


@dataclass(frozen=True)
class NormalizedIntegers:
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
