"""
Vector types in C.

The number of lanes is a power of two. A vector is a GNU C vector if the target has vectors of that size
(`XONNC_VECTOR_BYTES` in `prelude.c`), else a struct of two vectors of half the lanes, down to an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

C_TYPES = {
    "f32": "float",
    "f64": "double",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
}
"""C types by element kind; integers are unsigned, so that they wrap as in LLVM."""

KINDS = {number: kind for kind, number in C_TYPES.items()}

MIN_VECTOR_BYTES = 16
"""The smallest size of GNU C vectors that is used: every processor with vectors has it."""


@dataclass(frozen=True)
class VectorType:
    """A vector type: element kind and number of lanes."""

    kind: str
    lanes: int

    @property
    def suffix(self) -> str:
        """The suffix of the names of its functions."""
        return f"{self.kind}x{self.lanes}"

    @property
    def name(self) -> str:
        """The name of the C type."""
        return f"xonnc_{self.suffix}"

    @property
    def signed(self) -> str:
        """The name of the signed integer vector of this shape; defined for GNU C vectors only."""
        return f"xonnc_s{self.width}x{self.lanes}"

    @property
    def scalar_type(self) -> str:
        """The C type of an element."""
        return C_TYPES[self.kind]

    @property
    def width(self) -> int:
        """Bits of an element."""
        return int(self.kind[1:])

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.lanes * self.width // 8

    @property
    def is_float(self) -> bool:
        """Whether the elements are floats."""
        return self.kind[0] == "f"

    @property
    def half(self) -> VectorType:
        """The vector type with half the lanes."""
        return VectorType(self.kind, self.lanes // 2)

    @property
    def bits(self) -> VectorType:
        """The unsigned integer vector of the same shape; comparisons return it as a mask."""
        return VectorType(f"u{self.width}", self.lanes)


def smallest_vector(number: str, count: int) -> VectorType | None:
    """Return the smallest vector type for `count` elements of a C type; `None` for a scalar."""
    return VectorType(KINDS[number], 1 << (count - 1).bit_length()) if count > 1 else None


def is_native(*vectors: VectorType) -> str:
    """Return the preprocessor condition that all these vectors are GNU C vectors."""
    return f"XONNC_VECTOR_BYTES >= {max(MIN_VECTOR_BYTES, *(each.bytes for each in vectors))}"


def inline(result: str, name: str, parameters: str, body: str) -> str:
    """Return a static inline function."""
    return f"XONNC_INLINE {result} {name}({parameters})\n{{\n    {body}\n}}"


def vector_type_definition(vector: VectorType) -> str:
    """Return a type with its functions to load, store, split and join; the half type must precede it."""
    return "\n".join(
        [
            f"#if {is_native(vector)}",
            *_native(vector),
            "#else",
            *(_split_vector(vector) if vector.bytes > MIN_VECTOR_BYTES else _array(vector)),
            "#endif",
        ]
    )


def _native(vector: VectorType) -> list[str]:
    size, suffix = vector.bytes, vector.suffix
    anywhere = f"xonnc_anywhere_{suffix}"
    lines = [
        f"typedef {vector.scalar_type} {vector.name} __attribute__((vector_size({size})));",
        f"typedef {vector.scalar_type} {anywhere}",
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
            f"{vector.scalar_type} x",
            f"return ({vector.name}){{{', '.join('x' * vector.lanes)}}};",
        ),
        *(_parts_of_lanes(vector) if vector.lanes >= 4 else []),
    ]


def _parts_of_lanes(vector: VectorType) -> list[str]:
    """Return functions that split and join GNU C vectors, by shuffles if the compiler has them."""
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


def _parts_of_bytes(vector: VectorType) -> list[str]:
    """Return functions that split and join vectors through memory."""
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


def _split_vector(vector: VectorType) -> list[str]:
    half, name, suffix = vector.half, vector.name, vector.suffix
    part = half.suffix
    load = f"const {name} v = {{xonnc_load_{part}(p), xonnc_load_{part}(p + {half.bytes})}};\n    return v;"
    store = f"xonnc_store_{part}(p, v.low);\n    xonnc_store_{part}(p + {half.bytes}, v.high);"
    splat = f"const {name} v = {{xonnc_splat_{part}(x), xonnc_splat_{part}(x)}};\n    return v;"
    return [
        f"typedef struct {{ {half.name} low, high; }} {name};",
        inline(name, f"xonnc_load_{suffix}", "xonnc_bytes p", load),
        inline("void", f"xonnc_store_{suffix}", f"xonnc_bytes p, {name} v", store),
        inline(name, f"xonnc_splat_{suffix}", f"{vector.scalar_type} x", splat),
        inline(half.name, f"xonnc_low_{suffix}", f"{name} v", "return v.low;"),
        inline(half.name, f"xonnc_high_{suffix}", f"{name} v", "return v.high;"),
        inline(
            name,
            f"xonnc_join_{suffix}",
            f"{half.name} a, {half.name} b",
            f"const {name} v = {{a, b}};\n    return v;",
        ),
    ]


def array_body(vector: VectorType, numbers: Sequence[str]) -> str:
    """Return a body that fills an array; without a loop, compilers keep it in registers."""
    lines = [f"r.l[{lane}] = {number};" for lane, number in enumerate(numbers)]
    return "\n    ".join([f"{vector.name} r;", *lines, "return r;"])


def _array(vector: VectorType) -> list[str]:
    name, suffix, number = vector.name, vector.suffix, vector.scalar_type
    lanes = range(vector.lanes)
    loads = [f"((const xonnc_{number} *)p)[{lane}]" for lane in lanes]
    stores = [f"((xonnc_{number} *)p)[{lane}] = v.l[{lane}];" for lane in lanes]
    return [
        f"typedef struct {{ {number} l[{vector.lanes}]; }} {name};",
        inline(name, f"xonnc_load_{suffix}", "xonnc_bytes p", array_body(vector, loads)),
        inline("void", f"xonnc_store_{suffix}", f"xonnc_bytes p, {name} v", "\n    ".join(stores)),
        inline(name, f"xonnc_splat_{suffix}", f"{number} x", array_body(vector, ["x"] * vector.lanes)),
        *(_parts_of_bytes(vector) if vector.lanes >= 4 else []),
    ]
