"""Definitions of registers from a core's own header, NVIDIA's `opendla.h`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xonnc.errors import XonncError, cannot_read
from xonnc.formats.nvdla.registers.writes import WORD, FieldValue

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_NUMBER = re.compile(r"(?:\b|\()(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*\b")
_PREFIXES = ("", "NVDLA_")
"""Before the names of blocks: none in the driver's headers, `NVDLA_` in those of the hardware tree."""


@dataclass(frozen=True)
class Definitions:
    """The numbers that a header defines; of a macro with arguments, the first number."""

    name: str
    numbers: Mapping[str, int]

    def pack(self, block: str, register: str, fields: Mapping[str, FieldValue]) -> int:
        """Return the word of a register with these fields."""
        word = 0
        for field, value in fields.items():
            name = f"{block}_{register}_0_{field}"
            shift = self._number(f"{name}_SHIFT")
            width = self._width(name, shift)
            number = self._number(f"{name}_{value}") if isinstance(value, str) else value
            if not -(1 << (width - 1)) <= number < 1 << width:
                raise XonncError(f"{self.name}: {name} has {width} bits, which do not hold {number}")
            word |= (number & ((1 << width) - 1)) << shift
        return word & WORD

    def _width(self, name: str, shift: int) -> int:
        """Return the bits of a field, from its mask at bit 0 (`_FIELD`) or in place (`_MASK`)."""
        mask = self._find(f"{name}_FIELD")
        if mask is None:
            mask = self._number(f"{name}_MASK") >> shift
        return mask.bit_length()

    def _find(self, name: str) -> int | None:
        found = (self.numbers.get(prefix + name) for prefix in _PREFIXES)
        return next((number for number in found if number is not None), None)

    def _number(self, name: str) -> int:
        number = self._find(name)
        if number is None:
            raise XonncError(f"{self.name}: no definition of {name}; give the opendla.h of this core")
        return number


def read_definitions(path: Path) -> Definitions:
    """Read a header; raise `XonncError` if it defines no register."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise cannot_read(path, error) from None
    numbers: dict[str, int] = {}
    for name, value in _DEFINE.findall(text):
        number = _NUMBER.search(value.partition("//")[0].partition("/*")[0])
        if number is not None:
            numbers[name] = int(number[1], 0) if number[1][:2] in ("0x", "0X") else int(number[1])
    if not any(name.endswith("_SHIFT") for name in numbers):
        raise XonncError(f"{path}: no definitions of register fields; give NVIDIA's opendla.h of the core")
    return Definitions(str(path), numbers)
