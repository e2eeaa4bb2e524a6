"""Diagnostics of the importer, collected so that all problems of a model are reported at once."""

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
"""Attribute of placeholder ops, which stand for nodes and values that cannot be read."""

MAX_DIAGNOSTICS = 1000
"""The most diagnostics that are kept; further ones are counted."""


@dataclass(frozen=True)
class ImportDiagnostic:
    """One problem, and the placeholder op if it concerns a node."""

    message: str
    op: Operation | None = None


@dataclass
class ImportDiagnostics:
    """The diagnostics of one model in file order."""

    entries: list[ImportDiagnostic] = field(default_factory=list[ImportDiagnostic])
    omitted: int = 0

    def add(self, message: str, op: Operation | None = None) -> None:
        """Add a diagnostic, or count it past the limit; line ends in names are escaped."""
        if len(self.entries) < MAX_DIAGNOSTICS:
            self.entries.append(ImportDiagnostic(message.replace("\n", "\\n").replace("\r", "\\r"), op))
        else:
            self.omitted += 1

    @contextmanager
    def collecting(self, location: str = "") -> Generator[None]:
        """Collect a `XonncError` raised in the block, prefixed by `location`; continue after the block."""
        try:
            yield
        except XonncError as error:
            self.add(f"{location}{error}")

    def all(self) -> list[ImportDiagnostic]:
        """Return all diagnostics; the last one tells how many were omitted."""
        rest = [ImportDiagnostic(f"and {self.omitted} more that cannot be read")] if self.omitted else []
        return [*self.entries, *rest]

    def refuse(self, location: str) -> None:
        """Raise `InvalidModelError` with all diagnostics, `location` before each, if there are any."""
        found = self.all()
        if found:
            raise InvalidModelError([each.message for each in found], [each.op for each in found]).at(
                location
            )


def placeholder(
    op_type: str, types: Sequence[Attribute], name: str = "", outputs: Sequence[str] = ()
) -> Operation:
    """Return the op that stands for an unreadable node or value; a result of type `none` has unknown type."""
    return CustomOp.create(
        result_types=types,
        properties={"function_name": StringAttr(op_type)},
        attributes={UNREADABLE: UnitAttr()},
        location=node_location(name, outputs),
    )
