"""Einsum of matrix products: MatMul has better kernels than the loop nest of any Einsum."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import is_ranked
from xonnc.rewriting.onnx import Einsum
from xonnc.rewriting.patterns import MatchFailure, RewriteResult, attr, rest
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.decompose_einsum import decomposed
from xonnc.transforms.shapes.einsum import Equation, parsed


def is_matrix_product(equation: Equation) -> bool:
    """
    Whether the equation multiplies matrices, or permutes axes.

    A matrix product sums over a subscript of two operands that lack subscripts of the result. Where only one
    does, as in a matrix times a vector, the loop nest is faster if it sums along the last axes; and it is for
    what uses each element once (`ij,ij->i`), and for diagonals.
    """
    operands, result = equation.operands, set(equation.result)
    if len(operands) == 1:
        return len(operands[0]) == len(set(operands[0])) == len(result)
    letters = set("".join(operands))
    summed = {each for each in letters - result if sum(each in term for term in operands) > 1}
    factors = [term for term in operands if summed & set(term)]
    incomplete = [term for term in factors if result - set(term)]
    return len(incomplete) > 1 or (bool(incomplete) and any(term[-1] not in summed for term in factors))


@rule(Einsum(rest.terms, equation=attr.equation))
def einsum(root: Operation, terms: Sequence[SSAValue], equation: str) -> RewriteResult:
    """Einsum of matrix products is MatMul, Transpose and Reshape; one that permutes axes is Transpose"""
    ranks = [len(term.type.get_shape()) for term in terms if is_ranked(term.type)]
    found = parsed(equation, ranks)
    if found is None or not is_matrix_product(found):
        return MatchFailure("the loop nest is faster")
    return decomposed(root, terms, equation)


RULES = rules(Einsum=einsum)
