"""
Float tensors of a quantized network that are not requantized yet, between DequantizeLinear and
QuantizeLinear.

They are expressions. Given the scale and zero point of the following QuantizeLinear, the SDP requantizes the
engine's integers in the same pass that adds the bias and clamps. Integers are formed with up to `GUARD_BITS`
more resolution than the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log2
from typing import Protocol, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import (
    Activation,
    AluFunction,
    Converter,
    LutAttr,
    OperandMode,
    SdpStage,
    StageFunction,
)
from xonnc.dialects.dla.storage import ConstantOp, ReshapeOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.elements import elements_array
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.dla_planning.lookup_tables import Function, sums_lut
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder, Operand
from xonnc.lowering.onnx_to_dla.builders.sdp_operands import (
    FixedPoint,
    fixed_point_addends,
    fixed_point_factors,
)
from xonnc.lowering.onnx_to_dla.builders.sdp_stages import is_per_channel

NEGLIGIBLE = 2.0**-6
"""Rounding a bias to the nearest unit may lose this part of a unit of the source."""

MAX_LOOKUP_ERROR = 1 / 8
"""The largest error of a lookup table for sums, in units of its result: rounding may add half a unit."""

Y_STAGE = 2
"""The stages before Y."""

GUARD_BITS = 8
"""Extra fractional bits of sums, at most."""


class Dequantized(Protocol):
    """A float tensor with a shape of the model."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the model's tensor."""
        ...

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Emit an int8 cube with these parameters."""
        ...


@dataclass(frozen=True)
class ClampBound:
    """A lower (`is_minimum`) or upper bound."""

    number: float
    is_minimum: bool


@dataclass(frozen=True)
class QuantizedCube:
    """An int8 cube and its parameters; as a step, the cube that is added."""

    value: SSAValue
    qparams: QuantizationParameters

    @staticmethod
    def of(source: Cube) -> QuantizedCube:
        """Return a cube of integers, without the shape of the model's tensor."""
        assert source.qparams is not None, "integers have a scale"
        return QuantizedCube(source.value, source.qparams)

    def times(self, factor: float) -> QuantizedCube:
        """Return the same integers with another scale."""
        return replace(self, qparams=replace(self.qparams, scale=self.qparams.scale * factor))


AffineStep: TypeAlias = ClampBound | QuantizedCube


@dataclass(frozen=True)
class Affine:
    """
    `scale * source + bias`, then `steps`; `scale` and `bias` are scalars or have one entry per channel.

    `make` emits the operations of the source: sums of a convolution, or stored integers. `stored` is the
    source if nothing has happened since it was dequantized.
    """

    make: Callable[[], SSAValue]
    cube: CubeShape
    shape: tuple[int, ...]
    scale: Array
    bias: Array
    is_fine: bool = True
    """Whether a unit of the source is far below one of any result, as in a convolution's sums."""
    steps: tuple[AffineStep, ...] = ()
    stored: QuantizedCube | None = None
    spread: Array | None = None
    """8-bit factors per position that multiply the source first."""
    computed: CubeShape | None = None
    """The rows and columns in which the engines compute, if they are others than those of `cube`."""

    @staticmethod
    def of(
        value: SSAValue, cube: CubeShape, shape: tuple[int, ...], qparams: QuantizationParameters
    ) -> Affine:
        """Dequantize stored integers."""
        scale = np.array([qparams.scale])
        return Affine(
            lambda: value,
            cube,
            shape,
            scale,
            -qparams.zero_point * scale,
            False,
            (),
            QuantizedCube(value, qparams),
        )

    def then(self, step: AffineStep) -> Affine:
        """Append a step."""
        return replace(self, steps=(*self.steps, step), stored=None)

    def times(self, factor: Array) -> Affine | None:
        """
        Multiply by a scalar or per channel; `None` after a clamp, and after an addition but for a positive
        scalar.
        """
        sums = [step for step in self.steps if isinstance(step, QuantizedCube)]
        if len(sums) < len(self.steps) or (sums and (factor.size > 1 or factor[0] <= 0)):
            return None
        steps = tuple(step.times(float(factor[0])) for step in sums)
        return replace(self, scale=self.scale * factor, bias=self.bias * factor, steps=steps, stored=None)

    def plus(self, number: Array) -> Affine | None:
        """Add a scalar or one value per channel; `None` after other steps."""
        return None if self.steps else replace(self, bias=self.bias + number, stored=None)

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Emit one SDP pass, or nothing if the integers have these parameters already."""
        if self.stored is not None and self.stored.qparams == qparams:
            return self.stored.value
        before, added, after = self._split(qparams, builder)
        if added is not None:
            unit = self._unit(added, qparams)
        else:
            # With an exact bias the factor goes straight to the result's scale, and the output converter only
            # adds the zero point.
            unit = qparams.scale if self._sums_exactly else qparams.scale * 2.0**-GUARD_BITS
        stages = self._scaled(unit, added, before, builder)
        if self.spread is not None:
            cube = np.broadcast_to(self.spread, (1, *self.cube)).astype(np.int8)
            factors = viewed(builder.constant_cube(cube), self.computed, builder)
            stages.insert(0, (SdpStage(StageFunction.MUL, mode=OperandMode.PER_POINT), factors))
            if added is not None or unit != qparams.scale:
                builder.refuse("an addition after an average that excludes padding; quantize in between")
        if added is not None:
            # `unit` is the added cube's scale divided by a power of two, so its operand only needs a left
            # shift.
            shift = round(log2(added.qparams.scale / unit))
            is_whole = cube_of(added.value.type) == self.cube
            mode = OperandMode.PER_POINT if is_whole else OperandMode.PER_KERNEL
            summed = SdpStage(StageFunction.ALU, mode=mode, shift_value=shift)
            operand = viewed(added.value, self.computed, builder) if is_whole else added.value
            stages.append((summed, operand))
        while after and (clamped := _bounded(stages, after[0], unit)) is not None:
            stages, after = clamped, after[1:]
        rest = self._rest(added)
        clamped = clamp(
            builder.requantized(self.make(), stages, converter(unit, qparams, builder, rest)),
            after,
            qparams,
            builder,
        )
        return viewed(clamped, self.cube, builder)

    def looked_up(self, function: Function, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """
        Emit one SDP pass that computes a function of the sums, which are not rounded to 8 bits in between: Y
        looks them up.
        """
        if self.steps or self.spread is not None:
            builder.refuse("a function of a sum or a clamp that is not quantized; quantize in between")
        # The factor to the unit has to be below 2^15.
        max_bits = 14 - ceil(log2(float(np.abs(self.scale).max()) or 1.0))
        table = sums_lut(function, qparams, max_bits)
        if table.error > MAX_LOOKUP_ERROR:
            builder.refuse(
                f"no lookup table of sums approximates the function (off by {table.error:.1f} steps); "
                "insert QuantizeLinear and DequantizeLinear before it, or calibrate"
            )
        stages = self._scaled(2.0**-table.unit_bits, None, [], builder)
        unused = [(SdpStage(), None)] * (Y_STAGE - len(stages))
        lookup = [*stages, *unused, (SdpStage(act=Activation.LUT), None)]
        cvt = converter(2.0**-table.shift, qparams, builder)
        return viewed(builder.requantized(self.make(), lookup, cvt, LutAttr(table.lut)), self.cube, builder)

    def _scaled(
        self, unit: float, added: QuantizedCube | None, before: list[ClampBound], builder: DlaBuilder
    ) -> list[Operand]:
        """Return the stages that make integers of `unit`, but for an added cube."""
        first = self._first(unit, added, before, builder)
        if added is not None or self._sums_exactly:
            return [first]
        return [first, _per_channel(StageFunction.ALU, self.bias / unit, self.cube, builder)]

    def _own_bias(self, added: QuantizedCube | None) -> Array:
        """Return the bias less the contribution of an added cube's zero point."""
        return self.bias if added is None else self.bias - added.qparams.zero_point * added.qparams.scale

    def _rest(self, added: QuantizedCube | None) -> float:
        """
        Return the part of the bias that is no multiple of the source's unit, when two stored cubes are added:
        the output converter adds it.
        """
        if added is None or self.is_fine or self.bias.size > 1 or self.scale.size > 1:
            return 0.0
        bias = float(self._own_bias(added).reshape(()))
        scale = float(self.scale.reshape(()))
        return bias - round(bias / scale) * scale

    @property
    def _sums_exactly(self) -> bool:
        """Whether the bias can be rounded to the source's unit without loss."""
        if not np.all(self.scale):
            return False
        units = self.bias / self.scale
        return self.is_fine or bool(np.all(np.abs(units - np.rint(units)) < NEGLIGIBLE))

    def _split(
        self, qparams: QuantizationParameters, builder: DlaBuilder
    ) -> tuple[list[ClampBound], QuantizedCube | None, list[ClampBound]]:
        """
        Return the clamps before the addition, the added cube, and the clamps after it that can have an
        effect.
        """
        sums = [index for index, step in enumerate(self.steps) if isinstance(step, QuantizedCube)]
        if len(sums) > 1:
            builder.refuse("two additions without quantization in between; quantize the first")
        index = sums[0] if sums else len(self.steps)
        before = [step for step in self.steps[:index] if isinstance(step, ClampBound)]
        after = [step for step in self.steps[index:] if isinstance(step, ClampBound)]
        added = self.steps[index] if sums else None
        assert not isinstance(added, ClampBound)
        if added is None:
            before, after = [], before
        return before, added, [bound for bound in after if _matters(bound, qparams)]

    def _unit(self, added: QuantizedCube, qparams: QuantizationParameters) -> float:
        """
        Return the value of one unit of the sum: the added cube's scale, halved up to `GUARD_BITS` below the
        result's.
        """
        ratio = added.qparams.scale / qparams.scale
        shift = min(max(floor(log2(ratio)) + GUARD_BITS, 0), 22)
        return added.qparams.scale * 2.0**-shift

    def _first(
        self, unit: float, added: QuantizedCube | None, before: list[ClampBound], builder: DlaBuilder
    ) -> Operand:
        """
        Return stage X1: factor and, unless X2 adds it, bias of each channel, and a ReLU that precedes an
        addition.
        """
        if added is not None and not np.all(self.scale):
            builder.refuse("a multiplication by zero before an addition; quantize in between")
        bias = self._own_bias(added) - self._rest(added)
        is_rectified = bool(before)
        if is_rectified and (
            before != [ClampBound(0.0, True)] or (added is not None and added.qparams.zero_point)
        ):
            builder.refuse(
                "a clamp before an addition that is no ReLU with zero point 0; quantize in between"
            )
        act = Activation.RELU if is_rectified else Activation.NONE
        if added is None and not self._sums_exactly:
            return _per_channel(StageFunction.MUL, self.scale / unit, self.cube, builder)
        factors, sums = _factors(self.scale / unit, builder), fixed_point_addends(bias / self.scale)
        if sums is None:
            builder.refuse(
                f"a bias of {np.abs(bias).max():g} at a scale of {self.scale.min():g} exceeds 47 bits"
            )
        stage = SdpStage(StageFunction.BOTH, act=act, shift_value=sums.shift, truncate=factors.shift)
        if factors.operands.size == sums.operands.size == 1:
            alu, mul = int(sums.operands[0]), int(factors.operands[0])
            return replace(stage, alu_operand=alu, mul_operand=mul), None
        channels = (self.cube.channels,)
        pairs = [np.broadcast_to(each, channels) for each in (sums.operands, factors.operands)]
        return replace(stage, mode=OperandMode.PER_KERNEL), builder.per_kernel(np.stack(pairs, axis=1))


def viewed(value: SSAValue, cube: CubeShape | None, builder: DlaBuilder) -> SSAValue:
    """Return a cube with the rows and columns of another one, if these are others: a view, or a constant."""
    here = cube_of(value.type)
    if cube is None or here[1:] == cube[1:]:
        return value
    if isinstance(value.owner, ConstantOp):
        elements = elements_array(value.owner.value)
        assert elements is not None, "constants have elements"
        return builder.constant_cube(elements.reshape(1, here.channels, *cube[1:]))
    return builder(ReshapeOp(value, builder.cube_type(cube._replace(channels=here.channels))))


def _per_channel(function: StageFunction, numbers: Array, cube: CubeShape, builder: DlaBuilder) -> Operand:
    """Return a stage that adds or multiplies by a scalar or one value per channel."""
    if function is StageFunction.ALU:
        found = fixed_point_addends(numbers)
        if found is None:
            builder.refuse(
                f"an addend of {np.abs(numbers).max():g} units of the result's scale exceeds 47 bits"
            )
        stage = SdpStage(function, shift_value=found.shift)
    else:
        found = _factors(numbers, builder)
        stage = SdpStage(function, truncate=found.shift)
    if numbers.size > 1:
        operand = builder.per_kernel(np.broadcast_to(found.operands, (cube.channels,)))
        return replace(stage, mode=OperandMode.PER_KERNEL), operand
    number = int(found.operands.reshape(()))
    field = "alu_operand" if function is StageFunction.ALU else "mul_operand"
    return replace(stage, **{field: number}), None


def _factors(factors: Array, builder: DlaBuilder) -> FixedPoint:
    """Return factors as SDP operands; refuse those that do not fit."""
    result = fixed_point_factors(factors)
    if result is None:
        builder.refuse(f"a requantization factor of {np.abs(factors).max():g} (the SDP's are below 32768)")
    return result


def _matters(bound: ClampBound, qparams: QuantizationParameters) -> bool:
    """Whether int8 values with these parameters can exceed a bound."""
    index = qparams.unrounded(bound.number)
    return index > INT8_MIN + 0.5 if bound.is_minimum else index < INT8_MAX - 0.5


def clamp(
    value: SSAValue, bounds: Sequence[ClampBound], qparams: QuantizationParameters, builder: DlaBuilder
) -> SSAValue:
    """Clamp stored integers in passes of their own, for when the previous pass has no free stage."""
    for begin in range(0, len(bounds), 2):
        stages: list[Operand] = []
        for bound in bounds[begin : begin + 2]:
            function = AluFunction.MAX if bound.is_minimum else AluFunction.MIN
            number = int(qparams.quantize(np.array(bound.number)))
            stages.append((SdpStage(StageFunction.ALU, function, alu_operand=number), None))
        value = builder.requantized(value, stages, Converter())
    return value


@dataclass(frozen=True)
class Clamped:
    """A tensor within bounds, which are applied after quantization."""

    source: Dequantized
    bounds: tuple[ClampBound, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the model's tensor."""
        return self.source.shape

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Quantize the source, then clamp in another pass where a bound has an effect."""
        bounds = [bound for bound in self.bounds if _matters(bound, qparams)]
        return clamp(self.source.quantized(qparams, builder), bounds, qparams, builder)


def _bounded(stages: list[Operand], bound: ClampBound, unit: float) -> list[Operand] | None:
    """Return the stages with a clamp appended, `None` if no stage is free."""
    (last, operand), rest = stages[-1], stages[:-1]
    if bound == ClampBound(0.0, True) and last.act is Activation.NONE:
        return [*rest, (replace(last, act=Activation.RELU), operand)]
    limit = fixed_point_addends(np.array([bound.number / unit]))
    if limit is None or len(stages) == 2:
        return None
    function = AluFunction.MAX if bound.is_minimum else AluFunction.MIN
    number = int(limit.operands[0])
    return [
        *stages,
        (SdpStage(StageFunction.ALU, function, alu_operand=number, shift_value=limit.shift), None),
    ]


def converter(
    unit: float, qparams: QuantizationParameters, builder: DlaBuilder, rest: float = 0.0
) -> Converter:
    """Return the output converter from `unit` to the parameters, with `rest` added."""
    factor = _factors(np.array([unit / qparams.scale]), builder)
    if unit == qparams.scale:
        return Converter(offset=-qparams.zero_point)
    # (x - offset) * unit / scale = x * unit / scale + zero_point + rest / scale, all in one rounding shift.
    offset = -round((qparams.zero_point * qparams.scale + rest) / unit)
    return Converter(scale=int(factor.operands[0]), truncate=factor.shift, offset=offset)


@dataclass(frozen=True)
class Concatenated:
    """Parts that are concatenated along an axis of the cube."""

    parts: tuple[Dequantized, ...]
    shape: tuple[int, ...]
    join: Callable[[list[SSAValue]], SSAValue]
    beside: Callable[[QuantizedCube], tuple[QuantizedCube, ...]] | None = None
    """Slices of a stored cube for each part, if the parts are groups of channels."""

    def over(self, step: Callable[[Dequantized], Dequantized]) -> Concatenated:
        """Apply a step to each part."""
        return replace(self, parts=tuple(step(part) for part in self.parts))

    def plus(self, other: Affine) -> Concatenated | None:
        """Add stored integers of the same sizes, or one per channel; `None` if no pass can take them."""
        parts = [part for part in self.parts if isinstance(part, Affine)]
        if self.beside is None or len(parts) < len(self.parts) or other.stored is None:
            return None
        cube = parts[0].cube._replace(channels=sum(part.cube.channels for part in parts))
        is_whole = other.shape == self.shape and other.cube == cube
        if not is_whole and not is_per_channel(other.shape, other.cube, self.shape, cube):
            return None
        sums = self.beside(other.stored)
        return replace(self, parts=tuple(part.then(one) for part, one in zip(parts, sums, strict=True)))

    def looked_up(self, function: Function, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Compute a function of each part of a convolution in groups, then concatenate."""
        parts = [part for part in self.parts if isinstance(part, Affine)]
        if len(parts) < len(self.parts):
            builder.refuse("a function of parts that are not quantized; quantize in between")
        return self.join([part.looked_up(function, qparams, builder) for part in parts])

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Quantize each part with the same parameters, then concatenate."""
        return self.join([part.quantized(qparams, builder) for part in self.parts])


@dataclass(frozen=True)
class Moved:
    """Data movement or selection, which commutes with quantization."""

    source: Dequantized
    shape: tuple[int, ...]
    move: Callable[[SSAValue], SSAValue]

    def over(self, step: Callable[[Dequantized], Dequantized]) -> Moved:
        """Apply a step to the source."""
        return replace(self, source=step(self.source))

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Quantize the source, then move it."""
        return self.move(self.source.quantized(qparams, builder))


@dataclass(frozen=True)
class Selected:
    """Elements selected from a tensor, and a fill value; commutes with quantization."""

    source: Dequantized
    shape: tuple[int, ...]
    select: Callable[[SSAValue, float], SSAValue]
    fill: float

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Quantize the source, then select."""
        padding = int(qparams.quantize(np.array(self.fill)))
        return self.select(self.source.quantized(qparams, builder), padding)


@dataclass(frozen=True)
class StoredIntegers:
    """Integers of the model as an int8 cube: each is `offset` more than the stored value."""

    value: SSAValue
    shape: tuple[int, ...]
    offset: int


def mean_of(
    source: Cube, pooled: SSAValue, factors: Array, shape: tuple[int, ...], builder: DlaBuilder
) -> Dequantized:
    """Return means of stored integers: the pooling result times a factor for each position."""
    assert source.qparams is not None, "integers have a scale"
    scale, largest = np.array([source.qparams.scale]), float(factors.max())
    bias = np.array([-source.qparams.zero_point * source.qparams.scale])
    result = Affine(lambda: pooled, cube_of(pooled.type), shape, scale, bias, False)
    if np.all(factors == largest):
        return replace(result, scale=scale * largest)
    return spread(result, factors, 0.0, builder)


MAX_FACTOR_ERROR = 1 / 32
"""The largest relative error of an 8-bit factor: those of windows that padding cuts much are too coarse."""


def spread(found: Dequantized, factors: Array, addend: float, builder: DlaBuilder) -> Dequantized:
    """
    Multiply what the engines compute by a factor for each position, before the bias, to which `addend` is
    added.
    """
    if isinstance(found, Concatenated):
        return found.over(lambda part: spread(part, factors, addend, builder))
    assert isinstance(found, Affine), "engines compute scaled integers"
    shift = floor(log2(INT8_MAX / float(factors.max())))
    integers, scale = np.rint(factors * 2.0**shift), found.scale * 2.0**-shift
    if np.max(np.abs(integers * 2.0**-shift / factors - 1)) > MAX_FACTOR_ERROR:
        least, most = float(factors.min()), float(factors.max())
        builder.refuse(
            f"factors of {least:.3g} to {most:.3g} for means whose windows padding cuts (8 bits are too "
            "coarse for them); count padding"
        )
    return replace(found, scale=scale, bias=found.bias + addend, is_fine=True, spread=integers)
