"""Diagnostics with source location: `file:line:column: error: …`, the source line, and a caret."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from typing import Literal

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.utils.exceptions import ParseError

from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.locations import describe, node_name
from xonnc.errors import CollectedError, XonncError
from xonnc.rewriting.op_verification import verification_error
from xonnc.rewriting.remarks import Remark
from xonnc.tools.dominance import dominance_violations

Severity = Literal["error", "warning", "note", "remark"]

MAX_LINE_LENGTH = 240
"""Characters of a source line or an op that a message shows."""


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic; without a line it refers to the whole file."""

    severity: Severity
    message: str
    file: str
    line: int | None = None
    column: int | None = None
    notes: tuple[str, ...] = ()

    def text(self, source: str = "") -> str:
        """Return the message as printed, with its line of `source`."""
        location = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        lines = [f"{location}: {self.severity}: {self.message}"]
        if self.line is not None and self.column is not None:
            lines += _excerpt(source, self.line, self.column)
        lines += [f"{location}: note: {note}" for note in self.notes]
        return "\n".join(lines)


def _excerpt(source: str, line: int, column: int) -> list[str]:
    begin = 0
    for _ in range(line - 1):
        begin = source.find("\n", begin) + 1
        if begin == 0:
            return []
    end = source.find("\n", begin)
    text = source[begin : len(source) if end < 0 else end].rstrip("\r")
    skipped = max(column - MAX_LINE_LENGTH // 2, 0) if len(text) > MAX_LINE_LENGTH else 0
    shown = text[skipped : skipped + MAX_LINE_LENGTH].replace("\t", " ")
    return [shown, " " * (column - 1 - skipped) + "^"] if shown.strip() else []


def parse_diagnostic(error: ParseError, parser: OnnxParser, file: str) -> Diagnostic:
    """Return the diagnostic of a parse error."""
    line, column = parser.position(error.span.start)
    return Diagnostic("error", _one_line(error.msg), file, line, column)


def verify(module: ModuleOp, parser: OnnxParser, file: str, show_op: bool = True) -> list[Diagnostic]:
    """Verify each op by itself: xDSL's error of the whole module would print all of it."""
    broken = [
        op_diagnostic(op, reason, parser, file, show_op)
        for op in module.walk()
        if (reason := verification_error(op)) is not None
    ]
    return broken + [
        op_diagnostic(
            op, f"'{op.name}' op operand #{index} does not dominate this use", parser, file, show_op
        )
        for op, index in dominance_violations(module)
    ]


def op_diagnostic(
    op: Operation, message: str, parser: OnnxParser, file: str, show_op: bool = True
) -> Diagnostic:
    """Return a diagnostic about an op, at its location in the text if known."""
    message = _one_line(message)
    if not message.startswith("'"):
        message = f"'{op.name}' op {message[:1].lower()}{message[1:]}"
    if node_name(op):
        message = f"{describe(op)}: {message}"
    notes = (f"see current operation: {_shown(op)}",) if show_op else ()
    line, column = position_of(op, parser, file) or (None, None)
    return Diagnostic("error", message, file, line, column, notes)


def remark_diagnostic(remark: Remark, parser: OnnxParser, file: str) -> Diagnostic:
    """Return the diagnostic of a pass's warning or remark, at the location of its op."""
    location = position_of(remark.about, parser, file) if remark.about is not None else None
    line, column = location or (None, None)
    return Diagnostic(remark.severity, str(remark), file, line, column)


def error_diagnostics(error: XonncError, parser: OnnxParser, file: str) -> list[Diagnostic]:
    """Return the diagnostics of a pass's error, one per reason, at the locations of their ops."""
    if isinstance(error, CollectedError):
        found = list(zip(error.reasons, error.subjects, strict=True))
    else:
        found = [(str(error), error.about)]
    names = _Names(parser)
    return [
        Diagnostic("error", _one_line(reason), file, *(_place_of_error(reason, about, names, file) or ()))
        for reason, about in found
    ]


def _place_of_error(
    reason: str, about: object, names: _Names, file: str
) -> tuple[int, int] | tuple[None, None]:
    """Return the location of an error's op, or of the op that its message names."""
    if isinstance(about, Operation):
        found = position_of(about, names.parser, file)
    else:
        found = names.position(re.split(r": | \(", reason, maxsplit=1)[0])
    return found or (None, None)


@dataclass
class _Names:
    """The nodes of a text by name, computed on the first error."""

    parser: OnnxParser

    def position(self, name: str) -> tuple[int, int] | None:
        """Return the location of the only node of this name."""
        found = {start for op, start in self.parser.starts.items() if name and node_name(op) == name}
        return self.parser.position(found.pop()) if len(found) == 1 else None


def position_of(op: Operation, parser: OnnxParser, file: str) -> tuple[int, int] | None:
    """Return line and column of an op, else of the op it was derived from, else of its parent op."""
    around: Operation | None = op
    while around is not None:
        if around in parser.starts:
            return parser.position(parser.starts[around])
        if found := _position(around.location, file) or _position_of_name(around.location, parser):
            return found
        around = around.parent_op()
    return None


def _position_of_name(location: Attribute, parser: OnnxParser) -> tuple[int, int] | None:
    """Return the position of the first node in the text that a location names."""
    if isinstance(location, NameLoc) and (found := _Names(parser).position(location.desc.data)):
        return found
    return next((found for part in _parts(location) if (found := _position_of_name(part, parser))), None)


def _parts(location: Attribute) -> Iterable[Attribute]:
    if isinstance(location, ParametrizedAttribute):
        return location.parameters
    return location if is_array(location) else ()


def _position(location: LocationAttr | Attribute, file: str) -> tuple[int, int] | None:
    """Return the first file position in a location or its nested locations."""
    if isinstance(location, FileLineColLoc) and location.filename.data == file:
        return location.line.data, location.column.data
    return next((found for part in _parts(location) if (found := _position(part, file))), None)


def _shown(op: Operation) -> str:
    stream = StringIO()
    OnnxPrinter(stream=stream, print_generic_format=True, elide_larger=8).print_op(op)
    return stream.getvalue().partition("\n")[0][:MAX_LINE_LENGTH]


def _one_line(message: str) -> str:
    # Spaces inside of a line stay: messages of onnx-mlir have double ones.
    return " ".join(line.strip() for line in message.split("\n") if line.strip())
