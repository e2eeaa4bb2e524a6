"""What cannot be read of a model: collected, so that all of it is told at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.locations import node_location
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.errors import InvalidModelError, XonncError

UNREADABLE = "onnx.unreadable"
"""Marks the op in the place of a node or value that cannot be read."""

MAX_DIAGNOSTICS = 1000
"""Diagnostics that are kept; the others are counted."""


@dataclass(frozen=True)
class ImportDiagnostic:
    """One thing that cannot be read, and the op in its place if it is a node."""

    message: str
    op: Operation | None = None


@dataclass
class ImportDiagnostics:
    """The diagnostics of one model in the order of the file."""

    kept: list[ImportDiagnostic] = field(default_factory=list[ImportDiagnostic])
    omitted: int = 0

    def add(self, message: str, op: Operation | None = None) -> None:
        """Adds a diagnostic, if there is room for it; names in a file may hold line ends, messages do not."""
        if len(self.kept) < MAX_DIAGNOSTICS:
            self.kept.append(ImportDiagnostic(message.replace("\n", "\\n").replace("\r", "\\r"), op))
        else:
            self.omitted += 1

    @contextmanager
    def collecting(self, place: str = "") -> Generator[None]:
        """Adds what is raised inside, `place` in front of it, and goes on after it."""
        try:
            yield
        except XonncError as error:
            self.add(f"{place}{error}")

    def all(self) -> list[ImportDiagnostic]:
        """Every diagnostic; the last one says how many are left out."""
        rest = [ImportDiagnostic(f"and {self.omitted} more that cannot be read")] if self.omitted else []
        return [*self.kept, *rest]

    def refuse(self, place: str) -> None:
        """Raises `InvalidModelError` with all diagnostics, `place` in front of each, if there are any."""
        found = self.all()
        if found:
            raise InvalidModelError([each.message for each in found], [each.op for each in found]).at(place)


def placeholder(
    op_type: str, types: Sequence[Attribute], name: str = "", outputs: Sequence[str] = ()
) -> Operation:
    """The op in the place of what cannot be read; a result of type `none` may be of any type."""
    return CustomOp.create(
        result_types=types,
        properties={"function_name": StringAttr(op_type)},
        attributes={UNREADABLE: UnitAttr()},
        location=node_location(name, outputs),
    )
