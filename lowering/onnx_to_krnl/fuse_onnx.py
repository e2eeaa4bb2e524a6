"""
`fuse-onnx`: choose the operators that one kernel computes, and put them in a `krnl.fused` group.

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

Groups are chosen in this order: quantized operators (`int8`), convolutions and matrix products with their
epilogues, text vectorizers (`strings`), then elementwise operators, from consumers to producers. QDQ pairs
around data movement are removed before. After int8 groups are chosen, the remaining QDQ pairs are expanded to
float arithmetic (fake quantization), and so are single conversions beside elementwise operators, so that they
join elementwise groups.
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
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
from xonnc.lowering.onnx_to_krnl.builders.byte_tables import takes_table
from xonnc.lowering.onnx_to_krnl.builders.cache_slices import plan_cache_slices
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_shapes import is_outlined
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.narrow_caches import plan_narrow_caches
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import (
    drop_constants,
    has_dynamic_inputs,
    operators_in,
    to_row_major,
)
from xonnc.lowering.onnx_to_krnl.math.block_weights import clone_shared_weights, plan_quantized_weights
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ELEMENTWISE, producers
from xonnc.lowering.onnx_to_krnl.math.matmul import following_relu, plan_transposed
from xonnc.lowering.onnx_to_krnl.nn.cache_updates import plan_growth
from xonnc.lowering.onnx_to_krnl.planning.bias_fusion import plan_biases
from xonnc.lowering.onnx_to_krnl.planning.dynamic_shapes import DynamicShapes
from xonnc.lowering.onnx_to_krnl.planning.fusion_groups import put_groups
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionGroup, FusionScope, shape_computations
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import Int8Plan, bytes_of_functions, plan_int8
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import plan_layouts
from xonnc.lowering.onnx_to_krnl.planning.qdq_elimination import eliminate_qdq
from xonnc.lowering.onnx_to_krnl.planning.qdq_pairs import expand_qdq_pairs, fold_dequantized_operands
from xonnc.lowering.onnx_to_krnl.planning.session_ops import CONTROL
from xonnc.lowering.onnx_to_krnl.planning.string_fusion import plan_token_counts
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import Tiles
from xonnc.rewriting.decision_limit import may_decide
from xonnc.rewriting.editing import operands_of


@dataclass(frozen=True)
class FuseOnnx(ModulePass):
    """Put operators that one kernel computes in `krnl.fused` groups."""

    name = "fuse-onnx"

    processor: str = "avx512"
    portable: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse in each function; a function that has groups already stays as it is."""
        tiles = Tiles.of(self.processor, self.portable, op)
        for function, builder in planned_functions(op, tiles, ctx):
            if not any(isinstance(each, FusedOp) for each in function.walk()):
                _fuse(function.body.block, builder)


def planned_functions(
    module: ModuleOp, tiles: Tiles, ctx: Context, groups: Mapping[Operation, FusionGroup] | None = None
) -> Iterator[tuple[FuncOp, LoweringBuilder]]:
    """Yield each function with a builder to plan fusion and layouts; `groups` are those chosen before."""
    is_open = has_dynamic_inputs(module)
    for function in [each for each in module.ops if isinstance(each, FuncOp) and each.body.blocks]:
        block = function.body.block
        is_dynamic = (is_open or is_outlined(function)) and bool(operators_in(block))
        scope = FusionScope(groups, shape_computations(block) if is_dynamic else frozenset[Operation]())
        builder = LoweringBuilder(tiles, DisposablePool.of(ctx), to_row_major, scope)
        builder.dynamic_shapes = (
            DynamicShapes(function, may_assume=not is_outlined(function)) if is_dynamic else None
        )
        yield function, builder


def _fuse(block: Block, builder: LoweringBuilder) -> None:
    for op in block.ops:
        for region in op.regions if isinstance(op, CONTROL) else ():
            _fuse(region.block, builder)
    eliminate_qdq(block)
    fold_dequantized_operands(block, builder.pool, ELEMENTWISE)
    builder.int8 = plan_int8(operators_in(block), builder.known_sizes, builder.scope)
    _clone_shared(block, builder.int8)
    # All kinds of processor but the portable one have FMA instructions.
    has_fma = bool(builder.target.features)
    found = bytes_of_functions(operators_in(block), builder.int8)
    kept = {value for value in found if takes_table(builder.sizes(value))}
    expand_qdq_pairs(block, builder.pool, builder.int8.planned, ELEMENTWISE, has_fma, kept)
    clone_shared_weights(block)
    positions = {op: index for index, op in enumerate(block.ops)}
    ops = operators_in(block)
    others = [op for op in ops if op not in builder.int8.absorbed and op not in builder.int8.fusions]
    groups = [*_integer_groups(builder.int8, positions), *_convolutions(others, builder)]
    groups += _products(others, builder, positions)
    growth = plan_growth(others, builder)
    groups += [FusionGroup("cache", [grown, update]) for update, grown in growth.items()]
    slices = plan_cache_slices(others, builder.scope)
    groups += [FusionGroup("attention", [*each.members, op]) for op, each in slices.items()]
    narrow = {
        op: {member for cache in caches for member in cache.members}
        for op, caches in plan_narrow_caches(others, builder.scope).items()
    }
    groups += [FusionGroup("attention", [*_in_order(each, positions), op]) for op, each in narrow.items()]
    groups += plan_token_counts(others, builder.scope)
    taken = {member for group in groups for member in group.members}
    builder.fused |= taken
    groups += _elementwise(others, builder, positions)
    chosen = [group for group in groups if len(group.members) > 1]
    put_groups(block, [group for group in chosen if may_decide(FuseOnnx.name, group.kind, group.members[-1])])
    drop_constants(block)


def _integer_groups(layouts: Int8Plan, positions: Mapping[Operation, int]) -> Iterator[FusionGroup]:
    for fusion in layouts.fusions.values():
        yield FusionGroup("int8", _in_order(_members(fusion.last, layouts), positions))


def _members(last: Operation, layouts: Int8Plan) -> set[Operation]:
    """Return an operator and the producers that are fused into it."""
    found = {last}
    waiting = [last]
    while waiting:
        for value in operands_of(waiting.pop()):
            owner = value.owner
            if isinstance(owner, Operation) and owner in layouts.absorbed and owner not in found:
                found.add(owner)
                waiting.append(owner)
    return found


def _clone_shared(block: Block, layouts: Int8Plan) -> None:
    """
    Clone DequantizeLinear ops that several fusions read, one for each, so that all read integers.

    Other ops that read it, in float or its sizes alone, keep the original.
    """
    ends = {member: last for last in layouts.fusions for member in _chain_ops(last, layouts)}
    for op in reversed(list(block.ops)):
        is_absorbed = op in layouts.absorbed
        if op not in ends and (is_absorbed or isinstance(op, DequantizeLinearOp)):
            uses: dict[Operation, list[Use]] = {}
            for use in op.results[0].uses:
                if use.operation in ends:
                    uses.setdefault(ends[use.operation], []).append(use)
            others = list(uses)
            if is_absorbed:
                ends[op] = others.pop(0)
            for end in others:
                own = op.clone()
                own.location = op.location
                block.insert_op_after(own, op)
                layouts.absorbed.add(own)
                ends[own] = end
                for use in uses[end]:
                    use.operation.operands[use.index] = own.results[0]


def _chain_ops(last: Operation, layouts: Int8Plan) -> list[Operation]:
    fusion = layouts.fusions[last]
    return [*fusion.ops, last] if fusion.product is None else [fusion.product.op, *fusion.ops, last]


def _convolutions(ops: Sequence[Operation], builder: LoweringBuilder) -> Iterator[FusionGroup]:
    builder.layouts = plan_layouts(
        ops, builder.target.vector_bytes // 4, ELEMENTWISE, builder.known_sizes, builder.scope
    )
    for fusion in builder.layouts.fusions.values():
        yield FusionGroup("convolution", fusion.ops)


def _products(
    ops: Sequence[Operation], builder: LoweringBuilder, positions: Mapping[Operation, int]
) -> Iterator[FusionGroup]:
    """Row-major matrix products and convolutions with a transposed B, their bias and Relu."""
    biases = plan_biases(ops, builder.scope)
    quantized = plan_quantized_weights(ops, builder)
    for product, weights in quantized.items():
        yield FusionGroup("matmul", [*_in_order(set(weights.absorbed), positions), product])
    builder.quantized_weights = quantized
    transposed = plan_transposed(ops, builder)
    for op in ops:
        is_plain = op not in builder.layouts.fused_ops and op not in quantized
        if isinstance(op, ConvOp | GemmOp | MatMulOp) and is_plain:
            members: list[Operation] = [transposed[op], op] if op in transposed else [op]
            if op in biases:
                members.append(biases[op][0])
            relu = following_relu(members[-1].results[0], builder)
            yield FusionGroup("matmul", members if relu is None else [*members, relu])


def _elementwise(
    ops: Sequence[Operation], builder: LoweringBuilder, positions: Mapping[Operation, int]
) -> Iterator[FusionGroup]:
    for op in reversed(ops):
        if type(op) in ELEMENTWISE and op not in builder.fused and builder.is_computable(op.results[0]):
            members = producers(op, builder.sizes(op.results[0]), builder)
            builder.fused |= members
            yield FusionGroup("elementwise", _in_order(members, positions))


def _in_order(ops: set[Operation], positions: Mapping[Operation, int]) -> list[Operation]:
    """Sort operators of one block in program order."""
    return sorted(ops, key=positions.__getitem__)
