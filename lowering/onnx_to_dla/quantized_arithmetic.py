"""Differences, extremes and powers of integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import (
    Activation,
    AluFunction,
    Converter,
    OperandMode,
    Stage,
    StageFunction,
)
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.ops.math import MaxOp, MeanOp, MinOp, PowOp, PReluOp, SubOp
from xonnc.formats.nvdla.quantization import Grid
from xonnc.lowering.onnx_to_dla.functions import leaky_relu
from xonnc.lowering.onnx_to_dla.integers import Integers, lowers
from xonnc.lowering.onnx_to_dla.lowering import Array, Lowering, Operand
from xonnc.lowering.onnx_to_dla.multipliers import nearest_factors
from xonnc.lowering.onnx_to_dla.reals import SPARE_BITS, Affine, Reals, Sum, converter
from xonnc.lowering.onnx_to_dla.tabled import Tabled, raised

MOST_STAGES = 2
"""Stages that every target has."""


@lowers(SubOp)
def sub(op: SubOp, to: Integers) -> Reals:
    """`a - b = a + (-b)`: the factor that brings `b` to the grid negates it."""
    shape = to.result_shape(op)
    minuend, subtrahend = to.real_constant(op.A), to.real_constant(op.B)
    if subtrahend is not None:
        source = to.affine(op.A)
        found = source.plus(-to.per_channel(subtrahend, source, shape))
    elif minuend is not None:
        source = to.affine(op.B)
        negated = source.times(np.array([-1.0]))
        found = None if negated is None else negated.plus(to.per_channel(minuend, source, shape))
    else:
        found = difference(to.affine(op.A), to.affine(op.B), shape, to)
    if found is None:
        to.refuse("a constant and what lies behind a bound; put a QuantizeLinear in between")
    return found


def difference(first: Affine, second: Affine, shape: tuple[int, ...], to: Integers) -> Affine | None:
    """`first - second`; `None` if the second one is behind a bound."""
    if not first.shape == second.shape == shape or first.cube != second.cube:
        to.refuse(f"a difference of {list(first.shape)} and {list(second.shape)}; expand one of them first")
    if first.stored is None:
        to.refuse("a difference from what no QuantizeLinear rounds; put a pair in front")
    negated = second.times(np.array([-1.0]))
    return None if negated is None else negated.then(first.stored)


@lowers(MeanOp)
def mean(op: MeanOp, to: Integers) -> Reals:
    """Half the sum of two cubes."""
    parts = [to.affine(value) for value in op.data_0]
    shape = to.result_shape(op)
    if len(parts) == 1:
        return parts[0]
    stored = parts[-1].stored
    if len(parts) > 2 or stored is None or any(part.shape != shape for part in parts):
        to.refuse(
            f"a mean of {len(parts)} tensors (the SDP takes two of one shape, rounded); use Add and Mul"
        )
    half = parts[0].times(np.array([0.5]))
    if half is None or half.cube != parts[1].cube:
        to.refuse("a mean of what lies behind a bound; put a QuantizeLinear between them")
    return half.then(Sum(stored.value, Grid(stored.grid.scale / 2, stored.grid.zero)))


@dataclass(frozen=True)
class Extreme:
    """The greatest or least of several numbers: rounding them first gives the same."""

    parts: Sequence[Reals]
    constants: Sequence[Array]
    shape: tuple[int, ...]
    function: AluFunction

    def rounded(self, grid: Grid, to: Lowering) -> SSAValue:
        """Each part on the grid; passes of the SDP that compare two more operands each."""
        value, *others = (part.rounded(grid, to) for part in self.parts)
        cube = cube_of(value.type)
        stages = [self._against(other, cube, to) for other in others]
        stages += [self._against_constant(grid.stored(one), cube, to) for one in self.constants]
        for begin in range(0, len(stages), MOST_STAGES):
            value = to.requantized(value, stages[begin : begin + MOST_STAGES], Converter())
        return value

    def _against(self, other: SSAValue, cube: CubeShape, to: Lowering) -> Operand:
        here = cube_of(other.type)
        if here not in (cube, CubeShape(cube.channels, 1, 1)):
            to.refuse(f"an extreme of cubes that lie differently: {list(cube)}, {list(here)}")
        mode = OperandMode.PER_POINT if here == cube else OperandMode.PER_KERNEL
        return Stage(StageFunction.ALU, self.function, mode=mode), other

    def _against_constant(self, integers: Array, cube: CubeShape, to: Lowering) -> Operand:
        if integers.size == 1:
            number = int(integers.reshape(()))
            return Stage(StageFunction.ALU, self.function, alu_operand=number), None
        spread = np.broadcast_to(integers, self.shape).reshape(1, *cube)
        stage = Stage(StageFunction.ALU, self.function, mode=OperandMode.PER_POINT)
        return stage, to.constant_cube(np.ascontiguousarray(spread))


@lowers(MaxOp)
def max_(op: MaxOp, to: Integers) -> Reals:
    """The greatest of all inputs, each on the grid of the result first."""
    return _extreme(op.data_0, AluFunction.MAX, to.result_shape(op), to)


@lowers(MinOp)
def min_(op: MinOp, to: Integers) -> Reals:
    """The least of all inputs, each on the grid of the result first."""
    return _extreme(op.data_0, AluFunction.MIN, to.result_shape(op), to)


def _extreme(
    operands: Sequence[SSAValue], function: AluFunction, shape: tuple[int, ...], to: Integers
) -> Reals:
    constants = [found for value in operands if (found := to.real_constant(value)) is not None]
    parts = [to.reals(value) for value in operands if to.real_constant(value) is None]
    parts.sort(key=lambda part: part.shape != shape)
    if parts[0].shape != shape:
        to.refuse(f"operands that are all broadcast to {list(shape)}; expand one of them first")
    return parts[0] if len(operands) == 1 else Extreme(parts, constants, shape, function)


@lowers(PowOp)
def power(op: PowOp, to: Integers) -> Reals:
    """`x^y` for one constant `y`, from the lookup table: exact."""
    exponent = to.real_constant(op.Y)
    if exponent is None or exponent.size != 1:
        to.refuse("exponents that are computed or several (the lookup table takes one)")
    source, shape = to.stored_row(op.X)
    return Tabled(source, shape, lambda x: raised(x, float(exponent.reshape(()))))


@lowers(PReluOp)
def prelu(op: PReluOp, to: Integers) -> Reals:
    """
    `X` where positive, else `slope X`: one slope for all from the lookup table, which is exact; one for each
    channel by the SDP's multiplier.
    """
    slope = to.real_constant(op.slope)
    if slope is None:
        to.refuse("slopes that are computed; make them a constant")
    source, shape = to.stored_row(op.X)
    slopes = to.per_channel(slope, to.affine(op.X), shape)
    if np.all(slopes == slopes[0]):
        alpha = float(slopes[0])
        return Tabled(source, shape, lambda x: leaky_relu(x, alpha))
    return Sloped(source, shape, slopes)


@dataclass(frozen=True)
class Sloped:
    """`x` where positive, else `slope x` with a slope for each channel, of stored integers."""

    source: Sum
    shape: tuple[int, ...]
    slopes: Array

    def rounded(self, grid: Grid, to: Lowering) -> SSAValue:
        """One pass: X1 takes the zero away and adds bits behind the point, X2 lets positive numbers pass."""
        factors = nearest_factors(self.slopes)
        if factors is None:
            to.refuse(f"a slope of {np.abs(self.slopes).max():g} (the SDP's factors are below 32768)")
        finer = Stage(StageFunction.BOTH, alu_operand=-self.source.grid.zero, mul_operand=1 << SPARE_BITS)
        sloped = Stage(
            StageFunction.MUL, mode=OperandMode.PER_KERNEL, act=Activation.PRELU, truncate=factors.shift
        )
        stages: list[Operand] = [(finer, None), (sloped, to.per_kernel(factors.operands))]
        unit = self.source.grid.scale * 2.0**-SPARE_BITS
        return to.requantized(self.source.value, stages, converter(unit, grid, to))
