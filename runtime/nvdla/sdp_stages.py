"""
The arithmetic of the SDP's stages X1, X2, Y and C on whole cubes (docs/internals/nvdla-hardware.md §4.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xonnc.formats.nvdla.enumerations import Activation, AluType
from xonnc.runtime.nvdla.array_types import F32, I64
from xonnc.runtime.nvdla.fixed_point import saturate, shift_left_saturating, shift_right_rounding
from xonnc.runtime.nvdla.floating_point import add, multiply
from xonnc.runtime.nvdla.lookup_table import LookupTable
from xonnc.runtime.nvdla.sdp_lookup import UNIT


@dataclass(frozen=True)
class StageSettings:
    """
    The configuration of one stage; `alu` and `multiplies`: which of its two operations are not bypassed.
    """

    alu: AluType | None
    multiplies: bool
    activation: Activation
    shift: int
    truncate: int
    lut: LookupTable | None


def x_stage_integers(x: I64, stage: StageSettings, alu: I64, mul: I64) -> I64:
    """X1 or X2 on int32: ALU, then MUL, then the shift (also without MUL), then the activation."""
    if stage.alu is not None:
        x = _alu_integers(x, stage.alu, shift_left_saturating(alu, stage.shift, 32), 33)
    product = x * mul if stage.multiplies else x
    result = saturate(shift_right_rounding(product, stage.truncate), 32)
    if stage.activation is Activation.PRELU:
        return np.where(x >= 0, saturate(x, 32), result)
    return np.maximum(result, 0) if stage.activation is Activation.RELU else result


def x_stage_singles(x: F32, stage: StageSettings, alu: F32, mul: F32) -> F32:
    """X1 or X2 on fp32: ALU, then MUL, each rounded; shifts are not used."""
    if stage.alu is not None:
        x = _alu_singles(x, stage.alu, alu)
    return _activate_singles(_multiply_singles(x, stage, mul), stage)


def y_stage_integers(x: I64, stage: StageSettings, alu: I64, mul: I64) -> I64:
    """
    Y on int32: MUL with its shift (not without MUL), then ALU, then the lookup table. A ReLU does nothing:
    the engine's configuration register has no bit for it.
    """
    if stage.multiplies:
        product = saturate(shift_right_rounding(x * mul, stage.truncate), 32)
        x = np.where(x >= 0, x, product) if stage.activation is Activation.PRELU else product
    if stage.alu is not None:
        x = _alu_integers(x, stage.alu, alu, 32)
    return x if stage.lut is None else UNIT.look_up_integers(stage.lut, x)


def y_stage_singles(x: F32, stage: StageSettings, alu: F32, mul: F32) -> F32:
    """Y on fp32: MUL, then ALU, each rounded, then the lookup table; a ReLU does nothing here either."""
    x = _multiply_singles(x, stage, mul)
    if stage.alu is not None:
        x = _alu_singles(x, stage.alu, alu)
    return x if stage.lut is None else UNIT.look_up_singles(stage.lut, x)


def _alu_integers(x: I64, alu: AluType, operand: I64, bits: int) -> I64:
    if alu is AluType.MAX:
        return np.maximum(x, operand)
    if alu is AluType.MIN:
        return np.minimum(x, operand)
    return saturate(x + operand, bits)


def _alu_singles(x: F32, alu: AluType, operand: F32) -> F32:
    """A NaN passes every unit unchanged."""
    if alu is AluType.MAX:
        return np.where((x > operand) | np.isnan(x), x, operand)
    if alu is AluType.MIN:
        return np.where((x > operand) | np.isnan(operand) & ~np.isnan(x), operand, x)
    return add(x, operand)


def _multiply_singles(x: F32, stage: StageSettings, operand: F32) -> F32:
    if not stage.multiplies:
        return x
    product = multiply(x, operand)
    return np.where(x > 0, x, product) if stage.activation is Activation.PRELU else product


def _activate_singles(x: F32, stage: StageSettings) -> F32:
    if stage.activation is Activation.RELU:
        return np.where(np.signbit(x) & ~np.isnan(x), np.float32(0), x)
    return x
