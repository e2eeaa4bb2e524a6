"""
Express shapes as concatenations of dimensions, `onnx.Dim` or constant (docs/internals/onnx-rules.md §6.5).

Shape computations then fold to the dimensions that they select, and constant dimensions refine the types.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape, tensor_type
from xonnc.rewriting.onnx import Cast, Concat, ConstantOfShape, Dim, Gather, Reshape, Shape, Slice, Squeeze
from xonnc.rewriting.patterns import (
    Constant,
    MatchFailure,
    OperandSpec,
    RewriteResult,
    attr,
    const,
    maybe,
    rest,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.constprop_movement import int_values_of, normalised
from xonnc.transforms.shapes.inference_context import UNKNOWN, axis_slice, constant_array

x = value.x

NO_SIZES = MatchFailure("the operand is not a concatenation of sizes")


def is_size(given: SSAValue) -> bool:
    """Return whether a value is one integer of shape [1], as `onnx.Dim` returns."""
    return static_shape(given.type) == (1,) and element_type(given.type) == i64


def sizes_of(given: SSAValue) -> list[SSAValue] | None:
    """Return the dimensions that are concatenated to a vector, or `None`."""
    if is_size(given):
        return [given]
    return concatenated(given)


def concatenated(given: SSAValue) -> list[SSAValue] | None:
    """Return the same as `sizes_of`, for the result of a Concat only."""
    maker = given.op if isinstance(given, OpResult) else None
    if not isinstance(maker, ConcatOp) or rank(given) not in (1, None):
        return None
    parts = [sizes_of(operand) for operand in maker.operands]
    known = [part for part in parts if part is not None]
    return [size for part in known for size in part] if len(known) == len(parts) else None


def concatenation_of(sizes: Sequence[OperandSpec], scalar: bool = False) -> RewriteResult:
    """Return the vector of some dimensions, or one dimension as a scalar."""
    if not sizes:
        return np.array((), np.int64)
    if scalar:
        return Squeeze(sizes[0], np.array([0], np.int64))
    return sizes[0] if len(sizes) == 1 else Concat(*sizes, axis=0)


@rule(Shape(x, start=attr.start, end=attr.end))
def shape_to_sizes(x: SSAValue, start: int, end: int | None) -> RewriteResult:
    """shape(x) = concat(dim(x, start), …)"""
    if not is_ranked(x.type):
        return MatchFailure("the rank is not known")
    shape = x.type.get_shape()
    sizes: list[OperandSpec] = []
    for axis in range(len(shape))[slice(start, end)]:
        known = shape[axis]
        dim = Dim(x, axis=axis).typed(tensor_type((1,), i64))
        sizes.append(dim if known == UNKNOWN else np.array([known], np.int64))
    return concatenation_of(sizes)


@rule(Cast(x, to=attr.to))
def cast_sizes(root: Operation, x: SSAValue, to: Attribute) -> RewriteResult:
    """cast(concat(sizes)) = concat(cast(sizes))"""
    sizes = concatenated(x)
    if sizes is None:
        return NO_SIZES
    return concatenation_of([Cast(size, like=root).typed(tensor_type((1,), to)) for size in sizes])


@rule(Concat(rest.parts, axis=attr.axis))
def concat_sizes(parts: Sequence[SSAValue]) -> RewriteResult:
    """concat(concat(sizes), size) = concat(sizes, size)"""
    if all(is_size(part) for part in parts):
        return MatchFailure("there is nothing to flatten")
    found = [sizes_of(part) for part in parts]
    known = [sizes for sizes in found if sizes is not None]
    if len(known) < len(found):
        return NO_SIZES
    return concatenation_of([size for sizes in known for size in sizes])


@rule(Gather(x, const.indices, axis=attr.axis))
def gather_sizes(root: Operation, x: SSAValue, indices: Constant) -> RewriteResult:
    """
    gather(concat(sizes), indices) = concat(sizes[i] for i in indices)

    Negative indices count from the back, and x may be a single dimension. onnx-mlir adds 1 to a negative
    index, and requires a concatenation.
    """
    sizes = sizes_of(x)
    if sizes is None:
        return NO_SIZES
    picked = normalised(int_values_of(indices) or (), len(sizes))
    if picked is None or indices.array.ndim > 1:
        return MatchFailure("an index is out of range, or the indices are no vector")
    return concatenation_of([sizes[index] for index in picked], scalar=indices.array.ndim == 0)


@rule(Slice(x, const.starts, const.ends, maybe.axes, maybe.steps))
def slice_sizes(x: SSAValue, starts: Constant, ends: Constant, steps: Constant | None) -> RewriteResult:
    """slice(concat(sizes), start, end, step) = concat(sizes[start:end:step])"""
    sizes = sizes_of(x)
    if sizes is None:
        return NO_SIZES
    begin, end, step = (int_values_of(given) or (1,) for given in (starts, ends, steps))
    if len(begin) != 1 or len(end) != 1 or len(step) != 1 or step[0] == 0:
        return MatchFailure("starts, ends and steps are not one number each, or the step is 0")
    picked = sizes[axis_slice(begin[0], end[0], step[0], len(sizes))]
    return concatenation_of(picked) if picked else MatchFailure("no size is left")


def refined(type_: Attribute, shape: SSAValue) -> Attribute | None:
    """Return a tensor type refined by the constant, non-negative elements of a target, or `None`."""
    sizes, element = concatenated(shape), element_type(type_)
    if sizes is None or element is None:
        return None
    before = type_.get_shape() if is_ranked(type_) else (UNKNOWN,) * len(sizes)
    if len(before) != len(sizes):
        return None
    made = tuple(
        number if old == UNKNOWN and (number := _number(size)) is not None and number >= 0 else old
        for old, size in zip(before, sizes, strict=True)
    )
    return None if made == before and is_ranked(type_) else tensor_type(made, element)


def _number(size: SSAValue) -> int | None:
    array = constant_array(size)
    return None if array is None else int(array.reshape(()))


@rule(Reshape(x, value.shape, allowzero=0))
def reshape_type(root: Operation, x: SSAValue, shape: SSAValue) -> RewriteResult:
    """Refine the result type of Reshape by the constants of its target, unless one is 0 (a copy)"""
    if any(_number(size) == 0 for size in concatenated(shape) or ()):
        return MatchFailure("a 0 copies a size")
    made = refined(root.results[0].type, shape)
    return NO_NEWS if made is None else Reshape(x, shape, like=root).typed(made)


@rule(ConstantOfShape(value.shape))
def constant_type(root: Operation, shape: SSAValue) -> RewriteResult:
    """Refine the result type of ConstantOfShape by the constants of its shape operand"""
    made = refined(root.results[0].type, shape)
    return NO_NEWS if made is None else ConstantOfShape(shape, like=root).typed(made)


NO_NEWS = MatchFailure("the shape operand adds nothing to the type")

RULES = rules(
    ShapeToDimConcat=shape_to_sizes,
    PassThroughCast=cast_sizes,
    PassThroughConcat=concat_sizes,
    PassThroughGather=gather_sizes,
    PassThroughSlice=slice_sizes,
    UpdateReshape=reshape_type,
    UpdateConstantOfShape=constant_type,
)
