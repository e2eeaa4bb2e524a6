"""`move-transposes-onnx`: transposes move towards the results, and cancel where they meet."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.driver import apply_rules
from xonnc.transforms.rules import move_transposes


@dataclass(frozen=True)
class MoveTransposes(ModulePass):
    """
    Moves transposes after elementwise operators, reductions and the like, where they cancel others.

    There are never more of them afterwards. Option: `disable-pattern` names rules to leave out.
    """

    name = "move-transposes-onnx"

    disable_pattern: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, ctx, move_transposes.RULES.without(self.disable_pattern), pass_name=self.name)
