"""
Sink transposes towards the results, where pairs cancel.

    f(transpose(x, p)) = transpose(f(x), p)

No rule increases the number of transposes: one with several users, or before a Split, moves only if all users
are elementwise, reductions that keep the axes or the like, and rejoin in one value.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.types import is_ranked, static_shape
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    ONNX,
    Concat,
    Expand,
    Flatten,
    Reshape,
    Slice,
    Split,
    SplitV13,
    Squeeze,
    Transpose,
)
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    Node,
    Pattern,
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
from xonnc.transforms.rules.canonicalize_movement import (
    THROUGH,
    fuse_transposes,
    keeps_order,
    written_permutation,
)
from xonnc.transforms.rules.conditions import is_absent
from xonnc.transforms.rules.constprop_movement import int_values_of, normalised
from xonnc.transforms.rules.fuse_movement import target_of
from xonnc.transforms.rules.op_builder import OpBuilder
from xonnc.transforms.rules.transposed_reshapes import reshaped_before

x = value.x
moved = one_use(Transpose(x, perm=attr.perm))

UNARY = (*THROUGH.split(), *"Abs Celu Gelu HardSwish Mish ThresholdedRelu".split())
"""Elementwise ops of one operand."""

BROADCASTING = {name: 2 for name in "Add Div Mul Pow PRelu Sub".split()}
"""Elementwise ops with broadcasting, and their number of operands."""

VARIADIC = ("Max", "Mean", "Min", "Sum")
"""Variadic elementwise ops with broadcasting."""

WITH_SCALARS = {"Clip": 3, "DequantizeLinear": 3, "QuantizeLinear": 3}
"""Elementwise ops with scalar operands after the first, and their number of operands."""

ELEMENTWISE = frozenset(f"onnx.{name}" for name in (*UNARY, *BROADCASTING, *VARIADIC, *WITH_SCALARS))

MAX_OPS = 64
"""Maximum number of ops visited to find where the users of a transpose rejoin."""


def permutation_of(made: SSAValue) -> tuple[int, ...] | None:
    """Return the explicit, non-negative permutation of the Transpose that defines a value, or `None`."""
    if not isinstance(made, OpResult) or made.op.name != "onnx.Transpose":
        return None
    perm = decode(made.op.properties.get("perm"))
    if not isinstance(perm, tuple):
        return None
    found = tuple(axis for axis in perm if isinstance(axis, int) and axis >= 0)
    return found if len(found) == len(perm) else None


def inverse(perm: Sequence[int]) -> list[int]:
    """Return the inverse permutation."""
    return sorted(range(len(perm)), key=lambda axis: perm[axis])


def source_of(made: SSAValue) -> SSAValue:
    """Return the operand of the Transpose that defines a value."""
    assert isinstance(made, OpResult)
    return made.op.operands[0]


def before(perm: Sequence[int], made: Attribute) -> Attribute:
    """Return the operand type of a Transpose by `perm` that has the result type `made`."""
    if not is_ranked(made):
        return made
    shape = made.get_shape()
    return type(made)(made.element_type, [shape[axis] for axis in inverse(perm)])


def is_one_element(operand: SSAValue, axes: int) -> bool:
    """Return whether a tensor has one element and at most `axes` axes, so that transposing has no effect."""
    shape = static_shape(operand.type)
    return shape is not None and len(shape) <= axes and set(shape) <= {1}


def shared_permutation(operands: Sequence[SSAValue]) -> tuple[int, ...] | None:
    """Return the permutation of all transposed operands, or `None` if there is none or they differ."""
    found = {perm for operand in operands if (perm := permutation_of(operand)) is not None}
    return found.pop() if len(found) == 1 else None


def sources(
    operands: Sequence[SSAValue], perm: Sequence[int], scalars: bool
) -> list[SSAValue | np.ndarray] | None:
    """
    Return the operands without the transpose by `perm`, or `None` if one is not transposed by it.

    Absent and one-element operands are unchanged. Constants are transposed back, unless `scalars`: then the
    op broadcasts no operand of several elements.
    """
    found: list[SSAValue | np.ndarray] = []
    for operand in operands:
        known = constant_of(ONNX, operand)
        if permutation_of(operand) == tuple(perm):
            found.append(source_of(operand))
        elif is_absent(operand) or is_one_element(operand, len(perm)):
            found.append(operand)
        elif known is not None and not scalars and known.array.ndim <= len(perm):
            array = known.array.reshape((1,) * (len(perm) - known.array.ndim) + known.array.shape)
            found.append(array.transpose(inverse(perm)))
        else:
            return None
    return found


def never_more(root: Operation) -> str | None:
    """Sinking removes at least one transpose for the one it adds, here or where the users rejoin."""
    transposed = {operand for operand in root.operands if permutation_of(operand) is not None}
    if any(all(use.operation is root for use in operand.uses) for operand in transposed):
        return None
    if all(meet_again(operand) for operand in transposed):
        return None
    return "the transposes are read elsewhere too"


def meet_again(transposed: SSAValue) -> bool:
    """
    Return whether all users of a value are elementwise, reductions that keep the axes or the like, until they
    rejoin in one value.
    """
    return rejoin([transposed], permutation_of(transposed), transposed.owner.parent)


def rejoin(
    transposed: Collection[SSAValue], perm: Sequence[int] | None, block: Region | Block | None
) -> bool:
    """
    Return whether what is computed from values, each transposed by `perm`, is read elsewhere as one value at
    most.
    """
    # Grow the set of values computed from the transposes, in block order, until only one of them has users
    # outside the set: the transposes sunk through all branches then merge at that value. A transpose after
    # one of the values is fused with the one before.
    inside = {*transposed}
    for _ in range(MAX_OPS):
        readers = [use.operation for each in inside for use in each.uses]
        left = {op for op in readers if not inside.intersection(op.results) and op.name != "onnx.Transpose"}
        edge = {each for each in inside if any(use.operation in left for use in each.uses)}
        if len(edge) <= 1 and edge.isdisjoint(transposed):
            return True
        found = [op for op in left if op.parent is block and _goes_through(op, inside, perm)]
        if block is None or not found:
            return False
        inside.update(min(found, key=lambda op: _block_index(op)).results)
    return False


def _block_index(op: Operation) -> int:
    assert op.parent is not None
    return op.parent.get_operation_index(op)


def _goes_through(op: Operation, inside: set[SSAValue], perm: Sequence[int] | None) -> bool:
    """
    Return whether an op is elementwise, with all operands `inside`, transposed by `perm`, or constant; or
    whether it splits, concatenates, reduces or copies operands `inside` along known axes, and keeps these.
    """
    others = [operand for operand in op.operands if operand not in inside]
    if perm is None:
        return False
    if op.name in REDUCING:
        known = constant_of(ONNX, op.operands[1]) if len(op.operands) > 1 else None
        axes = decode(op.properties.get("axes")) if known is None else int_values_of(known)
        return bool(axes) and decode(op.properties.get("keepdims")) != 0
    if op.name == "onnx.Expand":
        return len(others) == 1 and expanded_shape(op, perm) is not None
    if op.name == "onnx.Concat":
        return all(permutation_of(operand) == tuple(perm) for operand in others)
    if op.name in SPLITTING:
        return op.operands[0] in inside
    if op.name not in ELEMENTWISE:
        return False
    return sources(others, perm, op.name.removeprefix("onnx.") in WITH_SCALARS) is not None


def expanded_shape(op: Operation, perm: Sequence[int]) -> tuple[int, ...] | None:
    """Return the static shape of an Expand that adds no axes, `None` for another one."""
    shape = static_shape(op.results[0].type)
    return shape if shape is not None and len(shape) == len(perm) == _rank(op.operands[0]) else None


def _rank(operand: SSAValue) -> int | None:
    return len(operand.type.get_shape()) if is_ranked(operand.type) else None


def elementwise(name: str, *operands: Pattern, scalars: bool = False) -> Rule:
    """f(transpose(x, p), transpose(y, p), c) = transpose(f(x, y, c transposed back), p)"""
    op = Template(ONNX, name)

    @rule(op(*operands), where=never_more)
    def move(root: Operation) -> RewriteResult:
        """f(transpose(x, p), transpose(y, p), c) = transpose(f(x, y, c transposed back), p)"""
        perm = shared_permutation(root.operands)
        if perm is None:
            return MatchFailure("the operands are not transposed alike")
        read = sources(root.operands, perm, scalars)
        if read is None:
            return MatchFailure("an operand is neither transposed nor constant")
        result = root.results[0].type
        return Transpose(op(*read, like=root).typed(before(perm, result)), perm=list(perm)).typed(result)

    return move


def move_past_axis_op(name: str) -> Rule:
    """f(transpose(x, p), a) = transpose(f(x, p[a]), p) for an op along one axis"""
    op = Template(ONNX, name)

    @rule(op(moved, axis=attr.axis).named("whole"))
    def move(root: Operation, x: SSAValue, perm: tuple[int, ...] | None, axis: int | None) -> RewriteResult:
        """f(transpose(x, p), a) = transpose(f(x, p[a]), p)"""
        if perm is None or min(perm, default=0) < 0 or axis is None:
            return MatchFailure("a permutation or an axis is implicit")
        node = op(x, like=root, axis=perm[axis]).typed(before(perm, root.results[0].type))
        return Transpose(node, perm=list(perm))

    return move


@rule(Concat(rest.parts, axis=attr.axis), where=never_more)
def concat(root: Operation, parts: Sequence[SSAValue], axis: int) -> RewriteResult:
    """concat(transpose(x, p), transpose(y, p)) = transpose(concat(x, y), p)"""
    perms = {permutation_of(part) for part in parts}
    perm = shared_permutation(parts)
    if perm is None or perms != {perm}:
        return MatchFailure("the parts are not transposed alike")
    node = Concat(*map(source_of, parts), like=root, axis=perm[axis])
    return Transpose(node.typed(before(perm, root.results[0].type)), perm=list(perm))


def parts_rejoin(root: Operation) -> str | None:
    """The transposes of all parts cancel, or merge where the parts rejoin."""
    if rejoin(root.results, permutation_of(root.operands[0]), root.parent):
        return None
    return "the parts are read elsewhere too"


def split(template: Template) -> Rule:
    """split(transpose(x, p), axis) = transpose(part, p) for each part of split(x, p[axis])"""

    @rule(template(moved, value.sizes, axis=attr.axis), where=parts_rejoin)
    def move(
        root: Operation, x: SSAValue, perm: tuple[int, ...] | None, sizes: SSAValue, axis: int
    ) -> RewriteResult:
        """split(transpose(x, p), axis) = transpose(part, p) for each part of split(x, p[axis])"""
        if perm is None or min(perm, default=0) < 0:
            return MatchFailure("the permutation is implicit")
        return ImperativeRewrite(lambda root: _split_before(root, template, x, sizes, perm, axis))

    return move


def _split_before(
    root: Operation, template: Template, x: SSAValue, sizes: SSAValue, perm: Sequence[int], axis: int
) -> Sequence[SSAValue]:
    """Create the Split of `x` and a Transpose of each part."""
    writer = OpBuilder(root)
    types = [result.type for result in root.results]
    properties: dict[str, Attribute] = {**root.properties, "axis": int_attr(perm[axis])}
    parts = writer.all(template, x, sizes, types=[before(perm, made) for made in types], **properties)
    return [
        writer(Transpose, part, types=[made], perm=list(perm))
        for part, made in zip(parts, types, strict=True)
    ]


def reduction(name: str, by_operand: bool) -> Rule:
    """reduce(transpose(x, p), axes) = transpose(reduce(x, p[axes]), p without the reduced axes)"""
    op = Template(ONNX, name)
    transposed = Transpose(x, perm=attr.perm)
    by_axes = op(transposed, const.axes, keepdims=attr.kept)

    @rule(by_axes if by_operand else op(transposed, axes=attr.axes, keepdims=attr.kept), where=never_more)
    def move(
        root: Operation,
        x: SSAValue,
        perm: tuple[int, ...] | None,
        axes: Constant | tuple[int, ...] | None,
        kept: int | None,
    ) -> RewriteResult:
        """reduce(transpose(x, p), axes) = transpose(reduce(x, p[axes]), p without the reduced axes)"""
        given = int_values_of(axes) if isinstance(axes, Constant) else axes
        if perm is None or min(perm, default=0) < 0 or not given:
            return MatchFailure("the permutation is implicit, or the axes are unknown")
        cut = normalised(given, len(perm))
        if cut is None:
            return MatchFailure("an axis is out of range")
        source = sorted(perm[axis] for axis in cut)
        left = list(perm) if kept is None or kept else without(perm, cut)
        made = before(left, root.results[0].type)
        node = op(x, np.array(source, np.int64), like=root) if by_operand else op(x, like=root, axes=source)
        return Transpose(node.typed(made), perm=left)

    return move


@rule(Expand(Transpose(x, perm=attr.perm), value.shape), where=never_more)
def expand(root: Operation, x: SSAValue, perm: tuple[int, ...] | None) -> RewriteResult:
    """expand(transpose(x, p), sizes) = transpose(expand(x, sizes permuted back by p), p)"""
    sizes = None if perm is None or min(perm, default=0) < 0 else expanded_shape(root, perm)
    if perm is None or sizes is None:
        return MatchFailure("the permutation is implicit, a size is not known, or there are more axes")
    node = Expand(x, np.array([sizes[axis] for axis in inverse(perm)], np.int64))
    return Transpose(node.typed(before(perm, root.results[0].type)), perm=list(perm))


def without(perm: Sequence[int], cut: Sequence[int]) -> list[int]:
    """Return the permutation of the remaining axes after dropping result axes `cut`, renumbered from 0."""
    left = [source for axis, source in enumerate(perm) if axis not in cut]
    return [sorted(left).index(source) for source in left]


@rule(Squeeze(moved, const.axes))
def squeeze(root: Operation, x: SSAValue, perm: tuple[int, ...] | None, axes: Constant) -> RewriteResult:
    """squeeze(transpose(x, p), axes) = transpose(squeeze(x, p[axes]), p without the squeezed axes)"""
    cut = None if perm is None else normalised(int_values_of(axes) or (), len(perm))
    if perm is None or min(perm, default=0) < 0 or not cut:
        return MatchFailure("the permutation is implicit, or the axes are unknown")
    left = without(perm, cut)
    node = Squeeze(x, np.array(sorted(perm[axis] for axis in cut), np.int64))
    return Transpose(node.typed(before(left, root.results[0].type)), perm=left)


@rule(Slice(moved, value.starts, value.ends, maybe.axes, value.steps))
def cut_out(
    root: Operation,
    x: SSAValue,
    perm: tuple[int, ...] | None,
    starts: SSAValue,
    ends: SSAValue,
    axes: Constant | None,
    steps: SSAValue,
) -> RewriteResult:
    """slice(transpose(x, p), axes) = transpose(slice(x, p[axes]), p)"""
    count = static_shape(starts.type)
    given = int_values_of(axes) if axes is not None else None if count is None else tuple(range(count[0]))
    cut = None if perm is None or given is None else normalised(given, len(perm))
    if perm is None or min(perm, default=0) < 0 or cut is None:
        return MatchFailure("the permutation is implicit, or the axes are unknown")
    node = Slice(x, starts, ends, np.array([perm[axis] for axis in cut], np.int64), steps)
    return Transpose(node.typed(before(perm, root.results[0].type)), perm=list(perm))


def padding(name: str) -> Rule:
    """pad(transpose(x, p), a) = transpose(pad(x, a permuted back by p), p)"""
    op = Template(ONNX, name)
    more: tuple[Pattern, ...] = () if name == "PadV13" else (value.axes,)
    pattern: Node = op(moved, const.pads, value.fill, *more)

    @rule(pattern, where=() if name == "PadV13" else without_axes)
    def move(
        root: Operation, x: SSAValue, perm: tuple[int, ...] | None, pads: Constant, fill: SSAValue
    ) -> RewriteResult:
        """pad(transpose(x, p), a) = transpose(pad(x, a permuted back by p), p)"""
        amounts = int_values_of(pads) or ()
        if perm is None or min(perm, default=0) < 0 or len(amounts) != 2 * len(perm):
            return MatchFailure("the permutation is implicit")
        own = [[amounts[axis + side * len(perm)] for axis in inverse(perm)] for side in (0, 1)]
        absent = [root.operands[3]] if len(root.operands) > 3 else []
        node = op(x, np.array([*own[0], *own[1]], np.int64), fill, *absent, like=root)
        return Transpose(node.typed(before(perm, root.results[0].type)), perm=list(perm))

    return move


def without_axes(axes: SSAValue) -> str | None:
    """The axes are absent: there are pads for all axes."""
    return None if is_absent(axes) else "pads are for some axes"


def reshaping(root: Node) -> Rule:
    """reshape(transpose(x, p)) = reshape(x) if axes longer than 1 keep their order"""

    @rule(root)
    def drop(root: Operation, x: SSAValue, perm: tuple[int, ...] | None) -> RewriteResult:
        """reshape(transpose(x, p)) = reshape(x) if axes longer than 1 keep their order"""
        if perm is None or min(perm, default=0) < 0 or not is_ranked(x.type):
            return MatchFailure("the permutation or the rank is not known")
        sizes = x.type.get_shape()
        remaining = [axis for axis in perm if sizes[axis] != 1]
        target = target_of(root.results[0].type)
        if remaining != sorted(remaining):
            return MatchFailure("axes longer than 1 are permuted")
        if target is None:
            return MatchFailure("two sizes of the result are not known, or one is 0")
        return Reshape(x, np.array(target, np.int64), allowzero=0)

    return drop


@rule(Reshape(moved, value.shape))
def move_past_reshape(root: Operation, x: SSAValue, perm: tuple[int, ...] | None) -> RewriteResult:
    """reshape(transpose(x, p)) = transpose(reshape(x), q) if axes that are merged are neighbours in x"""
    shape, result = static_shape(x.type), static_shape(root.results[0].type)
    if perm is None or min(perm, default=0) < 0 or shape is None or result is None:
        return MatchFailure("the permutation is implicit, or a size is not known")
    found = reshaped_before(shape, perm, result)
    if found is None:
        return MatchFailure("axes that are no neighbours before the transpose are merged")
    sizes, order = found
    node = Reshape(x, np.array(sizes, np.int64), allowzero=0)
    return Transpose(node.typed(before(order, root.results[0].type)), perm=list(order))


@rule(Transpose(Reshape(x, value.shape), perm=attr.perm))
def drop_after_reshape(root: Operation, x: SSAValue, perm: tuple[int, ...] | None) -> RewriteResult:
    """transpose(reshape(x), p) = reshape(x) if axes longer than 1 keep their order"""
    sizes, target = static_shape(root.operands[0].type), target_of(root.results[0].type)
    if perm is None or min(perm, default=0) < 0 or sizes is None or target is None:
        return MatchFailure("the permutation is implicit, or a size is not known")
    remaining = [axis for axis in perm if sizes[axis] != 1]
    if remaining != sorted(remaining):
        return MatchFailure("axes longer than 1 are permuted")
    return Reshape(x, np.array(target, np.int64), allowzero=0)


def unary(name: str) -> Rule:
    """Return the rule for an elementwise op of one operand."""
    return elementwise(name, Transpose(x, perm=attr.perm))


OPERANDS = (value.a, value.b, value.c)

REDUCTIONS = tuple(
    f"Reduce{kind}" for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
)

OLDER = (*(f"{name}V13" for name in REDUCTIONS if name != "ReduceSum"), "ReduceSumV11")
"""Reductions whose axes are an attribute."""

SPLITTING = ("onnx.Split", "onnx.SplitV13")
"""Ops that split a tensor along one axis."""

REDUCING = frozenset(f"onnx.{name}" for name in (*REDUCTIONS, "ReduceMaxV18", "ReduceMinV18", *OLDER))
"""Ops along given axes, which may keep these."""

RULES = rules(
    FuseTransposes=fuse_transposes,
    WriteTransposePermutation=written_permutation,
    RemoveIdentityTranspose=rule(Transpose(x, perm=attr.perm), x, where=keeps_order),
    **{f"MoveTransposeAfter{name}": unary(name) for name in UNARY},
    **{
        f"MoveTransposeAfter{name}": elementwise(name, *OPERANDS[:count])
        for name, count in BROADCASTING.items()
    },
    **{f"MoveTransposeAfter{name}": elementwise(name, rest.xs) for name in VARIADIC},
    **{
        f"MoveTransposeAfter{name}": elementwise(name, *OPERANDS[:count], scalars=True)
        for name, count in WITH_SCALARS.items()
    },
    **{f"MoveTransposeAfter{name}": move_past_axis_op(name) for name in ("Softmax", "LogSoftmax", "Hardmax")},
    **{f"MoveTransposeAfter{name}": reduction(name, by_operand=True) for name in REDUCTIONS},
    **{
        f"MoveTransposeAfter{name}": reduction(name, by_operand=True)
        for name in ("ReduceMaxV18", "ReduceMinV18")
    },
    **{f"MoveTransposeAfter{name}": reduction(name, by_operand=False) for name in OLDER},
    **{f"MoveTransposeAfter{name}": padding(name) for name in ("Pad", "PadV19", "PadV18", "PadV13")},
    MoveTransposeAfterConcat=concat,
    MoveTransposeAfterExpand=expand,
    MoveTransposeAfterSlice=cut_out,
    MoveTransposeAfterSplit=split(Split),
    MoveTransposeAfterSplitV13=split(SplitV13),
    MoveTransposeAfterSqueeze=squeeze,
    MoveTransposeAfterReshape=move_past_reshape,
    DropTransposeAfterReshape=drop_after_reshape,
    DropTransposeBeforeReshape=reshaping(Reshape(moved, value.shape)),
    DropTransposeBeforeFlatten=reshaping(Flatten(moved)),
)
