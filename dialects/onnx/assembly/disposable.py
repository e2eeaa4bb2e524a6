"""Syntax of constants with inline bytes: `#onnx.dense_disposable<12:"0x…"> : type`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NoReturn

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, DenseResourceAttr
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

from xonnc.dialects.onnx.assembly.tensor_reader import LiteralError, read_hex
from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr, DisposableReader
from xonnc.dialects.onnx.elements.pool import DisposablePool
from xonnc.dialects.onnx.types import ELEMENT_DTYPES, StringType, is_ranked

MAX_RANK = 64
"""Axes that an array of numpy may have."""
MAX_ELEMENTS = 1 << 56
"""Elements that may be spoken of, if only as a splat: their bytes are still counted by 64 bits."""

ELIDED = "__elided__"
"""The resource key that stands for elements left out of a print."""


def parse_disposable(
    parser: AttrParser,
) -> DisposableElementsAttr | DenseIntOrFPElementsAttr | DenseResourceAttr:
    """Parse `<12:"0x…"> : type`, the bytes of all elements; the constant gets a new serial number."""
    parser.parse_punctuation("<", " in a disposable constant")
    parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_punctuation(":", " after the number of a disposable constant")
    start = parser.pos
    digits = parser.parse_optional_str_literal()
    if digits is None:
        parser.parse_keyword(ELIDED, " or a string of hexadecimal digits")
    parser.parse_punctuation(">", " in a disposable constant")
    parser.parse_punctuation(":", " after a disposable constant")
    type_ = parser.parse_type()
    if not is_ranked(type_) or DYNAMIC_INDEX in type_.get_shape() or not has_bytes(type_.element_type):
        parser.raise_error(f"ill-formed constant: {type_} is no tensor of numbers of static shape", start)
    check_size(type_.get_shape(), lambda reason: parser.raise_error(reason, start))
    if digits is None:
        return DenseResourceAttr.from_params(ELIDED, type_)
    if not digits.startswith("0x"):
        parser.raise_error("ill-formed hex string: it begins with 0x", start)
    try:
        elements = read_hex(digits, type_)
    except LiteralError as error:
        parser.raise_error(f"data size doesn't match type size: {error}", start)
    adopted = DisposablePool.of(parser.ctx).adopt(elements)
    return elements if adopted is None else adopted


class DisposableSyntax(DisposableReader):
    """The hook by which xDSL's own parser reads disposable constants."""

    def read(self, parser: AttrParser) -> DisposableElementsAttr:
        """Parse a constant; the parser is after its name."""
        start = parser.pos
        found = parse_disposable(parser)
        if not isinstance(found, DisposableElementsAttr):
            parser.raise_error("the elements of this constant were left out of the text", start)
        return found


def check_size(shape: Sequence[int], refuse: Callable[[str], NoReturn]) -> None:
    """Refuse sizes that no array can have, while the position in the text is known."""
    if len(shape) > MAX_RANK or prod(max(length, 1) for length in shape) > MAX_ELEMENTS:
        refuse(f"elements of shape {list(shape)[:MAX_RANK]}: more than any memory holds")


def has_bytes(element_type: Attribute) -> bool:
    return element_type in ELEMENT_DTYPES and not isinstance(element_type, StringType)
