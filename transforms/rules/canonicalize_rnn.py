"""RNN operators: sequence-first layout, no redundant sequence lengths (docs/internals/onnx-rules.md §3.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.types import is_ranked
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import GRU, LSTM, RNN, Transpose
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    Pattern,
    RewriteResult,
    Template,
    const,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.conditions import is_absent
from xonnc.transforms.rules.op_builder import OpBuilder

DATA_OPERANDS = (value.x, value.w, value.r, value.b)
"""Data, weights and biases."""

NETWORKS: dict[str, tuple[Template, tuple[Pattern, ...]]] = {
    "GRU": (GRU, (value.h,)),
    "LSTM": (LSTM, (value.h, value.c, value.peepholes)),
    "RNN": (RNN, (value.h,)),
}
"""RNN operators and their operands after the sequence lengths."""

STATES = slice(5, 7)
"""Operand indices of the initial states."""

SWAPPED = (1, 0, 2)
"""Permutation that swaps batch with sequence or direction."""
BATCH_FIRST = (2, 0, 1, 3)
"""Permutation from [sequence, direction, batch, hidden] to batch first."""


def unmoved(moved: Attribute, perm: Sequence[int]) -> Attribute:
    """Return the operand type of a Transpose by `perm` that has the result type `moved`."""
    if not is_ranked(moved):
        return moved
    sizes = moved.get_shape()
    return type(moved)(moved.element_type, [sizes[perm.index(axis)] for axis in range(len(perm))])


def batch_second(template: Template, last: Sequence[Pattern]) -> Rule:
    """Rewrite a batch-first RNN as a sequence-first one between transposes."""

    @rule(template(*DATA_OPERANDS, value.lengths, *last, layout=1))
    def transpose_around(root: Operation) -> RewriteResult:
        """A batch-first RNN (`layout` 1) is a sequence-first one (`layout` 0) between transposes"""
        return ImperativeRewrite(lambda op: with_batch_second(template, op))

    return transpose_around


def with_batch_second(template: Template, op: Operation) -> Sequence[SSAValue]:
    """Create the RNN with layout 0 between transposes, before `op`; return its results."""
    writer = OpBuilder(op)
    operands = list(op.operands)
    # X and the initial states have a batch axis; the LSTM's last operand, the peepholes, has none.
    moving = (0, *range(*STATES.indices(len(operands) - (template.name == "LSTM"))))
    for index in moving:
        if not is_absent(operands[index]):
            operands[index] = writer(Transpose, operands[index], perm=SWAPPED)
    perms = (BATCH_FIRST, SWAPPED, SWAPPED)[: len(op.results)]
    types = [unmoved(result.type, perm) for result, perm in zip(op.results, perms, strict=True)]
    results = writer.all(template, *operands, types=types, **{**op.properties, "layout": int_attr(0)})
    return [
        made
        if isinstance(made.type, NoneType)
        else writer.all(Transpose, made, types=[result.type], perm=perm)[0]
        for made, result, perm in zip(results, op.results, perms, strict=True)
    ]


def of_full_length(template: Template, last: Sequence[Pattern]) -> Rule:
    """Return the rule that removes sequence lengths equal to the length of the data."""

    @rule(template(*DATA_OPERANDS, const.lengths, *last), bonus=-1)
    def without_lengths(root: Operation, x: SSAValue, lengths: Constant) -> RewriteResult:
        """
        Drop the sequence lengths if all equal the length of the data

        onnx-mlir drops the length of a batch of one without checking whether it is shorter than the data.
        """
        sizes = x.type.get_shape() if is_ranked(x.type) else ()
        axis = decode(root.properties.get("layout")) or 0
        assert isinstance(axis, int)
        if len(sizes) != 3 or sizes[axis] < 0 or np.any(lengths.array != sizes[axis]):
            return MatchFailure("a sequence may be shorter than the data")
        before, after = root.operands[:4], root.operands[5:]
        return template(*before, None, *after, like=root).typed(*root.result_types)

    return without_lengths


LAYOUTS = rules(
    **{f"RNNOpRewriteLayoutPattern{name}": batch_second(*network) for name, network in NETWORKS.items()}
)
"""Rules that normalise the layout of all RNNs, at the cost of transposes."""

RULES = LAYOUTS | rules(
    **{f"RNNOpRewriteSeqLenPattern{name}": of_full_length(*network) for name, network in NETWORKS.items()}
)
