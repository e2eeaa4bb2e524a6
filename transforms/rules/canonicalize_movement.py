"""Merge adjacent Reshape, Transpose, Concat, Cast and Split (docs/internals/onnx-rules.md §3.3 to §3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from xonnc.dialects.onnx.types import is_ranked, static_shape
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.editing import replace_uses
from xonnc.rewriting.onnx import (
    ONNX,
    Cast,
    Concat,
    DepthToSpace,
    Reshape,
    Slice,
    SpaceToDepth,
    Split,
    Squeeze,
    SqueezeV11,
    Transpose,
    Unsqueeze,
    UnsqueezeV11,
)
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    Node,
    RewriteResult,
    Template,
    attr,
    const,
    rest,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.constprop_movement import int_values_of, normalised
from xonnc.transforms.rules.op_builder import OpBuilder

x = value.x

THROUGH = (
    "Atan Cast Ceil Cos Cosh Elu Erf Acos Acosh Asin Asinh Atanh Exp Floor HardSigmoid IsNaN LeakyRelu Log"
    " Neg Not Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh"
)
"""Elementwise ops that commute with Transpose, in the order tried (docs/internals/onnx-rules.md §3.5)."""


def composed(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return the permutation that applies first, then second."""
    return [first[axis] for axis in second]


@rule(Transpose(Transpose(x, perm=attr.first), perm=attr.second))
def fuse_transposes(
    x: SSAValue, first: tuple[int, ...] | None, second: tuple[int, ...] | None
) -> RewriteResult:
    """transpose(transpose(x, p), q) = transpose(x, p q)"""
    if first is None or second is None:
        return MatchFailure("a permutation is implicit")
    return Transpose(x, perm=composed(first, second))


def transpose_through(name: str) -> Rule:
    """transpose(f(transpose(x, p)), q) = transpose(f(x), p q)"""
    op = Template(ONNX, name)

    @rule(Transpose(op(Transpose(x, perm=attr.first)).named("inner"), perm=attr.second))
    def fuse(
        x: SSAValue, inner: Operation, first: tuple[int, ...] | None, second: tuple[int, ...] | None
    ) -> RewriteResult:
        """transpose(f(transpose(x, p)), q) = transpose(f(x), p q)"""
        if first is None or second is None:
            return MatchFailure("a permutation is implicit")
        return Transpose(op(x, like=inner).typed(_shaped(x, inner)), perm=composed(first, second))

    return fuse


def _shaped(x: SSAValue, inner: Operation) -> Attribute:
    """Return the type of f(x): the shape of x with the element type of f."""
    made = inner.results[0].type
    assert is_ranked(x.type) or not is_ranked(made)
    if is_ranked(x.type) and is_ranked(made):
        return type(x.type)(made.element_type, x.type.get_shape())
    return made


@rule(Transpose(x, perm=attr.perm), bonus=-1)
def written_permutation(x: SSAValue, perm: tuple[int, ...] | None) -> RewriteResult:
    """Make the permutation explicit: absent means reversed axes, negative axes count from the back"""
    axes = rank(x)
    if axes is None or (perm is not None and min(perm, default=0) >= 0):
        return MatchFailure("the rank is not known, or the permutation is explicit")
    return Transpose(x, perm=[axis % axes for axis in perm] if perm else list(reversed(range(axes))))


def keeps_order(perm: tuple[int, ...] | None) -> str | None:
    """The permutation is the identity."""
    return None if perm is not None and list(perm) == list(range(len(perm))) else "axes move"


@rule(Transpose(Concat(rest.parts, axis=attr.axis), perm=attr.perm))
def transpose_parts(parts: Sequence[SSAValue], axis: int, perm: tuple[int, ...] | None) -> RewriteResult:
    """transpose(concat(transposes)) = concat(transpose(transposes)), so that adjacent transposes merge"""
    if perm is None or axis < 0 or min(perm, default=0) < 0:
        return MatchFailure("an axis or a permutation is implicit")
    if any(not _made_by(part, "onnx.Transpose") for part in parts):
        return MatchFailure("a part is no transpose")
    return Concat(*(Transpose(part, perm=perm) for part in parts), axis=perm.index(axis))


def _made_by(part: SSAValue, name: str) -> bool:
    return isinstance(part, OpResult) and part.op.name == name


@rule(Cast(Concat(rest.parts, axis=attr.axis).named("inner")).named("cast"))
def cast_parts(root: Operation, parts: Sequence[SSAValue], axis: int) -> RewriteResult:
    """cast(concat(parts)) = concat(cast(parts))"""
    return Concat(*(Cast(part, like=root) for part in parts), axis=axis)


@rule(Cast(Slice(x, value.starts, value.ends, value.axes, value.steps)))
def cast_before_slice(
    root: Operation, x: SSAValue, starts: SSAValue, ends: SSAValue, axes: SSAValue, steps: SSAValue
) -> RewriteResult:
    """cast(slice(x)) = slice(cast(x))"""
    return Slice(Cast(x, like=root), starts, ends, axes, steps)


@rule(Concat(rest.parts, axis=attr.axis))
def flat_concat(root: Operation, parts: Sequence[SSAValue], axis: int) -> RewriteResult:
    """concat(concat(a, b), c) = concat(a, b, c); concat(a) = a"""
    if len(parts) == 1:
        return parts[0]
    flat: list[SSAValue] = []
    for part in parts:
        inner = part.op if isinstance(part, OpResult) and _made_by(part, "onnx.Concat") else None
        same = inner is not None and part.has_one_use() and decode(inner.properties["axis"]) == axis
        flat.extend(inner.operands if inner is not None and same else [part])
    return (
        MatchFailure("no part is a concatenation along the same axis")
        if len(flat) == len(parts)
        else Concat(*flat, axis=axis)
    )


@rule(Concat(rest.parts, axis=attr.axis), bonus=1)
def concat_of_something(parts: Sequence[SSAValue], axis: int) -> RewriteResult:
    """concat(a, b) = a if b has size 0 along the axis"""
    return without(parts, [not _has_none(part, axis) for part in parts], axis)


@rule(Concat(rest.parts, axis=attr.axis), bonus=999)
def concat_of_lists(parts: Sequence[SSAValue], axis: int) -> RewriteResult:
    """concat(a, b) = a if b has shape [0], whatever the rank of a"""
    return without(parts, [not is_ranked(part.type) or part.type.get_shape() != (0,) for part in parts], axis)


def without(parts: Sequence[SSAValue], is_kept: Sequence[bool], axis: int) -> RewriteResult:
    """Return the concatenation of the parts marked in `is_kept`; fail if all or none are marked."""
    left = [part for part, stays in zip(parts, is_kept, strict=True) if stays]
    if len(left) == len(parts) or not left:
        return MatchFailure("no part is empty, or every part")
    return left[0] if len(left) == 1 else Concat(*left, axis=axis)


def _has_none(part: SSAValue, axis: int) -> bool:
    shape = part.type.get_shape() if is_ranked(part.type) else ()
    return -len(shape) <= axis < len(shape) and shape[axis] == 0


@rule(Reshape(Reshape(x, value.first), const.second, allowzero=1))
def reshape_once_allowing_zero(x: SSAValue, second: Constant) -> RewriteResult:
    """reshape(reshape(x, s), t) = reshape(x, t) if a 0 in t is a dimension, not a copy (`allowzero` 1)"""
    return Reshape(x, second.attribute, allowzero=1)


def same_shape(root: Operation, x: SSAValue) -> str | None:
    """Data and result have the same dimensions, at most one of them dynamic."""
    result = root.results[0].type
    if not is_ranked(x.type) or not is_ranked(result) or x.type.get_shape() != result.get_shape():
        return "the shape changes"
    return None if x.type.get_shape().count(DYNAMIC_INDEX) <= 1 else "two sizes are not known"


@rule(Reshape(x, value.shape, allowzero=1), bonus=-1)
def without_allowzero(root: Operation, x: SSAValue, shape: SSAValue) -> RewriteResult:
    """
    Clear `allowzero` where it has no effect: no size is 0, or the only one that may be is that of the same
    axis of x
    """
    data, made = (each.get_shape() if is_ranked(each) else None for each in (x.type, root.results[0].type))
    if data is None or made is None or 0 in made or not _keeps_dynamic_axis(data, made):
        return MatchFailure("a size is, or may be, 0")
    return Reshape(x, shape, allowzero=0)


def _keeps_dynamic_axis(data: Sequence[int], made: Sequence[int]) -> bool:
    """Return whether all sizes are static, or all but one which both shapes have at one position."""
    dynamic = [index for index, size in enumerate(made) if size == DYNAMIC_INDEX]
    if len(dynamic) != data.count(DYNAMIC_INDEX) or len(dynamic) > 1:
        return False
    if not dynamic:
        return True
    others = [prod(size for size in shape if size != DYNAMIC_INDEX) for shape in (data, made)]
    return dynamic[0] < len(data) and data[dynamic[0]] == DYNAMIC_INDEX and others[0] == others[1]


def axes_of(axes: Constant | tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the axes, given as a constant operand or as an attribute."""
    return int_values_of(axes) if isinstance(axes, Constant) else axes


def undone(outer: Node, through_cast: bool, squeezes_first: bool) -> Rule:
    """Return the rule g(f(x)) = x, or g(cast(f(x))) = cast(x), for Squeeze and Unsqueeze of the same axes."""

    @rule(outer)
    def undo(
        root: Operation,
        x: SSAValue,
        inner: Constant | tuple[int, ...] | None,
        outer: Constant | tuple[int, ...] | None,
    ) -> RewriteResult:
        """Unsqueeze and Squeeze of the same axes cancel"""
        added, removed = axes_of(inner), axes_of(outer)
        if added is None or removed is None:
            return MatchFailure("axes are absent")
        # Negative axes count in the larger of the two ranks.
        smaller = rank(x)
        larger = None if smaller is None else smaller + (0 if squeezes_first else len(added))
        if min((*added, *removed), default=0) < 0 and larger is None:
            return MatchFailure("the rank is not known")
        lists = [normalised(axes, larger) if larger is not None else axes for axes in (added, removed)]
        if None in lists or sorted(lists[0] or ()) != sorted(lists[1] or ()):
            return MatchFailure("the axes differ")
        if not through_cast:
            return x
        cast = root.operands[0].owner
        assert isinstance(cast, Operation)
        return Cast(x, like=cast)

    return undo


def before_split(name: str) -> Rule:
    """f(split(x)) = split(f(x)) if all parts are read by f alone"""
    op = Template(ONNX, name)

    @rule(Split(x, value.sizes), bonus=0)
    def pull(root: Operation, x: SSAValue, sizes: SSAValue) -> RewriteResult:
        """f(split(x)) = split(f(x)) if all parts are read by f alone"""
        first = root.results[0].first_use
        if first is None or first.operation.name != f"onnx.{name}":
            return MatchFailure(f"the first part is not read by {name}")
        readers = [use.operation for result in root.results for use in result.uses]
        like = first.operation
        for reader in readers:
            if reader.name != like.name or reader.properties != like.properties:
                return MatchFailure("a part is read in another way")
            if reader.operands[0].type != reader.results[0].type:
                return MatchFailure("the type changes")
        return ImperativeRewrite(lambda root: pulled(root, op, readers))

    return pull


def pulled(root: Operation, op: Template, readers: Sequence[Operation]) -> Sequence[SSAValue]:
    """Create split(f(x)) before `root`, replace each f(part) by its part, and return the parts."""
    writer = OpBuilder(root)
    data, sizes = root.operands
    whole_result = writer.all(op, data, types=[data.type], **readers[0].properties)[0]
    parts = writer.last(Split, whole_result, sizes, **root.properties)
    for reader in readers:
        index = root.results.index(reader.operands[0])
        replace_uses(reader.results[0], parts[index])
    return parts


def without_empties(name: str) -> Rule:
    """Return the rule that removes empty optional operands of Resize."""
    resize = Template(ONNX, name)

    @rule(resize(x, value.roi, value.scales, value.sizes))
    def drop(root: Operation, x: SSAValue) -> RewriteResult:
        """Replace operands without elements by absent ones"""
        operands = [None if static_size(operand) == 0 else operand for operand in root.operands[1:]]
        if None not in operands:
            return MatchFailure("no operand is empty")
        return resize(x, *operands, like=root)

    return drop


def static_size(operand: SSAValue) -> int | None:
    """Return the number of elements, or `None` if the shape is not static."""
    shape = static_shape(operand.type)
    return None if shape is None else prod(shape)


RULES = rules(
    **{f"FuseTransposeAnd{name}Pattern": transpose_through(name) for name in THROUGH.split()},
    FuseTransposePattern=fuse_transposes,
    SwapTransposeConcatPattern=transpose_parts,
    RemoveIdentityTransposePattern=rule(Transpose(x, perm=attr.perm), x, where=keeps_order),
    HandleNegativePermutePatternInTranspose=written_permutation,
    SwapCastConcatPattern=cast_parts,
    SwapCastSlicePattern=cast_before_slice,
    RemoveEmptyInputInConcatPattern=concat_of_lists,
    RemoveDimZeroInputInConcatPattern=concat_of_something,
    RecomposeConcatPattern=flat_concat,
    FuseTwoReshapesAllowZeroPattern=reshape_once_allowing_zero,
    RemoveIdentityReshapePattern2=rule(Reshape(x, value.shape), x, where=same_shape),
    RewriteReshapeAllowZeroPattern=without_allowzero,
    # depth_to_space(space_to_depth(x)) = x
    RemoveDepthToSpaceSpaceToDepthPattern=rule(
        DepthToSpace(SpaceToDepth(x, blocksize=attr.block), blocksize=attr.block, mode="DCR"), x
    ),
    # space_to_depth(depth_to_space(x)) = x
    RemoveSpaceToDepthDepthToSpacePattern=rule(
        SpaceToDepth(DepthToSpace(x, blocksize=attr.block, mode="DCR"), blocksize=attr.block), x
    ),
    RemoveSqueezeCastUnsqueezePattern=undone(
        Squeeze(Cast(Unsqueeze(x, const.inner)), const.outer), True, False
    ),
    RemoveSqueezeUnsqueezePattern=undone(Squeeze(Unsqueeze(x, const.inner), const.outer), False, False),
    RemoveUnsqueezeCastSqueezePattern=undone(
        Unsqueeze(Cast(Squeeze(x, const.inner)), const.outer), True, True
    ),
    RemoveUnsqueezeSqueezePattern=undone(Unsqueeze(Squeeze(x, const.inner), const.outer), False, True),
    RemoveSqueezeV11CastUnsqueezeV11Pattern=undone(
        SqueezeV11(Cast(UnsqueezeV11(x, axes=attr.inner)), axes=attr.outer), True, False
    ),
    RemoveSqueezeV11UnsqueezeV11Pattern=undone(
        SqueezeV11(UnsqueezeV11(x, axes=attr.inner), axes=attr.outer), False, False
    ),
    RemoveUnsqueezeV11CastSqueezeV11Pattern=undone(
        UnsqueezeV11(Cast(SqueezeV11(x, axes=attr.inner)), axes=attr.outer), True, True
    ),
    RemoveUnsqueezeV11SqueezeV11Pattern=undone(
        UnsqueezeV11(SqueezeV11(x, axes=attr.inner), axes=attr.outer), False, True
    ),
    **{f"PullOpThroughSplitPattern{name}": before_split(name) for name in ("Relu", "LeakyRelu")},
    **{
        f"EmptyTensorInputsResizePattern{version}": without_empties(f"Resize{version}")
        for version in ("", "V18", "V13")
    },
)
