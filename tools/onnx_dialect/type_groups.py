"""Sets of types in few words, as `dialects/onnx/constraints.py` reads them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xonnc.dialects.onnx.constraints import GROUPS

_ORDER = (
    "i1",
    "ints",
    "uints",
    "int4s",
    "int2s",
    "floats",
    "bf16",
    "float8s",
    "f8E8M0FNU",
    "float6s",
    "f4E2M1FN",
    "complexes",
    "string",
)


def group_types(types: Collection[str]) -> str:
    """`{"f16", "f32", "f64", "i1"}` is `i1 floats`; sequences and optionals are grouped by what they hold."""
    return " ".join(_words(set(types)))


def _words(types: set[str]) -> Iterator[str]:
    for head in ("seq", "opt"):
        inner = {type_[len(head) + 1 : -1] for type_ in types if type_.startswith(f"{head}<")}
        types -= {f"{head}<{type_}>" for type_ in inner}
        types |= {f"{head}<{group_types(inner)}>"} if inner else set()
    for word in _ORDER:
        members = GROUPS.get(word, word).split(" ")
        if types.issuperset(members):
            yield word
        else:
            yield from (member for member in members if member in types)
        types.difference_update(members)
    yield from sorted(types, key=lambda type_: (type_.startswith("opt"), type_))
