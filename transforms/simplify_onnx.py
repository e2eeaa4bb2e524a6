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
    fuse_recurrence,
)
from xonnc.transforms.rules.canonicalize_convolution import holds_floats
from xonnc.transforms.settled_shapes import settle_shapes
from xonnc.transforms.shape_inference_onnx import Settled, Wrong, learn_shapes, refuse_wrong

KEPT = (
    "GlobalAveragePoolPattern",
    "GlobalMaxPoolPattern",
    "ReorderReluMaxPoolPattern",
    "RemoveInstanceNormPattern",
    "RemoveGroupNormPattern1",
    "RemoveGroupNormPattern2",
    "SwapReshapeMatMulPattern",
    "SwapCastSlicePattern",
    "RewriteBatchNormInferenceModeConvPattern1",
    "RewriteBatchNormInferenceModeConvPattern2",
    *canonicalize_recurrence.LAYOUTS,
)
"""
Rules left out: what they replace means more to hardware and needs no newer opset (pools, normalisations,
products of matrices), is fewer nodes (a normalisation, networks whose data begin with the batch), or is less
work (a cast of what is left of a tensor).
"""

WRITTEN_OUT = RuleSet(
    {name: rule for name, rule in decompose_elementwise.RULES.items() if name.startswith("ConstantNormalize")}
)
"""Constants that are nodes with numbers or strings become tensors, which the other rules know."""

FUSIONS = (
    fuse_linear.RULES
    | fuse_movement.RULES
    | fuse_elementwise.RULES
    | fuse_pooling.RULES
    | fuse_recurrence.RULES
)
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
        Simplification(op, ctx, self.disable_pattern).run()


class Simplification:
    """The simplification of one module, that goes on where it stopped after others changed the module."""

    def __init__(self, module: ModuleOp, context: Context, disabled: tuple[str, ...] = ()):
        self.module = module
        self.context = context
        self.rules, self.last = tables(opsets_of(module), disabled)
        self.settled: Settled = {}
        self.is_verified = False

    def run(self) -> bool:
        """Applies the rules until nothing changes; whether anything did."""
        is_due, changed = True, False
        for _ in range(MOST_ROUNDS):
            learned = self.learn()
            # The rules stopped where no one fits: what they made tells them nothing, but new types may.
            if learned or is_due:
                is_due = False
                if self.apply(self.rules) or learned:
                    changed = True
                    continue
            if not self.apply(self.last):
                break
            is_due = changed = True
        return changed

    def learn(self) -> bool:
        """Infers shapes and settles what is computed from them; whether more is known."""
        # What comes in is held to its rules once: those of ops that rules make are ours to keep.
        wrong: list[Wrong] | None = None if self.is_verified else []
        changed, facts = learn_shapes(self.module, self.settled, wrong)
        refuse_wrong(wrong or ())
        self.is_verified = True
        # What is settled makes more types known, without which no rule needs to be tried.
        while settle_shapes(self.module, facts):
            changed = True
            more, facts = learn_shapes(self.module, self.settled)
            if not more:
                break
        return changed

    def apply(self, rules: RuleSet) -> bool:
        return apply_rules(self.module, self.context, rules, pass_name=Simplify.name).changed


@cache
def tables(opsets: Opsets | None, disabled: tuple[str, ...]) -> tuple[RuleSet, RuleSet]:
    """The rules for models of these opsets, or of any, and those for when no other one fits."""
    every = (rules_within(opsets) | LAST).without(disabled)
    last = RuleSet({name: rule for name, rule in every.items() if name in LAST})
    return every.without(list(last)), last


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
