"""Layouts that `assign-layout` chose, read back from the types in the IR."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.layout import IN_PLACE, LayoutAttr, RelayoutOp, layout_of, with_layout
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import is_ranked
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import Int8Plan
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import VECTOR
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import Halo, LayoutPlan
from xonnc.rewriting.editing import retype


@dataclass
class AssignedLayouts:
    """Channel-blocked values, NHWC int8 values, their halos, and operands of Concat written in place."""

    blocked: set[SSAValue] = field(default_factory=set[SSAValue])
    images: set[SSAValue] = field(default_factory=set[SSAValue])
    """int8 results in NHWC."""
    wide: set[SSAValue] = field(default_factory=set[SSAValue])
    """int8 values whose channels are padded to a whole vector."""
    halos: dict[SSAValue, Halo] = field(default_factory=dict[SSAValue, Halo])
    in_place: dict[ConcatOp, list[bool]] = field(default_factory=dict[ConcatOp, list[bool]])

    def apply_to_bytes(self, layouts: Int8Plan) -> None:
        """Replace the int8 layouts of a plan by the assigned ones."""
        layouts.halos, layouts.wide = self.halos, self.wide

    def apply(self, layouts: LayoutPlan) -> None:
        """
        Replace the layouts of a plan by the assigned ones; keep fusions whose results are channel-blocked.
        """
        layouts.blocked, layouts.halos = self.blocked, self.halos
        layouts.fusions = {
            op: fusion for op, fusion in layouts.fusions.items() if fusion.result in self.blocked
        }
        layouts.fused_ops = {op for fusion in layouts.fusions.values() for op in fusion.ops}
        layouts.joined = {}
        for op, flags in self.in_place.items():
            block = 0
            for value, is_part in zip(op.inputs, flags, strict=True):
                sizes = layouts.images_of(value)
                if sizes is None:
                    # Sizes that were known when layouts were assigned may not be when kernels are made: for
                    # dynamic shapes, before an operator whose kernel needs static ones. Then Concat copies.
                    break
                if is_part:
                    layouts.joined[value] = op.concat_result, block
                block += sizes[1] // layouts.lanes


def strip_layouts(module: ModuleOp) -> AssignedLayouts:
    """
    Remove layouts from the types and `krnl.relayout` ops from a module, and return them.

    Lowerings copy at run time where an operand has another layout than they read.
    """
    found = AssignedLayouts()
    relayouts: list[RelayoutOp] = []
    for op in module.walk():
        if isinstance(op, RelayoutOp):
            relayouts.append(op)
            continue
        for result in op.results:
            _take(result, found)
        flags = op.attributes.pop(IN_PLACE, None)
        if isinstance(op, ConcatOp) and isinstance(flags, DenseArrayBase):
            found.in_place[op] = [bool(flag) for flag in flags.get_values()]
    for op in relayouts:
        layout = layout_of(op.result)
        if layout is not None:
            _note(op.source, layout, found)
        op.result.replace_all_uses_with(op.source)
        op.detach()
        op.erase()
    return found


def _take(result: SSAValue, found: AssignedLayouts) -> None:
    layout = layout_of(result)
    if layout is not None and is_ranked(result.type):
        (found.blocked if layout.is_channel_blocked else found.images).add(result)
        _note(result, layout, found)
        retype(result, with_layout(result.type, None))


def _note(value: SSAValue, layout: LayoutAttr, found: AssignedLayouts) -> None:
    found.halos[value] = Halo(*layout.halo_sizes)
    if not layout.is_channel_blocked and layout.lanes.data == VECTOR:
        found.wide.add(value)
