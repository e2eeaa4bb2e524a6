"""Fold If with a constant condition (docs/internals/onnx-rules.md §2.4)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xonnc.rewriting.onnx import If
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    RewriteResult,
    compute,
    const,
    root,
)
from xonnc.rewriting.rules import rule, rules


def taken(root: Operation, condition: Constant) -> RewriteResult:
    """Inline the branch that the constant condition selects"""
    if condition.array.size != 1:
        return MatchFailure("the condition is not one element")
    branch = root.regions[0 if condition.array.reshape(()) else 1]
    if len(branch.blocks) != 1:
        return MatchFailure("the branch is not one block")

    def inline(op: Operation) -> Sequence[SSAValue]:
        target, block = op.parent, branch.block
        end = block.last_op
        assert target is not None
        assert end is not None
        results = list(end.operands)
        for inner in list(block.ops):
            if inner is not end:
                inner.detach()
                target.insert_op_before(inner, op)
        return results

    return ImperativeRewrite(inline)


RULES = rules(IfOfConst=rule(If(const.condition), compute(taken, root, const.condition), bonus=-1))
