"""Merge reductions of one kind that follow each other."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import (
    ReduceMax,
    ReduceMaxV13,
    ReduceMaxV18,
    ReduceMean,
    ReduceMeanV13,
    ReduceMin,
    ReduceMinV13,
    ReduceMinV18,
    ReduceProd,
    ReduceProdV13,
    ReduceSum,
    ReduceSumV11,
)
from xonnc.rewriting.patterns import MatchFailure, Node, RewriteResult, Template, value
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.canonicalize_convolution import holds_floats
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.fuse_elementwise import reduced_axes

AXES_ARE_OPERANDS = (ReduceMax, ReduceMaxV18, ReduceMean, ReduceMin, ReduceMinV18, ReduceProd, ReduceSum)
AXES_ARE_ATTRIBUTES = (ReduceMaxV13, ReduceMeanV13, ReduceMinV13, ReduceProdV13, ReduceSumV11)

MEANS = ("ReduceMean", "ReduceMeanV13")
"""Reductions that round integers."""


def keeps(op: Operation) -> bool:
    """Return whether reduced axes stay, with size 1."""
    return decode(op.properties.get("keepdims")) != 0


def all_axes(first: Operation, second: Operation, size: int) -> tuple[list[int], bool] | str:
    """
    Return the axes that a reduction and the one after it reduce together, and whether they stay.

    Parameters:
        first: the reduction of a tensor of rank `size`.
        second: the reduction of its result.
        size: the rank.
    """
    early, late = reduced_axes(first), reduced_axes(second)
    if early is None or late is None:
        return "axes are not known"
    if keeps(first):
        if not keeps(second) and not set(early) <= set(late):
            return "some axes stay, others do not"
        return sorted({*early, *late}), keeps(second)
    if keeps(second):
        return "some axes stay, others do not"
    left = [axis for axis in range(size) if axis not in early]
    return sorted({*early, *(left[axis] for axis in late)}), False


def merged(template: Template, outer: Node) -> Rule:
    """Merge a reduction into one of its kind before it."""

    @rule(outer, where=holds_floats if template.name in MEANS else ())
    def merge(root: Operation, reduced: SSAValue) -> RewriteResult:
        """reduce(reduce(x, a), b) = reduce(x, a and b): sums, products, means, extremes"""
        first = reduced.owner
        if not isinstance(first, Operation) or first.name != root.name or not reduced.has_one_use():
            return MatchFailure("the data are no reduction of this kind that is read once")
        size = rank(first.operands[0])
        found = "the rank is not known" if size is None else all_axes(first, root, size)
        if isinstance(found, str):
            return MatchFailure(found)
        axes, stay = found
        if template in AXES_ARE_OPERANDS:
            return template(first.operands[0], np.array(axes, np.int64), like=first, keepdims=int(stay))
        return template(first.operands[0], like=first, axes=axes, keepdims=int(stay))

    return merge


RULES = rules(
    **{
        f"Merge{template.name}": merged(template, template(value.reduced, value.axes))
        for template in AXES_ARE_OPERANDS
    },
    **{
        f"Merge{template.name}": merged(template, template(value.reduced)) for template in AXES_ARE_ATTRIBUTES
    },
)
