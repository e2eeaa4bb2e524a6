"""
`fuse-onnx`: chooses the operators that one kernel computes, and puts them in a `krnl.fused` group.

```mlir
%0 = "onnx.Conv"(%x, %w, %b) … : … -> tensor<1x8x4x4xf32>
%y = "onnx.Relu"(%0) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
```
becomes
```mlir
%y = "krnl.fused"() <{kind = "convolution"}> ({
  %0 = "onnx.Conv"(%x, %w, %b) … : … -> tensor<1x8x4x4xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  krnl.yield %1 : tensor<1x8x4x4xf32>
}) : () -> tensor<1x8x4x4xf32>
```

Groups are chosen in this order: what is computed in integers (`int8`), convolutions and products with their
epilogues, then elementwise operators, from the last one on. Before, QuantizeLinear and DequantizeLinear
around operators that only move elements are left out; after the first step those that are left are written
out in floats, so that they join elementwise groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Use
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.fusion import FusedOp
from xonnc.dialects.krnl.prepacked_weights import Packings
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.lowering.onnx_to_krnl.bias_fusion import plan_biases
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import (
    computing,
    drop_constants,
    has_open_sizes,
    in_rows,
)
from xonnc.lowering.onnx_to_krnl.data_dependent_shapes import is_later
from xonnc.lowering.onnx_to_krnl.dynamic_shapes import OpenSizes
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import POINTS, producers
from xonnc.lowering.onnx_to_krnl.fusion_groups import put_groups
from xonnc.lowering.onnx_to_krnl.fusion_scope import FusionScope, Group, computing_sizes
from xonnc.lowering.onnx_to_krnl.int8_fusion import ByteLayouts, plan_bytes
from xonnc.lowering.onnx_to_krnl.layout_plan import plan_layouts
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering
from xonnc.lowering.onnx_to_krnl.matmul import following_relu
from xonnc.lowering.onnx_to_krnl.qdq_elimination import leave_as_bytes
from xonnc.lowering.onnx_to_krnl.qdq_pairs import write_out_roundings
from xonnc.lowering.onnx_to_krnl.session_ops import CONTROL
from xonnc.lowering.onnx_to_krnl.tile_selection import Tiles
from xonnc.rewriting.editing import operands_of


@dataclass(frozen=True)
class FuseOnnx(ModulePass):
    """Puts operators that one kernel computes in `krnl.fused` groups."""

    name = "fuse-onnx"

    processor: str = "avx512"
    portable: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuses in each function; a function that has groups stays as it is."""
        tiles = Tiles.of(self.processor, self.portable, op)
        for function, to in planned_functions(op, tiles, ctx):
            if not any(isinstance(each, FusedOp) for each in function.walk()):
                _fuse(function.body.block, to)


def planned_functions(
    module: ModuleOp, tiles: Tiles, ctx: Context, groups: Mapping[Operation, Group] | None = None
) -> Iterator[tuple[FuncOp, Lowering]]:
    """Each function of a model with what decisions about it are made by; `groups` are those chosen before."""
    is_open = has_open_sizes(module)
    for function in [each for each in module.ops if isinstance(each, FuncOp) and each.body.blocks]:
        block = function.body.block
        is_dynamic = (is_open or is_later(function)) and bool(computing(block))
        scope = FusionScope(groups, computing_sizes(block) if is_dynamic else frozenset[Operation]())
        to = Lowering(tiles, DisposablePool.of(ctx), in_rows, Packings.of(ctx), scope)
        to.open_sizes = OpenSizes(function) if is_dynamic else None
        yield function, to


def _fuse(block: Block, to: Lowering) -> None:
    for op in block.ops:
        for region in op.regions if isinstance(op, CONTROL) else ():
            _fuse(region.block, to)
    leave_as_bytes(block)
    to.bytes = plan_bytes(computing(block), to.told, to.scope)
    write_out_roundings(block, to.pool, to.bytes.planned)
    _clone_shared(block, to.bytes)
    ops = computing(block)
    others = [op for op in ops if op not in to.bytes.absorbed and op not in to.bytes.chains]
    groups = [*_integer_groups(to.bytes), *_convolutions(others, to), *_products(others, to)]
    taken = {member for group in groups for member in group.members}
    to.absorbed |= taken
    groups += _elementwise(others, to)
    put_groups(block, [group for group in groups if len(group.members) > 1])
    drop_constants(block)


def _integer_groups(layouts: ByteLayouts) -> Iterator[Group]:
    for chain in layouts.chains.values():
        yield Group("int8", _in_order(_members(chain.last, layouts)))


def _members(last: Operation, layouts: ByteLayouts) -> set[Operation]:
    """An operator and those before it that its chain does the work of."""
    found = {last}
    waiting = [last]
    while waiting:
        for value in operands_of(waiting.pop()):
            owner = value.owner
            if isinstance(owner, Operation) and owner in layouts.absorbed and owner not in found:
                found.add(owner)
                waiting.append(owner)
    return found


def _clone_shared(block: Block, layouts: ByteLayouts) -> None:
    """Gives each chain that reads the same DequantizeLinear one of its own."""
    ends = {member: last for last in layouts.chains for member in _chain_ops(last, layouts)}
    for op in reversed(list(block.ops)):
        if op in layouts.absorbed and op not in ends:
            uses: dict[Operation, list[Use]] = {}
            for use in op.results[0].uses:
                uses.setdefault(ends[use.operation], []).append(use)
            ends[op], *others = uses
            for end in others:
                own = op.clone()
                own.location = op.location
                block.insert_op_after(own, op)
                layouts.absorbed.add(own)
                ends[own] = end
                for use in uses[end]:
                    use.operation.operands[use.index] = own.results[0]


def _chain_ops(last: Operation, layouts: ByteLayouts) -> list[Operation]:
    chain = layouts.chains[last]
    return [*chain.ops, last] if chain.product is None else [chain.product.op, *chain.ops, last]


def _convolutions(ops: Sequence[Operation], to: Lowering) -> Iterator[Group]:
    to.layouts = plan_layouts(ops, to.target.vector_bytes // 4, POINTS, to.told, to.scope)
    for chain in to.layouts.chains.values():
        yield Group("convolution", chain.ops)


def _products(ops: Sequence[Operation], to: Lowering) -> Iterator[Group]:
    """Products and convolutions in rows with the sum and the Relu behind them."""
    biases = plan_biases(ops, to.scope)
    for op in ops:
        if isinstance(op, ConvOp | GemmOp | MatMulOp) and op not in to.layouts.chained:
            members: list[Operation] = [op]
            if op in biases:
                members.append(biases[op][0])
            relu = following_relu(members[-1].results[0], to)
            yield Group("matmul", members if relu is None else [*members, relu])


def _elementwise(ops: Sequence[Operation], to: Lowering) -> Iterator[Group]:
    for op in reversed(ops):
        if type(op) in POINTS and op not in to.absorbed and to.is_native(op.results[0]):
            members = producers(op, to.sizes(op.results[0]), to)
            to.absorbed |= members
            yield Group("elementwise", _in_order(members))


def _in_order(ops: set[Operation]) -> list[Operation]:
    """Operators of one block in its order."""
    places = {op: op.parent.get_operation_index(op) for op in ops if op.parent is not None}
    return sorted(ops, key=places.__getitem__)
