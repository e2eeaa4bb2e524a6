"""`fuse-operators-onnx`: fuse several operators into one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.driver import apply_rules
from xonnc.transforms.rules import (
    fuse_elementwise,
    fuse_linear,
    fuse_matmul,
    fuse_movement,
    fuse_pooling,
    fuse_reductions,
    fuse_rnn,
)

FUSIONS = (
    fuse_linear.RULES
    | fuse_movement.RULES
    | fuse_elementwise.RULES
    | fuse_reductions.RULES
    | fuse_pooling.RULES
    | fuse_rnn.RULES
)
"""Rules of this pass alone."""

LAST = fuse_matmul.RULES
"""Rules that are tried when no other rule applies any more."""


@dataclass(frozen=True)
class FuseOperators(ModulePass):
    """
    Fuse operators around convolutions and MatMuls, and chains of data-movement and elementwise operators.

    Option: `disable-pattern` names rules to leave out.
    """

    name = "fuse-operators-onnx"

    disable_pattern: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        every = (FUSIONS | LAST).without(self.disable_pattern)
        last = [name for name in every if name in LAST]
        apply_rules(op, ctx, every.without(last), pass_name=self.name)
        apply_rules(op, ctx, every, pass_name=self.name)
