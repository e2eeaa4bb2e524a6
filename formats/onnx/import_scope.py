"""What the importers of a model's graphs and nodes share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from xdsl.ir import Attribute, Block, SSAValue

from xonnc.errors import XonncError
from xonnc.formats.onnx.constants import ConstantReader
from xonnc.formats.onnx.import_diagnostics import ImportDiagnostics

IS_NODE = "onnx.node"
"""Marks a constant that is a node of the model; one without it is an initializer."""


@dataclass(frozen=True)
class ImportContext:
    """What the graphs of one model share."""

    opsets: Mapping[str, int]
    functions: frozenset[tuple[str, str]]
    """Domain and name of the model's own functions."""
    constants: ConstantReader
    diagnostics: ImportDiagnostics = field(default_factory=ImportDiagnostics)
    """What cannot be read of it."""
    keeps_defaults: bool = False
    """Whether inputs that have an initializer stay inputs, which whoever runs the model may give."""


@dataclass
class Scope:
    """The values that names mean in a graph; what it does not define, the graph around it does."""

    outer: Scope | None = None
    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])

    def find(self, name: str) -> SSAValue | None:
        """The value called `name`, from the innermost graph that has one."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.values.get(name)
            if value is not None:
                return value
            scope = scope.outer
        return None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def bind(self, name: str, value: SSAValue) -> None:
        """Calls `value` by `name` (empty: not at all); an error if the graph has such a value already."""
        if name and self.values.setdefault(name, value) is not value:
            raise XonncError(f"value '{name}' is made twice; every value needs a name of its own")


@dataclass(frozen=True)
class ImportedGraph:
    """A graph as a block, and what blocks do not say."""

    block: Block
    inputs: Sequence[onnx.ValueInfoProto]
    """Those of the block's arguments, in order."""
    outputs: Sequence[onnx.ValueInfoProto]
    """Those of the terminator's operands, in order."""
    details: dict[str, Attribute]
    """Name, doc string and the like, by their names in `GraphProto`."""

    @property
    def output_types(self) -> list[Attribute]:
        """The types of the values that the graph gives."""
        last = self.block.last_op
        return [operand.type for operand in last.operands] if last is not None else []
