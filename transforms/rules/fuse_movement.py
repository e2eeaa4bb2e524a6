"""
Merge adjacent data-movement ops (docs/internals/onnx-rules.md §9.1).

In addition to the canonicalisation rules: old operator versions, and chains of different ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, numpy_dtype
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    ONNX,
    Cast,
    Concat,
    Flatten,
    Gather,
    Gemm,
    PadV2,
    PadV11,
    PadV13,
    PadV18,
    PadV19,
    Reshape,
    Slice,
    Split,
    SplitV11,
    SplitV13,
    Squeeze,
    SqueezeV11,
    Transpose,
    Unsqueeze,
    UnsqueezeV11,
)
from xonnc.rewriting.patterns import (
    Constant,
    MatchFailure,
    Node,
    RewriteResult,
    Template,
    attr,
    const,
    maybe,
    one_use,
    rest,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.canonicalize_movement import axes_of
from xonnc.transforms.rules.conditions import all_zeros, first_type_is_result_type, rank
from xonnc.transforms.rules.constprop_movement import int_values_of, normalised

x, a, b, c = value.x, value.a, value.b, value.c

RESHAPING: dict[str, Node] = {
    "Reshape": Reshape(x, value.shape),
    "Flatten": Flatten(x),
    "Squeeze": Squeeze(x, value.axes),
    "SqueezeV11": SqueezeV11(x),
    "Unsqueeze": Unsqueeze(x, value.axes),
    "UnsqueezeV11": UnsqueezeV11(x),
}
"""Ops whose result holds the elements of the first operand in the same order."""

AXES = value.later


def are_of_one_opset(first: str, second: str) -> bool:
    """Return whether both ops exist in the same opset (Squeeze and Unsqueeze changed in opset 13)."""
    old = [name.endswith("V11") for name in (first, second) if name.startswith(("Squeeze", "Unsqueeze"))]
    return len(set(old)) < 2


def target_of(made: Attribute) -> list[int] | None:
    """Return the Reshape target for a type, or `None` if a dimension is 0 or several are dynamic."""
    shape = made.get_shape() if is_ranked(made) else None
    # In a Reshape target, 0 copies a dimension; with allowzero, it excludes an inferred one (-1).
    if shape is None or 0 in shape or shape.count(DYNAMIC_INDEX) > 1:
        return None
    return [-1 if size == DYNAMIC_INDEX else size for size in shape]


def one_reshape(first: str, second: str) -> Rule:
    """Return the rule that fuses two ops that only change the shape to one Reshape."""
    inner = one_use(RESHAPING[first])
    outer = Template(ONNX, second)
    operands = len(RESHAPING[second].operands) - 1

    @rule(outer(inner, *(AXES,) * operands), bonus=-1)
    def join(root: Operation, x: SSAValue) -> RewriteResult:
        """reshape(reshape(x, …), …) = reshape(x, shape of the result)"""
        target = target_of(root.results[0].type)
        if target is None:
            return MatchFailure("two sizes of the result are not known, or one is 0")
        return Reshape(x, np.array(target, np.int64), allowzero=0)

    return join


@rule(Reshape(x, const.shape, allowzero=attr.allowzero))
def reshape_to_itself(x: SSAValue, shape: Constant, allowzero: int) -> RewriteResult:
    """reshape(x, t) = x if t copies or repeats the dimensions of x, except one that may be inferred"""
    target = int_values_of(shape) or ()
    known = x.type.get_shape() if is_ranked(x.type) else None
    if known is None or len(known) != len(target):
        return MatchFailure("the rank changes")
    left = [
        size
        for size, own in zip(target, known, strict=True)
        if not (size == 0 and not allowzero) and (size != own or own == DYNAMIC_INDEX)
    ]
    # The inferred dimension equals that of x; a 0 beside -1 would be an error, which a valid model does not
    # have.
    if left not in ([], [-1]):
        return MatchFailure("a size may change")
    return x


@rule(Reshape(x, value.shape, allowzero=attr.allowzero))
def known_target(root: Operation, x: SSAValue, shape: SSAValue) -> RewriteResult:
    """reshape(x, computed) = reshape(x, constant) if the result type determines the target"""
    if isinstance(shape, OpResult) and shape.op.name == "onnx.Constant":
        return MatchFailure("the shape is a constant")
    target = target_of(root.results[0].type)
    if target is None:
        return MatchFailure("two sizes of the result are not known, or one is 0")
    return Reshape(x, np.array(target, np.int64), allowzero=0)


def both_axes(x: SSAValue, first: Sequence[int], second: Sequence[int], more: int) -> list[int] | None:
    """Return the combined axes of two Unsqueeze (`more` 1) or two Squeeze (`more` -1) in sequence."""
    before = rank(x)
    if before is None:
        return None
    between = before + more * len(first)
    inner = normalised(first, max(before, between))
    outer = normalised(second, max(between, between + more * len(second)))
    if inner is None or outer is None:
        return None
    # The axes of the second Squeeze count among those that the first leaves; the axes of the first Unsqueeze
    # count among those that the second does not insert.
    if more < 0:
        left = [axis for axis in range(before) if axis not in inner]
        return sorted([*inner, *(left[axis] for axis in outer)])
    merged_axes = [axis for axis in range(between + len(second)) if axis not in outer]
    return sorted([*outer, *(merged_axes[axis] for axis in inner)])


def joined_axes(outer: Node, made: Template, more: int) -> Rule:
    """Return the rule that fuses two Squeeze, or two Unsqueeze, to one."""
    by_property = made.name.endswith("V11")

    @rule(outer)
    def join(
        x: SSAValue, first: Constant | tuple[int, ...] | None, second: Constant | tuple[int, ...] | None
    ) -> RewriteResult:
        """f(f(x, a), b) = f(x, both)"""
        one, other = axes_of(first), axes_of(second)
        axes = None if one is None or other is None else both_axes(x, one, other, more)
        if axes is None:
            return MatchFailure("axes are absent, or the rank is not known")
        return made(x, axes=axes) if by_property else made(x, np.array(axes, np.int64))

    return join


cuts = (const.starts, const.ends, maybe.axes, maybe.steps)
again = (const.starts2, const.ends2, maybe.axes2, maybe.steps2)


@rule(Slice(one_use(Slice(x, *cuts)), *again))
def one_slice(
    x: SSAValue,
    starts: Constant,
    ends: Constant,
    axes: Constant | None,
    steps: Constant | None,
    starts2: Constant,
    ends2: Constant,
    axes2: Constant | None,
    steps2: Constant | None,
) -> RewriteResult:
    """slice(slice(x, axes a), axes b) = slice(x, axes a and b) for disjoint a and b"""
    first = _cut(x, starts, ends, axes, steps)
    second = _cut(x, starts2, ends2, axes2, steps2)
    if first is None or second is None or set(first[2]) & set(second[2]):
        return MatchFailure("both slice one axis, or the rank is not known")
    return Slice(x, *(np.array([*one, *other], np.int64) for one, other in zip(first, second, strict=True)))


def _cut(
    x: SSAValue, starts: Constant, ends: Constant, axes: Constant | None, steps: Constant | None
) -> tuple[Sequence[int], ...] | None:
    """Return starts, ends, axes and steps with defaults filled in, or `None` if the rank is not known."""
    begin, end, size = int_values_of(starts) or (), int_values_of(ends) or (), rank(x)
    slice_axes = (None if axes is None else int_values_of(axes)) or tuple(range(len(begin)))
    known = None if size is None else normalised(slice_axes, size)
    step = (None if steps is None else int_values_of(steps)) or (1,) * len(begin)
    return None if known is None or len(known) != len(begin) else (begin, end, known, step)


def only_part(split: Node) -> Rule:
    """Return the rule that removes a split into one part."""

    @rule(split)
    def whole_part(root: Operation, x: SSAValue) -> RewriteResult:
        """split(x) into one part is x"""
        return x if len(root.results) == 1 else MatchFailure("there are several parts")

    return whole_part


@rule(Concat(rest.parts, axis=attr.axis))
def joined_parts(root: Operation, parts: Sequence[SSAValue], axis: int) -> RewriteResult:
    """concat(split(x)) = x"""
    splitter = parts[0].owner
    if not isinstance(splitter, Operation) or splitter.name not in SPLITS:
        return MatchFailure("the parts are not of a split")
    if len(parts) != len(splitter.results) or any(
        part is not result for part, result in zip(parts, splitter.results, strict=True)
    ):
        return MatchFailure("the parts are not all of one split in their order")
    split_axis, data = decode(splitter.properties.get("axis")), splitter.operands[0]
    size = rank(data)
    if size is None or not isinstance(split_axis, int) or split_axis % size != axis % size:
        return MatchFailure("they are concatenated along another axis")
    return data if data.type == root.results[0].type else MatchFailure("the type changes")


SPLITS = ("onnx.Split", "onnx.SplitV13", "onnx.SplitV11")


@rule(Squeeze(value.part, const.axes))
def squeezed_part(root: Operation, part: SSAValue, axes: Constant) -> RewriteResult:
    """squeeze(split(x)[i]) = gather(x, i), if all parts have length 1 and only such users"""
    splitter, cut = part.owner, int_values_of(axes) or ()
    if not isinstance(splitter, Operation) or splitter.name not in SPLITS or not isinstance(part, OpResult):
        return MatchFailure("the data are no part of a split")
    data, split_axis = splitter.operands[0], decode(splitter.properties.get("axis"))
    size = rank(data)
    if (
        size is None
        or not isinstance(split_axis, int)
        or [axis % size for axis in cut] != [split_axis % size]
    ):
        return MatchFailure("another axis is squeezed")
    for result in splitter.results:
        if not is_ranked(result.type) or result.type.get_shape()[split_axis % size] != 1:
            return MatchFailure("a part is longer than 1")
        if any(not same_squeeze(use.operation, cut, size) for use in result.uses):
            return MatchFailure("a part is read in another way")
    return Gather(data, np.array(part.index, np.int64), axis=split_axis % size)


def same_squeeze(reader: Operation, cut: Sequence[int], size: int) -> bool:
    """Return whether an op is a Squeeze of the same axes."""
    axes = constant_of(ONNX, reader.operands[1]) if reader.name == "onnx.Squeeze" else None
    found = None if axes is None else int_values_of(axes)
    return found is not None and [axis % size for axis in found] == [axis % size for axis in cut]


@rule(Unsqueeze(one_use(Gather(x, const.index, axis=attr.axis)), const.axes))
def gathered_alone(x: SSAValue, index: Constant, axis: int, axes: Constant) -> RewriteResult:
    """unsqueeze(gather(x, i), axis) = gather(x, [i])"""
    size = rank(x)
    if size is None or index.array.ndim or normalised(int_values_of(axes) or (), size) != (axis % size,):
        return MatchFailure("the index is no scalar, or its axis is not added again")
    return Gather(x, index.array.reshape(1), axis=axis)


def swaps(matrix: SSAValue, perm: tuple[int, ...] | None) -> bool:
    """Return whether a permutation swaps the axes of a matrix."""
    return perm == (1, 0) or (perm is None and rank(matrix) == 2)


@rule(Gemm(Transpose(a, perm=attr.perm), b, c, transA=attr.transposed))
def transposed_left(
    root: Operation, a: SSAValue, b: SSAValue, c: SSAValue, perm: tuple[int, ...] | None, transposed: int
) -> RewriteResult:
    """a'' b + c = a b + c"""
    if not swaps(a, perm):
        return MatchFailure("the axes are not swapped")
    return Gemm(a, b, c, like=root, transA=1 - transposed)


@rule(Gemm(a, Transpose(b, perm=attr.perm), c, transB=attr.transposed))
def transposed_right(
    root: Operation, a: SSAValue, b: SSAValue, c: SSAValue, perm: tuple[int, ...] | None, transposed: int
) -> RewriteResult:
    """a b'' + c = a b + c"""
    if not swaps(b, perm):
        return MatchFailure("the axes are not swapped")
    return Gemm(a, b, c, like=root, transB=1 - transposed)


def is_flat(x: SSAValue, axis: int) -> str | None:
    """x is a matrix whose shape Flatten preserves."""
    shape = x.type.get_shape() if is_ranked(x.type) else ()
    if len(shape) != 2 or not (axis in (1, -1) or (axis in (0, -2) and shape[0] == 1)):
        return "the shape changes"
    return None


@rule(Cast(Cast(x, to=attr.first, saturate=attr.saturated), to=attr.second, saturate=attr.saturate))
def one_cast(root: Operation, x: SSAValue, first: Attribute, second: Attribute) -> RewriteResult:
    """cast(cast(x, a), b) = cast(x, b) if the cast to a is exact"""
    source_type = element_type(x.type)
    if source_type is None:
        return MatchFailure("the element type is not known")
    before, between, after = (numpy_dtype(each) for each in (source_type, first, second))
    if not is_exact(before, between) or before.kind not in "biuf" or after.kind not in "biuf":
        return MatchFailure("the first cast may round")
    return Cast(x, like=root)


def is_exact(before: np.dtype[np.generic], after: np.dtype[np.generic]) -> bool:
    """
    Return whether a cast preserves every value.

    NumPy calls the cast from 64-bit integers to float64 safe, although it rounds above 2^53.
    """
    if before.itemsize == 8 and after != before and is_float(after):
        return False
    return np.can_cast(before, after, "safe") and after.kind in "biuf"


no_padding = (first_type_is_result_type, all_zeros)
amounts = const.c


def nothing_around(pads: tuple[int, ...] | None) -> str | None:
    """Every padding is 0."""
    return "there is padding" if pads is None or any(pads) else None


RULES = rules(
    **{
        f"Join{second}Of{first}": one_reshape(first, second)
        for first, second in product(RESHAPING, RESHAPING)
        if are_of_one_opset(first, second) and first != second
    },
    ReshapeToItself=reshape_to_itself,
    ReshapeToKnownTarget=known_target,
    JoinSqueezes=joined_axes(Squeeze(one_use(Squeeze(x, const.first)), const.second), Squeeze, -1),
    JoinSqueezesV11=joined_axes(
        SqueezeV11(one_use(SqueezeV11(x, axes=attr.first)), axes=attr.second), SqueezeV11, -1
    ),
    JoinUnsqueezes=joined_axes(Unsqueeze(one_use(Unsqueeze(x, const.first)), const.second), Unsqueeze, 1),
    JoinUnsqueezesV11=joined_axes(
        UnsqueezeV11(one_use(UnsqueezeV11(x, axes=attr.first)), axes=attr.second), UnsqueezeV11, 1
    ),
    JoinSlices=one_slice,
    SplitIntoOnePart=only_part(Split(x, value.sizes)),
    SplitV13IntoOnePart=only_part(SplitV13(x, value.sizes)),
    SplitV11IntoOnePart=only_part(SplitV11(x)),
    ConcatOfSplit=joined_parts,
    GatherOfSqueezedPart=squeezed_part,
    GatherOfOneIndex=gathered_alone,
    TransposeIntoGemmLeft=transposed_left,
    TransposeIntoGemmRight=transposed_right,
    # flatten(matrix) = matrix
    RemoveIdentityFlatten=rule(Flatten(x, axis=attr.axis), x, where=is_flat),
    JoinCasts=one_cast,
    # pad(x, 0) = x
    RemoveIdentityPadV19=rule(PadV19(x, amounts, value.fill, value.axes), x, where=no_padding),
    RemoveIdentityPadV18=rule(PadV18(x, amounts, value.fill, value.axes), x, where=no_padding),
    RemoveIdentityPadV13=rule(PadV13(x, amounts, value.fill), x, where=no_padding),
    RemoveIdentityPadV11=rule(PadV11(x, amounts, value.fill), x, where=no_padding),
    RemoveIdentityPadV2=rule(PadV2(x, pads=attr.pads), x, where=(first_type_is_result_type, nothing_around)),
)
