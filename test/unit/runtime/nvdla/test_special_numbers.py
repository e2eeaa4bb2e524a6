"""NaN, infinities and zeros on their way through the engines (docs/internals/nvdla-hardware.md §9.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest

from xonnc.formats.nvdla.enumerations import Activation, AluType, EmuFormat, EmuOpType, PoolMode, Precision
from xonnc.formats.nvdla.records import (
    CdpOp,
    CdpSurface,
    DataCube,
    EmuBufferDesc,
    EmuOp,
    LutParam,
    PdpOp,
    PdpSurface,
)
from xonnc.runtime.nvdla import cdp, cpu_emulator, pdp
from xonnc.runtime.nvdla.array_types import F32
from xonnc.runtime.nvdla.lookup_table import lookup_table
from xonnc.runtime.nvdla.memory import AddressSpace, MemoryLocation, allocate
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.runtime.nvdla.sdp_stages import StageSettings, x_stage_singles, y_stage_singles
from xonnc.targets import load_target

QUIET, SIGNALLING, INF, MINUS_INF = 0x7E2A, 0xFC2A, 0x7C00, 0xFC00
NONE = np.zeros(1, np.float32)


def single(bits: int) -> F32:
    return np.array([bits], np.uint32).view(np.float32)


def stage(alu: AluType | None = None, act: Activation = Activation.NONE) -> StageSettings:
    return StageSettings(alu, False, act, 0, 0, None)


Run: TypeAlias = Callable[[F32, StageSettings, F32, F32], F32]
NANS = (0x7FC01000, 0xFF801000)


@pytest.mark.parametrize("bits", NANS)
@pytest.mark.parametrize("run", [x_stage_singles, y_stage_singles])
@pytest.mark.parametrize("alu", [AluType.MAX, AluType.MIN, AluType.SUM])
def test_a_nan_passes_the_alu_unchanged(bits: int, run: Run, alu: AluType):
    number = np.ones(1, np.float32)
    for x, operand in ((single(bits), number), (number, single(bits))):
        assert run(x, stage(alu), operand, NONE).view(np.uint32).tolist() == [bits]


@pytest.mark.parametrize("bits", NANS)
def test_a_nan_passes_a_relu_unchanged(bits: int):
    result = x_stage_singles(single(bits), stage(act=Activation.RELU), NONE, NONE)
    assert result.view(np.uint32).tolist() == [bits]


def scope(*half_values: int) -> OperationContext:
    """A row of pixels whose lanes are the same at address 0, space for results at address 1."""
    source = np.repeat(np.array(half_values, np.uint16), 16).view(np.uint8)
    locations = [MemoryLocation(allocate(4096), 0) for _ in range(2)]
    locations[0].read(source.size)[...] = source
    return OperationContext("op", AddressSpace(locations), load_target("nv_full"), exact=True)


def row(address: int, width: int) -> DataCube:
    return DataCube(
        address=address,
        width=width,
        height=1,
        channel=16,
        line_stride=32 * width,
        surf_stride=32 * width,
        size=32 * width,
    )


def pooled(mode: PoolMode, half_values: Sequence[int]) -> int:
    op = PdpOp(pool_mode=mode, pool_width=len(half_values) - 1, precision=Precision.FP16)
    surface = PdpSurface(src_data=row(0, len(half_values)), dst_data=row(1, 1))
    with np.errstate(invalid="ignore"):
        return int(pdp.run(op, surface, None, scope(*half_values)).view(np.uint16)[0, 0, 0])


@pytest.mark.parametrize(
    ("mode", "half_values", "expected"),
    [
        (PoolMode.MAX, (0x3C00, INF), INF),
        (PoolMode.MAX, (MINUS_INF, MINUS_INF), MINUS_INF),
        (PoolMode.MIN, (0x3C00, MINUS_INF), MINUS_INF),
        (PoolMode.MAX, (INF, SIGNALLING, 0x3C00), SIGNALLING),
        (PoolMode.MAX, (0x3C00, QUIET), QUIET),
        (PoolMode.MIN, (MINUS_INF, QUIET), QUIET),
        (PoolMode.AVG, (SIGNALLING, 0x3C00), SIGNALLING | 0x200),
        (PoolMode.AVG, (SIGNALLING,), SIGNALLING | 0x200),
    ],
)
def test_pooling(mode: PoolMode, half_values: tuple[int, ...], expected: int):
    assert pooled(mode, half_values) == expected


def test_cross_channel_normalisation_quietens():
    op = CdpOp(in_precision=2, out_precision=2, lut_index=0, local_size=3)
    surface = CdpSurface(src_data=row(0, 2), dst_data=row(1, 2))
    with np.errstate(invalid="ignore"):
        result = cdp.run(op, surface, [lookup_table(LutParam())], scope(SIGNALLING, 0x3C00))
    assert result.view(np.uint16)[0, 0, 3] == SIGNALLING | 0x200


def test_the_root_of_minus_infinity_is_infinity():
    def buffer(address: int) -> EmuBufferDesc:
        return EmuBufferDesc(
            address_index=address,
            size=64,
            format=EmuFormat.FF16,
            width=2,
            height=1,
            channel=16,
            line_stride=64,
            surf_stride=64,
        )

    op = EmuOp(op_type=EmuOpType.POWER, power=0.5, scale=1.0)
    result = cpu_emulator.run(op, buffer(0), buffer(1), scope(MINUS_INF, 0x4400))
    assert result.view(np.uint16)[0, :, 0].tolist() == [INF, 0x4000]
