"""Passes on each function by itself, as `func.func(…)` in a pipeline asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass


def on_each_function(kind: type[ModulePass]) -> type[ModulePass]:
    """
    Return the pass as one that sees a single function at a time, in a module with the same attributes.

    Passes of xDSL run on modules. What the pass adds to the module stays beside the function.
    """

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        for function in [each for each in op.ops if isinstance(each, FuncOp)]:
            block = function.parent
            assert block is not None
            following = function.next_op
            function.detach()
            alone = ModuleOp([function], dict(op.attributes))
            kind.apply(self, ctx, alone)
            made = list(alone.ops)
            for each in made:
                each.detach()
            if following is None:
                block.add_ops(made)
            else:
                block.insert_ops_before(made, following)

    fields: dict[str, Any] = {"apply": apply, "anchor": "func.func", "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), fields)


def pipeline_text(passes: Sequence[ModulePass]) -> str:
    """Return passes as a pipeline: `builtin.module(func.func(cse),symbol-dce)`."""
    parts: list[str] = []
    nested: list[str] = []
    for each in (*passes, None):
        if each is not None and hasattr(each, "anchor"):
            nested.append(str(each))
            continue
        if nested:
            parts.append(f"func.func({','.join(nested)})")
            nested = []
        if each is not None:
            parts.append(str(each))
    return f"builtin.module({','.join(parts)})"
