"""
`reduce-memory-onnx`: change convolutions where a model has the most bytes alive.

```mlir
%0 = "onnx.Conv"(%x, %w, %b) … -> tensor<1x64x112x112xf32>
%y = "onnx.MaxPoolSingleOut"(%0) <{kernel_shape = [2, 2], strides = [2, 2], …}> … -> tensor<1x64x56x56xf32>
```

becomes, where the kernel computes 32 channels at once,

```mlir
%0 = "onnx.Conv"(%x, %w0, %b0) … -> tensor<1x32x112x112xf32>
%1 = "onnx.MaxPoolSingleOut"(%0) … -> tensor<1x32x56x56xf32>
%2 = "onnx.Conv"(%x, %w1, %b1) … -> tensor<1x32x112x112xf32>
%3 = "onnx.MaxPoolSingleOut"(%2) … -> tensor<1x32x56x56xf32>
%y = "onnx.Concat"(%1, %3) <{axis = 1 : si64}> … -> tensor<1x64x56x56xf32>
```

so that only half of what is pooled is alive at a time. A convolution of single pixels with strides reads a
part of its image, which is taken out as soon as the other operators have read the image, over its front
(`plan-memory`).

The bytes alive are those in the order of the operators in the IR. Every sum has the same products in the same
order, and kernels keep their tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.layout import has_layouts
from xonnc.dialects.onnx.attribute_builders import int_array_attr, int_attr, string_attr
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp, constant_elements
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, ConvOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape, tensor_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import drop_constants, operators_in
from xonnc.lowering.onnx_to_krnl.fuse_onnx import planned_functions
from xonnc.lowering.onnx_to_krnl.live_bytes import LiveBytes
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ELEMENTWISE
from xonnc.lowering.onnx_to_krnl.nn.convolution import reads_rows
from xonnc.lowering.onnx_to_krnl.planning.fusion_groups import put_groups
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionGroup, dissolve_groups
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import plan_int8
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import (
    ConvFusion,
    LayoutPlan,
    PoolOp,
    plan_layouts,
    pool_window,
)
from xonnc.lowering.onnx_to_krnl.planning.session_ops import CONTROL
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import is_static, volume
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import Tiles, conv_tiles
from xonnc.rewriting.decision_limit import may_decide
from xonnc.rewriting.editing import erase, replace_uses, retype

Groups: TypeAlias = dict[Operation, FusionGroup]
"""The fusion group of each operator that is in one."""


@dataclass(frozen=True)
class ReduceMemory(ModulePass):
    """
    Split convolutions that are pooled by their channels, and take the pixels that a convolution reads out of
    its image, where a function needs the most memory. A module that has layouts already stays as it is.
    """

    name = "reduce-memory-onnx"

    processor: str = "avx512"
    portable: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change the operators at the peak of each function with static shapes."""
        if has_layouts(op) or not any(isinstance(each, ConvOp) for each in op.walk()):
            return
        tiles = Tiles.of(self.processor, self.portable, op)
        groups = dissolve_groups(op)
        for function, builder in planned_functions(op, tiles, ctx, groups):
            _reduce(function.body.block, groups, builder)


def _reduce(block: Block, groups: Groups, builder: LoweringBuilder) -> None:
    for op in block.ops:
        for region in op.regions if isinstance(op, CONTROL) else ():
            _reduce(region.block, groups, builder)
    # Each change lowers the bytes at the peak, of which there are finitely many.
    while builder.dynamic_shapes is None and (change := _next_change(block, groups, builder)) is not None:
        change()
    own = dict.fromkeys(group for op in block.ops if (group := groups.get(op)) is not None)
    put_groups(block, list(own))
    drop_constants(block)


def _next_change(block: Block, groups: Groups, builder: LoweringBuilder) -> Callable[[], None] | None:
    """Return a change that lowers the peak of a block, or None."""
    layouts = _layouts(block, builder)
    if not layouts.fusions:
        return None
    alive = LiveBytes.of(block, groups)
    for fusion in layouts.fusions.values():
        pool = _pool_after(fusion, alive, layouts)
        if pool is not None and alive.peak in (alive.step[fusion.conv], alive.step[pool]):
            parts = _parts(fusion, pool, layouts, builder)
            if parts > 1 and may_decide(ReduceMemory.name, "split", fusion.conv):
                return partial(_split, fusion, pool, parts, groups, builder)
        point = _where_to_take(fusion, alive, layouts)
        if point is not None and may_decide(ReduceMemory.name, "take pixels", fusion.conv):
            return partial(_take_pixels, fusion, point)
    return None


def _layouts(block: Block, builder: LoweringBuilder) -> LayoutPlan:
    ops = operators_in(block)
    integers = plan_int8(ops, builder.known_sizes, builder.scope)
    floats = [op for op in ops if op not in integers.absorbed and op not in integers.fusions]
    lanes = builder.target.vector_bytes // 4
    return plan_layouts(floats, lanes, ELEMENTWISE, builder.known_sizes, builder.scope)


def _pool_after(fusion: ConvFusion, alive: LiveBytes, layouts: LayoutPlan) -> PoolOp | None:
    """Return the pool that is the only reader of a convolution of one image, whose channels may be split."""
    reader, image = layouts.scope.only_user(fusion.result), layouts.images_of(fusion.result)
    is_plain = isinstance(fusion.conv, ConvOp) and fusion.groups == 1 and not fusion.is_depthwise
    if not isinstance(reader, PoolOp) or not is_plain or fusion.residual is not None:
        return None
    if reader not in alive.step or image is None or image[0] != 1:
        return None
    return reader if pool_window(reader, layouts) is not None else None


def _parts(fusion: ConvFusion, pool: PoolOp, layouts: LayoutPlan, builder: LoweringBuilder) -> int:
    """
    Return the number of equal parts of the channels of a convolution, each of whole tiles; 1: not to split.

    It is the least, since each further part lowers the peak by less than the one before.
    """
    image, pooled = layouts.images_of(fusion.result), layouts.images_of(pool.results[0])
    weights = constant_elements(fusion.conv.W)
    if image is None or pooled is None or weights is None or image[1] % layouts.lanes:
        return 1
    columns, whole, small = image[3], volume(image[1:]), volume(pooled[1:])
    if not is_static(columns) or not is_static(whole) or not is_static(small):
        return 1
    blocks = image[1] // layouts.lanes
    _, width = conv_tiles(columns, blocks, prod(weights.shape[1:]), builder.target)[0]
    panels = 0 if blocks % width else blocks // width
    parts = next((count for count in range(2, panels + 1) if panels % count == 0), 1)
    # The results of all pools are alive beside one part.
    return parts if whole > whole // parts + small else 1


def _split(fusion: ConvFusion, pool: PoolOp, parts: int, groups: Groups, builder: LoweringBuilder) -> None:
    """Replace a convolution and its pool by one of each for each part of the channels."""
    conv, result = fusion.conv, pool.results[0]
    weights = constant_elements(conv.W)
    bias = None if conv.B.type == NONE else constant_elements(conv.B)
    block = pool.parent
    assert weights is not None
    assert block is not None
    count = len(weights) // parts
    pooled: list[SSAValue] = []
    for first in range(0, len(weights), count):
        own = slice(first, first + count)
        values: dict[SSAValue, SSAValue] = {}
        for value, array in ((conv.W, weights), (conv.B, bias)):
            if array is not None:
                constant = ConstantOp.from_attr(builder.pool.create(array[own]), derived(conv.location))
                block.insert_op_before(constant, pool)
                values[value] = constant.output
        members = [_of_channels(op, count, values) for op in fusion.ops]
        block.insert_ops_before([*members, last := _of_channels(pool, count, values)], pool)
        if len(members) > 1:
            groups.update(dict.fromkeys(members, FusionGroup(groups[conv].kind, members)))
        pooled.append(last.results[0])
    joined = ConcatOp.create(operands=pooled, result_types=[result.type], properties={"axis": int_attr(1)})
    joined.location = pool.location
    block.insert_op_before(joined, pool)
    replace_uses(result, joined.concat_result)
    for op in (pool, *reversed(fusion.ops)):
        groups.pop(op, None)
        erase(op)


def _of_channels(op: Operation, count: int, values: dict[SSAValue, SSAValue]) -> Operation:
    """Return a copy of an operator for a number of channels; `values` are the copies of operands."""
    made = op.clone(value_mapper=values)
    made.location = derived(op.location)
    for result in made.results:
        shape = static_shape(result.type)
        if shape is not None and is_ranked(result.type):
            retype(result, tensor_type((shape[0], count, *shape[2:]), result.type.element_type))
    return made


def _where_to_take(fusion: ConvFusion, alive: LiveBytes, layouts: LayoutPlan) -> Operation | None:
    """
    Return the operator after which the pixels that a convolution of single pixels reads can be taken out.

    None if that does not lower the peak: only this convolution, the last to read the image, keeps it alive.
    """
    conv, window = fusion.conv, fusion.window
    if not isinstance(conv, ConvOp) or window is None or window.is_padded or fusion.is_depthwise:
        return None
    if max(window.kernel) > 1 or max(window.strides) == 1:
        return None
    image = conv.X
    if image not in layouts.blocked or image not in alive.sizes or reads_rows(fusion, layouts):
        return None
    others = [step for step in alive.steps_reading(image) if step != alive.step[conv]]
    before = max([alive.first[image], *others])
    return alive.last_op(before) if before < alive.peak <= alive.step[conv] else None


def _take_pixels(fusion: ConvFusion, point: Operation) -> None:
    """Let a convolution with strides read an image of its pixels only, which is made after an operator."""
    conv, window, block = fusion.conv, fusion.window, point.parent
    shape, element = static_shape(conv.Y.type), element_type(conv.X.type)
    channels = static_shape(conv.X.type)
    assert window is not None
    assert block is not None
    assert shape is not None
    assert channels is not None
    assert element is not None
    rank = len(shape) - 2
    made = AveragePoolOp.create(
        operands=[conv.X],
        result_types=[tensor_type((*channels[:2], *shape[2:]), element)],
        properties={
            "auto_pad": string_attr("NOTSET"),
            "ceil_mode": int_attr(0),
            "count_include_pad": int_attr(0),
            "kernel_shape": int_array_attr(*[1] * rank),
            "strides": int_array_attr(*window.strides[-rank:]),
        },
    )
    made.location = derived(conv.location)
    block.insert_op_after(made, point)
    conv.operands[0] = made.Y
    conv.properties.pop("strides", None)
