"""`simplify-onnx`: shapes, constants and canonical forms, together to a fixed point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.plans import more_ops
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.canonicalize_onnx import all_rules
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.model_opsets import Opsets, opsets_of, within
from xonnc.transforms.recompose_onnx import standard_rules
from xonnc.transforms.rules import (
    canonicalize_recurrence,
    decompose_elementwise,
    fuse_channels,
    fuse_elementwise,
    fuse_linear,
    fuse_movement,
    fuse_pooling,
    fuse_products,
)
from xonnc.transforms.rules.canonicalize_convolution import holds_floats
from xonnc.transforms.settled_shapes import settle_shapes
from xonnc.transforms.shape_inference_onnx import learn_shapes

KEPT = (
    "GlobalAveragePoolPattern",
    "GlobalMaxPoolPattern",
    "ReorderReluMaxPoolPattern",
    "RemoveInstanceNormPattern",
    "RemoveGroupNormPattern1",
    "RemoveGroupNormPattern2",
    "SwapReshapeMatMulPattern",
    "SwapCastSlicePattern",
    *canonicalize_recurrence.LAYOUTS,
)
"""
Rules left out: what they replace means more to hardware and needs no newer opset (pools, normalisations,
products of matrices), is fewer nodes (networks whose data begin with the batch), or is less work (a cast of
what is left of a tensor).
"""

WRITTEN_OUT = RuleSet(
    {name: rule for name, rule in decompose_elementwise.RULES.items() if name.startswith("ConstantNormalize")}
)
"""Constants that are nodes with numbers or strings become tensors, which the other rules know."""

FUSIONS = fuse_linear.RULES | fuse_movement.RULES | fuse_elementwise.RULES | fuse_pooling.RULES
"""Rules that no other pass has."""

LAST = fuse_products.RULES
"""Rules for when no other one fits any more."""

MEETING = ("SwapTransposeConcatPattern",)
"""Rules whose new ops meet ones that are there already, and are fewer afterwards."""

MOST_ROUNDS = 10
"""Each round must have found something; deeper models than this many rounds of discoveries are not known."""


@dataclass(frozen=True)
class Simplify(ModulePass):
    """
    Infers shapes, folds constants and canonicalises until nothing changes.

    Afterwards batch normalisations are in the convolutions before them, dropouts, identities and arithmetic
    on constants are gone, and every type that follows from the inputs is known. Pools stay pools, no rule
    makes more ops than it removes, and none makes an op that the model's opset does not have. Option:
    `disable-pattern` names rules to leave out.
    """

    name = "simplify-onnx"

    disable_pattern: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        every = (rules_within(opsets_of(op)) | LAST).without(self.disable_pattern)
        last = RuleSet({name: rule for name, rule in every.items() if name in LAST})
        rules = every.without(list(last))
        for _ in range(MOST_ROUNDS):
            changed, facts = learn_shapes(op)
            # What is settled makes more types known, without which no rule needs to be tried.
            while settle_shapes(op, facts):
                changed = True
                more, facts = learn_shapes(op)
                if not more:
                    break
            report = apply_rules(op, ctx, rules, pass_name=self.name)
            if changed or report.changed:
                continue
            if not apply_rules(op, ctx, last, pass_name=self.name).changed:
                return


@cache
def rules_within(opsets: Opsets | None) -> RuleSet:
    """The rules for models of these opsets, or of any."""
    canonical = all_rules().without(KEPT).guarded(MEETING, parts_are_read_once)
    # No runtime has a Gemm of integers (spec/graph-passes.md §1.3, no. 27).
    canonical = canonical.guarded(["MulAddToGemmOptPattern"], holds_floats)
    table = WRITTEN_OUT | ConstProp().rules() | fuse_channels.RULES | FUSIONS | canonical
    table = table.checked(more_ops, except_for=MEETING)
    if opsets is None:
        return table
    return (standard_rules(dict(opsets).get("", 0)) | table).checked(within(opsets))


def parts_are_read_once(root: Operation) -> str | None:
    """What the first operand is made of has no other reader."""
    maker = root.operands[0].owner
    if isinstance(maker, Operation) and all(part.has_one_use() for part in maker.operands):
        return None if root.operands[0].has_one_use() else "the parts are read together too"
    return "a part has other readers"
