"""`simplify-onnx`: shapes, constants and canonical forms, together to a fixed point."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.canonicalize_onnx import all_rules
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.rules import canonicalize_recurrence, canonicalize_scalars, decompose_elementwise
from xonnc.transforms.shape_inference_onnx import infer_shapes

KEPT = (
    "GlobalAveragePoolPattern",
    "GlobalMaxPoolPattern",
    "ReorderReluMaxPoolPattern",
    "RemoveInstanceNormPattern",
    "RemoveGroupNormPattern1",
    "RemoveGroupNormPattern2",
    "SwapReshapeMatMulPattern",
    *canonicalize_recurrence.LAYOUTS,
)
"""
Rules left out: what they replace means more to hardware and needs no newer opset (pools, normalisations,
products of matrices), or is fewer nodes (networks whose data begin with the batch).
"""

WRITTEN_OUT = RuleSet(
    {name: rule for name, rule in decompose_elementwise.RULES.items() if name.startswith("ConstantNormalize")}
)
"""Constants that are nodes with numbers or strings become tensors, which the other rules know."""

REPEATING = tuple(name for name in canonicalize_scalars.RULES if "ReshapeThroughBinaryOp" in name)
"""Rules that need a second reshape if the first one has other readers."""

SPREADING = (
    "FuseBatchNormInferenceModeConvPattern",
    "RewriteBatchNormInferenceModeConvPattern1",
    "RewriteBatchNormInferenceModeConvPattern2",
)
"""Rules that make arithmetic of a batch normalisation, which only folds if it is on constants."""

MOST_ROUNDS = 10
"""Each round must have found something; deeper models than this many rounds of discoveries are not known."""


@dataclass(frozen=True)
class Simplify(ModulePass):
    """
    Infers shapes, folds constants and canonicalises until nothing changes.

    Afterwards batch normalisations are in the convolutions before them, dropouts, identities and arithmetic
    on constants are gone, and every type that follows from the inputs is known. Pools stay pools. Option:
    `disable-pattern` names rules to leave out.
    """

    name = "simplify-onnx"

    disable_pattern: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        canonical = all_rules().without(KEPT).guarded(SPREADING, has_constant_statistics)
        canonical = canonical.guarded(REPEATING, first_operand_is_read_once)
        rules = WRITTEN_OUT | ConstProp().rules() | canonical
        rules = rules.without(self.disable_pattern)
        for _ in range(MOST_ROUNDS):
            changed = infer_shapes(op)
            report = apply_rules(op, ctx, rules, pass_name=self.name)
            if not (changed or report.changed):
                return


def first_operand_is_read_once(root: Operation) -> str | None:
    """What the op reads first has no other reader."""
    return None if root.operands[0].has_one_use() else "the first operand has other readers"


def has_constant_statistics(root: Operation) -> str | None:
    """The operands but the first are constants."""
    if all(isinstance(operand.owner, ConstantOp) for operand in root.operands[1:]):
        return None
    return "its statistics are not all constant"
