"""Shapes concatenated from single dimensions (docs/internals/onnx-rules.md §3.2 to §3.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i64
from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape, tensor_type
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    ONNX,
    Concat,
    Dim,
    Equal,
    Expand,
    Reshape,
    Slice,
    Transpose,
    Unsqueeze,
    Where,
)
from xonnc.rewriting.patterns import (
    Constant,
    MatchFailure,
    Node,
    OperandSpec,
    RewriteResult,
    attr,
    const,
    maybe,
    rest,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import is_scalar, rank
from xonnc.transforms.rules.constprop_movement import int_values_of, normalised

x, s, shape = value.x, value.s, value.shape

MAX_COMPARED = 10
"""
Largest number of dimensions in a comparison that is rewritten (docs/internals/onnx-rules.md §3.4,
RemoveWhereEqualPattern): longer tensors are not shapes.
"""

ONE_SIZE = TensorType(i64, (1,))


def number(size: int) -> DenseIntOrFPElementsAttr:
    """Return a dimension as a one-element constant."""
    return DenseIntOrFPElementsAttr.from_list(ONE_SIZE, [size])


def sizes_in(shape: SSAValue) -> list[SSAValue] | None:
    """Return the one-element values that are concatenated to a shape, or `None`."""
    if isinstance(shape, OpResult) and shape.op.name == "onnx.Concat":
        parts = [sizes_in(part) for part in shape.op.operands]
        return None if None in parts else [size for part in parts if part for size in part]
    return [shape] if shape.type == ONE_SIZE else None


def joined(sizes: Sequence[OperandSpec]) -> Node:
    """Return the concatenation of single dimensions."""
    return Concat(*sizes, axis=0).typed(tensor_type((len(sizes),), i64))


def known_size(size: SSAValue) -> int | None:
    """Return the value of a constant dimension, or `None`."""
    found = constant_of(ONNX, size)
    return int(found.array.reshape(())) if found is not None and found.array.size == 1 else None


def is_dim(size: SSAValue) -> bool:
    """Return whether a value is a dimension of a tensor, hence not negative."""
    return isinstance(size, OpResult) and size.op.name == "onnx.Dim"


def is_dim_of(size: SSAValue, data: SSAValue, axis: int) -> bool:
    """Return whether a value is this dimension of this tensor."""
    if not isinstance(size, OpResult) or not is_dim(size):
        return False
    return size.op.operands[0] is data and decode(size.op.properties.get("axis")) == axis


@rule(Dim(Reshape(x, Concat(rest.sizes), allowzero=0), axis=attr.axis))
def dim_of_reshape(x: SSAValue, sizes: Sequence[SSAValue], axis: int) -> RewriteResult:
    """
    dim(reshape(x, sizes), i) is the i-th of the sizes

    The entry must not have the special meanings of -1 (inferred) and 0 (copied from x). So it must be a
    positive constant; dimension i of x itself, whose copy is the same value; or any dimension if i is
    beyond the rank of x, where 0 would be invalid.
    """
    if any(size.type != ONE_SIZE for size in sizes) or not 0 <= axis < len(sizes):
        return MatchFailure("the shape is not a concatenation of single dimensions")
    size, known, axes = sizes[axis], known_size(sizes[axis]), rank(x)
    if known is not None and known > 0:
        return size
    if is_dim_of(size, x, axis) or (is_dim(size) and axes is not None and axis >= axes):
        return size
    return MatchFailure("the size may be -1, or 0 and thus copied")


@rule(Dim(Transpose(x, perm=attr.perm), axis=attr.axis), bonus=-1)
def dim_of_transpose(x: SSAValue, perm: tuple[int, ...] | None, axis: int) -> RewriteResult:
    """dim(transpose(x, p), i) = dim(x, p[i])"""
    if perm is None or not is_ranked(x.type) or not 0 <= axis < len(perm) or perm[axis] < 0:
        return MatchFailure("the rank or the permutation is not known")
    return Dim(x, axis=perm[axis])


@rule(Unsqueeze(Expand(s, shape), const.axes), bonus=-2)
def wider_expand(s: SSAValue, shape: SSAValue, axes: Constant) -> RewriteResult:
    """unsqueeze(expand(scalar, sizes)) = expand(scalar, sizes with ones in between)"""
    sizes, added = sizes_in(shape), int_values_of(axes) or ()
    if sizes is None or not is_scalar(s):
        return MatchFailure("the operand is not a scalar expanded to axes of size 1")
    positions = normalised(added, len(sizes) + len(added))
    if positions is None:
        return MatchFailure("an axis is out of range")
    remaining = iter(sizes)
    wide = [number(1) if index in positions else next(remaining) for index in range(len(sizes) + len(added))]
    return Expand(s, joined(wide))


@rule(Slice(Expand(s, shape), value.starts, value.ends, maybe.axes, value.steps), bonus=-2)
def smaller_expand(
    root: Operation, s: SSAValue, shape: SSAValue, starts: SSAValue, axes: Constant | None
) -> RewriteResult:
    """slice(expand(scalar, sizes)) = expand(scalar, smaller sizes)"""
    sizes, made, count = sizes_in(shape), root.results[0].type, static_shape(starts.type)
    if sizes is None or not is_scalar(s) or not is_ranked(made) or count is None:
        return MatchFailure("the operand is not a scalar expanded to axes of size 1")
    cut = normalised(int_values_of(axes) or range(count[0]), len(sizes))
    after = made.get_shape()
    if cut is None or len(after) != len(sizes) or any(after[axis] < 0 for axis in cut):
        return MatchFailure("the size of a sliced axis is unknown")
    return Expand(
        s, joined([number(after[index]) if index in cut else size for index, size in enumerate(sizes)])
    )


@rule(Slice(Concat(rest.parts), const.starts, value.ends, value.axes, value.steps), bonus=-2)
def one_of_parts(root: Operation, parts: Sequence[SSAValue], starts: Constant) -> RewriteResult:
    """concat(a, b, c)[1:2] = b for single elements"""
    first, made = starts.array.reshape(-1), root.results[0].type
    if first.size != 1 or static_shape(made) != (1,):
        return MatchFailure("the result is not one element")
    position = int(first[0])
    if position < 0:
        lengths = [static_shape(part.type) for part in parts]
        if any(length != (1,) for length in lengths):
            return MatchFailure("a part is not one element")
        position += len(parts)
    if not 0 <= position < len(parts) or any(
        static_shape(part.type) != (1,) for part in parts[: position + 1]
    ):
        return MatchFailure("the element is not one of the parts")
    return parts[position] if parts[position].type == made else MatchFailure("the types differ")


def is_negative(n: Constant) -> str | None:
    """n < 0 everywhere"""
    return None if n.array.dtype.kind == "i" and np.all(n.array < 0) else "n is not negative everywhere"


def no_size_is_negative(sizes: Sequence[SSAValue]) -> str | None:
    """Every size is a dimension of a tensor or a positive constant."""
    if all(is_dim(size) or (known_size(size) or 0) > 0 for size in sizes):
        return None
    return "a size may be negative"


def third_is_result(root: Operation) -> str | None:
    """The last operand has the shape of the result already."""
    other, made = root.operands[2].type, root.results[0].type
    same = other == made or (static_shape(other) is not None and static_shape(other) == static_shape(made))
    return None if same else "the shapes differ"


@rule(Where(Equal(Concat(rest.sizes), const.n), const.k, Concat(rest.others)), bonus=-4)
def sizes_chosen(
    root: Operation, sizes: Sequence[SSAValue], n: Constant, k: Constant, others: Sequence[SSAValue]
) -> RewriteResult:
    """where(sizes == n, k, others) is a choice per dimension if each comparison is known at compile time"""
    return chosen(root, sizes, n, k, others)


@rule(Where(Equal(const.n, Concat(rest.sizes)), const.k, Concat(rest.others)), bonus=-4)
def sizes_chosen_from_right(
    root: Operation, sizes: Sequence[SSAValue], n: Constant, k: Constant, others: Sequence[SSAValue]
) -> RewriteResult:
    """where(n == sizes, k, others) is a choice per dimension if each comparison is known at compile time"""
    return chosen(root, sizes, n, k, others)


def chosen(
    root: Operation, sizes: Sequence[SSAValue], n: Constant, k: Constant, others: Sequence[SSAValue]
) -> RewriteResult:
    """
    Return, per dimension, the entry of k where the size equals n, else the entry of `others`.

    Where they are not equal, onnx-mlir takes the compared size. That is right only if it is the same value as
    the entry of `others`.
    """
    count = len(sizes)
    if static_shape(root.results[0].type) != (count,) or len(others) != count:
        return MatchFailure("the parts do not match the elements of the result")
    if any(part.type != ONE_SIZE for part in (*sizes, *others)) or element_type(k.type) != i64:
        return MatchFailure("a part is not one size")
    if n.array.size > MAX_COMPARED or np.any(n.array > 0) or {n.array.size, k.array.size} - {1, count}:
        return MatchFailure("the sizes are not compared with one that shapes cannot have")
    index, given = (np.broadcast_to(each.array, (count,)).tolist() for each in (n, k))
    parts: list[OperandSpec] = []
    for position, size in enumerate(sizes):
        known = known_size(size)
        if known is None and not (is_dim(size) and index[position] < 0):
            return MatchFailure("whether a size is equal is not known")
        equal = known is not None and known == index[position]
        parts.append(number(given[position]) if equal else others[position])
    return Concat(*parts, axis=0)


Size = int | SSAValue


def shape_entries(shape: SSAValue) -> list[Size] | None:
    """Return the dimensions in a shape, constants as integers."""
    constant = constant_of(ONNX, shape)
    if constant is not None:
        return list(int_values_of(constant) or ())
    sizes = sizes_in(shape)
    if sizes is None:
        return None
    return [size if (known := known_size(size)) is None else known for size in sizes]


@rule(Reshape(Reshape(x, value.first, allowzero=0), value.second, allowzero=0), bonus=-1)
def reshape_once(x: SSAValue, first: SSAValue, second: SSAValue) -> RewriteResult:
    """
    reshape(reshape(x, s), t) = reshape(x, t), with zeros of t replaced by the entries of s

    An entry that is not constant must be the dimension of x at the same index: should it be 0 at run time,
    Reshape copies that dimension, which gives the same value.
    """
    inner, outer = shape_entries(first), shape_entries(second)
    if inner is None or outer is None:
        return MatchFailure("a shape is not made of single sizes")
    sizes: list[Size] = []
    for index, size in enumerate(outer):
        if index >= len(inner) and (size == 0 or isinstance(size, SSAValue)):
            return MatchFailure("a size is copied from where none is")
        if isinstance(size, SSAValue):
            before = inner[index]
            copies = before == 0 or (isinstance(before, SSAValue) and is_dim_of(before, x, index))
            if not copies or not is_dim_of(size, x, index):
                return MatchFailure("a size may be 0 and thus copied from another axis")
        elif size == 0:
            size = inner[index]
            if isinstance(size, SSAValue) and not is_dim_of(size, x, index):
                return MatchFailure("a size may be 0 and thus copied from another axis")
        sizes.append(size)
    if sizes.count(-1) > 1:
        return MatchFailure("two dimensions would have to be inferred")
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        return Reshape(x, np.array(numbers, np.int64), allowzero=0)
    parts = [number(size) if isinstance(size, int) else size for size in sizes]
    return Reshape(x, joined(parts), allowzero=0)


RULES = rules(
    # where(sizes == -1, a, b) = b
    AlwaysFalseWherePattern=rule(
        Where(Equal(Concat(rest.sizes), const.n), value.a, value.b),
        value.b,
        where=(is_negative, no_size_is_negative, third_is_result),
        bonus=-1,
    ),
    RemoveWhereEqualPattern=sizes_chosen,
    RemoveWhereEqualPatternRhs=sizes_chosen_from_right,
    DimOpFromReshapeInputPattern=dim_of_reshape,
    DimOpFromTransposeInputPattern=dim_of_transpose,
    ReplaceUnsqueezeOfExpandRewritePattern=wider_expand,
    SliceConcatNoOpPattern=one_of_parts,
    ReplaceSliceOfExpandRewritePattern=smaller_expand,
    FuseTwoReshapesPattern=reshape_once,
)
