"""`constprop-onnx`: constant folding and reassociation of constants (docs/internals/onnx-rules.md §2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.rules import Condition, RuleSet, rules
from xonnc.transforms.rules import (
    canonicalize_identity,
    constprop_activations,
    constprop_axes,
    constprop_controlflow,
    constprop_elementwise,
    constprop_evaluation,
    constprop_indexing,
    constprop_loops,
    constprop_movement,
    constprop_quantization,
    constprop_reassociation,
    constprop_reduction,
    constprop_windows,
    decompose_elementwise,
)
from xonnc.transforms.rules.folding_limits import bytes_of, modest

EXPANDING = (
    constprop_activations.EXPANDING
    | constprop_axes.EXPANDING
    | constprop_elementwise.EXPANDING
    | constprop_movement.EXPANDING
    | constprop_reduction.EXPANDING
)
"""Rules whose results may be larger than their operands."""


@dataclass(frozen=True)
class ConstProp(ModulePass):
    """
    Fold ops on constants and reassociate constants so that more ops fold.

    Options: `disable-pattern` names rules to leave out; `expansion-bound=n` does not fold elementwise,
    expanding and matrix ops whose result has more than n times the bytes of their operands; `round-fp-to-int`
    makes casts round to nearest even instead of truncating; `loop-bound=n` folds loops of up to n iterations;
    `disable` only hoists constants and erases dead ops.
    """

    name = "constprop-onnx"

    expansion_bound: int = -1
    disable_pattern: tuple[str, ...] = ()
    round_fp_to_int: bool = False
    disable: bool = False
    loop_bound: int = constprop_loops.MAX_ITERATIONS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, ctx, self.rules(), pass_name=self.name)

    def rules(self) -> RuleSet:
        """Return the rules of these options; rules of equal benefit are tried in this order."""
        if self.disable:
            return rules()
        table = _rules(self.round_fp_to_int, self.loop_bound).without(self.disable_pattern)
        if self.expansion_bound < 0:
            return table
        return table.guarded(EXPANDING, within(self.expansion_bound))


@cache
def _rules(rounding: bool, loop_bound: int) -> RuleSet:
    elementwise = constprop_elementwise.RULES
    if rounding:
        elementwise = (
            elementwise.without(tuple(constprop_elementwise.ROUNDING)) | constprop_elementwise.ROUNDING
        )
    table = (
        elementwise
        | decompose_elementwise.NORMALIZED_CONSTANTS
        | canonicalize_identity.SHAPES
        | constprop_activations.RULES
        | constprop_axes.RULES
        | constprop_indexing.RULES
        | constprop_movement.RULES
        | constprop_quantization.RULES
        | constprop_reassociation.RULES
        | constprop_reduction.RULES
        | constprop_windows.RULES
    )
    table = table.guarded(EXPANDING, modest)
    table = table.alphabetical() | constprop_controlflow.RULES | constprop_loops.loops(loop_bound)
    return table | constprop_evaluation.rules_but(rule.root.template.name for rule in table.values())


def within(bound: int) -> Condition:
    """Return the condition that a result has at most `bound` times the bytes of the operands."""

    def bounded(root: Operation) -> str | None:
        """The result does not exceed the expansion bound."""
        allowed = bound * sum(bytes_of(operand.type) or 0 for operand in root.operands)
        made = bytes_of(root.results[0].type)
        if made is None:
            return "the size of the result is not known"
        return None if made <= allowed else f"the result takes {made} bytes, {allowed} are allowed"

    return bounded
