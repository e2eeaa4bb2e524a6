"""
The graph of a built model as JSON: what runs in which order, on which memory.

| key | content |
|---|---|
| `format`, `version` | `xonnc-graph`, 1 |
| `library` | identity of the library with the code |
| `target`, `processor`, `threads` | what the code is for |
| `inputs`, `outputs` | name, value, shape (`null`: dynamic), type |
| `params` | name, shape and type of each parameter |
| `kernels` | name of the kernel, ONNX node, and the values that it takes, in order of the calls |
| `program` | arena size, values (storage, shape, type, offset, alias, …), steps |
| `digest` | SHA-256 of the other entries |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.native.program import Program
from xonnc.formats.native.program_json import constants_of, program_from_json, program_to_json

Array = npt.NDArray[Any]

FORMAT, VERSION = "xonnc-graph", 1


class GraphKernel(NamedTuple):
    """A call of a kernel: its name, the ONNX node that it computes, and its values."""

    kernel: str
    node: str
    values: Sequence[int]


class ParamSpec(NamedTuple):
    """Name, shape and type of a parameter."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Graph:
    """The graph of a built model; `json` and `graph_from_json` save and load it."""

    data: Mapping[str, Any]

    def __repr__(self) -> str:
        counts = ((len(self.data[name]), name) for name in ("inputs", "outputs", "params", "kernels"))
        return f"<Graph for {self.data['target']}: {', '.join(f'{count} {name}' for count, name in counts)}>"

    def json(self) -> str:
        """Return the graph as text."""
        return json.dumps({**self.data, "digest": _digest(self.data)}, indent=1)

    @property
    def library(self) -> str:
        """The identity of the library with the code."""
        return self.data["library"]

    @property
    def threads(self) -> int:
        """The number of threads of a run."""
        return self.data["threads"]

    @property
    def processor(self) -> str:
        """The processor that the code is for; empty for a kind of processors."""
        return self.data["processor"]

    @property
    def params(self) -> list[ParamSpec]:
        """The parameters that a run needs."""
        return [ParamSpec(name, tuple(shape), dtype) for name, shape, dtype in self.data["params"]]

    def program(self, read: Callable[[str], Array]) -> Program:
        """Return the program with the parameters that `read` returns by name, as bytes."""
        return program_from_json(self.data["program"], lambda name, _: read(str(name)))


def graph_of(
    program: Program, kernels: Sequence[GraphKernel], library: str, target: str, processor: str, threads: int
) -> tuple[Graph, dict[str, Array]]:
    """Return the graph of a program, and its constants as parameters."""
    params: dict[str, Array] = {f"p{index}": array for index, array in enumerate(constants_of(program))}
    ports = {"inputs": program.inputs, "outputs": program.outputs}
    data: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "library": library,
        "target": target,
        "processor": processor,
        "threads": threads,
        **{
            kind: [
                [each.name, each.value, each.shape, None if each.dtype is None else each.dtype.name]
                for each in specs
            ]
            for kind, specs in ports.items()
        },
        "params": [[name, array.shape, array.dtype.name] for name, array in params.items()],
        "kernels": [[each.kernel, each.node, list(each.values)] for each in kernels],
        "program": program_to_json(program, iter(params)),
    }
    return Graph(json.loads(json.dumps(data))), params


def graph_from_json(text: str) -> Graph:
    """Read a graph from `Graph.json`; `XonncError` for anything else."""
    try:
        data: dict[str, Any] = json.loads(text)
        digest = data.pop("digest")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise XonncError("the graph: not the JSON of a graph of xonnc") from None
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise XonncError(f"the graph: not format {FORMAT} version {VERSION}")
    if digest != _digest(data):
        raise XonncError("the graph is damaged: its digest does not match")
    return Graph(data)


def _digest(data: Mapping[str, Any]) -> str:
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
