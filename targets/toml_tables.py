"""Readers of the TOML files of targets: reject properties that are unknown, mistyped or missing."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xonnc.errors import XonncError, cannot_read, suggest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class PropertyType(NamedTuple):
    """A type of property: the predicate for its values, and its description in messages."""

    words: str
    holds: Callable[[Any], bool]


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer; `bool` is excluded although it is a subclass of `int`."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return (is_integer(value) or isinstance(value, float)) and 0 < value < inf


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return is_integer(value) and value > 0


def is_names(value: Any) -> bool:
    """Whether a value is a list of strings."""
    match value:
        case [*names]:
            return all(isinstance(name, str) for name in names)
        case _:
            return False


KINDS: Mapping[str, PropertyType] = {
    "str": PropertyType("text", _is_text),
    "bool": PropertyType("true or false", _is_boolean),
    "int": PropertyType("an integer above 0", _is_count),
    "float": PropertyType("a number above 0", _is_positive),
    "tuple[str, ...]": PropertyType("a list of names", is_names),
}
"""The kinds of properties by their type annotation in the dataclass."""


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file; raise `XonncError` if it cannot be read or is malformed."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise cannot_read(path, error) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise XonncError(f"{path}: {error}") from None


def values_of(
    kind: type[DataclassInstance],
    table: Mapping[str, Any],
    source: str,
    kinds: Mapping[str, PropertyType] = KINDS,
    given: tuple[str, ...] = ("name",),
) -> dict[str, Any]:
    """
    Return the fields of the dataclass `kind` that a table sets; those in `given` come from elsewhere.

    Raises `XonncError` with a line for each property that is unknown, of another type or missing.
    """
    known = {field.name: field for field in fields(kind) if field.name not in given}
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in table.items():
        if key not in known:
            problems.append(f"{source}: no property '{key}'{suggest(key, known)}")
            continue
        kind_name = type_name(known[key])
        words, holds = kinds[kind_name]
        if holds(value):
            values[key] = _converted(kind_name, value)
        else:
            problems.append(f"{source}: {key} = {value!r}; it is {words}")
    missing = [key for key, field in known.items() if field.default is MISSING and key not in table]
    if missing:
        problems.append(f"{source}: {', '.join(missing)} must be given")
    if problems:
        raise XonncError("\n".join(problems))
    return values


def type_name(field: Field[Any]) -> str:
    """Return the annotation of a field as written, also in modules without postponed annotations."""
    return field.type.__name__ if isinstance(field.type, type) else str(field.type)


def _converted(kind: str, value: Any) -> Any:
    if kind == "float":
        return float(value)
    return tuple(value) if kind.startswith("tuple") else value
