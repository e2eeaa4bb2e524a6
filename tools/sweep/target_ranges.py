"""Targets of a sweep: names, files, and tables that vary properties of a target."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from xdsl.utils.hints import isa

from xonnc.errors import XonncError, suggest
from xonnc.targets import NvdlaTarget, derive_target, load_target

MAX_TARGETS = 10_000
"""Targets that the tables of one sweep may describe."""

Value = int | float | bool | str | tuple[str, ...]


@dataclass(frozen=True)
class TargetChoice:
    """A target, by name or file, with some properties changed."""

    base: str
    changes: tuple[tuple[str, Value], ...] = ()

    @property
    def label(self) -> str:
        """Return its name in reports."""
        changes = (f"{name}={_text(value)}" for name, value in self.changes)
        return " ".join((self.base, *changes))

    def load(self) -> NvdlaTarget:
        """Return the configuration; raise `XonncError` for one that no hardware can have."""
        return (
            derive_target(self.base, dict(self.changes), self.label)
            if self.changes
            else load_target(self.base)
        )

    @contextmanager
    def file(self) -> Generator[str]:
        """Yield a name or file for `load_target`."""
        if not self.changes:
            yield self.base
            return
        with TemporaryDirectory() as folder:
            path = Path(folder, "target.toml")
            values: dict[str, Value] = asdict(self.load())
            path.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in values.items()))
            yield str(path)


def read_ranges(table: Mapping[str, object], folder: Path, source: str) -> list[TargetChoice]:
    """
    Return the targets of a `[[target]]` table: all combinations of the values that it lists.

    `base` is the target that is changed. A property of a target may have one value, or a list of values.
    """
    base = table.get("base")
    if not isinstance(base, str):
        raise XonncError(f"{source}: target: base: the name of a target, or a .toml file")
    base = str(folder / base) if base.endswith(".toml") else base
    load_target(base)
    names = {field.name for field in fields(NvdlaTarget)} - {"name", "description"}
    axes: dict[str, list[Value]] = {}
    count = 1
    for name, given in table.items():
        if name == "base":
            continue
        if name not in names:
            raise XonncError(f"{source}: target: no property '{name}'{suggest(name, names)}")
        axes[name] = _values(name, given)
        count *= len(axes[name])
        if not axes[name] or count > MAX_TARGETS:
            reason = "no values" if not axes[name] else f"more than {MAX_TARGETS} targets"
            raise XonncError(f"{source}: target: {name}: {reason}")
    choices = [TargetChoice(base, tuple(zip(axes, each, strict=True))) for each in product(*axes.values())]
    for choice in choices:
        choice.load()
    return choices


def _values(name: str, given: object) -> list[Value]:
    listed = given if isa(given, list[object]) else [given]
    if name == "precisions" and isa(given, list[str]):
        # A list is one value of this property; a list of lists varies it.
        listed = [given]
    return [_frozen(each) for each in listed]


def _frozen(value: object) -> Value:
    if isa(value, list[object]):
        return tuple(map(str, value))
    # Properties of other types are refused with the target.
    return value if isinstance(value, int | float | bool | str) else str(value)


def _text(value: Value) -> str:
    return (
        "+".join(value)
        if isinstance(value, tuple)
        else f"{value}".lower()
        if isinstance(value, bool)
        else f"{value}"
    )


def _toml(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return repr(value)
