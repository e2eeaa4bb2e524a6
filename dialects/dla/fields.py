"""Text form of attributes that are plain dataclasses: `<type = add, mode = per_kernel>`, defaults omitted."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from enum import StrEnum
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, get_type_hints

from xdsl.parser import AttrParser
from xdsl.printer import Printer


class AttributeRecord(Protocol):
    """A dataclass whose fields are enums, booleans, integers, floats or tuples of integers."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


FieldValue: TypeAlias = StrEnum | bool | float | tuple[int, ...]
AttributeRecordT = TypeVar("AttributeRecordT", bound=AttributeRecord)


def print_fields(printer: Printer, record: AttributeRecord) -> None:
    """Print the fields of `record` that differ from their defaults, in order."""
    shown = [
        f"{field.name} = {_text(getattr(record, field.name))}"
        for field in fields(record)
        if field.default is MISSING or getattr(record, field.name) != field.default
    ]
    with printer.in_angle_brackets():
        printer.print_string(", ".join(shown))


def parse_fields(parser: AttrParser, record_type: type[AttributeRecordT]) -> AttributeRecordT:
    """Parse the output of `print_fields`; missing fields get their defaults."""
    types = get_type_hints(record_type)
    values: dict[str, FieldValue] = {}
    with parser.in_angle_brackets():
        while (name := parser.parse_optional_keyword_in(types.keys())) is not None:
            parser.parse_punctuation("=")
            values[name] = _parse_value(parser, types[name])
            if parser.parse_optional_punctuation(",") is None:
                break
    missing = [field.name for field in fields(record_type) if _required(field) and field.name not in values]
    if missing:
        parser.raise_error(f"{', '.join(missing)} missing")
    return record_type(**values)


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING


def _parse_value(parser: AttrParser, type_: Any) -> FieldValue:
    if type_ == tuple[int, ...]:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
    if issubclass(type_, StrEnum):
        return type_(parser.parse_keyword_in([member.value for member in type_]))
    if type_ is bool:
        return parser.parse_boolean()
    if type_ is int:
        return parser.parse_integer()
    return float(parser.parse_number())


def _text(value: FieldValue) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.value if isinstance(value, StrEnum) else repr(value)
