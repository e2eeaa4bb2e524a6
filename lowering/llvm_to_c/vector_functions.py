"""Collect the vector types and functions that a program uses, each defined once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xonnc.lowering.llvm_to_c.partial_vectors import load_function, needs_split, split_count, store_function
from xonnc.lowering.llvm_to_c.vector_operations import INT8_DOT, VectorOperation
from xonnc.lowering.llvm_to_c.vector_types import (
    MIN_VECTOR_BYTES,
    VectorType,
    array_body,
    inline,
    is_native,
    vector_type_definition,
)

PARAMETERS = "abc"

LaneExpression: TypeAlias = Callable[[Sequence[str]], str]
"""Return the expression for one lane of a result, given that lane of each operand."""


class VectorFunctions:
    """
    Definitions of vector types and functions.

    Each function has up to three variants, which the preprocessor selects by the vector size of the target:
    GNU C vector extensions, two calls of the function for half the lanes, and an elementwise loop.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.stems: set[str] = set()
        """The stems of the operations that have functions."""
        self._names_by_body: dict[tuple[str, str, str], str] = {}

    def text(self) -> str:
        """Return all definitions in order of dependency."""
        return "\n\n".join(self._texts.values()) + "\n"

    def use(self, vector: VectorType) -> VectorType:
        """Define a vector type if it is new; return it."""
        if vector.name not in self._texts:
            if vector.lanes >= 4:
                self.use(vector.half)
            self._texts[vector.name] = vector_type_definition(vector)
            self.use(vector.bits)
        return vector

    def load(self, vector: VectorType, count: int) -> str:
        """Return the name of the function that loads the first `count` lanes."""
        name = f"xonnc_load_{self.use(vector).suffix}"
        return (
            name if count == vector.lanes else self._partial(vector, count, f"{name}_{count}", load_function)
        )

    def store(self, vector: VectorType, count: int) -> str:
        """Return the name of the function that stores the first `count` lanes."""
        name = f"xonnc_store_{self.use(vector).suffix}"
        return (
            name if count == vector.lanes else self._partial(vector, count, f"{name}_{count}", store_function)
        )

    def _partial(
        self, vector: VectorType, count: int, name: str, define: Callable[[VectorType, int], str]
    ) -> str:
        if name in self._texts:
            return name
        half = vector.half
        for each in split_count(vector, count) if needs_split(vector) else ():
            if 0 < each < half.lanes:
                stem = name.rsplit("_", 2)[0]
                self._partial(half, each, f"{stem}_{half.suffix}_{each}", define)
        self._texts[name] = define(vector, count)
        return name

    def vectorized(
        self,
        operation: VectorOperation,
        result: VectorType,
        operands: Sequence[VectorType],
        lane: LaneExpression,
    ) -> str:
        """Return the name of the function for an operation on whole vectors."""
        others = [each.suffix for each in operands if each != result]
        name = "_".join(["xonnc", operation.stem, result.suffix, *dict.fromkeys(others)])
        if name in self._texts:
            return name
        types = [self.use(each) for each in (result, *operands)]
        self.stems.add(operation.stem)
        if operation.stem == INT8_DOT:
            self.use(VectorType("u16", 2 * result.lanes))
        if max(each.bytes for each in types) > MIN_VECTOR_BYTES:
            parts = [each.half for each in types]
            half = self.vectorized(operation, parts[0], parts[1:], lane)
            low, high = (
                ", ".join(
                    f"xonnc_{part}_{each.suffix}({letter})"
                    for each, letter in zip(operands, PARAMETERS, strict=False)
                )
                for part in ("low", "high")
            )
            other = f"return xonnc_join_{result.suffix}({half}({low}), {half}({high}));"
        else:
            other = _elementwise_body(result, operands, lane, result.lanes, is_array=not operation.needs)
        condition = is_native(*types) + (f" && {operation.needs}" if operation.needs else "")
        parameters = _parameters(operands)
        self._texts[name] = "\n".join(
            [
                f"#if {condition}",
                inline(result.name, name, parameters, operation.body(result, operands)),
                "#else",
                inline(result.name, name, parameters, other),
                "#endif",
            ]
        )
        return name

    def elementwise(
        self, stem: str, result: VectorType, operands: Sequence[VectorType], lane: LaneExpression, count: int
    ) -> str:
        """Return the name of the function for an operation that computes `count` lanes elementwise."""
        self.use(result)
        for each in operands:
            self.use(each)
        return self._deduplicated(
            stem, result.name, _parameters(operands), _elementwise_body(result, operands, lane, count)
        )

    def pick(
        self, result: VectorType | str, operands: tuple[VectorType, VectorType], lanes: Sequence[int]
    ) -> str:
        """Return the name of the function that shuffles two vectors; for one lane, to a scalar."""
        first, second = map(self.use, operands)
        arrays = (
            f"{first.scalar_type} l[{first.lanes + second.lanes}];\n"
            f"    xonnc_store_{first.suffix}((xonnc_bytes)l, a);\n"
            f"    xonnc_store_{second.suffix}((xonnc_bytes)(l + {first.lanes}), b);\n"
        )
        parameters = _parameters(operands)
        if isinstance(result, str):
            return self._deduplicated("lane", result, parameters, f"{arrays}    return l[{lanes[0]}];")
        self.use(result)
        # Padding lanes are never read.
        padded = [*lanes, *[lanes[-1]] * (result.lanes - len(lanes))]
        listed = ", ".join(f"l[{lane}]" for lane in padded)
        body = (
            f"{arrays}    const {result.scalar_type} picked[{result.lanes}] = {{{listed}}};\n"
            f"    return xonnc_load_{result.suffix}((xonnc_bytes)picked);"
        )
        if first != second:
            return self._deduplicated("pick", result.name, parameters, body)
        shuffle = f"return __builtin_shufflevector(a, b, {', '.join(map(str, padded))});"
        condition = f"{is_native(result, first)} && defined(XONNC_SHUFFLE)"
        return self._deduplicated("pick", result.name, parameters, body, (condition, shuffle))

    def _deduplicated(
        self, stem: str, result: str, parameters: str, body: str, native: tuple[str, str] | None = None
    ) -> str:
        """Return the name of a function with this body, defining it if it is new."""
        key = stem, f"{result}({parameters})", body
        name = self._names_by_body.setdefault(key, f"xonnc_{stem}_{len(self._names_by_body)}")
        if name not in self._texts:
            text = inline(result, name, parameters, body)
            if native is not None:
                condition, other = native
                text = f"#if {condition}\n{inline(result, name, parameters, other)}\n#else\n{text}\n#endif"
            self._texts[name] = text
        return name


def _parameters(operands: Sequence[VectorType]) -> str:
    return ", ".join(f"{each.name} {letter}" for each, letter in zip(operands, PARAMETERS, strict=False))


def _elementwise_body(
    result: VectorType,
    operands: Sequence[VectorType],
    lane: LaneExpression,
    count: int,
    is_array: bool = False,
) -> str:
    """Return a body that computes all lanes of arrays, or a loop over vectors spilled to arrays."""
    letters = PARAMETERS[: len(operands)]
    if is_array:
        return array_body(result, [lane([f"{letter}.l[{i}]" for letter in letters]) for i in range(count)])
    lines: list[str] = []
    for each, letter in zip(operands, letters, strict=True):
        lines += [
            f"{each.scalar_type} {letter}_[{each.lanes}];",
            f"xonnc_store_{each.suffix}((xonnc_bytes){letter}_, {letter});",
        ]
    return "\n    ".join(
        [
            f"{result.scalar_type} r[{result.lanes}] = {{0}};",
            "int i;",
            *lines,
            f"for (i = 0; i < {count}; i++) r[i] = {lane([f'{letter}_[i]' for letter in letters])};",
            f"return xonnc_load_{result.suffix}((xonnc_bytes)r);",
        ]
    )
