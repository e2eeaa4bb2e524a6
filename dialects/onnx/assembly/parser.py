"""
IR text as MLIR writes it, read faster than xDSL reads it and without its gaps (docs/internals/onnx-rules.md
§10.1).
"""

from __future__ import annotations

import gc
import struct
from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import DiagnosticException, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from xonnc.dialects.onnx.assembly.attribute_parser import OnnxAttributeParser
from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.builtin_attributes import TypedStringAttr
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import StringType

UNPARSABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    DiagnosticException,
    LookupError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)
"""Exceptions of parsers of xDSL's own dialects, besides `ParseError`, for invalid text."""


class OnnxParser(OnnxAttributeParser):
    """
    Reads IR text.

    An op without a location of its own gets its position in the file, as in MLIR; `starts` has the offsets of
    the others. Errors are `ParseError`s with a position.
    """

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>") -> None:
        super().__init__(ctx, input, name)
        self.starts: dict[Operation, int] = {}
        self._file = StringAttr(name)
        self._lines = [-1]
        self._op_starts: list[int] = []
        self._own_location: LocationAttr | None = None

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole input as a module."""
        position = -1
        while (position := self._content.find("\n", position + 1)) >= 0:
            self._lines.append(position)
        # Nothing dies while parsing: the collector would only walk the growing IR again and again.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super().parse_module(allow_implicit_module)
        except VerifyException as error:
            self.raise_error(str(error))
        finally:
            if collecting:
                gc.enable()

    def position(self, start: int) -> tuple[int, int]:
        """Return the line and column of an offset, from one."""
        line = bisect_right(self._lines, start - 1)
        return line, start - self._lines[line - 1]

    def parse_operation(self) -> Operation:
        """Parse one operation."""
        op = super().parse_operation()
        if self._typed_strings and isinstance(op, OnnxOp):
            self._forget_types_of_strings(op)
        start = self._op_starts.pop()
        if op.location is self._own_location:
            self.starts[op] = start
        elif isinstance(op.location, UnknownLoc):
            line, column = self.position(start)
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def _parse_block(self) -> Block:
        """Parse a block. Of what else follows, xDSL's message does not say what is expected instead."""
        if self._current_token.kind is not MLIRTokenKind.CARET_IDENT:
            self.raise_error("expected an operation, a block or '}'; the IR may be cut short")
        return super()._parse_block()

    def _forget_types_of_strings(self, op: OnnxOp) -> None:
        """Drop the type of strings: `"a" : !onnx.String` is the type of all strings of onnx ops."""
        for name, value in op.properties.items():
            op.properties[name] = _untyped(value)
        self._typed_strings = 0

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        # The op is where its name is.
        self._op_starts.append(self.pos)
        return results

    def _parse_alias_def(self) -> None:
        token = self._consume_token()
        name = token.text
        equals = self.pos
        self.parse_punctuation("=", " after alias name")
        end = self._definitions.read_ahead(name, equals + 1)
        if end is not None:
            self._resume_from(end)
        elif name in self._definitions.keys():
            self.raise_error(f"re-declaration of alias '{name}'", token.span)
        else:
            self._definitions[name] = self.parse_attribute()

    def parse_optional_location(self) -> LocationAttr | None:
        """Parse `loc(…)`, if there is one."""
        location = super().parse_optional_location()
        self._own_location = location
        return location


def _untyped(value: Attribute) -> Attribute:
    if isinstance(value, TypedStringAttr) and isinstance(value.type, StringType):
        return value.string
    return ArrayAttr([_untyped(each) for each in value]) if is_array(value) else value
