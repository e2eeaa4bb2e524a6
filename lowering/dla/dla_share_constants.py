"""
`dla-share-constants`: keep one of several equal constants, and none without readers.

Convolutions in a row with the same weights then load them once (`dla-split`), such as those of a global
average, whose weights are ones. Kernels that `dla-split-kernels` has split are left without readers.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import ConstantLayout
from xonnc.dialects.dla.storage import ConstantOp
from xonnc.dialects.onnx.elements import elements_array
from xonnc.lowering.dla.network_checks import blocks
from xonnc.rewriting.decision_limit import may_decide


@dataclass(frozen=True)
class DlaShareConstants(ModulePass):
    """Replace constants that have the type, layout and elements of an earlier one; erase unused ones."""

    name = "dla-share-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        share_constants(op)


def share_constants(module: ModuleOp) -> None:
    """Keep the first of equal constants that are read, in every function of `module`."""
    for block in blocks(module):
        known: dict[tuple[Attribute, ConstantLayout, str, bytes], ConstantOp] = {}
        for op in [op for op in block.ops if isinstance(op, ConstantOp)]:
            if not op.result.first_use:
                Rewriter.erase_op(op)
                continue
            array = elements_array(op.value)
            if array is None:
                continue
            # A digest, so that no second copy of all weights is held.
            digest = sha256(array.tobytes()).digest()
            first = known.setdefault((op.result.type, op.layout, str(array.dtype), digest), op)
            if first is not op and may_decide(DlaShareConstants.name, "equal constants", op):
                Rewriter.replace_op(op, [], [first.result])
