"""The functions of vectors that a program calls, each written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xonnc.lowering.llvm_to_c.partial_vectors import halves_of, has_halves, loading, storing
from xonnc.lowering.llvm_to_c.vector_operations import INT8_DOT, Form
from xonnc.lowering.llvm_to_c.vector_types import LEAST_BYTES, Vector, declared, filled, inline, is_native

PARAMETERS = "abc"

Lane: TypeAlias = Callable[[Sequence[str]], str]
"""One number of a result, made of the text of one number of each operand."""


class VectorFunctions:
    """
    Types of vectors and functions of them.

    A function is written for vectors of GNU C's, else by those of the halves, in the end number by number.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.stems: set[str] = set()
        """The ops that there are functions of."""
        self._numbered: dict[tuple[str, str, str], str] = {}

    def text(self) -> str:
        """All definitions, what is needed first."""
        return "\n\n".join(self._texts.values()) + "\n"

    def use(self, vector: Vector) -> Vector:
        """The same, after its definition."""
        if vector.name not in self._texts:
            if vector.lanes >= 4:
                self.use(vector.half)
            self._texts[vector.name] = declared(vector)
            self.use(vector.bits)
        return vector

    def load(self, vector: Vector, count: int) -> str:
        """The function that loads so many numbers."""
        name = f"xonnc_load_{self.use(vector).suffix}"
        return name if count == vector.lanes else self._end(vector, count, f"{name}_{count}", loading)

    def store(self, vector: Vector, count: int) -> str:
        """The function that stores the first of its numbers."""
        name = f"xonnc_store_{self.use(vector).suffix}"
        return name if count == vector.lanes else self._end(vector, count, f"{name}_{count}", storing)

    def _end(self, vector: Vector, count: int, name: str, define: Callable[[Vector, int], str]) -> str:
        if name in self._texts:
            return name
        half = vector.half
        for each in halves_of(vector, count) if has_halves(vector) else ():
            if 0 < each < half.lanes:
                stem = name.rsplit("_", 2)[0]
                self._end(half, each, f"{stem}_{half.suffix}_{each}", define)
        self._texts[name] = define(vector, count)
        return name

    def whole(self, form: Form, result: Vector, operands: Sequence[Vector], lane: Lane) -> str:
        """The function of an op on whole vectors."""
        others = [each.suffix for each in operands if each != result]
        name = "_".join(["xonnc", form.stem, result.suffix, *dict.fromkeys(others)])
        if name in self._texts:
            return name
        types = [self.use(each) for each in (result, *operands)]
        self.stems.add(form.stem)
        if form.stem == INT8_DOT:
            self.use(Vector("u16", 2 * result.lanes))
        if max(each.bytes for each in types) > LEAST_BYTES:
            halves = [each.half for each in types]
            half = self.whole(form, halves[0], halves[1:], lane)
            low, high = (
                ", ".join(
                    f"xonnc_{part}_{each.suffix}({letter})"
                    for each, letter in zip(operands, PARAMETERS, strict=False)
                )
                for part in ("low", "high")
            )
            other = f"return xonnc_join_{result.suffix}({half}({low}), {half}({high}));"
        else:
            other = _number_by_number(result, operands, lane, result.lanes, is_array=not form.needs)
        condition = is_native(*types) + (f" && {form.needs}" if form.needs else "")
        parameters = _parameters(operands)
        self._texts[name] = "\n".join(
            [
                f"#if {condition}",
                inline(result.name, name, parameters, form.body(result, operands)),
                "#else",
                inline(result.name, name, parameters, other),
                "#endif",
            ]
        )
        return name

    def number_by_number(
        self, stem: str, result: Vector, operands: Sequence[Vector], lane: Lane, count: int
    ) -> str:
        """The function of an op whose first `count` numbers are made one after the other."""
        self.use(result)
        for each in operands:
            self.use(each)
        return self._numbered_as(
            stem, result.name, _parameters(operands), _number_by_number(result, operands, lane, count)
        )

    def pick(self, result: Vector | str, operands: tuple[Vector, Vector], lanes: Sequence[int]) -> str:
        """The function that gives these lanes of two vectors one behind the other; one lane is a number."""
        first, second = map(self.use, operands)
        arrays = (
            f"{first.number} l[{first.lanes + second.lanes}];\n"
            f"    xonnc_store_{first.suffix}((xonnc_bytes)l, a);\n"
            f"    xonnc_store_{second.suffix}((xonnc_bytes)(l + {first.lanes}), b);\n"
        )
        parameters = _parameters(operands)
        if isinstance(result, str):
            return self._numbered_as("lane", result, parameters, f"{arrays}    return l[{lanes[0]}];")
        self.use(result)
        # Lanes behind those that are asked for are never read.
        places = [*lanes, *[lanes[-1]] * (result.lanes - len(lanes))]
        listed = ", ".join(f"l[{place}]" for place in places)
        body = (
            f"{arrays}    const {result.number} picked[{result.lanes}] = {{{listed}}};\n"
            f"    return xonnc_load_{result.suffix}((xonnc_bytes)picked);"
        )
        if first != second:
            return self._numbered_as("pick", result.name, parameters, body)
        shuffle = f"return __builtin_shufflevector(a, b, {', '.join(map(str, places))});"
        condition = f"{is_native(result, first)} && defined(XONNC_SHUFFLE)"
        return self._numbered_as("pick", result.name, parameters, body, (condition, shuffle))

    def _numbered_as(
        self, stem: str, result: str, parameters: str, body: str, native: tuple[str, str] | None = None
    ) -> str:
        """A function that is known by what it does."""
        key = stem, f"{result}({parameters})", body
        name = self._numbered.setdefault(key, f"xonnc_{stem}_{len(self._numbered)}")
        if name not in self._texts:
            text = inline(result, name, parameters, body)
            if native is not None:
                condition, other = native
                text = f"#if {condition}\n{inline(result, name, parameters, other)}\n#else\n{text}\n#endif"
            self._texts[name] = text
        return name


def _parameters(operands: Sequence[Vector]) -> str:
    return ", ".join(f"{each.name} {letter}" for each, letter in zip(operands, PARAMETERS, strict=False))


def _number_by_number(
    result: Vector, operands: Sequence[Vector], lane: Lane, count: int, is_array: bool = False
) -> str:
    """All numbers of arrays, or a loop over those of vectors that are stored for it."""
    letters = PARAMETERS[: len(operands)]
    if is_array:
        return filled(result, [lane([f"{letter}.l[{i}]" for letter in letters]) for i in range(count)])
    lines: list[str] = []
    for each, letter in zip(operands, letters, strict=True):
        lines += [
            f"{each.number} {letter}_[{each.lanes}];",
            f"xonnc_store_{each.suffix}((xonnc_bytes){letter}_, {letter});",
        ]
    return "\n    ".join(
        [
            f"{result.number} r[{result.lanes}] = {{0}};",
            "int i;",
            *lines,
            f"for (i = 0; i < {count}; i++) r[i] = {lane([f'{letter}_[i]' for letter in letters])};",
            f"return xonnc_load_{result.suffix}((xonnc_bytes)r);",
        ]
    )
