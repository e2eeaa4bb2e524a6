"""
FP16 operators in a quantized network, and the passes of the SDP between INT8 and FP16.

The SDP converts INT8 or INT16 to FP16 and FP16 to INT16, but not FP16 to INT8
(docs/internals/nvdla-hardware.md §4.2). Its converters give integers, so that reals cross as multiples of a
power of two, by which FP16 multiplies exactly:

```
INT8 q   -> integer (q - zero) * scale * 2^k   -> FP16, times 2^-k
FP16 x   -> INT16 x * 2^k                      -> INT8 x / scale + zero
```
The largest value takes 13 bits in FP16, so that the sums of four in Winograd's transform do not overflow, and
15 bits in INT16: both are more than the 11 that FP16 resolves.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log2
from typing import Protocol

import numpy as np
from xdsl.dialects.builtin import i8, i16
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import Converter, ConverterAttr, SdpStage, StageFunction
from xonnc.dialects.dla.engines import SdpOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import tensor_type
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import surfaces
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.dla_planning.precision import MAX_FP16
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder, Operand
from xonnc.lowering.onnx_to_dla.builders.sdp_operands import MAX_OPERAND, fixed_point_factors
from xonnc.lowering.onnx_to_dla.fp16.fp16_builder import Fp16Builder
from xonnc.lowering.onnx_to_dla.int8.dequantized import Affine, Dequantized, QuantizedCube, converter
from xonnc.targets import NvdlaTarget

MAX_INTEGER = 2**13 - 1
"""The largest integer in FP16: four times as much is still a number there."""

MAX_EXPONENT = 28
"""The largest power of two between integers and reals: in FP16 what is smaller is subnormal."""

MAX_STAGE_EXPONENT = 14
"""The largest power of two of one stage, whose operand is a normal FP16 number, as its reciprocal is."""


class QuantizedValues(Protocol):
    """What the builder of a quantized network knows of values."""

    def tensor(self, value: SSAValue) -> Dequantized:
        """Return the model's float tensor `value`."""
        ...

    def real_constant(self, value: SSAValue) -> Array | None:
        """Return the values of a constant, dequantized if needed; `None` for other values."""
        ...


class MixedFp16Builder(Fp16Builder):
    """Builds the FP16 operators of a quantized network."""

    def __init__(self, target: NvdlaTarget, pool: DisposablePool, values: QuantizedValues):
        super().__init__(target, pool)
        self._quantized_values = values

    def start_with(self, op: Operation, added: set[Operation]) -> None:
        """Set the insertion point before `op`; the operations inserted for it are collected in `added`."""
        self.start(op)
        self._added = added

    def real_input(self, argument: SSAValue, shape: tuple[int, ...], cube: CubeShape) -> RealCube:
        """Take a network input as FP16."""
        placed = Rewriter.replace_value_with_new_type(argument, self.cube_type(cube))
        self.define(placed, Cube(placed, shape))
        return RealCube(placed, shape, self)

    def constant(self, value: SSAValue) -> Array | None:
        """Return the elements of a constant of the model, dequantized if needed; `None` for other values."""
        return self._quantized_values.real_constant(value)

    def unscaled_source(self, value: SSAValue) -> Cube:
        """Return the cube of the model's `value`, which may still have to be multiplied by its factors."""
        if value not in self._cubes and self.constant(value) is None:
            self.define(value, self._converted(value))
        return super().unscaled_source(value)

    def cube(self, value: SSAValue) -> Cube:
        """Return the cube of the model's `value`; stored integers are converted, once for all readers."""
        if value not in self._cubes and self.constant(value) is None:
            self.define(value, self._converted(value))
        return super().cube(value)

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the model's shape of a value."""
        if value not in self._cubes and self.constant(value) is None:
            return self._quantized_values.tensor(value).shape
        return super().shape(value)

    def _converted(self, value: SSAValue) -> Cube:
        """Convert stored integers."""
        found = self._quantized_values.tensor(value)
        if isinstance(found, Affine) and found.stored is not None:
            return self._dequantized(found.stored, found.shape)
        maker = value.owner
        self.refuse(
            "the result is not quantized for its reader in fp16; insert QuantizeLinear and DequantizeLinear "
            "after it, or calibrate",
            cause=maker if isinstance(maker, OnnxOp) else None,
        )

    def _dequantized(self, stored: QuantizedCube, shape: tuple[int, ...]) -> Cube:
        """Return a cube of `(q - zero) * scale * 2^k`, and the factor `2^-k` that it lacks."""
        cube, exponent = cube_of(stored.value.type), self._exponent(stored.qparams, MAX_INTEGER)
        factor = fixed_point_factors(np.array([stored.qparams.scale * 2.0**exponent]))
        assert factor is not None, "the largest integer takes 8 bits, and 13 after the factor"
        shift = Converter(int(factor.operands[0]), factor.shift, stored.qparams.zero_point)
        if surfaces(self.target, Precision.FP16, cube.channels) % 2:
            # FP16 surfaces are written in pairs (§3.5): the second of the last pair would belong to another
            # cube. Only INT16 cubes have memory for it.
            wide = self(SdpOp(stored.value, [], tensor_type((1, *cube), i16), out_cvt=ConverterAttr(shift)))
            made = self(SdpOp(wide, [], self.cube_type(cube), out_cvt=ConverterAttr(Converter())))
        else:
            made = self(SdpOp(stored.value, [], self.cube_type(cube), out_cvt=ConverterAttr(shift)))
        if exponent > MAX_STAGE_EXPONENT:
            return Cube(self.sdp(made, powers_of_two(-exponent)), shape)
        return Cube(made, shape, np.full((1, 1), 2.0**-exponent) if exponent else None)

    def quantized(self, value: SSAValue, qparams: QuantizationParameters) -> SSAValue:
        """Quantize the model's `value`, which an operator in FP16 computes."""
        source = self.cube(value).value
        exponent, cube = self._exponent(qparams, MAX_OPERAND), cube_of(source.type)
        wide = self(SdpOp(source, powers_of_two(exponent), tensor_type((1, *cube), i16)))
        rounding = converter(2.0**-exponent, qparams, self)
        return self(SdpOp(wide, [], tensor_type((1, *cube), i8), out_cvt=ConverterAttr(rounding)))

    def _exponent(self, qparams: QuantizationParameters, largest: int) -> int:
        """Return the power of two by which the reals of 8-bit integers become integers up to `largest`."""
        most = qparams.scale * max(INT8_MAX - qparams.zero_point, qparams.zero_point - INT8_MIN)
        if most > MAX_FP16:
            self.refuse(f"values up to {most:g} in fp16, which ends at {MAX_FP16:g}; scale them down")
        return min(floor(log2(largest / most)), MAX_EXPONENT)


def powers_of_two(exponent: int) -> list[Operand]:
    """Return the stages that multiply by `2^exponent`, whose operands are normal FP16 numbers."""
    first = max(min(exponent, MAX_STAGE_EXPONENT), -MAX_STAGE_EXPONENT)
    exponents = [each for each in (first, exponent - first) if each]
    return [(SdpStage(type=StageFunction.MUL, mul_operand=2.0**each), None) for each in exponents]


@dataclass(frozen=True)
class RealCube:
    """A float tensor that an operator in FP16 computes, or a float input that one reads."""

    value: SSAValue
    shape: tuple[int, ...]
    reals: MixedFp16Builder

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Convert the tensor to int8 by way of int16."""
        return self.reals.quantized(self.value, qparams)
