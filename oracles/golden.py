"""
Golden vectors: loadables with inputs, and the outputs of the reference stack to compare with.

A folder of cases has `index.json`; a case has `case.json`, `loadable.nvdla`, `input_K.bin`, `output_K.bin`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xonnc.formats.nvdla.reader import read_loadable
from xonnc.runtime.nvdla.array_types import F64, U8, AnyArray, Bool
from xonnc.runtime.nvdla.simulator import Mode, Simulator
from xonnc.targets import load_target


@dataclass(frozen=True)
class GoldenCase:
    """A loadable with a recorded run; `core` marks the subset that covers every engine and setting."""

    folder: Path
    config: str
    precision: str
    engine: str
    core: bool

    @property
    def name(self) -> str:
        """The path below the folder of all cases."""
        return f"{self.config}/{self.folder.name}"


@dataclass(frozen=True)
class Mismatch:
    """Elements of an output that differ by more than the case allows."""

    output: int
    wrong: int
    elements: int
    first: tuple[int, ...]
    expected: float
    found: float

    def __str__(self) -> str:
        return (
            f"output {self.output}: {self.wrong} of {self.elements} elements differ, "
            f"first at {self.first}: {self.found}, expected {self.expected}"
        )


def golden_cases(folder: Path) -> list[GoldenCase]:
    """Return all cases in the folder's index."""
    index: dict[str, Any] = json.loads((folder / "index.json").read_text())
    return [
        GoldenCase(folder / c["path"], c["config"], c["precision"], c["engine"], c["core"])
        for c in index["cases"]
    ]


def run_case(case: GoldenCase, mode: Mode) -> list[Mismatch]:
    """
    Simulate a case and compare its outputs.

    Mode "exact" must be bit-exact; "fast" may differ where the case's `compare` allows plain float sums. Exp
    and pow of the emulator are the host's: 1 ulp is allowed in both modes.
    """
    about: dict[str, Any] = json.loads((case.folder / "case.json").read_text())
    simulator = Simulator(read_loadable(case.folder / "loadable.nvdla"), load_target(case.config), mode=mode)
    inputs = [(case.folder / f"input_{k}.bin").read_bytes() for k in range(len(simulator.inputs))]
    outputs = simulator.run(inputs)
    mismatches: list[Mismatch] = []
    tensors: list[dict[str, Any]] = [t for t in about["tensors"] if t["direction"] == "output"]
    for tensor in tensors:
        number: int = tensor["index"]
        expected = np.fromfile(case.folder / f"output_{number}.bin", np.uint8)
        found = np.frombuffer(outputs[number].raw, np.uint8)[: len(expected)]
        lanes = 8 if "first 8" in about.get("note", "") else None
        pair = [_elements(tensor, raw, lanes) for raw in (expected, found)]
        wrong = _differs(pair[0], pair[1], about["compare"], mode)
        if wrong.any():
            first = tuple(int(axis[0]) for axis in np.nonzero(wrong))
            values = [float(array[first].astype(np.float64)) for array in pair]
            mismatches.append(Mismatch(number, int(wrong.sum()), wrong.size, first, *values))
    return mismatches


def _elements(tensor: dict[str, Any], raw: U8, lanes: int | None) -> AnyArray:
    """
    Return the defined elements of an output, channels first; only `lanes` of every atom if the case says so.
    """
    size: int = tensor["bytes_per_element"]
    is_half = tensor["data_type"] == "fp16"
    dtype = np.dtype(np.float16) if is_half else np.dtype(np.int8 if size == 1 else np.int16)
    channels, height, width = tensor["c"], tensor["h"], tensor["w"]
    line: int = tensor["line_stride"]
    if tensor["layout"] == "planar":
        plane = tensor["plane_stride"]
        return np.ndarray((channels, height, width), dtype, raw.data, tensor["offset"], (plane, line, size))
    per_atom: int = tensor["channels_per_atom"]
    shape = (-(-channels // per_atom), per_atom, height, width)
    strides = (tensor["surf_stride"], size, line, tensor["atom_bytes"])
    cube = np.ndarray(shape, dtype, raw.data, tensor["offset"], strides)
    if lanes is not None:
        return cube[:, :lanes].reshape(-1, height, width)
    return cube.reshape(-1, height, width)[:channels]


def _differs(expected: AnyArray, found: AnyArray, compare: str, mode: Mode) -> Bool:
    if expected.dtype != np.float16:
        free = 1 if "+-1" in compare else 0
        return np.abs(expected.astype(np.int64) - found.astype(np.int64)) > free
    different = _bits(expected) != _bits(found)
    is_tolerant = "plain float sums" in compare and mode == "fast"
    if not is_tolerant and "1 ulp" not in compare.split("plain float sums")[0]:
        return different
    wide, other = expected.astype(np.float64), found.astype(np.float64)
    unit = _spacing(wide)
    allowed = np.maximum(unit, np.abs(wide).max(initial=0.0) * 2.0**-11) if is_tolerant else unit
    return different & ~(np.abs(wide - other) <= allowed)


def _spacing(x: F64) -> F64:
    """Return 1 ulp of float16."""
    return np.ldexp(1.0, np.maximum(np.frexp(x)[1], -13) - 11)


def _bits(array: AnyArray) -> AnyArray:
    return np.ascontiguousarray(array).view(np.uint16)


def summary(results: Sequence[tuple[GoldenCase, bool]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Count passed and all cases by engine and configuration (with precision)."""
    table: dict[tuple[str, str], tuple[int, int]] = {}
    for case, ok in results:
        key = case.engine, f"{case.config} {case.precision}"
        passed, total = table.get(key, (0, 0))
        table[key] = passed + ok, total + 1
    return table
