"""State shared by the importers of graphs and nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from xdsl.ir import Attribute, Block, SSAValue

from xonnc.errors import XonncError
from xonnc.formats.onnx.constants import ConstantReader
from xonnc.formats.onnx.import_diagnostics import ImportDiagnostics

IS_NODE = "onnx.node"
"""Attribute of constants that are Constant nodes; constants without it are initializers."""


@dataclass(frozen=True)
class ImportContext:
    """State shared by all graphs of one model."""

    opsets: Mapping[str, int]
    functions: frozenset[tuple[str, str]]
    """Domain and name of the local functions."""
    constants: ConstantReader
    call_types: Mapping[str, onnx.TypeProto] = field(default_factory=dict[str, onnx.TypeProto])
    """Types of results of local functions that the model does not declare."""
    diagnostics: ImportDiagnostics = field(default_factory=ImportDiagnostics)
    """Diagnostics of what could not be imported."""
    keeps_defaults: bool = False
    """Whether inputs with an initializer remain inputs."""
    allows_untyped: bool = False
    """Whether inputs of the main graph may have no type."""


@dataclass
class ImportScope:
    """The values by name in a graph; names it does not define are looked up in the enclosing graph."""

    outer: ImportScope | None = None
    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])

    def find(self, name: str) -> SSAValue | None:
        """Return the value named `name` in the innermost scope that defines it."""
        scope: ImportScope | None = self
        while scope is not None:
            value = scope.values.get(name)
            if value is not None:
                return value
            scope = scope.outer
        return None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def bind(self, name: str, value: SSAValue) -> None:
        """Define `name` (empty: nothing); raise `XonncError` if the graph defines it already (SSA)."""
        if name and self.values.setdefault(name, value) is not value:
            raise XonncError(f"value '{name}' is defined twice; names of values must be unique")


@dataclass(frozen=True)
class ImportedGraph:
    """A graph imported as a block, with what the block does not hold."""

    block: Block
    inputs: Sequence[onnx.ValueInfoProto]
    """The names of the block's arguments, in order."""
    outputs: Sequence[onnx.ValueInfoProto]
    """The names of the terminator's operands, in order."""
    details: dict[str, Attribute]
    """Name, doc string and the like, by their names in `GraphProto`."""

    @property
    def output_types(self) -> list[Attribute]:
        """The types of the values that the graph gives."""
        last = self.block.last_op
        return [operand.type for operand in last.operands] if last is not None else []
