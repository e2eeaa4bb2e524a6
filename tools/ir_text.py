"""Parse IR text to modules; any parser failure becomes a diagnostic with its location."""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError

from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.dialects.onnx.assembly.parser import UNPARSABLE
from xonnc.errors import XonncError
from xonnc.tools.diagnostics import Diagnostic, parse_diagnostic, verify

MAX_DEPTH = 34
"""
Regions within regions, those of module and function too: passes walk them by recursion, and models in ONNX's
format nest no deeper.
"""

_BLANK = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z))*")
"""White space and comments."""


def make_ir_parser(ctx: Context, text: str, name: str) -> OnnxParser | Diagnostic:
    """Return a parser of the text, or the diagnostic of a lexer error in its first token."""
    try:
        return OnnxParser(ctx, text, name)
    except ParseError as error:
        line = text.count("\n", 0, error.span.start) + 1
        column = error.span.start - text.rfind("\n", 0, error.span.start)
        return Diagnostic("error", error.msg, name, line, column)


def parse_ir(
    parser: OnnxParser, text: str, name: str, allow_implicit_module: bool = True
) -> ModuleOp | Diagnostic:
    """Parse a module without verification; an empty text gives an empty module, as in MLIR."""
    if allow_implicit_module and _BLANK.fullmatch(text):
        return ModuleOp([])
    try:
        module = parser.parse_module(allow_implicit_module)
    except ParseError as error:
        return parse_diagnostic(error, parser, name)
    except UNPARSABLE as error:
        line, column = parser.position(parser.pos)
        reason = " ".join(str(error).split()) or type(error).__name__
        return Diagnostic("error", f"cannot parse this: {reason}", name, line, column)
    deep = _too_deep(module)
    if deep is None:
        return module
    line, column = parser.position(parser.starts[deep]) if deep in parser.starts else (None, None)
    return Diagnostic(
        "error", f"'{deep.name}' op is in over {MAX_DEPTH} regions within each other", name, line, column
    )


def read_module(ctx: Context, text: str, name: str) -> ModuleOp:
    """Parse and verify a module; `XonncError` has all diagnostics."""
    parser = make_ir_parser(ctx, text, name)
    if isinstance(parser, Diagnostic):
        raise XonncError(parser.text())
    module = parse_ir(parser, text, name)
    if isinstance(module, Diagnostic):
        raise XonncError(module.text())
    if broken := verify(module, parser, name, show_op=False):
        raise XonncError("\n".join(each.text() for each in broken))
    return module


def _too_deep(module: ModuleOp) -> Operation | None:
    """Return an op whose region nesting exceeds the limit, found without recursion."""
    waiting: list[tuple[Operation, int]] = [(module, 0)]
    while waiting:
        op, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return op
        waiting += [
            (inner, depth + 1) for region in op.regions for block in region.blocks for inner in block.ops
        ]
    return None
