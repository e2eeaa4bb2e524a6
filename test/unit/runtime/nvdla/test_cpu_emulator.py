from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from xonnc.formats.nvdla.enumerations import EmuFormat, EmuOpType
from xonnc.formats.nvdla.records import EmuBufferDesc, EmuOp
from xonnc.runtime.nvdla import cpu_emulator
from xonnc.runtime.nvdla.cpu_emulator import single_to_half_ties_away
from xonnc.runtime.nvdla.memory import AddressSpace, MemoryLocation, allocate
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.targets import load_target


def ties_away(x: float) -> float:
    """Rounds to fp16 with ties away from zero, on exact fractions."""
    if x == 0:
        return x
    exponent = max(int(np.frexp(abs(x))[1]) - 1, -14)
    step = Fraction(2) ** (exponent - 10)
    rounded = float((Fraction(abs(x)) / step + Fraction(1, 2)).__floor__() * step)
    return float(np.copysign(np.inf if rounded >= 65536 else rounded, x))


def test_float16_rounds_ties_away_from_zero():
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(3000) * 2.0 ** rng.integers(-28, 17, 3000)).astype(np.float32)
    ties = np.array(
        [1 + 2.0**-11, -(1 + 2.0**-11), 1 + 3 * 2.0**-11, 2.0**-25, 3 * 2.0**-25, 65520.0, 65519.0]
    )
    x = np.concatenate([x, ties.astype(np.float32), np.zeros(1, np.float32)])
    found = single_to_half_ties_away(x).view(np.float16).astype(np.float64)
    assert found.tolist() == [ties_away(float(v)) for v in x]


def test_float16_keeps_nan_and_the_sign_of_zero():
    bits = single_to_half_ties_away(np.array([np.nan, -0.0, np.inf], np.float32))
    assert bits.tolist() == [0x7E00, 0x8000, 0x7C00]


def buffer(address: int, form: EmuFormat, channels: int) -> EmuBufferDesc:
    atom = 8 if form is EmuFormat.INT8_8 else 32
    return EmuBufferDesc(
        address_index=address,
        format=form,
        width=2,
        height=1,
        channel=channels,
        line_stride=2 * atom,
        surf_stride=2 * atom,
    )


@pytest.mark.parametrize("form", [EmuFormat.INT8, EmuFormat.INT8_8])
def test_power_scales_and_truncates_integers(form: EmuFormat):
    source, result = allocate(64), allocate(64)
    x = np.arange(-8, 8, dtype=np.int8)
    source.data[:16] = x.view(np.uint8)
    space = AddressSpace([MemoryLocation(source, 0), MemoryLocation(result, 0)])
    scope = OperationContext("op", space, load_target("nv_small"), exact=True)
    lanes = 8 if form is EmuFormat.INT8_8 else 32
    op = EmuOp(op_type=EmuOpType.POWER, input_scale=0.5, output_scale=0.75, power=2.0, scale=3.0, shift=1.0)
    if form is EmuFormat.INT8:
        scope = OperationContext("op", space, load_target("nv_large"), exact=True)
    cpu_emulator.run(op, buffer(0, form, lanes), buffer(1, form, lanes), scope)
    expected = np.clip(np.trunc((1 + 3 * (x * 0.5)) ** 2 / 0.75), -128, 127)
    assert result.data[:16].view(np.int8).tolist() == expected.tolist()
    assert cpu_emulator.name_of(op) == "POWER"
