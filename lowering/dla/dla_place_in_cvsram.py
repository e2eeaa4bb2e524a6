"""
`dla-place-in-cvsram`: choose the cubes that are stored in the on-chip memory, where the target has one.

The cubes with the most traffic per byte and layer of their lifetime come first, as long as all chosen ones
fit together. An operation whose result is chosen gets the attribute `cvsram`; `dla-allocate` assigns its
address. Network inputs and outputs stay in DRAM, and so do cubes of the runtime's CPU emulator.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.lowering.dla.fused_layers import EMULATED_OPS
from xonnc.lowering.dla.lifetimes import CVSRAM, Lifetimes
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.views import ON_CHIP, is_in_memory, root_bytes
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, load_target


@dataclass(frozen=True)
class DlaPlaceInCvsram(ModulePass):
    """Choose the cubes that are stored in the on-chip memory."""

    name = "dla-place-in-cvsram"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = load_target(self.target)
        if target.cvsram_bytes:
            for block in blocks(op):
                _place(block, target)


def _place(block: Block, target: NvdlaTarget) -> None:
    lifetimes = Lifetimes(block, target)
    traffic = _traffic(lifetimes, target)

    def density(root: SSAValue) -> float:
        first, last = lifetimes.span(root)
        return traffic.get(root, 0) / (lifetimes.size(root) * (last - first + 1))

    chosen: set[SSAValue] = set()
    for root in sorted(lifetimes.roots, key=density, reverse=True):
        if root in traffic and lifetimes.size(root) <= target.cvsram_bytes:
            tried = [other for other in lifetimes.roots if other in chosen or other == root]
            # dla-allocate searches longer for the same cubes, so its plan is never larger.
            plan, _ = lifetimes.plan(tried, CVSRAM, max_placed=0)
            if plan.size <= target.cvsram_bytes:
                chosen.add(root)
    for root in chosen:
        assert isinstance(root.owner, Operation), "arguments are network inputs"
        if may_decide(DlaPlaceInCvsram.name, "on-chip memory", root.owner):
            root.owner.attributes[ON_CHIP] = UnitAttr()


def _traffic(lifetimes: Lifetimes, target: NvdlaTarget) -> dict[SSAValue, int]:
    """Return the bytes that layers move from and to each root; those of the CPU emulator are left out."""
    moved: dict[SSAValue, int] = {}
    emulated: set[SSAValue] = set()
    for layer in lifetimes.layers:
        for value in (*layer.cubes, layer.result):
            root = lifetimes.views.root(value)
            if is_in_memory(root):
                moved[root] = moved.get(root, 0) + root_bytes(value, target)
                if isinstance(layer.ops[0], EMULATED_OPS):
                    emulated.add(root)
    return {root: size for root, size in moved.items() if root not in emulated}
