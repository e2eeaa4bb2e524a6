"""
A compiled program as a folder: graph, library and parameters, each a file of its own.

| file | what |
|---|---|
| `graph.json` | values, steps, inputs, outputs; for which processor; what the other two files have to be |
| `library.o` | the machine code of the steps |
| `parameters.weight` | the constants, in the layout of `formats/native/weights.py` |
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_writes
from xonnc.formats.native.program import HostStep, Program
from xonnc.formats.native.program_json import (
    can_describe,
    constants_of,
    described,
    has_strings,
    program_of,
    weights_in,
)
from xonnc.formats.native.weights import Weights, read_weights

GRAPH, LIBRARY, PARAMETERS = "graph.json", "library.o", "parameters.weight"

KIND = "a program compiled by xonnc"
VERSION = 2


@dataclass(frozen=True)
class Saved:
    """A program, the machine code of its steps, and what that is made for."""

    program: Program
    code: bytes
    processor: str
    threads: int


def write_saved(folder: Path, saved: Saved) -> list[Path]:
    """
    Writes the three files, each through a temporary one; gives them.

    Raises `XonncError` for a program with host calls or strings, which are Python's.
    """
    program = saved.program
    if not can_describe(program) or has_strings(program):
        hosts = [step.node or step.operator for step in program.every_step() if isinstance(step, HostStep)]
        what = f"{hosts[0]} is computed by the ONNX reference" if hosts else "it has strings"
        raise XonncError(
            f"{folder}: only native code can be saved, but {what}; a model that is compiled for each set of "
            "sizes is saved for those that it ran with last"
        )
    weights = Weights(constants_of(program))
    content: dict[str, object] = {
        "kind": KIND,
        "version": VERSION,
        "processor": saved.processor,
        "threads": saved.threads,
        "library": sha256(saved.code).hexdigest(),
        "parameters": {"bytes": weights.size, "identity": f"{weights.identity:016x}"},
        "program": described(program, iter(weights.offsets)),
    }
    text = json.dumps(content | {"digest": _digest(content)}, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in (PARAMETERS, LIBRARY, GRAPH)]
    # The graph is last: it alone makes a folder of files a program.
    with atomic_writes() as files:
        with files.open(paths[0]) as file:
            file.writelines(weights.file_pieces())
        for path, held in zip(paths[1:], (saved.code, text.encode()), strict=True):
            with files.open(path) as file:
                file.write(held)
    return paths[::-1]


def read_saved(folder: Path) -> Saved:
    """
    Reads what `write_saved` writes; constants stay in their file until they are used.

    Raises `XonncError` for files that are missing or damaged, or do not belong together.
    """
    path = folder / GRAPH
    found = _graph(path)
    library = folder / LIBRARY
    code = _read(library)
    if sha256(code).hexdigest() != found["library"]:
        raise XonncError(f"{library}: damaged, or not the one that {GRAPH} was saved with")
    parameters = found["parameters"]
    weights = read_weights(folder / PARAMETERS, parameters["bytes"], int(parameters["identity"], 16))
    return Saved(
        program_of(found["program"], weights_in(weights)), code, found["processor"], found["threads"]
    )


def _graph(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_read(path))
        digest = found.pop("digest")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise XonncError(f"{path}: no graph of a saved program") from None
    if found.get("kind") != KIND or found.get("version") != VERSION:
        raise XonncError(f"{path}: no graph of a saved program, or one of another version")
    if _digest(found) != digest:
        raise XonncError(f"{path}: the graph is damaged")
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise XonncError(f"{path}: cannot be read: {error.strerror}") from error


def _digest(content: dict[str, Any]) -> str:
    """Of the content however it is spaced."""
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
