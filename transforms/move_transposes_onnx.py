"""`move-transposes-onnx`: sink transposes towards the results, where they cancel."""

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
    Sink transposes below elementwise operators, reductions and the like, so that pairs cancel.

    The number of transposes never grows. Option: `disable-pattern` names rules to leave out.
    """

    name = "move-transposes-onnx"

    disable_pattern: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, ctx, move_transposes.RULES.without(self.disable_pattern), pass_name=self.name)
