"""
The program for a board: what is particular to a package as C tables, CMake lists and a page of text.

The fixed part is in `template`; `model.cpp` there reads the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from string import Template

from xonnc.lowering.memory_planning.offset_assignment import BufferLifetime, OffsetAssignment, assign_offsets
from xonnc.lowering.native.api_tables import c_text

TEMPLATE = Path(__file__).parent / "template"

FIXED = ("cubes.c", "cubes.h", "main.cpp", "model.cpp", "model.h", "simulator/nvdla/IRuntime.h")
"""Files that are the same for all packages."""

ALIGNMENT = 64
"""Alignment of values in the arena, for the vector loads of native code."""


class ElementType(IntEnum):
    """Element types of arrays and cubes, as in `cubes.h`."""

    INT8 = 0
    INT16 = 1
    FLOAT16 = 2
    FLOAT32 = 3
    BYTES = 4


@dataclass(frozen=True)
class Cube:
    """A bound tensor of a loadable, with the fields of `cube` in `cubes.h`."""

    images: int
    channels: int
    height: int
    width: int
    element: ElementType
    value: ElementType
    atom: int
    line_stride: int
    surface_stride: int
    image_stride: int
    offset: int
    memory_bytes: int
    scale: float = 0.0
    zero_point: int = 0

    @property
    def initializer(self) -> str:
        """The C initializer."""
        strides = f"{self.line_stride}, {self.surface_stride}, {self.image_stride}, {self.offset}"
        return (
            f"{{{self.images}, {self.channels}, {self.height}, {self.width}, {self.element}, {self.value}, "
            f"{self.atom}, {strides}, {self.memory_bytes}, {float(self.scale)!r}f, {self.zero_point}}}"
        )


@dataclass(frozen=True)
class Value:
    """A value between steps."""

    type: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class LoadableStep:
    """A loadable: its file in `data`, and its tensors in binding order, with the names of their values."""

    file: str
    inputs: Sequence[tuple[str, Cube]]
    outputs: Sequence[tuple[str, Cube]]

    @property
    def consumed(self) -> list[str]:
        """Names of the values that the step reads."""
        return [name for name, _ in self.inputs]

    @property
    def produced(self) -> list[str]:
        """Names of the values that the step writes."""
        return [name for name, _ in self.outputs]


@dataclass(frozen=True)
class CpuStep:
    """A CPU part: the prefix of its functions, its code in `parts`, its weights in `data` if not inside."""

    prefix: str
    code: str
    weights: str | None
    consumed: Sequence[str]
    produced: Sequence[str]


@dataclass(frozen=True)
class BoardProgram:
    """A package as a program; `inputs` and `outputs` are pairs of the model's name and the value's."""

    name: str
    package: str
    target: str
    values: Mapping[str, Value]
    inputs: Sequence[tuple[str, str]]
    outputs: Sequence[tuple[str, str]]
    steps: Sequence[LoadableStep | CpuStep]

    def files(self) -> dict[str, str]:
        """Return the sources by path."""
        texts = {name: (TEMPLATE / name).read_text() for name in FIXED}
        arena = self._arena()
        texts["tables.inc"] = self._tables(arena)
        texts["parts/parts.h"] = "// The interfaces of all CPU parts.\n" + "".join(
            f'#include "{step.prefix}.h"\n' for step in self.steps if isinstance(step, CpuStep)
        )
        texts["CMakeLists.txt"] = self._cmake()
        texts["README.md"] = self._readme(arena)
        texts["simulator/runtime.cpp"] = self._simulator()
        return texts

    def _arena(self) -> OffsetAssignment:
        """
        Place the values; those whose lifetimes do not overlap share memory.

        Inputs live on after their last reader, so that the model can run again on them.
        """
        end = len(self.steps)
        first = dict.fromkeys(self.values, 0)
        last = dict.fromkeys(self.values, 0)
        for number, step in enumerate(self.steps):
            first |= dict.fromkeys(step.produced, number)
            last |= dict.fromkeys((*step.produced, *step.consumed), number)
        first |= {value: 0 for _, value in self.inputs}
        last |= {value: end for _, value in (*self.inputs, *self.outputs)}
        return assign_offsets(
            [
                BufferLifetime(-(-value.bytes // ALIGNMENT) * ALIGNMENT, first[name], last[name])
                for name, value in self.values.items()
            ]
        )

    def _tables(self, arena: OffsetAssignment) -> str:
        number = {name: index for index, name in enumerate(self.values)}
        lines = [f"const size_t ARENA_BYTES = {arena.size};", "", "const Value VALUES[] = {"]
        lines += [
            f"    {{{offset}, {value.bytes}}},  // {_comment(name)}"
            for offset, (name, value) in zip(arena.offsets, self.values.items(), strict=True)
        ]
        lines += ["};"]
        for kind, ports in (("INPUT", self.inputs), ("OUTPUT", self.outputs)):
            lines += ["", f"const size_t {kind}_COUNT = {len(ports)};", f"const Port {kind}S[] = {{"]
            lines += [f"    {self._port(name, value)}," for name, value in ports]
            indices = ", ".join(str(number[value]) for _, value in ports)
            lines += ["};", f"const size_t {kind}_VALUES[] = {{{indices}}};"]
        rows: list[str] = []
        for index, step in enumerate(self.steps):
            declared, row = _step_tables(index, step, number)
            lines += ["", *declared]
            rows.append(f"    {row},")
        return "\n".join([*lines, "", "const Step STEPS[] = {", *rows, "};", ""])

    def _port(self, name: str, value: str) -> str:
        known = self.values[value]
        return f'{{{c_text(name)}, "{known.type}", "{_shape(known)}", {known.bytes}}}'

    def _cmake(self) -> str:
        parts = [step for step in self.steps if isinstance(step, CpuStep)]
        sources = "".join(f" parts/{part.code}" for part in parts)
        return Template((TEMPLATE / "CMakeLists.txt").read_text()).substitute(name=self.name, sources=sources)

    def _simulator(self) -> str:
        loadables = [step for step in self.steps if isinstance(step, LoadableStep)]
        return (
            (TEMPLATE / "simulator" / "runtime.cpp")
            .read_text()
            .replace("$loadables", "".join(f"{c_text(step.file)}," for step in loadables))
            .replace(
                "$counts", "".join(f"{{{len(step.inputs)}, {len(step.outputs)}}}," for step in loadables)
            )
            .replace('"$target"', c_text(self.target))
        )

    def _readme(self, arena: OffsetAssignment) -> str:
        def ports(pairs: Sequence[tuple[str, str]]) -> str:
            return "\n".join(
                f"| {name} | {self.values[value].type} | {_shape(self.values[value])} |"
                for name, value in pairs
            )

        steps = [
            f"| {index} | NVDLA | data/{step.file} |"
            if isinstance(step, LoadableStep)
            else f"| {index} | CPU | parts/{step.code} |"
            for index, step in enumerate(self.steps)
        ]
        arguments = [f"--input '{name}=input{index}.bin'" for index, (name, _) in enumerate(self.inputs)]
        arguments += [f"--output '{name}=output{index}.bin'" for index, (name, _) in enumerate(self.outputs)]
        return Template((TEMPLATE / "README.md").read_text()).substitute(
            name=self.name,
            package=self.package,
            target=self.target,
            inputs=ports(self.inputs),
            outputs=ports(self.outputs),
            steps="\n".join(steps),
            arguments=" ".join(arguments),
            arena=arena.size,
        )


def _step_tables(
    index: int, step: LoadableStep | CpuStep, number: Mapping[str, int]
) -> tuple[list[str], str]:
    """Return the tables that a step needs, and its initializer."""
    counts = f"{len(step.consumed)}, {len(step.produced)}"
    lines: list[str] = []
    if isinstance(step, CpuStep):
        file = "nullptr" if step.weights is None else c_text(step.weights)
        lines.append(f"const CpuPart STEP{index} = CPU_PART({step.prefix});")
        for kind, names in (("INPUTS", step.consumed), ("OUTPUTS", step.produced)):
            indices = ", ".join(str(number[name]) for name in names) or "0"
            lines.append(f"const size_t STEP{index}_{kind}[] = {{{indices}}};")
        row = f"{{{file}, &STEP{index}, nullptr, nullptr, STEP{index}_INPUTS, STEP{index}_OUTPUTS, {counts}}}"
        return lines, row
    for kind, bound in (("INPUTS", step.inputs), ("OUTPUTS", step.outputs)):
        lines.append(f"const Binding STEP{index}_{kind}[] = {{")
        lines += [f"    {{{number[name]}, {cube.initializer}}}," for name, cube in bound]
        lines.append("};")
    tables = f"nullptr, STEP{index}_INPUTS, STEP{index}_OUTPUTS, nullptr, nullptr"
    return lines, f"{{{c_text(step.file)}, {tables}, {counts}}}"


def _shape(value: Value) -> str:
    return "x".join(map(str, value.shape)) or "scalar"


def _comment(name: str) -> str:
    """Escape a name for a line comment."""
    return "".join(char if char.isprintable() and char != "\\" else " " for char in name)
