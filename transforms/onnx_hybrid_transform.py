"""
`onnx-hybrid-transform`: shape inference and all rules in one greedy run (docs/internals/onnx-rules.md §6.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.rewriting.driver import apply_rules_within
from xonnc.rewriting.editing import retype_function
from xonnc.rewriting.plans import is_constant_or_none
from xonnc.rewriting.remarks import warn
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms import canonicalize_onnx, recompose_onnx
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.decompose_onnx import Decompose
from xonnc.transforms.shape_inference_onnx import infer, infer_shapes

ITERATIONS = 10
"""Iterations of onnx-mlir's driver, each of which allows the rewrite limit again."""

NO_LIMIT = -1

MAX_REWRITES_PER_OP = 100
"""Limit without an option: more rewrites mean that rules undo each other."""


@dataclass(frozen=True)
class OnnxHybridTransform(ModulePass):
    """
    Infer shapes, canonicalise, fold, decompose and recompose in one greedy run.

    Options switch each of these off. The rewrite limit of each of ten iterations is `max-num-rewrites-offset`
    plus `max-num-rewrites-multiplier` times the number of ops, unlimited if the offset is -1. A function that
    exceeds it is left as it is then, with a warning that names the rules at work. `expansion-bound`,
    `disable-pattern`, `round-fp-to-int` and `disable` are those of `constprop-onnx`, `decompose-op-in-onnx`
    is that of `decompose-onnx`.
    """

    name = "onnx-hybrid-transform"

    shape_inference: bool = True
    canonicalization: bool = True
    constant_propagation: bool = True
    decomposition: bool = True
    enable_conv_to_matmul: bool = True
    recomposition: bool = True
    max_num_rewrites_offset: int = 20
    max_num_rewrites_multiplier: float = 0.2
    expansion_bound: int = -1
    disable_pattern: tuple[str, ...] = ()
    round_fp_to_int: bool = False
    disable: bool = False
    decompose_op_in_onnx: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Transform every function in `op`."""
        rules = self.rules()
        for function in [each for each in op.walk() if isinstance(each, FuncOp)]:
            if function.body.blocks.first is not None:
                self.transform(ctx, function, rules)

    def rules(self) -> RuleSet:
        """Return the rules of these options; rules of equal benefit are tried in this order."""
        table = RuleSet({})
        if self.canonicalization:
            table |= canonicalize_onnx.all_rules()
        if self.constant_propagation:
            table |= ConstProp(
                self.expansion_bound, self.disable_pattern, self.round_fp_to_int, self.disable
            ).rules()
        if self.decomposition:
            parts = Decompose(
                enable_conv_to_matmul=self.enable_conv_to_matmul,
                decompose_op_in_onnx=self.decompose_op_in_onnx,
            ).rules()
            # A sequence of constants decomposed to SequenceInserts would fold back to itself.
            folds = self.constant_propagation and not self.disable
            table |= parts.guarded(["SequenceConstruct"], has_variable_part) if folds else parts
        if self.recomposition:
            table |= recompose_onnx.all_rules()
        return table

    def transform(self, ctx: Context, function: FuncOp, rules: RuleSet) -> None:
        """Transform one function; repeat while a final walk still refines types."""
        allowed = self.allowed(function)
        visit = inferring if self.shape_inference else not_inferring
        while True:
            report = apply_rules_within(
                function, ctx, rules, pass_name=self.name, max_rewrites=allowed, visit=visit
            )
            allowed -= report.fired.total()
            if report.unfinished:
                warn(self.unfinished(report.unfinished), function)
            changed = self.shape_inference and infer_shapes(function)
            if report.unfinished or not changed:
                break
        retype_function(function)

    def allowed(self, function: FuncOp) -> int:
        """Return the rewrite limit of a function."""
        ops = sum(1 for block in function.body.blocks for _ in block.ops)
        if self.max_num_rewrites_offset == NO_LIMIT:
            return max(1_000, MAX_REWRITES_PER_OP * sum(1 for _ in function.walk()))
        return ITERATIONS * int(self.max_num_rewrites_offset + self.max_num_rewrites_multiplier * ops)

    def unfinished(self, names: Sequence[str]) -> str:
        """Return onnx-mlir's warning, and the rules at work."""
        return (
            f"onnx-hybrid-transform didn't converge with"
            f" max-num-rewrites-offset={self.max_num_rewrites_offset},"
            f" max-num-rewrites-multiplier={self.max_num_rewrites_multiplier}"
            f" (at work: {', '.join(names)})"
        )


def inferring(op: Operation) -> Sequence[Operation]:
    """Infer an op, or the enclosing op at the end of a body; return the ops whose types changed."""
    around = op.parent_op()
    inferred = around if around is not None and op.has_trait(IsTerminator) else op
    return [inferred] if isinstance(inferred, OnnxOp) and inferred.results and infer(inferred) else []


def has_variable_part(root: Operation) -> str | None:
    """An element of the sequence is no constant."""
    return "the sequence is constant" if all(is_constant_or_none(part) for part in root.operands) else None


def not_inferring(op: Operation) -> Sequence[Operation]:
    """Leave types unchanged."""
    return ()
