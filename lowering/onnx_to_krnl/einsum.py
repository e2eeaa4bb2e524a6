"""Einsum as one loop nest, with a loop for each subscript label."""

from __future__ import annotations

from math import prod

from xonnc.dialects.onnx.ops.math import EinsumOp
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

ELLIPSIS = "..."


@lowers(EinsumOp)
def einsum(op: EinsumOp, builder: LoweringBuilder) -> str | None:
    """Sum of products over the labels that are not in the output."""
    shapes = [builder.shape(value) for value in op.Inputs]
    terms = letters_of(op.equation.data, [len(shape) for shape in shapes])
    *inputs, output = terms
    sizes: dict[str, int] = {}
    for letters, shape in zip(inputs, shapes, strict=True):
        for letter, size in zip(letters, shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    summed = [letter for letter in sizes if letter not in output]
    kind = compute_type(builder.element(op.Output))
    result = op.Output, [sizes[letter] for letter in output] or [1]
    kernel = Kernel(builder, "einsum", [result], op.Inputs)
    out, *sources = kernel.buffers

    def product(index_of: dict[str, Scalar]) -> Scalar:
        found = [
            source.read_as(kind, *source.broadcast([index_of[letter] for letter in letters]))
            for source, letters in zip(sources, inputs, strict=True)
        ]
        total = found[0]
        for number in found[1:]:
            total = total * number
        return total

    with kernel.loops([sizes[letter] for letter in output]) as outer:
        known = dict(zip(output, outer, strict=False))
        if prod(sizes[letter] for letter in summed) == 1:
            total = product(known | dict.fromkeys(summed, kernel.index(0)))
        else:
            start = kernel.constant(0, kind)
            with kernel.reducing([sizes[letter] for letter in summed], [start]) as (inner, (sum_,), results):
                results.append(sum_ + product(known | dict(zip(summed, inner, strict=True))))
            total = results[0]
        out[*outer] = total
    kernel.call()
    return None


def letters_of(equation: str, ranks: list[int]) -> list[list[str]]:
    """
    Return a label for each axis of each input, and last of the output.

    Axes under an ellipsis are labeled by their distance from its end. Without an arrow, the output has the
    labels that occur once, in alphabetical order, as in numpy.einsum.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    widest = max(
        (
            rank - len(term.replace(ELLIPSIS, ""))
            for term, rank in zip(terms, ranks, strict=True)
            if ELLIPSIS in term
        ),
        default=0,
    )
    found = [
        _named(term, rank - len(term.replace(ELLIPSIS, ""))) for term, rank in zip(terms, ranks, strict=True)
    ]
    if not arrow:
        once = sorted(letter for letter in set(left) if letter.isalpha() and left.count(letter) == 1)
        right = (ELLIPSIS if ELLIPSIS in left else "") + "".join(once)
    return [*found, _named(right, widest)]


def _named(term: str, covered: int) -> list[str]:
    before, dots, after = term.partition(ELLIPSIS)
    inner = [f"{ELLIPSIS}{number}" for number in range(covered, 0, -1)] if dots else []
    return [*before, *inner, *after]
