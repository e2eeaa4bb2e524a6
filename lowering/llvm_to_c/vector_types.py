"""
Vectors of numbers in C.

A vector is as many numbers as a power of two. It is one of GNU C's where the processor has such (`prelude.c`
says of how many bytes), else two of half as many, and in the end an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NUMBERS = {
    "f32": "float",
    "f64": "double",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
}
"""What C calls the numbers of a vector; integers are without sign, as LLVM's wrap."""

KINDS = {number: kind for kind, number in NUMBERS.items()}

LEAST_BYTES = 16
"""Of a vector that all processors with vectors have; shorter ones are parts of it."""


@dataclass(frozen=True)
class Vector:
    """A type of vectors."""

    kind: str
    lanes: int

    @property
    def suffix(self) -> str:
        """What names of its functions end in."""
        return f"{self.kind}x{self.lanes}"

    @property
    def name(self) -> str:
        """What C calls it."""
        return f"xonnc_{self.suffix}"

    @property
    def signed(self) -> str:
        """What C calls as many integers with sign; there is none where it is no vector of GNU C's."""
        return f"xonnc_s{self.width}x{self.lanes}"

    @property
    def number(self) -> str:
        """The type of one of its numbers."""
        return NUMBERS[self.kind]

    @property
    def width(self) -> int:
        """Bits of a number."""
        return int(self.kind[1:])

    @property
    def bytes(self) -> int:
        """Bytes of all."""
        return self.lanes * self.width // 8

    @property
    def is_float(self) -> bool:
        """Whether its numbers are floats."""
        return self.kind[0] == "f"

    @property
    def half(self) -> Vector:
        """The vector of half as many numbers."""
        return Vector(self.kind, self.lanes // 2)

    @property
    def bits(self) -> Vector:
        """The vector of as many integers of the same width: what a comparison gives, 0 or all bits."""
        return Vector(f"u{self.width}", self.lanes)


def holding(number: str, count: int) -> Vector | None:
    """The least vector that holds so many numbers, of that type of C's; one number is none."""
    return Vector(KINDS[number], 1 << (count - 1).bit_length()) if count > 1 else None


def is_native(*vectors: Vector) -> str:
    """The condition that vectors are GNU C's."""
    return f"XONNC_VECTOR_BYTES >= {max(LEAST_BYTES, *(each.bytes for each in vectors))}"


def inline(result: str, name: str, parameters: str, body: str) -> str:
    """A small function."""
    return f"XONNC_INLINE {result} {name}({parameters})\n{{\n    {body}\n}}"


def declared(vector: Vector) -> str:
    """A type, and the functions that load, store, take apart and join; behind that of its half."""
    return "\n".join(
        [
            f"#if {is_native(vector)}",
            *_native(vector),
            "#else",
            *(_halves(vector) if vector.bytes > LEAST_BYTES else _array(vector)),
            "#endif",
        ]
    )


def _native(vector: Vector) -> list[str]:
    size, suffix = vector.bytes, vector.suffix
    anywhere = f"xonnc_anywhere_{suffix}"
    lines = [
        f"typedef {vector.number} {vector.name} __attribute__((vector_size({size})));",
        f"typedef {vector.number} {anywhere}",
        f"    __attribute__((vector_size({size}), aligned(1), may_alias));",
    ]
    if not vector.is_float:
        lines.append(f"typedef int{vector.width}_t {vector.signed} __attribute__((vector_size({size})));")
    return [
        *lines,
        inline(vector.name, f"xonnc_load_{suffix}", "xonnc_bytes p", f"return *(const {anywhere} *)p;"),
        inline("void", f"xonnc_store_{suffix}", f"xonnc_bytes p, {vector.name} v", f"*({anywhere} *)p = v;"),
        inline(
            vector.name,
            f"xonnc_splat_{suffix}",
            f"{vector.number} x",
            f"return ({vector.name}){{{', '.join('x' * vector.lanes)}}};",
        ),
        *(_parts_of_lanes(vector) if vector.lanes >= 4 else []),
    ]


def _parts_of_lanes(vector: Vector) -> list[str]:
    """A vector of GNU C's taken apart and joined, without memory if the compiler shuffles."""
    half, name, suffix, lanes = vector.half, vector.name, vector.suffix, list(map(str, range(vector.lanes)))
    low, high, join = (", ".join(each) for each in (lanes[: half.lanes], lanes[half.lanes :], lanes))
    return [
        "#if defined(XONNC_SHUFFLE)",
        inline(
            half.name, f"xonnc_low_{suffix}", f"{name} v", f"return __builtin_shufflevector(v, v, {low});"
        ),
        inline(
            half.name, f"xonnc_high_{suffix}", f"{name} v", f"return __builtin_shufflevector(v, v, {high});"
        ),
        inline(
            name,
            f"xonnc_join_{suffix}",
            f"{half.name} a, {half.name} b",
            f"return __builtin_shufflevector(a, b, {join});",
        ),
        "#else",
        *_parts_of_bytes(vector),
        "#endif",
    ]


def _parts_of_bytes(vector: Vector) -> list[str]:
    """A vector in memory taken apart and joined."""
    half, name, suffix = vector.half, vector.name, vector.suffix
    take = f"{half.name} h;\n    memcpy(&h, (const unsigned char *)&v + {{}}, sizeof h);\n    return h;"
    join = (
        f"{name} v;\n    memcpy(&v, &a, sizeof a);\n"
        "    memcpy((unsigned char *)&v + sizeof a, &b, sizeof b);\n    return v;"
    )
    return [
        inline(half.name, f"xonnc_low_{suffix}", f"{name} v", take.format("0")),
        inline(half.name, f"xonnc_high_{suffix}", f"{name} v", take.format("sizeof h")),
        inline(name, f"xonnc_join_{suffix}", f"{half.name} a, {half.name} b", join),
    ]


def _halves(vector: Vector) -> list[str]:
    half, name, suffix = vector.half, vector.name, vector.suffix
    part = half.suffix
    load = f"const {name} v = {{xonnc_load_{part}(p), xonnc_load_{part}(p + {half.bytes})}};\n    return v;"
    store = f"xonnc_store_{part}(p, v.low);\n    xonnc_store_{part}(p + {half.bytes}, v.high);"
    splat = f"const {name} v = {{xonnc_splat_{part}(x), xonnc_splat_{part}(x)}};\n    return v;"
    return [
        f"typedef struct {{ {half.name} low, high; }} {name};",
        inline(name, f"xonnc_load_{suffix}", "xonnc_bytes p", load),
        inline("void", f"xonnc_store_{suffix}", f"xonnc_bytes p, {name} v", store),
        inline(name, f"xonnc_splat_{suffix}", f"{vector.number} x", splat),
        inline(half.name, f"xonnc_low_{suffix}", f"{name} v", "return v.low;"),
        inline(half.name, f"xonnc_high_{suffix}", f"{name} v", "return v.high;"),
        inline(
            name,
            f"xonnc_join_{suffix}",
            f"{half.name} a, {half.name} b",
            f"const {name} v = {{a, b}};\n    return v;",
        ),
    ]


def filled(vector: Vector, numbers: Sequence[str]) -> str:
    """The body of a function that gives an array of these: without a loop, compilers keep it in registers."""
    lines = [f"r.l[{lane}] = {number};" for lane, number in enumerate(numbers)]
    return "\n    ".join([f"{vector.name} r;", *lines, "return r;"])


def _array(vector: Vector) -> list[str]:
    name, suffix, number = vector.name, vector.suffix, vector.number
    lanes = range(vector.lanes)
    loads = [f"((const xonnc_{number} *)p)[{lane}]" for lane in lanes]
    stores = [f"((xonnc_{number} *)p)[{lane}] = v.l[{lane}];" for lane in lanes]
    return [
        f"typedef struct {{ {number} l[{vector.lanes}]; }} {name};",
        inline(name, f"xonnc_load_{suffix}", "xonnc_bytes p", filled(vector, loads)),
        inline("void", f"xonnc_store_{suffix}", f"xonnc_bytes p, {name} v", "\n    ".join(stores)),
        inline(name, f"xonnc_splat_{suffix}", f"{number} x", filled(vector, ["x"] * vector.lanes)),
        *(_parts_of_bytes(vector) if vector.lanes >= 4 else []),
    ]
