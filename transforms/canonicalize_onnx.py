"""`canonicalize-onnx`: canonicalisation patterns of the onnx dialect (docs/internals/onnx-rules.md §3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.rules import (
    canonicalize_arithmetic,
    canonicalize_convolution,
    canonicalize_extra,
    canonicalize_identity,
    canonicalize_loops,
    canonicalize_matmul,
    canonicalize_movement,
    canonicalize_normalization,
    canonicalize_rnn,
    canonicalize_scalars,
    canonicalize_sequence,
    canonicalize_shape_ops,
)


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """
    Rewrite ops to their canonical form and remove ops without effect.

    Option: `disable-pattern` names rules to leave out. `onnx-opt --canonicalize` runs this pass, then xDSL's
    own for the other dialects.
    """

    name = "canonicalize-onnx"

    disable_pattern: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, ctx, all_rules().without(self.disable_pattern), pass_name=self.name)


@cache
def all_rules() -> RuleSet:
    """Return every canonicalisation rule."""
    return (
        canonicalize_convolution.RULES
        | canonicalize_arithmetic.RULES
        | canonicalize_identity.RULES
        | canonicalize_movement.RULES
        | canonicalize_scalars.RULES
        | canonicalize_shape_ops.RULES
        | canonicalize_matmul.RULES
        | canonicalize_normalization.RULES
        | canonicalize_rnn.RULES
        | canonicalize_loops.RULES
        | canonicalize_sequence.RULES
        | canonicalize_extra.RULES
    )
