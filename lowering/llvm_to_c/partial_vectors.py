"""Vectors of which only the first numbers are loaded or stored: what lies behind them in memory is let be."""

from __future__ import annotations

from xonnc.lowering.llvm_to_c.vector_types import LEAST_BYTES, Vector, inline, is_native

X86_VECTORS = {16: "", 32: "256", 64: "512"}
"""What the names of Intel's functions say of the length, by bytes."""


def has_halves(vector: Vector) -> bool:
    """Whether its numbers are too many to be loaded and stored one by one."""
    return vector.lanes > 4 or vector.bytes > LEAST_BYTES


def halves_of(vector: Vector, count: int) -> tuple[int, int]:
    """How many of the first numbers are in the one half and in the other."""
    return min(count, vector.half.lanes), max(0, count - vector.half.lanes)


def loading(vector: Vector, count: int) -> str:
    """A function that loads so many, and zeros behind; it needs those of the halves."""
    name, suffix, number = vector.name, vector.suffix, vector.number
    if not has_halves(vector):
        places = [
            f"((const xonnc_{number} *)p)[{lane}]" if lane < count else "0" for lane in range(vector.lanes)
        ]
        listed = ", ".join(places)
        plain = f"const {name} v = {{{listed}}};"
        array = f"const {name} v = {{{{{listed}}}}};"
        body = f"\n#if {is_native(vector)}\n    {plain}\n#else\n    {array}\n#endif\n    return v;"
    else:
        half = vector.half
        low, high = halves_of(vector, count)
        parts = [_loaded(half, low, "p"), _loaded(half, high, f"p + {half.bytes}")]
        body = f"return xonnc_join_{suffix}({', '.join(parts)});"
    mask = f"return ({name}){_x86(vector, 'maskz_loadu')}({_mask(count)}, p);"
    return inline(name, f"xonnc_load_{suffix}_{count}", "xonnc_bytes p", _masked(vector, mask, body))


def _loaded(vector: Vector, count: int, pointer: str) -> str:
    if not count:
        return f"xonnc_splat_{vector.suffix}(0)"
    end = "" if count == vector.lanes else f"_{count}"
    return f"xonnc_load_{vector.suffix}{end}({pointer})"


def storing(vector: Vector, count: int) -> str:
    """A function that stores the first of its numbers; it needs those of the halves."""
    suffix, number = vector.suffix, vector.number
    if not has_halves(vector):
        body = (
            f"{number} l[{vector.lanes}];\n"
            f"    xonnc_store_{suffix}((xonnc_bytes)l, v);\n"
            f"    memcpy(p, l, {count} * sizeof *l);"
        )
    else:
        half = vector.half
        low, high = halves_of(vector, count)
        parts = [(low, "low", "p"), (high, "high", f"p + {half.bytes}")]
        body = "\n    ".join(
            f"xonnc_store_{half.suffix}{'' if each == half.lanes else f'_{each}'}"
            f"({pointer}, xonnc_{part}_{suffix}(v));"
            for each, part, pointer in parts
            if each
        )
    type_ = {"f32": "", "f64": "d"}.get(vector.kind, "i")
    cast = f"(__m{8 * vector.bytes}{type_})"
    mask = f"{_x86(vector, 'mask_storeu')}(p, {_mask(count)}, {cast}v);"
    parameters = f"xonnc_bytes p, {vector.name} v"
    return inline("void", f"xonnc_store_{suffix}_{count}", parameters, _masked(vector, mask, body))


def _mask(count: int) -> str:
    return f"{(1 << count) - 1:#x}u" + ("ll" if count > 32 else "")


def _x86(vector: Vector, name: str) -> str:
    kind = {"f32": "ps", "f64": "pd"}.get(vector.kind, f"epi{vector.width}")
    return f"_mm{X86_VECTORS.get(vector.bytes, '')}_{name}_{kind}"


def _masked(vector: Vector, mask: str, body: str) -> str:
    """A body of a function, and before it that for processors that load and store parts of vectors."""
    if vector.bytes not in X86_VECTORS:
        return body
    condition = f"{is_native(vector)} && defined(XONNC_MASKS)"
    start = "" if body.startswith("\n") else "\n    "
    return f"\n#if {condition}\n    {mask}\n#else{start}{body}\n#endif"
