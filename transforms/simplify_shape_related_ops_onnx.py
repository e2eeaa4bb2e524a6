"""
`simplify-shape-related-ops-onnx`: express shape computations by dimensions (docs/internals/onnx-rules.md
§6.5).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.canonicalize_onnx import all_rules
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.rules import shape_related_sizes
from xonnc.transforms.shape_inference_onnx import infer_shapes

CANONICALIZED = frozenset("Cast Dim Reshape Slice Squeeze SqueezeV11 Unsqueeze UnsqueezeV11".split())
"""Ops whose canonicalisation rules take part."""

MAX_ROUNDS = 3
"""As in onnx-mlir: types refined in one round may enable folds in the next."""


@dataclass(frozen=True)
class SimplifyShapeRelatedOps(ModulePass):
    """
    Rewrite shapes to concatenations of single dimensions, `onnx.Dim` or constant, and fold selections from
    them.

    At most three rounds, each followed by constant propagation, shape inference and canonicalisation.
    Options: those of `constprop-onnx`.
    """

    name = "simplify-shape-related-ops-onnx"

    expansion_bound: int = -1
    disable_pattern: tuple[str, ...] = ()
    round_fp_to_int: bool = False
    disable: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Simplify everything in `op`."""
        folds = ConstProp(self.expansion_bound, self.disable_pattern, self.round_fp_to_int, self.disable)
        for _ in range(MAX_ROUNDS):
            found = apply_rules(op, ctx, simplifying_rules(), pass_name=self.name)
            folded = apply_rules(op, ctx, folds.rules(), pass_name=self.name)
            inferred = infer_shapes(op)
            tidied = apply_rules(op, ctx, all_rules(), pass_name=self.name)
            if not (found.changed or folded.changed or inferred or tidied.changed):
                return


def simplifying_rules() -> RuleSet:
    """Return the rules on shape ops, and the canonicalisation rules of the ops between them."""
    canonical = {
        name: known for name, known in all_rules().items() if known.root.template.name in CANONICALIZED
    }
    return shape_related_sizes.RULES | canonical
