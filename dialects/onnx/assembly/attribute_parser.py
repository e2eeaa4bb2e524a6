"""Parser of attributes, types and locations: the part of `OnnxParser` without operations."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    CallSiteLoc,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FileLineColLoc,
    FloatAttr,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    NameLoc,
    NoneAttr,
    NoneType,
    RankedStructure,
    ShapedType,
    StringAttr,
    UnknownLoc,
    f64,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import Parser, ParserState
from xdsl.utils.hints import isa
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRTokenKind, StringLiteral

from xonnc.dialects.onnx.assembly.definitions import Definitions
from xonnc.dialects.onnx.assembly.disposable import (
    ELIDED,
    check_size,
    has_bytes,
    parse_disposable,
)
from xonnc.dialects.onnx.assembly.lexer import OnnxLexer
from xonnc.dialects.onnx.assembly.numbers import float_format
from xonnc.dialects.onnx.assembly.tensor_reader import LiteralError, is_readable, read_hex, read_numbers
from xonnc.dialects.onnx.builtin_attributes import (
    DistinctAttr,
    RangeMarkerAttr,
    ResourceElementsAttr,
    SparseElementsAttr,
    StringElementsAttr,
    TypedStringAttr,
)
from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr
from xonnc.dialects.onnx.locations import without_results_part
from xonnc.dialects.onnx.types import StringType, is_ranked, tensor_type

_DISPOSABLE = f"#{DisposableElementsAttr.name}"

_TYPE = re.compile(r'!?[\w.]+(?:<[^<>"-]*(?:<[^<>"-]*>[^<>"-]*)*>)?')
"""The text of most types, up to one bracket inside another."""
_BODY = re.compile(r'(?:[^">]++|"(?:[^"\\\n]++|\\.)*+")*+(?=>)')
"""The elements between the brackets of a dense literal."""
_STRINGS = re.compile(r'[\s\[]*"')
_BLANK = re.compile(r"\s*")
_STRING_LITERAL = re.compile(r'"(?:[^"\\\n]++|\\.)*+"')
_FLOAT_ARRAY = re.compile(r"<\s*b?f[0-9A-Z]\w*\s*:")
_BRACKET = re.compile(r"[\[\]]")


class OnnxAttributeParser(Parser):
    """Parses attributes, types and locations."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>") -> None:
        text = input.decode("utf-8") if isinstance(input, bytes) else input
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(OnnxLexer(Input(text, name)))
        self._definitions = Definitions(text, self._read_definition)
        self.attribute_aliases = self._definitions
        self._content = text
        self._types: dict[str, TypeAttribute] = {}
        self._integers: dict[tuple[int, int], IntegerAttr] = {}
        self._blobs: dict[str, tuple[int, bytes]] | None = None
        self._blobs_end = -1
        self._typed_strings = 0

    def _read_definition(self, begin: int) -> tuple[Attribute, int]:
        """Parse the attribute at an offset; the position of the parser does not change."""
        lexer, token = self.lexer.pos, self._parser_state.current_token
        self._resume_from(begin)
        value = self.parse_attribute()
        end = self.pos
        self.lexer.pos = lexer
        self._parser_state.current_token = token
        return value, end

    def parse_optional_type(self) -> TypeAttribute | None:
        """Parse a type, if there is one; equal texts return the same object."""
        token = self._parser_state.current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT and token.kind is not MLIRTokenKind.EXCLAMATION_IDENT:
            return super().parse_optional_type()
        start = token.span.start
        match = _TYPE.match(self._content, start)
        if match is None:
            return super().parse_optional_type()
        known = self._types.get(match[0])
        if known is not None:
            self.lexer.pos = match.end()
            self._parser_state.current_token = self.lexer.lex()
            return known
        type_ = super().parse_optional_type()
        if type_ is not None and self._content[start : self.pos].rstrip() == match[0]:
            self._types[match[0]] = type_
        return type_

    def parse_optional_attribute(self) -> Attribute | None:
        """Parse an attribute, if there is one."""
        token = self._current_token
        if token.kind is MLIRTokenKind.HASH_IDENT and token.text == _DISPOSABLE:
            self._consume_token()
            return parse_disposable(self)
        return super().parse_optional_attribute()

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        kind = self._current_token.kind
        if kind is MLIRTokenKind.STRING_LIT:
            return self._parse_string()
        if kind is MLIRTokenKind.BARE_IDENT:
            read = self._literals().get(self._current_token.text)
            if read is not None:
                self._consume_token()
                return read()
        return super()._parse_optional_builtin_attr()

    def _literals(self) -> dict[str, Callable[[], Attribute]]:
        return {
            "dense": self._parse_elements,
            "dense_resource": self._parse_resource_elements,
            "distinct": self._parse_distinct,
            "sparse": self._parse_sparse,
        }

    def _parse_string(self) -> Attribute:
        string = StringAttr(self.parse_str_literal())
        if self._current_token.kind is not MLIRTokenKind.COLON:
            return string
        self._consume_token()
        type_ = self.parse_type()
        if isinstance(type_, NoneType):
            return string
        self._typed_strings += 1
        return TypedStringAttr(string, type_)

    def _parse_distinct(self) -> DistinctAttr:
        self.parse_punctuation("[", " after distinct")
        number = self.parse_integer(allow_boolean=False, allow_negative=False)
        self.parse_punctuation("]", " after the number of a distinct attribute")
        self.parse_punctuation("<", " in distinct attribute")
        referenced = NoneAttr() if self._current_token.text == ">" else self.parse_attribute()
        self.parse_punctuation(">", " in distinct attribute")
        return DistinctAttr(IntAttr(number), referenced)

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        """Parse a number with or without type; a hexadecimal float is a bit pattern."""
        if (boolean := self.try_parse_builtin_boolean_attr()) is not None:
            return boolean
        start = self.pos
        is_negative = self._current_token.kind is MLIRTokenKind.MINUS
        text = self._current_token.text
        number = self.parse_optional_number()
        if number is None:
            return None
        if self._current_token.kind is not MLIRTokenKind.COLON:
            return FloatAttr(number, f64) if isinstance(number, float) else IntegerAttr(number, i64)
        type_ = self._parse_attribute_type()
        if isinstance(type_, AnyFloat):
            if isinstance(number, int) and text[:2] == "0x" and not is_negative:
                return FloatAttr(self._float_pattern(number, type_, start), type_)
            return FloatAttr(float(number), type_)
        if isinstance(number, float):
            self.raise_error("Floating point value is not valid for integer type.", start)
        return self._integer(number, type_, start)

    def _integer(self, number: int, type_: Attribute, start: int) -> IntegerAttr:
        # Building one costs as much as reading ten tokens, and models repeat a few of them.
        known = self._integers.get((number, id(type_)))
        if known is None:
            if not isa(type_, IntegerType | IndexType):
                self.raise_error("Invalid type given for integer or float attribute.", start)
            known = self._integers[number, id(type_)] = IntegerAttr(number, type_)
        return known

    def _float_pattern(self, bits: int, type_: AnyFloat, start: int) -> float:
        format_ = float_format(type_)
        if format_ is None:
            self.raise_error(f"no hexadecimal literals of {type_}", start)
        if bits >> (8 * format_.dtype.itemsize):
            self.raise_error(f"0x{bits:X} has more bits than {type_}", start)
        return format_.from_pattern(bits)

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase | None:
        start = self.lexer.pos
        match = _FLOAT_ARRAY.match(self._content, self.pos)
        if match is None:
            return super()._parse_builtin_densearray_attr()
        self._resume_from(self.pos + 1)
        type_ = self.parse_type()
        if not isinstance(type_, AnyFloat):
            self.raise_error("dense array element type must be an integer or floating point type", start)
        self.parse_punctuation(":", " in dense array")
        values = self.parse_comma_separated_list(self.Delimiter.NONE, lambda: self._parse_float(type_))
        self.parse_punctuation(">", " in dense array")
        return DenseArrayBase.from_list(type_, values)

    def _parse_float(self, type_: AnyFloat) -> float:
        start, text = self.pos, self._current_token.text
        number = self.parse_number()
        if isinstance(number, int) and text[:2] == "0x":
            return self._float_pattern(number, type_, start)
        return float(number)

    def _literal_body(self) -> tuple[str, int]:
        """Return the raw text between `<` and `>` and its offset, and advance past it."""
        if self._current_token.kind is not MLIRTokenKind.LESS:
            self.raise_error("Expected '<' before the elements")
        begin = self._current_token.span.end
        match = _BODY.match(self._content, begin)
        if match is None:
            self.raise_error("the literal of elements that begins here does not end")
        self._resume_from(match.end())
        self.parse_punctuation(">")
        return match[0], begin

    def _parse_elements(self, type_: Attribute | None = None) -> Attribute:
        less = self.pos
        body, begin = self._literal_body()
        if type_ is None:
            self.parse_punctuation(":", " in dense attribute")
            type_ = self.parse_type()
        if body.strip() == ELIDED and isinstance(type_, ShapedType):
            return DenseResourceAttr.from_params(ELIDED, type_)
        if not isa(type_, RankedStructure[Attribute]):
            self.raise_error(f"elements need a tensor, vector or memref type, found {type_}", begin)
        if DYNAMIC_INDEX in type_.get_shape():
            self.raise_error(f"elements need a static shape, found {type_}", begin)
        check_size(type_.get_shape(), lambda reason: self.raise_error(reason, begin))
        return self._elements(body, begin, less, type_)

    def _elements(self, body: str, begin: int, less: int, type_: RankedStructure[Any]) -> Attribute:
        element_type = type_.get_element_type()
        try:
            if isinstance(element_type, StringType):
                return self._string_elements(body, begin, type_)
            if is_readable(element_type):
                return self._number_elements(body, begin, type_)
        except LiteralError as error:
            self.raise_error(str(error), begin)
        # What no ONNX tensor holds (i128, f80, ...) is left to xDSL.
        after = self.pos
        self._resume_from(less)
        elements = super().parse_dense_int_or_fp_elements_attr(type_)
        self._resume_from(after)
        return elements

    def _number_elements(
        self, body: str, begin: int, type_: RankedStructure[Any]
    ) -> DenseIntOrFPElementsAttr:
        blank = _BLANK.match(body)
        first = blank.end() if blank else 0
        if not body.startswith('"', first):
            return read_numbers(body, type_)
        digits = body[first + 1 : body.rindex('"')]
        if not digits.startswith("0x"):
            raise LiteralError(f"a string is no element of {type_}")
        return read_hex(digits, type_)

    def _string_elements(self, body: str, begin: int, type_: RankedStructure[Any]) -> StringElementsAttr:
        if not is_ranked(type_):
            raise LiteralError(f"strings need a tensor type, found {type_}")
        after = self.pos
        self._resume_from(begin)
        shape = list(type_.get_shape())
        strings: list[StringAttr | BytesAttr] = []
        found = self._parse_nested_strings(strings) if body.strip() else [0]
        if self.pos != begin + len(body) + (self.pos - begin - len(body)) or self._current_token.text != ">":
            self.raise_error("Expected ',' or ']' in a list of strings")
        self._resume_from(after)
        if found and found != shape and not (0 in shape and not strings):
            raise LiteralError(f"the type's shape is {shape}, the literal's {found}")
        return StringElementsAttr(type_, ArrayAttr(strings))

    def _parse_nested_strings(self, strings: list[StringAttr | BytesAttr]) -> list[int]:
        """Parse a string or nested lists into `strings`; return the shape."""
        if self._current_token.kind is not MLIRTokenKind.L_SQUARE:
            strings.append(self._parse_any_string())
            return []
        start = self.pos
        parts = self.parse_comma_separated_list(
            self.Delimiter.SQUARE, lambda: self._parse_nested_strings(strings), " in a list of strings"
        )
        if any(part != parts[0] for part in parts):
            self.raise_error("lists of different lengths in the elements", start)
        return [len(parts), *(parts[0] if parts else [])]

    def _parse_any_string(self) -> StringAttr | BytesAttr:
        if self._current_token.kind is MLIRTokenKind.BYTES_LIT:
            return BytesAttr(StringLiteral.from_span(self._consume_token().span).bytes_contents)
        return StringAttr(self.parse_str_literal(" in the elements of a string tensor"))

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[Any] | None
    ) -> DenseIntOrFPElementsAttr:
        """Parse `dense<…>` after its keyword, and its type unless given."""
        start = self.pos
        elements = self._parse_elements(type)
        if not isa(elements, DenseIntOrFPElementsAttr):
            self.raise_error("numbers expected in the elements", start)
        return elements

    def _parse_sparse(self) -> SparseElementsAttr:
        body, begin = self._literal_body()
        self.parse_punctuation(":", " in sparse attribute")
        type_ = self.parse_type()
        if not is_ranked(type_) or DYNAMIC_INDEX in type_.get_shape():
            self.raise_error(f"sparse elements need a tensor type of static shape, found {type_}", begin)
        check_size(type_.get_shape(), lambda reason: self.raise_error(reason, begin))
        indices, values, offset = _split_sparse(body)
        rank = len(type_.get_shape())
        count = _length(values) if indices else 0
        if count is None:
            count = _length(indices) or 1
        try:
            where = read_numbers(indices, tensor_type((count, rank), i64))
            what = self._elements(values, begin + offset, begin, tensor_type((count,), type_.element_type))
        except LiteralError as error:
            self.raise_error(str(error), begin)
        if not isa(what, DenseIntOrFPElementsAttr | StringElementsAttr):
            self.raise_error("numbers or strings expected in the sparse elements", begin)
        return SparseElementsAttr(type_, where, what)

    def _parse_resource_elements(self) -> Attribute:
        self.parse_punctuation("<", " in dense_resource attribute")
        start = self.pos
        key = self.parse_optional_identifier_or_str_literal()
        if key is None:
            self.raise_error("Expected the key of a resource")
        self.parse_punctuation(">", " in dense_resource attribute")
        self.parse_punctuation(":", " in dense_resource attribute")
        type_ = self.parse_type()
        if not isinstance(type_, ShapedType):
            self.raise_error(f"dense resource should have a shaped type, got: {type_}", start)
        blob = self._resources().get(key)
        if blob is None or not is_ranked(type_):
            return DenseResourceAttr.from_params(key, type_)
        if not has_bytes(type_.element_type) or DYNAMIC_INDEX in type_.get_shape():
            self.raise_error(f"no resource holds the elements of {type_}", start)
        return ResourceElementsAttr(type_, StringAttr(key), IntAttr(blob[0]), BytesAttr(blob[1]))

    def _resources(self) -> dict[str, tuple[int, bytes]]:
        """Return alignment and bytes of each resource in the file's trailing metadata."""
        if self._blobs is None:
            self._blobs = {}
            begin = self._content.rfind("{-#")
            if begin >= 0:
                lexer, token = self.lexer.pos, self._parser_state.current_token
                self._resume_from(begin)
                self._read_file_metadata()
                self.lexer.pos = lexer
                self._parser_state.current_token = token
        return self._blobs

    def _parse_file_metadata_dictionary(self) -> None:
        self._resources()
        if self.pos < self._blobs_end:
            self._resume_from(self._blobs_end)
        else:
            self._read_file_metadata()

    def _read_file_metadata(self) -> None:
        self.parse_comma_separated_list(self.Delimiter.METADATA_TOKEN, self._parse_metadata_element)
        self._blobs_end = self.pos

    def _parse_single_dialect_resources(self) -> None:
        self._parse_token(MLIRTokenKind.BARE_IDENT, "Expected a dialect name")
        self.parse_punctuation(":", " after dialect name")
        self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_blob)

    def _parse_blob(self) -> None:
        key = self.parse_optional_identifier_or_str_literal()
        if key is None:
            self.raise_error("Expected the key of a resource")
        self.parse_punctuation(":", " after the key of a resource")
        token = self._parse_token(MLIRTokenKind.STRING_LIT, "Expected the data of a resource")
        digits = token.text[1:-1]
        try:
            data = bytes.fromhex(digits.removeprefix("0x"))
        except ValueError:
            data = b""
        if not digits.startswith("0x") or len(data) < 4:
            self.raise_error(
                f"resource '{key}' takes \"0x\" with alignment and data in hexadecimal", token.span
            )
        if self._blobs is not None:
            self._blobs[key] = int.from_bytes(data[:4], "little"), data[4:]

    def _parse_external_resources(self) -> None:
        """Skip external resources, which are for other tools."""
        depth = 0
        while True:
            kind = self._consume_token().kind
            depth += (kind is MLIRTokenKind.L_BRACE) - (kind is MLIRTokenKind.R_BRACE)
            if depth == 0:
                return
            if kind is MLIRTokenKind.EOF:
                self.raise_error("the external resources do not end")

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        match token.text:
            case "callsite":
                self._consume_token()
                with self.in_parens():
                    callee = self._parse_location()
                    self.parse_keyword("at")
                    caller = self._parse_location()
                return CallSiteLoc(callee, caller)
            case "fused":
                self._consume_token()
                return self._parse_fused_location()
            case "unknown":
                self._consume_token()
                return UnknownLoc()
            case _:
                pass
        if token.kind is MLIRTokenKind.STRING_LIT:
            return self._parse_name_or_file_location()
        if token.kind is MLIRTokenKind.HASH_IDENT:
            attribute = self.parse_attribute()
            if isa(attribute, LocationAttr):
                return attribute
            self.raise_error("Expected location alias.", token.span)
        self.raise_error("Expected a location: a string, 'unknown', 'callsite', 'fused' or an alias")

    def _parse_fused_location(self) -> FusedLoc:
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">", " after the metadata of a fused location")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        location = FusedLoc(tuple(parts), metadata)
        return without_results_part(location) if isinstance(metadata, NoneAttr) else location

    def _parse_name_or_file_location(self) -> LocationAttr:
        name = StringAttr(self.parse_str_literal())
        if self.parse_optional_punctuation(":") is None:
            child: Attribute = NoneAttr()
            if self._current_token.kind is MLIRTokenKind.L_PAREN:
                with self.in_parens():
                    child = self._parse_location()
            return NameLoc(name, child)
        line, column = self._parse_position()
        begin = FileLineColLoc(name, IntAttr(line), IntAttr(column))
        if self.parse_optional_keyword("to") is None:
            return begin
        if self.parse_optional_punctuation(":") is not None:
            last = line, self.parse_integer(False, False)
        else:
            last = self._parse_position()
        end = FileLineColLoc(name, IntAttr(last[0]), IntAttr(last[1]))
        return FusedLoc((begin, end), RangeMarkerAttr())

    def _parse_position(self) -> tuple[int, int]:
        line = self.parse_integer(False, False)
        self.parse_punctuation(":", " between line and column")
        return line, self.parse_integer(False, False)


def _split_sparse(body: str) -> tuple[str, str, int]:
    """Return the texts of indices and values of a sparse literal, and the offset of the values."""
    depth = 0
    end = 0
    for match in _BRACKET.finditer(body):
        depth += 1 if match[0] == "[" else -1
        if depth == 0:
            end = match.end()
            break
    comma = body.find(",", end)
    return (body, "", len(body)) if comma < 0 else (body[:comma], body[comma + 1 :], comma + 1)


def _length(literal: str) -> int | None:
    """Return the number of entries of a literal's outermost list; `None` for a scalar."""
    if not literal.lstrip().startswith("["):
        return None
    inner = literal.strip()[1:-1]
    if '"' in inner:
        return len(_STRING_LITERAL.findall(inner))
    return inner.count("[") or (inner.count(",") + 1 if inner.strip() else 0)
