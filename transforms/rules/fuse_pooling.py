"""
Fold padding into pools and integer convolutions (docs/internals/onnx-rules.md §9.1, nos. 28, 29).

MaxPool treats padding as -inf, so zero padding is folded only if the data are non-negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    ONNX,
    AveragePool,
    ConvInteger,
    MaxPoolSingleOut,
    Pad,
    PadV2,
    PadV11,
    PadV13,
    PadV18,
    PadV19,
)
from xonnc.rewriting.patterns import (
    Constant,
    MatchFailure,
    Node,
    RewriteResult,
    absent,
    attr,
    const,
    maybe,
    one_use,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.model_opsets import version_at
from xonnc.transforms.rules.conditions import rank

x, w = value.x, value.w

PADS: dict[str, Node] = {
    "": Pad(x, const.pads, maybe.fill, absent, mode="constant"),
    "V19": PadV19(x, const.pads, maybe.fill, absent, mode="constant"),
    "V18": PadV18(x, const.pads, maybe.fill, absent, mode="constant"),
    "V13": PadV13(x, const.pads, maybe.fill, mode="constant"),
    "V11": PadV11(x, const.pads, maybe.fill, mode="constant"),
    "V2": PadV2(x, pads=attr.pads, value=attr.fill, mode="constant"),
}

COUNTED = 7
"""First opset whose AveragePool has `count_include_pad`."""

NOT_NEGATIVE = frozenset(
    f"onnx.{name}" for name in ("Abs", "Exp", "Relu", "Sigmoid", "Softmax", "SoftmaxV11", "Sqrt")
)
"""Ops with non-negative results."""

LIMITED = frozenset(f"onnx.{name}" for name in ("Clip", "ClipV12", "ClipV11"))

NOT_AROUND = MatchFailure("the padding is negative, or not around the window's axes")


def number(fill: object) -> float | None:
    """Return the fill value."""
    if isinstance(fill, Constant):
        return float(fill.array.reshape(())) if fill.array.dtype.kind in "fiu" else None
    return fill if isinstance(fill, float) else 0.0


def window(
    root: Operation, x: SSAValue, pads: Constant | tuple[int, ...]
) -> tuple[list[int], list[int]] | None:
    """Return the pads of the op and those to add on spatial axes, or `None` if they cannot be added."""
    amounts = pads if isinstance(pads, tuple) else tuple(int(each) for each in pads.array.reshape(-1))
    axes = len(amounts) // 2
    before, after = amounts[:axes], amounts[axes:]
    if rank(x) != axes or axes < 3 or any((*before[:2], *after[:2])) or min(amounts) < 0:
        return None
    if decode(root.properties.get("auto_pad")) not in (None, "NOTSET"):
        return None
    own = decode(root.properties.get("pads"))
    known = [each for each in own if isinstance(each, int)] if isinstance(own, Sequence) else []
    return known or [0] * (2 * (axes - 2)), [*before[2:], *after[2:]]


def fits(root: Operation, total: Sequence[int]) -> bool:
    """
    Return whether every window contains data and none is cut off at the end.

    For kernels without dilations: each pad is smaller than the kernel, and `ceil_mode` is 0.
    """
    kernel, dilations = (decode(root.properties.get(name)) for name in ("kernel_shape", "dilations"))
    if decode(root.properties.get("ceil_mode")) == 1 or not isinstance(kernel, Sequence):
        return False
    if isinstance(dilations, Sequence) and any(each != 1 for each in dilations):
        return False
    sizes = [each for each in kernel if isinstance(each, int)]
    return all(pad < size for pad, size in zip(total, [*sizes, *sizes], strict=True))


def average_rule(pad: Node) -> Rule:
    """Return the rule that folds a zero Pad into an AveragePool."""

    @rule(AveragePool(one_use(pad)))
    def fuse(root: Operation, x: SSAValue, pads: Constant | tuple[int, ...], fill: object) -> RewriteResult:
        """mean(pad(x, p), q) = mean(x, p + q) with counted pads; if q is not counted, only for q = 0"""
        found = window(root, x, pads)
        version = version_at(root)
        if found is None:
            return NOT_AROUND
        own, added = found
        if number(fill) != 0 or version is None or version < COUNTED:
            return MatchFailure("the padding is not zero, or the opset cannot count it")
        if any(own) and decode(root.properties.get("count_include_pad")) != 1:
            return MatchFailure("the pool does not count what it pads itself")
        total = [one + other for one, other in zip(own, added, strict=True)]
        if not fits(root, total):
            return MatchFailure("a window may hold nothing but padding, or be cut off")
        return AveragePool(x, like=root, pads=total, count_include_pad=1)

    return fuse


def is_not_negative(x: SSAValue) -> bool:
    """Return whether a value is known to be non-negative everywhere."""
    maker = x.op if isinstance(x, OpResult) else None
    if maker is None:
        return False
    if maker.name in LIMITED:
        low = constant_of(ONNX, maker.operands[1])
        return low is not None and bool(np.all(low.array >= np.zeros((), low.array.dtype)))
    return maker.name in NOT_NEGATIVE


def is_lowest(fill: object) -> bool:
    """Return whether the fill value is the lowest of its type."""
    if not isinstance(fill, Constant):
        return fill == -np.inf
    array = fill.array
    if array.dtype.kind in "iu":
        return bool(np.all(array == np.iinfo(array.dtype).min))
    return array.dtype.kind == "f" and bool(np.all(np.isneginf(array)))


def maximum_rule(pad: Node) -> Rule:
    """Return the rule that folds a Pad into a MaxPool."""

    @rule(MaxPoolSingleOut(one_use(pad)))
    def fuse(root: Operation, x: SSAValue, pads: Constant | tuple[int, ...], fill: object) -> RewriteResult:
        """max(pad(x, p), q) = max(x, p + q) for a padding of -∞, or of 0 if x ≥ 0 and q = 0"""
        found = window(root, x, pads)
        if found is None:
            return NOT_AROUND
        own, added = found
        zeros = number(fill) == 0 and is_not_negative(x) and not any(own)
        if not is_lowest(fill) and not zeros:
            return MatchFailure("the padding value may be the maximum")
        total = [one + other for one, other in zip(own, added, strict=True)]
        if not fits(root, total):
            return MatchFailure("a window may hold nothing but padding, or be cut off")
        return MaxPoolSingleOut(x, like=root, pads=total)

    return fuse


def integer_rule(pad: Node) -> Rule:
    """Return the rule that folds a Pad with the zero point into a ConvInteger."""

    @rule(ConvInteger(one_use(pad), w, maybe.zero, value.other))
    def fuse(
        root: Operation,
        x: SSAValue,
        w: SSAValue,
        pads: Constant | tuple[int, ...],
        fill: object,
        zero: Constant | None,
        other: SSAValue,
    ) -> RewriteResult:
        """conv(pad(x, p), w, q) = conv(x, w, p + q) for padding with the zero point of x"""
        found = window(root, x, pads)
        if found is None:
            return NOT_AROUND
        point = 0.0 if zero is None else number(zero)
        if number(fill) != point:
            return MatchFailure("the padding is not the zero point")
        total = [one + added for one, added in zip(*found, strict=True)]
        return ConvInteger(x, w, root.operands[2], other, like=root, pads=total)

    return fuse


RULES = rules(
    **{f"FusePad{version}IntoAveragePool": average_rule(pad) for version, pad in PADS.items()},
    **{f"FusePad{version}IntoMaxPool": maximum_rule(pad) for version, pad in PADS.items()},
    # Pad supports integers since opset 11.
    **{
        f"FusePad{version}IntoConvInteger": integer_rule(pad)
        for version, pad in PADS.items()
        if version != "V2"
    },
)
