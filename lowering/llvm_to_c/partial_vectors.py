"""C functions that load or store the first lanes of a vector only, with no access past them."""

from __future__ import annotations

from xonnc.lowering.llvm_to_c.vector_types import MIN_VECTOR_BYTES, VectorType, inline, is_native

X86_VECTORS = {16: "", 32: "256", 64: "512"}
"""The part of the names of Intel intrinsics that tells the vector size, by bytes."""


def needs_split(vector: VectorType) -> bool:
    """Whether partial accesses recurse into the low and high part; else they are elementwise."""
    return vector.lanes > 4 or vector.bytes > MIN_VECTOR_BYTES


def split_count(vector: VectorType, count: int) -> tuple[int, int]:
    """Return how many of the first `count` lanes are in the low and in the high part."""
    return min(count, vector.half.lanes), max(0, count - vector.half.lanes)


def load_function(vector: VectorType, count: int) -> str:
    """Return a function that loads the first lanes and zeroes the others, by those of the two parts."""
    name, suffix, number = vector.name, vector.suffix, vector.scalar_type
    if not needs_split(vector):
        elements = [
            f"((const xonnc_{number} *)p)[{lane}]" if lane < count else "0" for lane in range(vector.lanes)
        ]
        listed = ", ".join(elements)
        plain = f"const {name} v = {{{listed}}};"
        array = f"const {name} v = {{{{{listed}}}}};"
        body = f"\n#if {is_native(vector)}\n    {plain}\n#else\n    {array}\n#endif\n    return v;"
    else:
        half = vector.half
        low, high = split_count(vector, count)
        parts = [_load_call(half, low, "p"), _load_call(half, high, f"p + {half.bytes}")]
        body = f"return xonnc_join_{suffix}({', '.join(parts)});"
    mask = f"return ({name}){_intel_intrinsic(vector, 'maskz_loadu')}({_mask(count)}, p);"
    return inline(
        name, f"xonnc_load_{suffix}_{count}", "xonnc_bytes p", _with_masked_variant(vector, mask, body)
    )


def _load_call(vector: VectorType, count: int, pointer: str) -> str:
    if not count:
        return f"xonnc_splat_{vector.suffix}(0)"
    end = "" if count == vector.lanes else f"_{count}"
    return f"xonnc_load_{vector.suffix}{end}({pointer})"


def store_function(vector: VectorType, count: int) -> str:
    """Return a function that stores the first lanes, by those of the two parts."""
    suffix, number = vector.suffix, vector.scalar_type
    if not needs_split(vector):
        body = (
            f"{number} l[{vector.lanes}];\n"
            f"    xonnc_store_{suffix}((xonnc_bytes)l, v);\n"
            f"    memcpy(p, l, {count} * sizeof *l);"
        )
    else:
        half = vector.half
        low, high = split_count(vector, count)
        parts = [(low, "low", "p"), (high, "high", f"p + {half.bytes}")]
        body = "\n    ".join(
            f"xonnc_store_{half.suffix}{'' if each == half.lanes else f'_{each}'}"
            f"({pointer}, xonnc_{part}_{suffix}(v));"
            for each, part, pointer in parts
            if each
        )
    type_ = {"f32": "", "f64": "d"}.get(vector.kind, "i")
    cast = f"(__m{8 * vector.bytes}{type_})"
    mask = f"{_intel_intrinsic(vector, 'mask_storeu')}(p, {_mask(count)}, {cast}v);"
    parameters = f"xonnc_bytes p, {vector.name} v"
    return inline(
        "void", f"xonnc_store_{suffix}_{count}", parameters, _with_masked_variant(vector, mask, body)
    )


def _mask(count: int) -> str:
    return f"{(1 << count) - 1:#x}u" + ("ll" if count > 32 else "")


def _intel_intrinsic(vector: VectorType, name: str) -> str:
    kind = {"f32": "ps", "f64": "pd"}.get(vector.kind, f"epi{vector.width}")
    return f"_mm{X86_VECTORS.get(vector.bytes, '')}_{name}_{kind}"


def _with_masked_variant(vector: VectorType, mask: str, body: str) -> str:
    """Return a function body with a variant for processors with masked loads and stores (AVX-512)."""
    if vector.bytes not in X86_VECTORS:
        return body
    condition = f"{is_native(vector)} && defined(XONNC_MASKS)"
    start = "" if body.startswith("\n") else "\n    "
    return f"\n#if {condition}\n    {mask}\n#else{start}{body}\n#endif"
