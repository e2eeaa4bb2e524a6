"""`simplify-onnx`: shape inference, constant folding, canonicalisation and fusion to a fixed point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, NoValueOp, ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.plans import no_more_ops
from xonnc.rewriting.rules import RuleSet
from xonnc.rewriting.timeline import timed
from xonnc.transforms import fuse_channels_onnx
from xonnc.transforms.canonicalize_onnx import Canonicalize, all_rules
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.fold_shape_computations import fold_shape_computations
from xonnc.transforms.fuse_channels_onnx import FuseChannels
from xonnc.transforms.fuse_operators_onnx import FUSIONS, LAST, FuseOperators
from xonnc.transforms.model_opsets import Opsets, opsets_of, within
from xonnc.transforms.move_transposes_onnx import MoveTransposes
from xonnc.transforms.optimization_levels import (
    DEFAULT_LEVEL,
    DEFAULT_PASSES,
    FAST_MATH,
    Passes,
    passes_of,
)
from xonnc.transforms.recompose_onnx import Recompose, standard_rules
from xonnc.transforms.rules import (
    canonicalize_convolution,
    canonicalize_rnn,
    decompose_elementwise,
    move_transposes,
    unroll_loops,
)
from xonnc.transforms.rules.canonicalize_convolution import holds_floats
from xonnc.transforms.rules.real_arithmetic import OVER_REALS, rounds_nowhere
from xonnc.transforms.shape_inference_onnx import InferredOps, Wrong, learn_shapes, refuse_wrong
from xonnc.transforms.unroll_loops_onnx import UnrollLoops

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
    *canonicalize_rnn.LAYOUTS,
)
"""
Canonicalisation rules left out: the original op maps better to hardware and needs no newer opset (global
pools, normalisations, MatMul), is fewer nodes (normalisation, batch-first RNN), or is less work (Cast after
Slice).
"""

NORMALIZED_CONSTANTS = RuleSet(
    {name: rule for name, rule in decompose_elementwise.RULES.items() if name.startswith("ConstantNormalize")}
)
"""
Rules that convert Constant nodes with scalar, list or string properties to tensors.

Other rules and kernels handle tensors only, so these apply at every level.
"""

NO_RULES = RuleSet({})

MEETING = ("SwapTransposeConcatPattern",)
"""Rules whose new ops merge with existing ones, so that fewer remain; exempt from the op-count check."""

BY_CHANNEL = ("FuseAddConv", "FuseBatchNorm", "FuseMulConv")
"""Name prefixes of canonicalisation rules that fold per-channel arithmetic into convolutions."""

MAX_OPSET = 1000
"""An opset newer than all."""

MAX_ROUNDS = 10
"""Limit of rounds; each must have changed something. No known model needs as many."""


@dataclass(frozen=True)
class Simplify(ModulePass):
    """
    Infer shapes, fold constants, canonicalise and fuse to a fixed point.

    Batch normalisations are folded into the convolutions before them; dropouts, identities and arithmetic on
    constants are removed; every type that follows from the inputs is known. Pools stay pools, no rule creates
    more ops than it removes, and none creates an op outside the opset of the model. Options:
    `disable-pattern` names rules to leave out, `level` is an optimization level, of which `enable-pass` and
    `disable-pass` switch passes on and off.
    """

    name = "simplify-onnx"

    disable_pattern: tuple[str, ...] = ()
    level: int = DEFAULT_LEVEL
    enable_pass: tuple[str, ...] = ()
    disable_pass: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        passes = passes_of(self.level, self.enable_pass, self.disable_pass)
        Simplification(op, ctx, passes, self.disable_pattern).run()


class Simplification:
    """Simplification of one module; can be resumed after other passes changed it."""

    def __init__(
        self,
        module: ModuleOp,
        context: Context,
        passes: Passes = DEFAULT_PASSES,
        disabled: tuple[str, ...] = (),
    ):
        self.module = module
        self.context = context
        self.rules, self.last = tables(opsets_of(module), passes, disabled)
        self.settled: InferredOps = {}
        self.is_verified = False

    def run(self) -> bool:
        """Apply the rules to a fixed point; return whether anything changed."""
        is_due, changed = True, False
        for _ in range(MAX_ROUNDS):
            with timed("infer shapes"):
                learned = self.learn()
            # The rules are at a fixed point of their own: only refined types can enable more.
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
        """Infer shapes and fold shape computations; return whether types were refined."""
        # Verify the input model once; ops created by rules are verified by our tests.
        wrong: list[Wrong] | None = None if self.is_verified else []
        changed, facts = learn_shapes(self.module, self.settled, wrong)
        refuse_wrong(wrong or ())
        self.is_verified = True
        # Folded shapes refine types further; no rule needs to run in between.
        while fold_shape_computations(self.module, facts):
            changed = True
            more, facts = learn_shapes(self.module, self.settled)
            if not more:
                break
        return changed

    def apply(self, rules: RuleSet) -> bool:
        with timed("apply rules", self.count_nodes):
            return apply_rules(self.module, self.context, rules, pass_name=Simplify.name).changed

    def count_nodes(self) -> int:
        """Return the number of ONNX ops but constants and the ends of graphs."""
        ends = (ConstantOp, EntryPointOp, NoValueOp, ReturnOp, YieldOp)
        return sum(isinstance(op, OnnxOp) and not isinstance(op, ends) for op in self.module.walk())


@cache
def tables(opsets: Opsets | None, passes: Passes, disabled: tuple[str, ...]) -> tuple[RuleSet, RuleSet]:
    """Return the rules for models of these opsets (`None`: any), and those for when no other one applies."""
    every = rules_within(opsets, passes).without(disabled)
    last = RuleSet({name: rule for name, rule in every.items() if name in LAST})
    return every.without(list(last)), last


@cache
def fusing_rules() -> Mapping[str, str]:
    """Map canonicalisation rules that fuse ops to the pass that they count to here."""
    return {
        name: FuseChannels.name if name.startswith(BY_CHANNEL) else FuseOperators.name
        for name in canonicalize_convolution.RULES
    }


@cache
def rules_within(opsets: Opsets | None, passes: Passes) -> RuleSet:
    """Return the rules of the passes for models of these opsets (`None`: any)."""
    table = NORMALIZED_CONSTANTS
    if ConstProp.name in passes:
        table |= ConstProp().rules()
    if FuseChannels.name in passes:
        table |= fuse_channels_onnx.RULES
    if FuseOperators.name in passes:
        table |= FUSIONS
    if UnrollLoops.name in passes:
        table |= unroll_loops.RULES
    if Canonicalize.name in passes:
        # No runtime implements Gemm of integers (docs/internals/onnx-rules.md §9.1, no. 27).
        canonical = all_rules().without(KEPT).guarded(["MulAddToGemmOptPattern"], holds_floats)
        fusing = [name for name in canonical if name in fusing_rules() and fusing_rules()[name] not in passes]
        table |= canonical.without(fusing).guarded(MEETING, parts_are_read_once)
    moving = move_transposes.RULES if MoveTransposes.name in passes else NO_RULES
    # Sinking a transpose keeps the number of ops, but the check does not see transposes that cancel later.
    table = (moving | table).checked(no_more_ops, except_for=(*MEETING, *moving))
    if opsets is not None:
        recomposing = standard_rules(dict(opsets).get("", 0)) if Recompose.name in passes else NO_RULES
        table = (recomposing | table).checked(within(opsets))
    if FuseOperators.name in passes:
        table |= LAST
    return table if FAST_MATH in passes else table.guarded(OVER_REALS, rounds_nowhere)


def parts_are_read_once(root: Operation) -> str | None:
    """The inputs of the op that defines the first operand have no other uses."""
    maker = root.operands[0].owner
    if isinstance(maker, Operation) and all(part.has_one_use() for part in maker.operands):
        return None if root.operands[0].has_one_use() else "the parts are read together too"
    return "a part has other readers"


def pass_of_rule(name: str) -> str | None:
    """Return the pass that a rule of simplification belongs to."""
    if name in fusing_rules():
        return fusing_rules()[name]
    tables: tuple[tuple[str, Mapping[str, object]], ...] = (
        (ConstProp.name, ConstProp().rules()),
        (FuseChannels.name, fuse_channels_onnx.RULES),
        (FuseOperators.name, FUSIONS | LAST),
        (Canonicalize.name, all_rules()),
        (MoveTransposes.name, move_transposes.RULES),
        (UnrollLoops.name, unroll_loops.RULES),
        (Recompose.name, standard_rules(MAX_OPSET)),
    )
    return next((owner for owner, table in tables if name in table), None)
