"""
The steps of a register sequence.

Names are those of NVIDIA's `opendla.h`: there register `D_MISC_CFG` of block `CACC` is `CACC_D_MISC_CFG_0`,
its field `CONV_MODE` has `CACC_D_MISC_CFG_0_CONV_MODE_SHIFT` and `…_CONV_MODE_FIELD`, and the values of the
field are `…_CONV_MODE_DIRECT` and `…_CONV_MODE_WINOGRAD`. Neither offsets nor bit positions are known here:
they are in the header of the core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

FieldValue: TypeAlias = int | str
"""A number, or the name of one of the field's values."""

RegisterValue: TypeAlias = int | Mapping[str, FieldValue]
"""A whole word, or fields; the fields that are not named are zero."""

Locate: TypeAlias = Callable[[int, int], int]
"""Map an index of the task's address list and an offset to a position in the memory of the program."""

WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Write:
    """A register write."""

    block: str
    register: str
    value: RegisterValue


@dataclass(frozen=True)
class AddressWrite:
    """A write of the low or high word of the device address of a position in memory."""

    block: str
    register: str
    position: int
    is_high: bool


@dataclass(frozen=True)
class SelectGroup:
    """Directs the following writes to one of the two register groups of a block."""

    block: str
    group: int


@dataclass(frozen=True)
class Launch:
    """Starts the queued transfers of the BDMA as those of a group."""

    group: int


@dataclass(frozen=True)
class Wait:
    """Awaits the interrupt of a register group, `engine` as in the status register."""

    engine: str
    group: int


@dataclass(frozen=True)
class Poll:
    """Reads a register until a field has a value."""

    block: str
    register: str
    field: str
    value: int


@dataclass(frozen=True)
class Remark:
    """Words about the steps that follow."""

    text: str


Step: TypeAlias = Write | AddressWrite | SelectGroup | Launch | Wait | Poll | Remark


class BlockWriter:
    """Collects the writes of one block."""

    def __init__(self, block: str):
        self.block = block
        self.steps: list[Write | AddressWrite] = []

    def word(self, register: str, value: int, bits: int = 32) -> None:
        """Write a whole word; negative values in two's complement of `bits` bits."""
        self.steps.append(Write(self.block, register, value & ((1 << bits) - 1)))

    def fields(self, register: str, **fields: FieldValue) -> None:
        """Write a register by its fields."""
        self.steps.append(Write(self.block, register, fields))

    def address(self, low: str, high: str, position: int) -> None:
        """Write the device address of a position to two registers."""
        self.steps.append(AddressWrite(self.block, high, position, is_high=True))
        self.steps.append(AddressWrite(self.block, low, position, is_high=False))


def yes(condition: object) -> str:
    """Return the name of a switch's value."""
    return "YES" if condition else "NO"
