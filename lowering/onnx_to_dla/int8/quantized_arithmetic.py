"""Elementwise arithmetic of tensors of a quantized network, whose scales may differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import (
    Activation,
    AluFunction,
    Converter,
    OperandMode,
    SdpStage,
    StageFunction,
)
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.formats.nvdla.quantization import INT8_MAX, QuantizationParameters
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder, Operand, cube_shape
from xonnc.lowering.onnx_to_dla.builders.sdp_operands import fixed_point_factors
from xonnc.lowering.onnx_to_dla.builders.sdp_stages import PRELU, PRODUCT, SUM, channel_values, is_per_channel
from xonnc.lowering.onnx_to_dla.builders.unary_functions import leaky_relu
from xonnc.lowering.onnx_to_dla.int8.dequantized import (
    GUARD_BITS,
    Affine,
    ClampBound,
    Clamped,
    Concatenated,
    Dequantized,
    Moved,
    QuantizedCube,
    converter,
)
from xonnc.lowering.onnx_to_dla.int8.quantized_products import ElementwiseProduct, product_of
from xonnc.lowering.onnx_to_dla.int8.table_lookup import TableLookup

MAX_STAGES = 2
"""SDP stages (X1, X2) that every target has."""

NOT_QUANTIZED = (
    "a float operand that is not quantized; "
    "insert QuantizeLinear and DequantizeLinear before it, or calibrate"
)


def combine(
    stage: SdpStage,
    parts: Sequence[Dequantized],
    constants: Sequence[Array],
    shape: tuple[int, ...],
    builder: DlaBuilder,
) -> Dequantized:
    """Return what a stage of the SDP computes of tensors and constants."""
    if stage in (SUM, PRODUCT):
        parts, constants = _positions_stored(parts, constants, shape, builder)
    if stage == SUM:
        return total(parts, constants, shape, builder)
    if stage == PRODUCT:
        return product(parts, constants, shape, builder)
    if stage == PRELU:
        return sloped(source_of(parts[0], builder), constants[0], builder)
    return extremum(parts, constants, shape, stage.alu, builder)


def _positions_stored(
    parts: Sequence[Dequantized], constants: Sequence[Array], shape: tuple[int, ...], builder: DlaBuilder
) -> tuple[list[Dequantized], list[Array]]:
    """Return constants that differ between positions as stored integers among the parts."""
    every, others, cube = list(parts), list[Array](), cube_shape(shape)
    for constant in constants:
        largest = float(np.max(np.abs(constant)))
        is_stored = constant.size > 1 and isfinite(largest) and all(part.shape == shape for part in parts)
        if not is_stored or cube is None or channel_values(constant, shape, cube) is not None:
            others.append(constant)
            continue
        qparams = QuantizationParameters(largest / INT8_MAX)
        integers = np.broadcast_to(qparams.quantize(constant), shape).reshape(1, *cube)
        value = builder.constant_cube(np.ascontiguousarray(integers))
        every.append(Affine.of(value, cube, shape, qparams))
    return every, others


def affine_of(found: Dequantized, builder: DlaBuilder) -> Affine:
    """Return a tensor that one SDP pass can requantize."""
    if not isinstance(found, Affine):
        builder.refuse(NOT_QUANTIZED)
    return found


def source_of(found: Dequantized, builder: DlaBuilder) -> Cube:
    """Return stored integers with their parameters and shape, for an engine that reads them."""
    affine = affine_of(found, builder)
    if affine.stored is None:
        builder.refuse(NOT_QUANTIZED)
    return Cube(affine.stored.value, affine.shape, qparams=affine.stored.qparams)


def per_channel(
    constant: Array, here: tuple[int, ...], cube: CubeShape, shape: tuple[int, ...], builder: DlaBuilder
) -> Array:
    """Return a constant operand of a tensor of shape `here` as a scalar or as one value per channel."""
    if constant.size == 1:
        return constant.reshape(1).astype(np.float64)
    if here != shape:
        builder.refuse(f"{list(here)} is broadcast to {list(shape)}; expand it first")
    found = channel_values(constant, shape, cube)
    if found is None:
        builder.refuse(f"a constant of {list(constant.shape)} on {list(shape)} (scalar or per channel)")
    return found.astype(np.float64)


def total(
    parts: Sequence[Dequantized], constants: Sequence[Array], shape: tuple[int, ...], builder: DlaBuilder
) -> Dequantized:
    """Return the sum of constants and at most two cubes, at least one of which is stored."""
    if not constants and (grouped_sum := _sum_of_groups(parts, shape)) is not None:
        return grouped_sum
    if not constants and (with_product := _sum_with_product(parts, shape)) is not None:
        return with_product
    computed = [affine_of(part, builder) for part in parts]
    # One value per channel is an operand of the pass that makes the other.
    computed.sort(key=lambda part: (part.shape != shape, part.stored is not None))
    if len(computed) > 2:
        builder.refuse(f"{len(computed)} computed operands (the SDP adds two in a pass); use Add")
    result, *others = computed
    if result.shape != shape or not all(_is_operand(part, result) for part in others):
        builder.refuse(
            f"operands that are broadcast to {list(shape)} (the SDP broadcasts one of {result.cube.channels} "
            "channels and one position); expand them first"
        )
    for constant in constants:
        added = result.plus(per_channel(constant, result.shape, result.cube, shape, builder))
        if added is None:
            builder.refuse("a constant added after a clamp; quantize in between")
        result = added
    for other in others:
        if other.stored is None:
            builder.refuse(
                "more than one operand is not quantized as it is added; quantize all but one (of a "
                "subtraction the first), or calibrate"
            )
        if other.shape == shape and cube_of(other.stored.value.type) != result.cube:
            builder.refuse(
                f"operands with different cubes in memory: {list(result.cube)}, {list(other.cube)}",
                cause=builder.reshape_before(shape),
            )
        result = result.then(other.stored)
    return result


def _is_operand(part: Affine, result: Affine) -> bool:
    """Whether a pass that makes `result` can add a part: of the same sizes, or one number per channel."""
    return part.shape == result.shape or is_per_channel(part.shape, part.cube, result.shape, result.cube)


def _sum_of_groups(parts: Sequence[Dequantized], shape: tuple[int, ...]) -> Dequantized | None:
    """Add a stored cube to a grouped convolution of several layers: each layer adds its channels."""
    if len(parts) != 2:
        return None
    groups, other = parts
    if not isinstance(groups, Concatenated):
        groups, other = other, groups
    if not isinstance(groups, Concatenated) or not isinstance(other, Affine) or other.stored is None:
        return None
    return groups.plus(other) if groups.shape == shape else None


def _sum_with_product(parts: Sequence[Dequantized], shape: tuple[int, ...]) -> Dequantized | None:
    """Add a stored cube to a product of two others, in the pass that multiplies."""
    products = [part for part in parts if isinstance(part, ElementwiseProduct)]
    stored = [part.stored for part in parts if isinstance(part, Affine) and part.stored is not None]
    if len(parts) != 2 or len(products) != 1 or not stored or any(part.shape != shape for part in parts):
        return None
    return products[0].plus(stored[0])


def product(
    parts: Sequence[Dequantized], constants: Sequence[Array], shape: tuple[int, ...], builder: DlaBuilder
) -> Dequantized:
    """Return the product with a constant (scalar or per channel), or of two stored cubes."""
    if not constants:
        first, second = (source_of(part, builder) for part in parts)
        return product_of(first, second, shape, builder)
    source = affine_of(parts[0], builder)
    scaled = source.times(per_channel(constants[0], source.shape, source.cube, shape, builder))
    if scaled is None:
        builder.refuse("a factor after a clamp or a sum; quantize in between")
    return scaled


def clamped(reals: Dequantized, bound: ClampBound) -> Dequantized:
    """Return the tensor with a clamp, which commutes with data movement and concatenation."""
    match reals:
        case Affine():
            return reals.then(bound)
        case Concatenated():
            return reals.over(lambda part: clamped(part, bound))
        case TableLookup():
            limit = np.maximum if bound.is_minimum else np.minimum
            return reals.then(lambda x: limit(x, bound.number))
        case Moved():
            return reals.over(lambda source: clamped(source, bound))
        case Clamped():
            return Clamped(reals.source, (*reals.bounds, bound))
        case _:
            return Clamped(reals, (bound,))


def extremum(
    parts: Sequence[Dequantized],
    constants: Sequence[Array],
    shape: tuple[int, ...],
    function: AluFunction,
    builder: DlaBuilder,
) -> Dequantized:
    """Return the maximum or minimum of tensors and constants, which is computed of integers at one scale."""
    ordered = sorted(parts, key=lambda part: part.shape != shape)
    if ordered[0].shape != shape:
        builder.refuse(f"operands that are all broadcast to {list(shape)}; expand one of them first")
    alone = len(ordered) == 1 and not constants
    return ordered[0] if alone else ElementwiseExtremum(ordered, constants, shape, function)


@dataclass(frozen=True)
class ElementwiseExtremum:
    """Elementwise maximum or minimum of tensors and constants, which commutes with quantization."""

    parts: Sequence[Dequantized]
    constants: Sequence[Array]
    shape: tuple[int, ...]
    function: AluFunction

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Quantize each part, then compare two more operands in each SDP pass."""
        value, *others = (part.quantized(qparams, builder) for part in self.parts)
        cube = cube_of(value.type)
        shapes = [part.shape for part in self.parts[1:]]
        stages = [
            self._against(other, shape, cube, builder) for other, shape in zip(others, shapes, strict=True)
        ]
        stages += [self._against_constant(qparams.quantize(one), cube, builder) for one in self.constants]
        for begin in range(0, len(stages), MAX_STAGES):
            value = builder.requantized(value, stages[begin : begin + MAX_STAGES], Converter())
        return value

    def _against(
        self, other: SSAValue, shape: tuple[int, ...], cube: CubeShape, builder: DlaBuilder
    ) -> Operand:
        here = cube_of(other.type)
        is_whole = here == cube and shape == self.shape
        if not is_whole and not is_per_channel(shape, here, self.shape, cube):
            builder.refuse(f"operands with different cubes in memory: {list(cube)}, {list(here)}")
        mode = OperandMode.PER_POINT if is_whole else OperandMode.PER_KERNEL
        return SdpStage(StageFunction.ALU, self.function, mode=mode), other

    def _against_constant(self, integers: Array, cube: CubeShape, builder: DlaBuilder) -> Operand:
        if integers.size == 1:
            number = int(integers.reshape(()))
            return SdpStage(StageFunction.ALU, self.function, alu_operand=number), None
        spread = np.broadcast_to(integers, self.shape).reshape(1, *cube)
        stage = SdpStage(StageFunction.ALU, self.function, mode=OperandMode.PER_POINT)
        return stage, builder.constant_cube(np.ascontiguousarray(spread))


def sloped(source: Cube, slope: Array, builder: DlaBuilder) -> Dequantized:
    """Return PRelu: an exact lookup table for one slope, the SDP's multiplier for slopes per channel."""
    integers = QuantizedCube.of(source)
    slopes = per_channel(slope, source.shape, source.cube, source.shape, builder)
    if np.all(slopes == slopes[0]):
        return TableLookup(integers, source.shape, partial(leaky_relu, alpha=float(slopes[0])))
    return ChannelwisePRelu(integers, source.shape, slopes)


@dataclass(frozen=True)
class ChannelwisePRelu:
    """`x` where positive, else `slope x` with a slope per channel, of stored integers."""

    source: QuantizedCube
    shape: tuple[int, ...]
    slopes: Array

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Emit one SDP pass: X1 subtracts the zero point and adds guard bits, X2 is the PReLU."""
        factors = fixed_point_factors(self.slopes)
        if factors is None:
            builder.refuse(f"a slope of {np.abs(self.slopes).max():g} (the SDP's factors are below 32768)")
        finer = SdpStage(
            StageFunction.BOTH, alu_operand=-self.source.qparams.zero_point, mul_operand=1 << GUARD_BITS
        )
        sloped = SdpStage(
            StageFunction.MUL, mode=OperandMode.PER_KERNEL, act=Activation.PRELU, truncate=factors.shift
        )
        stages: list[Operand] = [(finer, None), (sloped, builder.per_kernel(factors.operands))]
        unit = self.source.qparams.scale * 2.0**-GUARD_BITS
        return builder.requantized(self.source.value, stages, converter(unit, qparams, builder))
