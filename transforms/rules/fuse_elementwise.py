"""
Fuse elementwise ops and reductions that cancel, repeat or bound each other (docs/internals/onnx-rules.md
§9.1).

Monotone functions before ArgMax are kept: rounding may make different values equal and change the first
maximum.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, numpy_dtype
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    ONNX,
    Abs,
    And,
    Clip,
    ClipV6,
    ClipV11,
    ClipV12,
    Log,
    LogSoftmax,
    LogSoftmaxV11,
    Max,
    Mean,
    Min,
    Neg,
    Not,
    Or,
    Relu,
    Sign,
    Softmax,
    SoftmaxV11,
    Squeeze,
    SqueezeV11,
    Sum,
    Unsqueeze,
    UnsqueezeV11,
    Where,
    Xor,
)
from xonnc.rewriting.patterns import (
    Array,
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
from xonnc.transforms.model_opsets import form
from xonnc.transforms.rules.canonicalize_arithmetic import half_bounded
from xonnc.transforms.rules.canonicalize_movement import axes_of
from xonnc.transforms.rules.conditions import rank, x_gives_the_shape
from xonnc.transforms.rules.constprop_movement import int_values_of, normalised

x, y, c = value.x, value.y, const.c

ROUNDING_OPS = "Ceil Floor Round".split()
"""Ops that leave integers unchanged and return only integers."""

REDUCTIONS = frozenset(
    f"onnx.{name}"
    for name in (
        *("ArgMax", "ArgMin", "ReduceSum", "ReduceSumV11", "ReduceMaxV18", "ReduceMinV18"),
        *(
            f"Reduce{kind}{version}"
            for kind in ("L1", "L2", "LogSumExp", "LogSum", "Max", "Mean", "Min", "Prod", "SumSquare")
            for version in ("", "V13")
        ),
    )
)
"""Ops with a `keepdims` property."""

OPERAND_BOUNDS, TYPED_BOUNDS = "ClipV11", ("Clip", "ClipV12")
"""Clip versions with bounds as operands: for float types only, and for all numeric types."""


CLIPPED = frozenset(f"onnx.{name}" for name in (OPERAND_BOUNDS, *TYPED_BOUNDS))

# Intervals.


def bound(c: Constant, x: SSAValue) -> Array | None:
    """Return c as a scalar, or `None` if it has several elements or adds an axis to x."""
    array, axes = c.array, rank(x)
    if array.size != 1 or (array.ndim and (axes is None or array.ndim > axes)):
        return None
    return array.reshape(())


def limited(root: Operation, x: SSAValue, low: Constant, high: Constant) -> RewriteResult:
    """Clip x to [low, high], in the Clip version of the model's opset."""
    bounds, element = (bound(low, x), bound(high, x)), element_type(x.type)
    if bounds[0] is None or bounds[1] is None or element is None:
        return MatchFailure("a bound is not a scalar")
    if not bounds[0] <= bounds[1]:
        return MatchFailure("the bounds do not meet")
    template, kind = form("Clip", root), numpy_dtype(element).kind
    if template is None:
        return MatchFailure("the opset has no Clip")
    if template.name in TYPED_BOUNDS and kind in "iuf":
        return template(x, *bounds)
    if kind != "f" or numpy_dtype(element) == np.float64:
        return MatchFailure("the Clip of this opset takes no such numbers")
    if template.name == OPERAND_BOUNDS:
        return template(x, *bounds)
    return template(x, min=float(bounds[0]), max=float(bounds[1])) if template.name == "ClipV6" else NO_CLIP


NO_CLIP = MatchFailure("the opset has no Clip of this form")


def interval(outer: Node, low_inside: bool) -> Rule:
    """Return the rule that fuses Min of Max, or Max of Min, to Clip."""

    @rule(outer)
    def limit(root: Operation, x: SSAValue, c: Constant, d: Constant) -> RewriteResult:
        """min(max(x, a), b) = max(min(x, b), a) = clip(x, a, b) for a ≤ b"""
        return limited(root, x, *((c, d) if low_inside else (d, c)))

    return limit


def orders(outer: Template, inner: Template) -> Mapping[str, Node]:
    """Return the patterns with the constants as first and as second operand."""
    d = const.d
    return {
        "": outer(one_use(inner(x, c)), d),
        "Lhs": outer(one_use(inner(c, x)), d),
        "Rhs": outer(d, one_use(inner(x, c))),
        "LhsRhs": outer(d, one_use(inner(c, x))),
    }


def at_least_zero(clip: Template, first: bool) -> Rule:
    """Return the rule that folds a Relu before or after a Clip with bounds as operands into the Clip."""
    inner = one_use(Relu(x)) if first else one_use(clip(x, maybe.low, maybe.high))

    @rule(clip(inner, maybe.low, maybe.high) if first else Relu(inner))
    def merge(x: SSAValue, low: Constant | None, high: Constant | None) -> RewriteResult:
        """relu(clip(x, a, b)) = clip(relu(x), a, b) = clip(x, max(a, 0), b) for b ≥ 0"""
        element = element_type(x.type)
        if element is None:
            return MatchFailure("the element type is not known")
        zero = np.zeros((), numpy_dtype(element))
        if high is not None and not high.array.reshape(()) >= zero:
            return MatchFailure("the upper bound is below 0")
        raised = zero if low is None else np.maximum(low.array.reshape(()), zero)
        return clip(x, raised, None if high is None else high.attribute)

    return merge


def at_least_zero_v6(first: bool) -> Rule:
    """Return the rule that folds a Relu before or after a Clip with bounds as attributes into the Clip."""
    clip = ClipV6(one_use(Relu(x)) if first else x, min=attr.low, max=attr.high)

    @rule(clip if first else Relu(one_use(clip)))
    def merge(x: SSAValue, low: float | None, high: float | None) -> RewriteResult:
        """relu(clip(x, a, b)) = clip(relu(x), a, b) = clip(x, max(a, 0), b) for b ≥ 0"""
        if high is not None and not high >= 0:
            return MatchFailure("the upper bound is below 0")
        return clip_v6(x, max(low or 0.0, 0.0), high)

    return merge


def clips(clip: Template) -> Rule:
    """Return the rule that fuses two nested Clips of an older version."""

    @rule(clip(one_use(clip(x, maybe.low, maybe.high)), maybe.low2, maybe.high2))
    def merge(
        x: SSAValue,
        low: Constant | None,
        high: Constant | None,
        low2: Constant | None,
        high2: Constant | None,
    ) -> RewriteResult:
        """clip(clip(x, a, b), c, d) = clip(x, max(a, c), min(b, d)) if the intervals meet"""
        if half_bounded((low, low2), (high, high2)):
            return MatchFailure("only one of them clips infinities")
        lows = [each.array.reshape(()) for each in (low, low2) if each is not None]
        highs = [each.array.reshape(()) for each in (high, high2) if each is not None]
        if lows and highs and not max(lows) <= min(highs):
            return MatchFailure("the intervals are disjoint")
        return clip(x, max(lows, default=None), min(highs, default=None))

    return merge


@rule(ClipV6(one_use(ClipV6(x, min=attr.low, max=attr.high)), min=attr.low2, max=attr.high2))
def clips_v6(
    x: SSAValue, low: float | None, high: float | None, low2: float | None, high2: float | None
) -> RewriteResult:
    """clip(clip(x, a, b), c, d) = clip(x, max(a, c), min(b, d)) if the intervals meet"""
    lows = [each for each in (low, low2) if each is not None]
    highs = [each for each in (high, high2) if each is not None]
    if lows and highs and not max(lows) <= min(highs):
        return MatchFailure("the intervals are disjoint")
    return clip_v6(x, max(lows, default=None), min(highs, default=None))


def clip_v6(x: SSAValue, low: float | None, high: float | None) -> RewriteResult:
    """Return Clip-6, with bounds as attributes; x itself without bounds."""
    if low is None:
        return x if high is None else ClipV6(x, max=high)
    return ClipV6(x, min=low) if high is None else ClipV6(x, min=low, max=high)


def rounded(outer: str, inner: str) -> Rule:
    """Return the rule that removes the outer of two rounding ops: its operand is an integer already."""
    first = Template(ONNX, inner)(x)
    # ⌊⌈x⌉⌋ = ⌈x⌉
    return rule(Template(ONNX, outer)(first), first)


# Logic.


def is_true(c: Constant) -> str | None:
    """c is true everywhere."""
    return None if np.all(c.array) else "c is not true everywhere"


def is_false(c: Constant) -> str | None:
    """c is false everywhere."""
    return "c is not false everywhere" if np.any(c.array) else None


def x_is_result(root: Operation, x: SSAValue) -> str | None:
    """x has the type of the result and can replace it."""
    return None if x.type == root.results[0].type else "the result has another type than x"


def neutral(op: Template, is_neutral: bool) -> dict[str, Rule]:
    """Return the rules that remove a neutral operand (true or false everywhere) on either side."""
    condition = is_true if is_neutral else is_false
    return {
        f"RemoveNeutral{op}": rule(op(x, c), x, where=(x_gives_the_shape, condition)),
        f"RemoveNeutral{op}Lhs": rule(op(c, x), x, where=(x_gives_the_shape, condition)),
    }


def alone(op: Template) -> Rule:
    """Return the rule that removes a variadic op with one operand."""

    @rule(op(rest.xs))
    def only(root: Operation, xs: tuple[SSAValue, ...]) -> RewriteResult:
        """f(x) = x"""
        if len(xs) != 1 or xs[0].type != root.results[0].type:
            return MatchFailure("there are several operands, or the type changes")
        return xs[0]

    return only


# Logarithms.

RANGES: Mapping[str, tuple[float, float]] = {
    "onnx.Cos": (-1, 1),
    "onnx.Erf": (-1, 1),
    "onnx.HardSigmoid": (0, 1),
    "onnx.Sigmoid": (0, 1),
    "onnx.Sin": (-1, 1),
    "onnx.Softmax": (0, 1),
    "onnx.SoftmaxV11": (0, 1),
    "onnx.Softsign": (-1, 1),
    "onnx.Tanh": (-1, 1),
}
"""Value ranges of op results."""

WIDEST = {2: 5.0, 4: 60.0, 8: 600.0}
"""
Largest difference of two elements for which Softmax does not underflow, by bytes of the float type.

exp(-d) is 0 from d of about 17, 104 and 745 on; the margin is for the division by the sum.
"""


def width(x: SSAValue) -> float | None:
    """Return the largest difference of two elements, if known."""
    maker = x.owner
    if not isinstance(maker, Operation):
        return None
    if maker.name in CLIPPED:
        low, high = (constant_of(ONNX, bound) for bound in maker.operands[1:3])
        return None if low is None or high is None else float(high.array.max()) - float(low.array.min())
    if maker.name == "onnx.ClipV6":
        low, high = decode(maker.properties.get("min")), decode(maker.properties.get("max"))
        return high - low if isinstance(low, float) and isinstance(high, float) else None
    found = RANGES.get(maker.name)
    return None if found is None else found[1] - found[0]


def stays_above_zero(x: SSAValue) -> str | None:
    """Softmax of x does not underflow to 0, where Log would be -inf but LogSoftmax is not."""
    found, element = width(x), element_type(x.type)
    if found is None or element is None or found > WIDEST.get(numpy_dtype(element).itemsize, 0.0):
        return "elements may be so far apart that the softmax of one is 0"
    return None


# Reductions.


def reduced_axes(op: Operation) -> tuple[int, ...] | None:
    """Return the non-negative axes of a reduction, or `None` if they are absent or unknown."""
    size = rank(op.operands[0])
    if op.name in ("onnx.ArgMax", "onnx.ArgMin"):
        axis = decode(op.properties.get("axis"))
        axes = (axis,) if isinstance(axis, int) else None
    elif len(op.operands) == 1:
        found = decode(op.properties.get("axes"))
        axes = None
        if isinstance(found, tuple):
            axes = tuple(axis for axis in found if isinstance(axis, int))
    else:
        constant = constant_of(ONNX, op.operands[1])
        axes = None if constant is None else int_values_of(constant)
    return None if axes is None or size is None or not axes else normalised(axes, size)


def kept_axes(outer: Node, adds: bool) -> Rule:
    """Merge Squeeze or Unsqueeze into the `keepdims` of a reduction."""

    @rule(outer)
    def merge(reduced: SSAValue, axes: Constant | tuple[int, ...] | None) -> RewriteResult:
        """unsqueeze(reduce(x), axes) = reduce(x) with `keepdims` 1; squeeze likewise with `keepdims` 0"""
        op, squeezed_axes = reduced.owner, axes_of(axes)
        if not isinstance(op, Operation) or op.name not in REDUCTIONS or not reduced.has_one_use():
            return MatchFailure("the data are no reduction read once")
        if decode(op.properties.get("keepdims")) != (0 if adds else 1) or squeezed_axes is None:
            return MatchFailure("the axes are kept already, or not")
        reduction_axes, size = reduced_axes(op), rank(op.operands[0])
        if reduction_axes is None or size is None:
            return MatchFailure("other axes are reduced")
        # Axes of Unsqueeze count in its result, which has the operand's rank only if they are as many.
        if sorted(normalised(squeezed_axes, size) or ()) != sorted(reduction_axes):
            return MatchFailure("other axes are reduced")
        made = Template(ONNX, op.name.removeprefix("onnx."))
        return made(*op.operands, like=op, keepdims=1 if adds else 0)

    return merge


RULES = rules(
    **{f"MaxOfMin{order}": interval(pattern, False) for order, pattern in orders(Max, Min).items()},
    **{f"MinOfMax{order}": interval(pattern, True) for order, pattern in orders(Min, Max).items()},
    **{
        f"MergeRelu{'Before' if first else 'After'}{clip}": at_least_zero(clip, first)
        for clip in (Clip, ClipV12, ClipV11)
        for first in (True, False)
    },
    MergeReluBeforeClipV6=at_least_zero_v6(True),
    MergeReluAfterClipV6=at_least_zero_v6(False),
    MergeClipsV12=clips(ClipV12),
    MergeClipsV11=clips(ClipV11),
    MergeClipsV6=clips_v6,
    **{f"Remove{outer}Of{inner}": rounded(outer, inner) for outer in ROUNDING_OPS for inner in ROUNDING_OPS},
    # sign(sign(x)) = sign(x)
    RemoveRepeatedSign=rule(Sign(Sign(x)), Sign(x)),
    # |±|x|| = |x|
    RemoveRepeatedAbs=rule(Abs(Abs(x)), Abs(x)),
    RemoveNegOfAbs=rule(Abs(Neg(x)), Abs(x)),
    # -(-x) = x
    RemoveDoubleNeg=rule(Neg(Neg(x)), x, where=x_is_result),
    # ¬¬x = x
    RemoveDoubleNot=rule(Not(Not(x)), x, where=x_is_result),
    # where(¬p, x, y) = where(p, y, x)
    SwapWhereOfNot=rule(Where(Not(value.p), x, y), Where(value.p, y, x)),
    # log(softmax(x)) = log_softmax(x), if no softmax is 0
    LogOfSoftmax=rule(
        Log(one_use(Softmax(x, axis=attr.axis))), LogSoftmax(x, axis=attr.axis), where=stays_above_zero
    ),
    LogOfSoftmaxV11=rule(
        Log(one_use(SoftmaxV11(x, axis=attr.axis))), LogSoftmaxV11(x, axis=attr.axis), where=stays_above_zero
    ),
    **neutral(And, True),
    **neutral(Or, False),
    **neutral(Xor, False),
    **{f"RemoveLonely{op}": alone(op) for op in (Sum, Mean, Max, Min)},
    KeepReducedAxes=kept_axes(Unsqueeze(value.reduced, const.axes), True),
    KeepReducedAxesV11=kept_axes(UnsqueezeV11(value.reduced, axes=attr.axes), True),
    DropReducedAxes=kept_axes(Squeeze(value.reduced, const.axes), False),
    DropReducedAxesV11=kept_axes(SqueezeV11(value.reduced, axes=attr.axes), False),
)
