"""
Format of a compiled program as a folder of three files: graph, library and parameters.

| file | content |
|---|---|
| `graph.json` | values, steps, inputs, outputs; processor; digests of the other two files |
| `library.o` | the machine code of the steps |
| `parameters.weight` | the constants, in the layout of `formats/native/weights.py` |
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from xonnc.errors import XonncError, cannot_read
from xonnc.formats.atomic_write import atomic_writes
from xonnc.formats.native.program import HostStep, Program
from xonnc.formats.native.program_json import (
    constants_in,
    constants_of,
    has_strings,
    is_serializable,
    program_from_json,
    program_to_json,
)
from xonnc.formats.native.weights import WeightFile, read_weights

GRAPH, LIBRARY, PARAMETERS = "graph.json", "library.o", "parameters.weight"

KIND = "a program compiled by xonnc"
VERSION = 2


@dataclass(frozen=True)
class SavedProgram:
    """A program, the machine code of its steps, and the processor and number of threads it is for."""

    program: Program
    code: bytes
    processor: str
    threads: int


def write_saved(folder: Path, saved: SavedProgram) -> list[Path]:
    """
    Write the three files atomically and return their paths.

    Raises `XonncError` for a program with host steps or string tensors, which need Python.
    """
    program = saved.program
    if not is_serializable(program) or has_strings(program):
        hosts = [step.node or step.operator for step in program.walk_steps() if isinstance(step, HostStep)]
        reason = f"{hosts[0]} is computed by the ONNX reference" if hosts else "it has strings"
        raise XonncError(
            f"{folder}: only native code can be saved, but {reason}; a model that is compiled for each "
            "set of input shapes is saved for those of its last run"
        )
    weights = WeightFile(constants_of(program))
    content: dict[str, object] = {
        "kind": KIND,
        "version": VERSION,
        "processor": saved.processor,
        "threads": saved.threads,
        "library": sha256(saved.code).hexdigest(),
        "parameters": {"bytes": weights.size, "identity": f"{weights.identity:016x}"},
        "program": program_to_json(program, iter(weights.offsets)),
    }
    text = json.dumps(content | {"digest": _digest(content)}, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in (PARAMETERS, LIBRARY, GRAPH)]
    # The graph is written last: a folder without it is not a program, so an interrupted write leaves none.
    with atomic_writes() as files:
        with files.open(paths[0]) as file:
            file.writelines(weights.file_pieces())
        for path, data in zip(paths[1:], (saved.code, text.encode()), strict=True):
            with files.open(path) as file:
                file.write(data)
    return paths[::-1]


def read_saved(folder: Path) -> SavedProgram:
    """
    Read what `write_saved` writes; constants are memory-mapped.

    Raises `XonncError` for files that are missing or damaged, or do not belong together.
    """
    path = folder / GRAPH
    found = _graph(path)
    library = folder / LIBRARY
    code = _read(library)
    if sha256(code).hexdigest() != found["library"]:
        raise XonncError(f"{library}: damaged, or not the file that {GRAPH} was saved with")
    parameters = found["parameters"]
    weights = read_weights(folder / PARAMETERS, parameters["bytes"], int(parameters["identity"], 16))
    return SavedProgram(
        program_from_json(found["program"], constants_in(weights)), code, found["processor"], found["threads"]
    )


def _graph(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_read(path))
        digest = found.pop("digest")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise XonncError(f"{path}: not the graph of a saved program") from None
    if found.get("kind") != KIND or found.get("version") != VERSION:
        raise XonncError(f"{path}: not the graph of a saved program, or of another version")
    if _digest(found) != digest:
        raise XonncError(f"{path}: the graph is damaged")
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise cannot_read(path, error) from error


def _digest(content: dict[str, Any]) -> str:
    """SHA-256 of the content in a canonical spelling, independent of whitespace."""
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
