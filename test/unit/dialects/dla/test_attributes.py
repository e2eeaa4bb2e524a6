"""Attributes that are dataclasses: what is printed reads back, and what is missing or unknown is said."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from xonnc.dialects.dla import get_dla
from xonnc.dialects.dla.attributes import (
    Activation,
    AluFunction,
    BankPlan,
    BankPlanAttr,
    Converter,
    ConverterAttr,
    Lut,
    LutAttr,
    LutMethod,
    LutTable,
    OperandMode,
    SdpStage,
    StageAttr,
    StageFunction,
)
from xonnc.dialects.dla.engines import window_count


def parsed(text: str) -> Attribute:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(get_dla())
    return Parser(context, text).parse_attribute()


@pytest.mark.parametrize(
    "attribute",
    [
        StageAttr(SdpStage()),
        StageAttr(
            SdpStage(
                StageFunction.BOTH,
                AluFunction.MIN,
                OperandMode.PER_LAYER,
                Activation.LUT,
                alu_operand=-1.5e-7,
                mul_operand=65504.0,
                shift_value=3,
                truncate=9,
            )
        ),
        BankPlanAttr(BankPlan(3, 4)),
        BankPlanAttr(BankPlan(15, 1, True, True, True, True)),
        ConverterAttr(Converter(-3, 5, 128)),
        LutAttr(
            Lut(
                (1,) * 65,
                (-2,) * 257,
                3,
                -4,
                le_end=0.5,
                lo_underflow=-0.25,
                method=LutMethod.EXPONENTIAL,
                overflow_priority=LutTable.LINEAR_ONLY,
            )
        ),
    ],
)
def test_text_reads_back(attribute: Attribute):
    assert parsed(str(attribute)) == attribute


def test_defaults_are_not_printed():
    assert str(StageAttr(SdpStage())) == "#dla.stage<>"
    assert str(BankPlanAttr(BankPlan(3, 4))) == "#dla.banks<data_banks = 3, weight_banks = 4>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#dla.banks<weight_banks = 3>", "data_banks missing"),
        ("#dla.stage<speed = 3>", "'>' expected"),
        ("#dla.stage<type = div>", "Expected one of .*alu.*mul"),
        ("#dla.banks<data_banks = many, weight_banks = 1>", "integer"),
    ],
)
def test_what_does_not_read(text: str, message: str):
    with pytest.raises(ParseError, match=message):
        parsed(text)


@pytest.mark.parametrize(
    ("stage", "reads"),
    [
        (SdpStage(), False),
        (SdpStage(act=Activation.RELU, mode=OperandMode.PER_KERNEL), False),
        (SdpStage(StageFunction.MUL), False),
        (SdpStage(StageFunction.MUL, mode=OperandMode.PER_POINT), True),
    ],
)
def test_which_stages_read_memory(stage: SdpStage, reads: bool):
    assert stage.reads_memory is reads


def test_windows_in_a_row():
    assert window_count(size=7, kernel=3, stride=2, dilation=1, before=1, after=1) == 4
    assert window_count(size=7, kernel=3, stride=2, dilation=3, before=0, after=0) == 1
    assert window_count(size=2, kernel=3, stride=1, dilation=1, before=0, after=0) == 0
