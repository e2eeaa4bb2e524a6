"""
Merge MatMuls of one matrix with several constant weights into one MatMul and a Split (QKV fusion).

docs/internals/onnx-rules.md §9.1, no. 39; here for any number of weights from three, with biases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math.arithmetic import AddOp
from xonnc.dialects.onnx.ops.math.linear import MatMulOp
from xonnc.dialects.onnx.types import is_ranked, tensor_type
from xonnc.rewriting.editing import insert_before, replace_uses
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import ONNX, Add, MatMul
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    RewriteResult,
    Template,
    const,
    one_use,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.model_opsets import form
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.op_builder import OpBuilder

x, w, b = value.x, const.w, const.b

MIN_MATMULS = 3
"""Minimum number of MatMuls to merge: two would become a MatMul and a Split, hence no fewer ops."""


@dataclass(frozen=True)
class MatMulBranch:
    """A MatMul with constant weights, and the op whose result is used: itself, or the Add of a bias."""

    last: Operation
    w: Constant
    b: Constant | None

    @property
    def columns(self) -> int:
        """Return the number of columns of the result."""
        return self.w.type.get_shape()[1]


def branch_of(product: Operation, x: SSAValue, biased: bool) -> MatMulBranch | None:
    """Return the branch of a MatMul of x with constant weights, with a bias if `biased`, or `None`."""
    if not isinstance(product, MatMulOp) or product.A is not x:
        return None
    w, y = constant_of(ONNX, product.B), product.Y
    if w is None or len(w.type.get_shape()) != 2 or not product.B.has_one_use():
        return None
    reader = y.first_use.operation if y.has_one_use() and y.first_use is not None else None
    b = constant_of(ONNX, reader.B) if isinstance(reader, AddOp) and reader.A is y else None
    if b is None or b.type.get_shape() != w.type.get_shape()[1:]:
        return None if biased or isinstance(reader, AddOp) else MatMulBranch(product, w, None)
    return MatMulBranch(reader, w, b) if biased and isinstance(reader, AddOp) else None


def merged(root: Operation, x: SSAValue, pool: DisposablePool, biased: bool) -> RewriteResult:
    """Merge all MatMuls of x into one."""
    readers = dict.fromkeys(use.operation for use in x.uses)
    parts = [part for reader in readers if (part := branch_of(reader, x, biased)) is not None]
    # A MatMul without uses has been merged already.
    parts = [
        part
        for part in parts
        if part.last.parent is root.parent and part.last.results[0].first_use is not None
    ]
    axes, split = rank(x), form("Split", root)
    if len(parts) < MIN_MATMULS or not axes or split is None or split.name == "SplitV1":
        return MatchFailure("there are not three such products, or the rank is not known")
    # Products in block order: the merged op is inserted before the first, so that it dominates all uses.
    block = root.parent
    assert block is not None
    part_of = {part.last: part for part in parts}
    ordered = [part_of[op] for op in block.ops if op in part_of]
    if ordered[0].last is not root:
        return MatchFailure("another one of the products comes first")
    return ImperativeRewrite(lambda root: write(root, x, ordered, split, pool))


def write(
    root: Operation, x: SSAValue, parts: Sequence[MatMulBranch], split: Template, pool: DisposablePool
) -> Sequence[SSAValue]:
    """Create the merged MatMul and the Split, whose results replace the branches."""
    writer, columns = OpBuilder(root), [part.columns for part in parts]
    assert is_ranked(x.type)
    rows = x.type.get_shape()[:-1]
    wide = [tensor_type((*rows, sum(columns)), x.type.element_type)]

    def joined(constants: Sequence[Constant], axis: int) -> SSAValue:
        elements = pool.create(np.concatenate([each.array for each in constants], axis))
        made = ConstantOp.from_attr(elements, derived(root.location))
        insert_before(root, [made])
        return made.output

    product = writer(MatMul, x, joined([part.w for part in parts], 1), types=wide)
    biases = [part.b for part in parts if part.b is not None]
    if biases:
        product = writer(Add, product, joined(biases, 0), types=wide)
    types = [part.last.results[0].type for part in parts]
    if split.name == "SplitV11":
        made = writer.all(split, product, types=types, axis=len(rows), split=columns)
    else:
        made = writer.all(split, product, writer.ints(*columns), types=types, axis=len(rows))
    for part, result in zip(parts[1:], made[1:], strict=True):
        replace_uses(part.last.results[0], result)
    return made[:1]


@rule(Add(one_use(MatMul(x, w)), b))
def biased_products(root: Operation, x: SSAValue, w: Constant) -> RewriteResult:
    """x u + a, x v + b, x w + c = split(x [u v w] + [a b c])"""
    return merged(root, x, w.pool, biased=True)


@rule(MatMul(x, w))
def products(root: Operation, x: SSAValue, w: Constant) -> RewriteResult:
    """x u, x v, x w = split(x [u v w])"""
    return merged(root, x, w.pool, biased=False)


RULES = rules(MergeProductsWithBias=biased_products, MergeProducts=products)
"""Applied last: a scale folds into the weights of one MatMul only."""
