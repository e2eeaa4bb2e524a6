"""
Instance and group normalisation as LayerNormalization, with fused bias (docs/internals/onnx-rules.md §3.4).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import NoneType, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape, tensor_type
from xonnc.rewriting.onnx import (
    ONNX,
    Add,
    Concat,
    GroupNormalization,
    GroupNormalizationV18,
    InstanceNormalization,
    LayerNormalization,
    Reshape,
    Shape,
    Unsqueeze,
)
from xonnc.rewriting.patterns import (
    ImperativeRewrite,
    MatchFailure,
    OperandSpec,
    RewriteResult,
    Template,
    absent,
    attr,
    one_use,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.op_builder import OpBuilder

x, b, scale, bias = value.x, value.b, value.scale, value.bias

NONE = NoneType()

SINGLE = 1
"""`stash_type` of LayerNormalization in float32."""


def channels_of(x: SSAValue) -> int | None:
    """Return the number of channels, -1 if it is dynamic; `None` if x has no spatial axes."""
    sizes = x.type.get_shape() if is_ranked(x.type) else ()
    return sizes[1] if len(sizes) > 2 else None


def would_lose_digits(x: SSAValue) -> bool:
    """Return whether float32, in which LayerNormalization computes, is too narrow."""
    return element_type(x.type) == f64


@rule(InstanceNormalization(x, scale, bias, epsilon=attr.epsilon))
def instance_norm(
    root: Operation, x: SSAValue, scale: SSAValue, bias: SSAValue, epsilon: float
) -> RewriteResult:
    """
    InstanceNormalization is LayerNormalization over the spatial axes

    Not for float64, unlike onnx-mlir's rule: `stash_type` has no type wider than float32.
    """
    axes = rank(x)
    if channels_of(x) is None or axes is None or would_lose_digits(x):
        return MatchFailure("only for data with axes after the channels, not for doubles")

    def write(op: Operation) -> Sequence[SSAValue]:
        writer = OpBuilder(op)
        after = np.arange(1, axes - 1)
        wide = [writer(Unsqueeze, each, writer.constant(after)) for each in (scale, bias)]
        types = (op.results[0].type, NONE, NONE)
        made = writer.all(
            LayerNormalization, x, *wide, types=types, axis=2, epsilon=epsilon, stash_type=SINGLE
        )
        return made[:1]

    return ImperativeRewrite(write)


def grouped(
    x: SSAValue, by_group: Sequence[OperandSpec], groups: int, epsilon: float, stash_type: int
) -> RewriteResult:
    """Return LayerNormalization of x with its channels split into groups, reshaped to the shape of x."""
    assert is_ranked(x.type)
    sizes, element = x.type.get_shape(), x.type.element_type
    count = len(sizes)
    each = sizes[1] // groups if sizes[1] > 0 else -1
    batch = Shape(x, start=0, end=1).typed(tensor_type((1,), i64))
    space = Shape(x, start=2).typed(tensor_type((count - 2,), i64))
    shape = Concat(batch, np.array([groups, -1], np.int64), space, axis=0).typed(
        tensor_type((count + 1,), i64)
    )
    wide = tensor_type((sizes[0], groups, each, *sizes[2:]), element)
    split = Reshape(x, shape, allowzero=0).typed(wide)
    normal = LayerNormalization(split, *by_group, axis=2, epsilon=epsilon, stash_type=stash_type)
    return Reshape(
        normal.typed(wide, NONE, NONE), Shape(x, start=0).typed(tensor_type((count,), i64)), allowzero=0
    )


def group_problem(x: SSAValue, groups: int) -> str | None:
    """Return why the channels do not divide into groups, or `None`."""
    channels = channels_of(x)
    if channels is None:
        return "only for data with axes after the channels"
    if channels > 0 and channels % groups:
        return f"{channels} channels do not make {groups} groups"
    sizes = x.type.get_shape() if is_ranked(x.type) else ()
    return "a size is 0" if 0 in sizes else None


@rule(GroupNormalization(x, scale, bias, epsilon=attr.epsilon, num_groups=attr.groups, stash_type=attr.stash))
def group_norm(
    x: SSAValue, scale: SSAValue, bias: SSAValue, epsilon: float, groups: int, stash: int
) -> RewriteResult:
    """
    GroupNormalization is LayerNormalization of each group, with scale and bias per channel

    Scale and bias are reshaped to [groups, channels per group, 1, …]; onnx-mlir's shape for them has the
    number of groups instead of the channels per group. The op's own `stash_type` is kept.
    """
    problem = group_problem(x, groups)
    if problem is not None:
        return MatchFailure(problem)
    assert is_ranked(x.type)
    sizes, element = x.type.get_shape(), x.type.element_type
    each, after = (sizes[1] // groups if sizes[1] > 0 else -1), len(sizes) - 2
    shape = Concat(ints(groups), ints(each), ints(*(1,) * after), axis=0)
    shape = shape.typed(tensor_type((len(sizes),), i64))
    wide = tensor_type((groups, each, *(1,) * after), element)
    parts = [Reshape(part, shape, allowzero=0).typed(wide) for part in (scale, bias)]
    return grouped(x, parts, groups, epsilon, stash)


@rule(GroupNormalizationV18(x, scale, bias, epsilon=attr.epsilon, num_groups=attr.groups))
def group_norm_v18(
    x: SSAValue, scale: SSAValue, bias: SSAValue, epsilon: float, groups: int
) -> RewriteResult:
    """
    GroupNormalization-18 is LayerNormalization of each group, with scale and bias per group

    Not for float64, unlike onnx-mlir's rule: `stash_type` has no type wider than float32.
    """
    problem = "doubles need double precision" if would_lose_digits(x) else group_problem(x, groups)
    if problem is not None:
        return MatchFailure(problem)
    assert is_ranked(x.type)
    axes = len(x.type.get_shape())
    wide = tensor_type((groups, *(1,) * (axes - 1)), x.type.element_type)
    after = np.arange(1, axes)
    return grouped(x, [Unsqueeze(part, after).typed(wide) for part in (scale, bias)], groups, epsilon, SINGLE)


def ints(*numbers: int) -> np.ndarray:
    """Return dimensions as a constant int64 vector."""
    return np.array(numbers, np.int64)


def takes_bias(template: Template, results: int, swapped: bool) -> Rule:
    """Return the rule norm(x, scale) + b = norm(x, scale, b), or b + norm(x, scale) if `swapped`."""
    inner = one_use(template(x, scale, absent)).named("norm")

    @rule(Add(b, inner) if swapped else Add(inner, b), bonus=-1)
    def take(root: Operation, norm: Operation, x: SSAValue, scale: SSAValue, b: SSAValue) -> RewriteResult:
        """
        norm(x, scale) + b = norm(x, scale, b)

        Only if b does not enlarge the sum and the other results have no uses; `stash_type` is kept.
        """
        shape = static_shape(b.type)
        made = root.results[0].type
        if not is_ranked(made) or made != norm.results[0].type or shape is None:
            return MatchFailure("the sum may be larger than the normalisation")
        if any(result.first_use is not None for result in norm.results[1:]):
            return MatchFailure("another result of the normalisation is read")

        def write(op: Operation) -> Sequence[SSAValue]:
            types: list[Attribute] = [op.results[0].type, *(NONE,) * (results - 1)]
            return OpBuilder(op).all(template, x, scale, b, types=types, **norm.properties)[:1]

        return ImperativeRewrite(write)

    return take


RULES = rules(
    RemoveInstanceNormPattern=instance_norm,
    RemoveGroupNormPattern1=group_norm,
    RemoveGroupNormPattern2=group_norm_v18,
    PropagateBiasIntoLayerNormRewritePatternLayerNormalization=takes_bias(LayerNormalization, 3, False),
    PropagateBiasIntoLayerNormRewritePatternLayerNormalizationRhs=takes_bias(LayerNormalization, 3, True),
    PropagateBiasIntoLayerNormRewritePatternRMSLayerNormalization=takes_bias(
        Template(ONNX, "RMSLayerNormalization"), 2, False
    ),
    PropagateBiasIntoLayerNormRewritePatternRMSLayerNormalizationRhs=takes_bias(
        Template(ONNX, "RMSLayerNormalization"), 2, True
    ),
)
