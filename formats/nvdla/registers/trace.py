"""
Register sequences as text, in the form of the traces of NVIDIA's hardware verification.

Without the definitions of the core, a register that has several fields is written by its fields; with them
every value is a number.
"""

from __future__ import annotations

from collections.abc import Iterator

from xonnc.formats.nvdla.registers.definitions import Definitions
from xonnc.formats.nvdla.registers.program import RegisterProgram, Tensor
from xonnc.formats.nvdla.registers.writes import (
    WORD,
    AddressWrite,
    Launch,
    Poll,
    RegisterValue,
    Remark,
    SelectGroup,
    Step,
    Wait,
    Write,
)

_MEMORY = "pri_mem"
_PAYLOAD = 32
"""Bytes a line of a memory image."""


def trace_text(program: RegisterProgram, base: int, definitions: Definitions | None = None) -> str:
    """
    Return a program as a trace; its memory begins at device address `base`.

    Raises `XonncError` if `definitions` lack a register, field or value.
    """
    return "\n".join(_Trace(program, base, definitions).lines()) + "\n"


def image_file(index: int) -> str:
    """Return the file name of a memory image."""
    return f"memory-{index}.dat"


def image_text(data: bytes) -> str:
    """Return a memory image as text: lines of an offset, a size and bytes."""
    lines = [
        f"{{offset:{start:#x}, size:{len(part)}, payload:{' '.join(f'{byte:#04x}' for byte in part)}}},"
        for start in range(0, len(data), _PAYLOAD)
        for part in (data[start : start + _PAYLOAD],)
    ]
    return "\n".join(["{", *lines, "}"]) + "\n"


class _Trace:
    def __init__(self, program: RegisterProgram, base: int, definitions: Definitions | None):
        self._program = program
        self._base = base
        self._definitions = definitions
        self._waits = 0

    def lines(self) -> Iterator[str]:
        program = self._program
        yield f"// {program.operations} operations on {program.target}"
        yield f"// memory: {program.memory_bytes} bytes at {self._base:#x}"
        for role, tensors in (("input", program.inputs), ("output", program.outputs)):
            for tensor in tensors:
                yield f"// {role} {self._tensor(tensor)}"
        for index, image in enumerate(program.images):
            yield f'mem_load({_MEMORY}, {self._base + image.position:#x}, "{image_file(index)}");'
        for step in program.steps:
            yield from self._step(step)

    def _tensor(self, tensor: Tensor) -> str:
        return f"{tensor.name}: {tensor.size} bytes at {self._base + tensor.position:#x}"

    def _step(self, step: Step) -> Iterator[str]:
        match step:
            case Write(block, register, value):
                yield self._write(block, register, value)
            case AddressWrite(block, register, position, is_high):
                address = self._base + position
                yield self._write(block, register, (address >> 32 if is_high else address) & WORD)
            case SelectGroup(block, group):
                yield self._write(block, "S_POINTER", {"PRODUCER": group})
            case Launch(group):
                yield self._write("BDMA", f"CFG_LAUNCH{group}", {f"GRP{group}_LAUNCH": 1})
            case Wait(engine, group):
                name = f"done_{self._waits}"
                self._waits += 1
                yield f"intr_notify({engine}_{group}, {name});"
                yield f"sync_wait({name});"
            case Poll(block, register, field, value):
                expected = self._value(block, register, {field: value})
                yield f"poll_reg_equal(NVDLA_{block}.{register}_0, {expected});"
            case Remark(text):
                yield f"// {text}"

    def _write(self, block: str, register: str, value: RegisterValue) -> str:
        return f"reg_write(NVDLA_{block}.{register}_0, {self._value(block, register, value)});"

    def _value(self, block: str, register: str, value: RegisterValue) -> str:
        if isinstance(value, int):
            return f"{value:#x}"
        if self._definitions is not None:
            return f"{self._definitions.pack(block, register, value):#x}"
        return ", ".join(f"{name}={field}" for name, field in value.items())
