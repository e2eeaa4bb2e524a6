"""Einsum as MatMul, Mul, ReduceSum and Transpose (docs/internals/onnx-rules.md §5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape, tensor_type
from xonnc.rewriting.onnx import (
    Einsum,
    MatMul,
    Mul,
    ReduceSum,
    Reshape,
    Squeeze,
    Transpose,
    Unsqueeze,
    Where,
)
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, Template, attr, rest
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.op_builder import OpBuilder
from xonnc.transforms.shapes.einsum import parsed


@dataclass(frozen=True)
class Term:
    """A tensor with one subscript per axis."""

    builder: OpBuilder
    value: SSAValue
    subscripts: str
    shape: tuple[int, ...]
    element: Attribute

    def made(self, op: Template, subscripts: str, shape: Sequence[int], *operands: SSAValue) -> Term:
        """Create an op of this term and further operands."""
        type_ = tensor_type(tuple(shape), self.element)
        made = self.builder(op, self.value, *operands, types=[type_])
        return Term(self.builder, made, subscripts, tuple(shape), self.element)

    def size(self, subscripts: str) -> tuple[int, ...]:
        """Return the dimensions of some subscripts."""
        return tuple(self.shape[self.subscripts.index(each)] for each in subscripts)

    def squeezed(self, axes: Sequence[int]) -> Term:
        """Drop axes of size 1."""
        return self.without(Squeeze, axes)

    def summed(self, axes: Sequence[int]) -> Term:
        """Sum over some axes."""
        return self.without(ReduceSum, axes)

    def without(self, op: Template, axes: Sequence[int]) -> Term:
        if not axes:
            return self
        remaining = [index for index in range(len(self.shape)) if index not in axes]
        subscripts = "".join(self.subscripts[index] for index in remaining)
        type_ = tensor_type(tuple(self.shape[index] for index in remaining), self.element)
        properties = {"keepdims": 0, "noop_with_empty_axes": 0} if op.name == "ReduceSum" else {}
        made = self.builder(op, self.value, self.builder.ints(*axes), types=[type_], **properties)
        return Term(self.builder, made, subscripts, type_.get_shape(), self.element)

    def transposed(self, subscripts: str) -> Term:
        """Permute the axes."""
        if subscripts == self.subscripts:
            return self
        perm = [self.subscripts.index(each) for each in subscripts]
        type_ = tensor_type(self.size(subscripts), self.element)
        made = self.builder(Transpose, self.value, types=[type_], perm=perm)
        return Term(self.builder, made, subscripts, type_.get_shape(), self.element)

    def reshaped(self, subscripts: str, shape: tuple[int, ...]) -> Term:
        """Reshape; subscripts no longer correspond to axes."""
        if shape == self.shape:
            return Term(self.builder, self.value, subscripts, shape, self.element)
        return self.made(Reshape, subscripts, shape, self.builder.ints(*shape))

    def diagonal(self, subscript: str) -> Term:
        """Take the diagonal of repeated subscripts."""
        axes = [index for index, each in enumerate(self.subscripts) if each == subscript]
        if len(axes) == 1:
            return self
        size = self.shape[axes[0]]
        if size == 1:
            return self.squeezed(axes[1:])
        # Zero everything off the diagonal, then sum: the standard ops have no diagonal.
        grid = np.indices((size,) * len(axes))
        shape = [size if index in axes else 1 for index in range(len(self.shape))]
        mask = self.builder.constant(np.all(grid == grid[0], axis=0).reshape(shape))
        zero = self.builder.constant(np.array(0, numpy_dtype(self.element)))
        type_ = tensor_type(self.shape, self.element)
        chosen = self.builder(Where, mask, self.value, zero, types=[type_])
        return Term(self.builder, chosen, self.subscripts, self.shape, self.element).summed(axes[1:])


def product(a: Term, b: Term) -> Term:
    """Multiply with broadcasting over unshared subscripts."""
    own = "".join(each for each in a.subscripts if each not in b.subscripts)
    shared = "".join(each for each in b.subscripts if each in a.subscripts)
    a, together = a.transposed(own + shared), own + b.subscripts
    missing = [index for index, each in enumerate(together) if each not in a.subscripts]
    if missing:
        sizes = [1 if each not in a.subscripts else a.size(each)[0] for each in together]
        a = a.made(Unsqueeze, together, sizes, a.builder.ints(*missing))
    shape = np.broadcast_shapes(a.shape, b.shape)
    return a.made(Mul, together, shape, b.value)


def contraction(a: Term, b: Term, reduced: str) -> Term:
    """Contract over `reduced` by a batched MatMul."""
    shared = "".join(each for each in a.subscripts if each in b.subscripts and each not in reduced)
    rows = "".join(each for each in a.subscripts if each not in b.subscripts)
    columns = "".join(each for each in b.subscripts if each not in a.subscripts)
    a, b = a.transposed(shared + rows + reduced), b.transposed(shared + reduced + columns)
    sizes = a.size(rows), a.size(reduced), b.size(columns)
    height, depth, width = (prod(each) for each in sizes)
    left = a.reshaped("", (*a.size(shared), height, depth))
    right = b.reshaped("", (*b.size(shared), depth, width))
    batch = np.broadcast_shapes(a.size(shared), b.size(shared))
    made = left.made(MatMul, "", (*batch, height, width), right.value)
    return made.reshaped(shared + rows + columns, (*batch, *sizes[0], *sizes[2]))


def contracted(terms: Sequence[Term], result: str) -> Term:
    """Contract all terms pairwise to the axes of the result."""
    prepared: list[Term] = []
    for term in terms:
        axes = [index for index, each in enumerate(term.subscripts) if each not in result]
        prepared.append(term.squeezed([index for index in axes if term.shape[index] == 1]))
    for index, term in enumerate(prepared):
        others = {each for other in (*prepared[:index], *prepared[index + 1 :]) for each in other.subscripts}
        for subscript in dict.fromkeys(term.subscripts):
            term = term.diagonal(subscript)
        alone = [
            axis for axis, each in enumerate(term.subscripts) if each not in others and each not in result
        ]
        prepared[index] = term.summed(alone)
    first, *remaining = prepared
    while remaining:
        second, *remaining = remaining
        needed = {*result, *(each for term in remaining for each in term.subscripts)}
        reduced = "".join(
            each for each in first.subscripts if each in second.subscripts and each not in needed
        )
        first = contraction(first, second, reduced) if reduced else product(first, second)
    return first.transposed(result)


def has_products(element: Attribute) -> bool:
    """Return whether Mul, MatMul and ReduceSum support the element type."""
    if isinstance(element, BFloat16Type | Float16Type | Float32Type | Float64Type):
        return True
    return isinstance(element, IntegerType) and element.bitwidth >= 32


@rule(Einsum(rest.terms, equation=attr.equation))
def einsum(root: Operation, terms: Sequence[SSAValue], equation: str) -> RewriteResult:
    """Einsum is a pairwise contraction by Transpose, MatMul or Mul, and ReduceSum"""
    return decomposed(root, terms, equation)


def decomposed(root: Operation, terms: Sequence[SSAValue], equation: str) -> RewriteResult:
    """Contract the operands of an Einsum pairwise."""
    shapes = [shape for term in terms if (shape := static_shape(term.type)) is not None]
    result, element = static_shape(root.results[0].type), element_type(terms[0].type)
    if element is None or not has_products(element):
        return MatchFailure("unsupported element type prevents Einsum decomposition")
    if len(shapes) != len(terms):
        return MatchFailure("unknown shapes prevent Einsum decomposition")
    if result is None:
        return MatchFailure("unknown result shape prevent Einsum decomposition")
    if 0 in result or any(0 in shape for shape in shapes):
        return np.zeros(result, numpy_dtype(element))
    found = parsed(equation, [len(shape) for shape in shapes])
    if found is None:
        return MatchFailure("the equation does not fit the operands")
    if any(not is_regular(each, shape) for each, shape in zip(found.operands, shapes, strict=True)):
        return MatchFailure("a diagonal is of axes of different sizes")

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        given = zip(terms, found.operands, shapes, strict=True)
        made = contracted([Term(builder, *each, element) for each in given], found.result).value
        if made not in terms and isinstance(made.owner, Operation):
            made.owner.location = op.location
        return [made]

    return ImperativeRewrite(write)


def is_regular(subscripts: str, shape: Sequence[int]) -> bool:
    """Return whether equal subscripts have equal dimensions."""
    return len(set(zip(subscripts, shape, strict=True))) == len(set(subscripts))


RULES = rules(Einsum=einsum)
