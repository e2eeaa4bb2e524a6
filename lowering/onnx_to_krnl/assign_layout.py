"""
`assign-layout`: choose the memory layout of images and the width of their halos.

```mlir
%y = "onnx.Conv"(%x, %w, %b) <{pads = [1, 1, 1, 1]}> : (tensor<1x32x8x8xf32>, …) -> tensor<1x32x8x8xf32>
```

becomes, for vectors of 16 elements,

```mlir
%0 = "krnl.relayout"(%x) : (tensor<1x32x8x8xf32>)
  -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c, halo = [1, 1, 1, 1]>>
%1 = "onnx.Conv"(%0, %w, %b) … -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c>>
%y = "krnl.relayout"(%1) : … -> tensor<1x32x8x8xf32>
```

Convolutions compute in the channel-blocked layout NCHWc (as in oneDNN and TVM); pools, elementwise operators,
Concat and Split along channels keep the layout of their operands. The pads of a consumer become a halo around
what it reads, so that windows at the edges need no special case. `krnl.in_place` marks the operands of a
Concat that are written directly into its result. int8 tensors are NHWC with the channels padded to a multiple
(`nhwc16`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue, Use
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.layout import IN_PLACE, LayoutAttr, RelayoutOp, has_layouts, with_layout
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, ConvOp, ConvTransposeOp, MaxPoolOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import is_ranked
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import (
    operators_in,
)
from xonnc.lowering.onnx_to_krnl.fuse_onnx import planned_functions
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ELEMENTWISE
from xonnc.lowering.onnx_to_krnl.math.reductions import keeps_blocks
from xonnc.lowering.onnx_to_krnl.nn.convolution import reads_rows
from xonnc.lowering.onnx_to_krnl.planning.fusion_groups import put_groups
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionGroup, dissolve_groups
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import Int8Plan, plan_int8
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import (
    LayoutPlan,
    PoolOp,
    SplitOp,
    is_blocked,
    is_like,
    plan_layouts,
)
from xonnc.lowering.onnx_to_krnl.planning.session_ops import CONTROL
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import Tiles
from xonnc.rewriting.decision_limit import may_decide
from xonnc.rewriting.editing import retype


@dataclass(frozen=True)
class AssignLayout(ModulePass):
    """
    Choose the memory layout of images: row-major, channel-blocked (NCHWc) or NHWC, and the halo of each.
    """

    name = "assign-layout"

    processor: str = "avx512"
    portable: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Assign layouts in each function; a module that has layouts already stays as it is."""
        if has_layouts(op):
            return
        if not may_decide(self.name, "layouts", op):
            return
        tiles = Tiles.of(self.processor, self.portable, op)
        groups = dissolve_groups(op)
        for function, builder in planned_functions(op, tiles, ctx, groups):
            _assign(function.body.block, groups, builder)


def operators_with_layouts() -> Sequence[type[Operation]]:
    """Return the operators of which the pass chooses the layout of images."""
    return (ConvOp, ConvTransposeOp, *get_args(PoolOp), ConcatOp, *get_args(SplitOp), *ELEMENTWISE)


def _assign(block: Block, groups: Mapping[Operation, FusionGroup], builder: LoweringBuilder) -> None:
    for op in block.ops:
        for region in op.regions if isinstance(op, CONTROL) else ():
            _assign(region.block, groups, builder)
    ops = operators_in(block)
    integers = plan_int8(ops, builder.known_sizes, builder.scope)
    floats = [op for op in ops if op not in integers.absorbed and op not in integers.fusions]
    layouts = plan_layouts(
        floats, builder.target.vector_bytes // 4, ELEMENTWISE, builder.known_sizes, builder.scope
    )
    stored = [value for value in _values(block) if _is_stored(value, groups)]
    reads = _Reads(layouts, groups, integers)
    changed: list[tuple[SSAValue, LayoutAttr | None, LayoutAttr | None, list[Use]]] = []
    for value in stored:
        uses = [use for use in value.uses if _group_of(use.operation, groups) is not _owner(value, groups)]
        blocked_uses = [use for use in uses if reads.blocks(use.operation, value)]
        nhwc_uses = [use for use in uses if reads.pixels(use.operation, value)]
        if value in layouts.blocked:
            others = [use for use in uses if use not in blocked_uses]
            changed.append((value, LayoutAttr.blocks(layouts.lanes, layouts.halo(value)), None, others))
        elif blocked_uses:
            made = LayoutAttr.blocks(layouts.lanes, layouts.halo(value))
            changed.append((value, None, made, blocked_uses))
        elif value in integers.made or value.owner in integers.heads:
            made = LayoutAttr.pixels(integers.multiple(value), integers.halo(value))
            changed.append((value, made, None, [use for use in uses if use not in nhwc_uses]))
        elif nhwc_uses:
            made = LayoutAttr.pixels(integers.multiple(value), integers.halo(value))
            changed.append((value, None, made, nhwc_uses))
    for value, layout, other, uses in changed:
        _change(value, layout, other, uses, block)
    for op in floats:
        if isinstance(op, ConcatOp) and op.concat_result in layouts.blocked:
            op.attributes[IN_PLACE] = DenseArrayBase.from_list(i64, _in_place(op, layouts))
    own = dict.fromkeys(group for op in ops if (group := groups.get(op)) is not None)
    put_groups(block, list(own))


def _in_place(op: ConcatOp, layouts: LayoutPlan) -> list[int]:
    """1 for each operand that is written directly into the result; only one use of a value can be."""
    flags: list[int] = []
    block = 0
    for value in op.inputs:
        sizes = layouts.images_of(value)
        assert sizes is not None
        flags.append(int(layouts.joined.get(value) == (op.concat_result, block)))
        block += sizes[1] // layouts.lanes
    return flags


def _values(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _group_of(op: Operation, groups: Mapping[Operation, FusionGroup]) -> FusionGroup | Operation:
    return groups.get(op, op)


def _owner(value: SSAValue, groups: Mapping[Operation, FusionGroup]) -> FusionGroup | Operation | None:
    return _group_of(value.owner, groups) if isinstance(value.owner, Operation) else None


def _is_stored(value: SSAValue, groups: Mapping[Operation, FusionGroup]) -> bool:
    """Whether a kernel stores a value to memory, so that it is not an intermediate of a fusion group."""
    group = groups.get(value.owner) if isinstance(value.owner, Operation) else None
    return group is None or value.owner is group.members[-1]


@dataclass(frozen=True)
class _Reads:
    """The operators that read images channel-blocked or as NHWC."""

    layouts: LayoutPlan
    groups: Mapping[Operation, FusionGroup]
    integers: Int8Plan

    def pixels(self, op: Operation, value: SSAValue) -> bool:
        """Whether an operator reads an int8 tensor as NHWC."""
        group = self.groups.get(op)
        fusion = self.integers.fusions.get(op if group is None else group.members[-1])
        if fusion is None:
            return op in self.integers.pools
        return value in fusion.images or (fusion.product is not None and value is fusion.product.x)

    def blocks(self, op: Operation, value: SSAValue) -> bool:
        """Whether an operator reads a value channel-blocked."""
        group = self.groups.get(op)
        members: Sequence[Operation] = [op] if group is None else group.members
        last = members[-1]
        fusion = self.layouts.fusions.get(last)
        is_blocked_already = value in self.layouts.blocked
        if fusion is not None:
            if value is fusion.residual:
                return True
            return value is fusion.conv.operands[0] and not reads_rows(fusion, self.layouts)
        match op:
            case ConvOp() | ConvTransposeOp():
                return False
            case MaxPoolOp() | MaxPoolSingleOutOp() | AveragePoolOp():
                return op.results[0] in self.layouts.blocked
            case ConcatOp():
                return op.concat_result in self.layouts.blocked
            case tensor.SplitOp() | tensor.SplitV11Op() | tensor.SplitV13Op():
                return value is op.input and op.outputs[0] in self.layouts.blocked
            case _ if op in self.integers.heads:
                sizes = self.layouts.sizes_of(value)
                return is_blocked_already and sizes is not None and len(sizes) == 4
            case _ if type(op) in ELEMENTWISE:
                inside = set(members)
                leaves = [each for member in members for each in member.operands if each.owner not in inside]
                result = last.results[0]
                real = [leaf for leaf in leaves if is_ranked(leaf.type)]
                return is_blocked(result, real, self.layouts) and is_like(value, result, self.layouts)
            case _:
                return is_blocked_already and keeps_blocks(op, self.layouts)


def _change(
    value: SSAValue, layout: LayoutAttr | None, other: LayoutAttr | None, uses: Sequence[Use], block: Block
) -> None:
    """Set the layout of a value; `uses` that need the `other` layout read a `krnl.relayout` of it."""
    assert is_ranked(value.type)
    rows = value.type
    if layout is not None:
        retype(value, with_layout(rows, layout))
    if not uses:
        return
    made = RelayoutOp.create(operands=[value], result_types=[with_layout(rows, other)])
    # One conversion right after the producer dominates all uses, also those in nested regions.
    if isinstance(value, OpResult):
        made.location = derived(value.op.location)
        block.insert_op_after(made, value.op)
    elif block.first_op is not None:
        block.insert_op_before(made, block.first_op)
    for use in uses:
        use.operation.operands[use.index] = made.results[0]
