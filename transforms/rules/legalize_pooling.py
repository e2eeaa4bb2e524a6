"""Separable MaxPool: large windows as one pass per axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import NONE
from xonnc.rewriting.onnx import MaxPool, MaxPoolSingleOut
from xonnc.rewriting.patterns import MatchFailure, OperandSpec, RewriteResult, Template, absent, attr, value
from xonnc.rewriting.rules import Rule, rule, rules

PASS_COST = 4
"""Cost of a pass per element besides its comparisons, in comparisons."""


def is_cheaper_by_axis(kernel: Sequence[int], strides: Sequence[int]) -> bool:
    """
    Return whether one pass per axis costs fewer comparisons per result element than a single pass.

    The last axis comes first. A pass over one axis does not shrink the axes before it yet: it computes
    `prod(strides[:axis])` times as many elements as the result has.
    """
    passes = [
        (size + PASS_COST) * prod(strides[:axis]) for axis, size in enumerate(kernel) if _moves(axis, kernel)
    ]
    return len(passes) > 1 and sum(passes) < prod(kernel) + PASS_COST


def _moves(axis: int, kernel: Sequence[int]) -> bool:
    return kernel[axis] > 1


def _along(axis: int, numbers: Sequence[int], neutral: int) -> list[int]:
    """Return the values with all but one axis replaced by the neutral value."""
    return [number if index == axis else neutral for index, number in enumerate(numbers)]


def by_axis(template: Template) -> Rule:
    """MaxPool over rows and columns is a MaxPool over rows of a MaxPool over columns"""

    @rule(
        template(
            value.x,
            auto_pad=attr.auto_pad,
            ceil_mode=attr.ceil_mode,
            dilations=attr.dilations,
            kernel_shape=attr.kernel,
            pads=attr.pads,
            strides=attr.strides,
        )
    )
    def pool(
        root: Operation,
        x: SSAValue,
        auto_pad: str,
        ceil_mode: int,
        dilations: Sequence[int] | None,
        kernel: Sequence[int],
        pads: Sequence[int] | None,
        strides: Sequence[int] | None,
    ) -> RewriteResult:
        """MaxPool over rows and columns is a MaxPool over rows of a MaxPool over columns"""
        if any(result.type != NONE for result in root.results[1:]):
            return MatchFailure("the indices are read")
        ones = [1] * len(kernel)
        strides, dilations, pads = strides or ones, dilations or ones, pads or [0] * (2 * len(kernel))
        if not is_cheaper_by_axis(kernel, strides):
            return MatchFailure("one pass over the window is as cheap")
        made: OperandSpec = x
        # Last axis first: among equal elements (0 and -0), the first in row-major order is kept.
        for axis in reversed(range(len(kernel))):
            if kernel[axis] == strides[axis] == 1 and not any(_pads_along(axis, pads)):
                continue
            made = MaxPoolSingleOut(
                made,
                auto_pad=auto_pad,
                ceil_mode=ceil_mode,
                dilations=_along(axis, dilations, 1),
                kernel_shape=_along(axis, kernel, 1),
                pads=_pads_along(axis, pads),
                storage_order=0,
                strides=_along(axis, strides, 1),
            )
        return [made, *[absent] * (len(root.results) - 1)]

    return pool


def _pads_along(axis: int, pads: Sequence[int]) -> list[int]:
    rank = len(pads) // 2
    return [*_along(axis, pads[:rank], 0), *_along(axis, pads[rank:], 0)]


RULES = rules(MaxPool=by_axis(MaxPool), MaxPoolSingleOut=by_axis(MaxPoolSingleOut))
