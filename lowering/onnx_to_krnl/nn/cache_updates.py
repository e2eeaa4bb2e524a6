"""
TensorScatter: key-value caches that are updated, and perhaps grow.

A cache that grows is a Concat of the old one with zeros, before the TensorScatter: both are one fusion group,
which copies the old cache once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import DenseArrayBase, i1, i64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.memory import SameBufferOp
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.ops.constant import ConstantOfShapeOp
from xonnc.dialects.onnx.types import NONE, is_ranked
from xonnc.lowering.onnx_to_krnl.builders.checks import check_numbers, index_within
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import storage_type
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume

supports_dynamic_shapes(tensor.TensorScatterOp)


def plan_growth(ops: Iterable[Operation], builder: LoweringBuilder) -> dict[Operation, tensor.ConcatOp]:
    """Map each TensorScatter to the Concat with zeros that makes its cache grow, if there is one."""
    scope = builder.scope
    found: dict[Operation, tensor.ConcatOp] = {}
    for op in ops:
        if not isinstance(op, tensor.TensorScatterOp) or (grown := _growth(op)) is None:
            continue
        is_alone = scope.only_user(grown.results[0]) is op and grown.parent is op.parent
        are_known = all(map(builder.has_known_sizes, (op.present_cache, op.update, grown.operands[0])))
        if is_alone and are_known and scope.may_join(grown, op):
            found[op] = grown
    return found


def _growth(op: tensor.TensorScatterOp) -> tensor.ConcatOp | None:
    """Return the Concat of a cache with zeros at the end of the axis that is updated, or None."""
    made = op.past_cache.owner
    if not isinstance(made, tensor.ConcatOp) or len(made.operands) != 2:
        return None
    cache = op.past_cache.type
    if not is_ranked(cache) or not _zeros(made.operands[1]):
        return None
    rank = len(cache.get_shape())
    return made if made.axis.value.data % rank == op.axis.value.data % rank else None


def _zeros(value: SSAValue) -> list[Operation]:
    """Return the ConstantOfShape that makes zeros, and the Cast after it, if there is one; else none."""
    cast = value.owner
    if isinstance(cast, tensor.CastOp):
        return [*_zeros(cast.input), cast]
    if not isinstance(cast, ConstantOfShapeOp):
        return []
    elements = None if cast.value is None else elements_array(cast.value)
    return [cast] if elements is None or not elements.any() else []


def unread_zeros(growth: Mapping[Operation, tensor.ConcatOp], scope: FusionScope) -> set[Operation]:
    """Return the zeros that only Concats read that make a cache grow: nothing computes them."""
    readers: set[Operation] = set(growth.values())
    makers = {op: None for each in growth.values() for op in reversed(_zeros(each.operands[1]))}
    unread: set[Operation] = set()
    for op in makers:
        if (readers | unread).issuperset(scope.users(op.results[0])):
            unread.add(op)
    return unread


@lowers_data_movement(tensor.TensorScatterOp)
def tensor_scatter(op: tensor.TensorScatterOp, builder: LoweringBuilder) -> str | None:
    """Write an update into a cache along `axis`, from a start index per batch (`write_indices`)."""
    shape, sizes = builder.sizes(op.present_cache), builder.sizes(op.update)
    axis = op.axis.value.data % len(shape)
    if 0 in shape or 0 in sizes or axis == 0:
        return "an operand is empty" if axis else "axis 0 is the batch"
    size, length, after = shape[axis], sizes[axis], volume(shape[axis + 1 :])
    if op.mode.data != "linear" and not is_static(size):
        return NO_DYNAMIC_KERNEL
    builder.require_same_volume(sizes, [*shape[:axis], length, *shape[axis + 1 :]], op)
    if op.write_indices.type != NONE:
        builder.require_same_volume(builder.sizes(op.write_indices), shape[:1], op)
        most = size - length if op.mode.data == "linear" else 2**62
        check_numbers(op, op.write_indices, 0, most, "write_indices has", builder)
    growth = builder.growth.get(op)
    old = op.past_cache if growth is None else growth.operands[0]
    out = builder.result(op.present_cache)
    cache_sizes = (volume(shape[:axis]), builder.sizes(old)[axis], after)
    _copy_cache(builder.buffer(old), out, cache_sizes, size, builder)
    batch = shape[0], volume(shape[1:axis])
    _write_rows(op, out, (*batch, size, after), length, builder)
    return None


def _copy_cache(
    source: SSAValue,
    target: SSAValue,
    cache_sizes: tuple[Size, Size, Size],
    size: Size,
    builder: LoweringBuilder,
) -> None:
    """
    Copy a cache, `[rows, held, after]`, to one that is longer along the middle axis; the rest is 0.

    Nothing is copied if the caller gives the same memory for both.
    """
    before, own, after = cache_sizes
    kernel = Kernel(builder, "cache_update", [(target, [before, size, after])], [(source, cache_sizes)])
    out, read = kernel.buffers
    zero, rows = kernel.constant(0, storage_type(out.element)), kernel.size(own)
    with kernel.loops([before]) as (row,):
        is_same = rows.made(SameBufferOp(operands=[out.value, read.value], result_types=[i1]))
        with kernel.loops([is_same.select(0, rows), after]) as (index, inner):
            out.copy((row, index, inner), read, (row, index, inner))
        if size != own:
            with kernel.loops([size - own, after]) as (index, inner):
                out.store(zero, row, index + rows, inner)
    kernel.call().may_share = DenseArrayBase.from_list(i64, [0, 1])


def _write_rows(
    op: tensor.TensorScatterOp,
    target: SSAValue,
    shape: tuple[Size, Size, Size, Size],
    length: Size,
    builder: LoweringBuilder,
) -> None:
    """Write the update into a cache of shape `[batch, middle, size, after]`."""
    batches, middle, size, after = shape
    inputs: list[Operand] = [(op.update, [batches, middle, length, after])]
    if op.write_indices.type != NONE:
        inputs.append((op.write_indices, [batches]))
    kernel = Kernel(builder, "tensorscatter", [(target, shape)], inputs)
    out, source, *starts = kernel.buffers
    with kernel.loops([batches, middle, length]) as (batch, each, row):
        number = row.to(i64)
        if starts:
            number = number + starts[0][batch]
        if op.mode.data == "circular":
            number = number % kernel.count([size])
        at = index_within(number, size, wraps=False)
        with kernel.loops([after]) as (inner,):
            out.copy((batch, each, at, inner), source, (batch, each, row, inner))
    kernel.call()
