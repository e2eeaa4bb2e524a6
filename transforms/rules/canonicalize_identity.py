"""Remove ops without effect; replace known shapes by constants (docs/internals/onnx-rules.md §3.3)."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f8E5M2
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape
from xonnc.rewriting.onnx import (
    Cast,
    Dim,
    Dropout,
    DropoutV7,
    DropoutV10,
    Expand,
    Identity,
    Pad,
    Shape,
    Size,
    Slice,
    Tile,
)
from xonnc.rewriting.patterns import Constant, MatchFailure, RewriteResult, attr, const, maybe, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import all_ones, all_zeros, first_type_is_result_type

x, c = value.x, const.c


def without_mask(root: Operation, x: SSAValue) -> RewriteResult:
    """Return x, and an all-true mask if it has uses"""
    if root.results[1].first_use is None:
        return (x, None)
    shape = static_shape(x.type)
    if shape is None:
        return MatchFailure("the mask is read, and its shape is not static")
    return (x, np.broadcast_to(np.ones((), np.bool_), shape))


@rule(Dropout(x, value.ratio, maybe.training))
def dropout(root: Operation, x: SSAValue, training: Constant | None) -> RewriteResult:
    """x, unless `training_mode` is true"""
    if training is not None and np.any(training.array):
        return MatchFailure("training_mode is true")
    return without_mask(root, x)


@rule(DropoutV10(x))
def dropout_v10(root: Operation, x: SSAValue) -> RewriteResult:
    """x; opsets before 12 do not define the mask at inference"""
    if root.results[1].first_use is not None:
        return MatchFailure("the mask is read")
    return (x, None)


@rule(DropoutV7(x))
def dropout_v7(root: Operation, x: SSAValue) -> RewriteResult:
    """x; opsets before 12 do not define the mask"""
    if root.results[1].first_use is not None:
        return MatchFailure("the mask is read")
    return (x, None)


def already_of_type(x: SSAValue, to: Attribute, saturate: int) -> str | None:
    """The element type is unchanged, and the cast does not saturate infinities of float8E5M2."""
    if element_type(x.type) != to:
        return "the element type changes"
    return "infinities saturate" if to == f8E5M2 and saturate else None


def same_static_type(root: Operation) -> str | None:
    """Operand and result have the same type with a static shape."""
    if static_shape(root.results[0].type) is None:
        return "the shape is not static"
    return first_type_is_result_type(root)


def whole_axes(starts: Constant, steps: Constant | None) -> str | None:
    """Every step is 1: if the static shape is unchanged too, the slice covers all elements in order."""
    if steps is not None and np.any(steps.array != 1):
        return "a step is not 1"
    return None


@rule(Shape(x, start=attr.start, end=attr.end))
def shape_to_constant(x: SSAValue, start: int, end: int | None) -> RewriteResult:
    """The dimensions from start to end"""
    shape = static_shape(x.type)
    if shape is None:
        return MatchFailure("the shape is not static")
    return np.array(shape[slice(start, end)], np.int64)


@rule(Size(x))
def size_to_constant(x: SSAValue) -> RewriteResult:
    """The number of elements"""
    shape = static_shape(x.type)
    return MatchFailure("the shape is not static") if shape is None else np.array(prod(shape), np.int64)


@rule(Dim(x, axis=attr.axis))
def dim_to_constant(x: SSAValue, axis: int) -> RewriteResult:
    """One static dimension"""
    sizes = x.type.get_shape() if is_ranked(x.type) else ()
    if not 0 <= axis < len(sizes) or sizes[axis] < 0:
        return MatchFailure("the size is not known")
    return np.array([sizes[axis]], np.int64)


SHAPES = rules(ShapeToConstantPattern=shape_to_constant, SizeToConstantPattern=size_to_constant)
"""Rules that fold shapes to constants, for constant propagation too."""

RULES = SHAPES | rules(
    CastEliminationPattern=rule(Cast(x, to=attr.to, saturate=attr.saturate), x, where=already_of_type),
    DimOpToConstantPattern=dim_to_constant,
    DropoutEliminationPattern=dropout,
    DropoutV10EliminationPattern=dropout_v10,
    DropoutV7EliminationPattern=dropout_v7,
    IdentityEliminationPattern=rule(Identity(x), x),
    # expand(x, shape of x) = x
    RemoveIdentityExpandPattern=rule(Expand(x, value.shape), x, where=same_static_type),
    # pad(x, 0) = x
    RemoveIdentityPadPattern=rule(
        Pad(x, c, value.fill, value.axes), x, where=(first_type_is_result_type, all_zeros)
    ),
    # x[0:n] = x
    RemoveIdentitySlicePattern=rule(
        Slice(x, const.starts, const.ends, maybe.axes, maybe.steps), x, where=(same_static_type, whole_axes)
    ),
    # tile(x, 1) = x
    RemoveIdentityTilePattern=rule(Tile(x, c), x, where=(first_type_is_result_type, all_ones)),
)
