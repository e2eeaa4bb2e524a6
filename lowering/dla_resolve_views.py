"""
`dla-resolve-views`: copies where a cube would have to lie in two places.

The sources of a concatenation are written into its result's memory. That needs a producer that can write
there: not a network input, a part of another cube, or a cube that already lies elsewhere; those get an SDP
pass that copies. Channels that do not begin on a whole atom are shifted by a convolution with ones, because
engines write whole atoms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32, i32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import ConstantLayout, OperandMode, Stage, StageFunction
from xonnc.dialects.dla.engines import ConvOp, SdpOp
from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import FlowType, cube_of, tensor_of
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.types import tensor_type
from xonnc.formats.nvdla.geometry import channels_per_atom
from xonnc.lowering.networks import blocks
from xonnc.lowering.precision import precision_of
from xonnc.targets import NvdlaTarget, load_target

SUM = Stage(type=StageFunction.ALU, mode=OperandMode.PER_POINT)


@dataclass(frozen=True)
class DlaResolveViews(ModulePass):
    """Makes every concatenation, slice and result a matter of addresses alone."""

    name = "dla-resolve-views"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        resolve_views(op, load_target(self.target), DisposablePool.of(ctx))


def resolve_views(module: ModuleOp, target: NvdlaTarget, pool: DisposablePool) -> None:
    """Adds the copies that `module` needs."""
    for block in blocks(module):
        for op in list(block.ops):
            if isinstance(op, ConcatOp) and _is_misaligned(op, target):
                _select(op, pool)
        for op in list(block.ops):
            if isinstance(op, SliceOp) and op.offsets.get_values()[0] % _lanes(op.source, target):
                _select_slice(op, pool)
        _copy_where_needed(block)


def _copy_where_needed(block: Block) -> None:
    placed: set[SSAValue] = set()
    returned = block.last_op
    assert isinstance(returned, ReturnOp)
    for index, value in enumerate(returned.operands):
        root = _reshaped_from(value)
        if _is_movable(root) and root not in placed and not _in_concat(root):
            placed.add(root)
        else:
            returned.operands[index] = _copy(value, returned)
    for op in list(block.ops):
        if not isinstance(op, ConcatOp):
            continue
        for index, value in enumerate(op.operands):
            if _is_movable(value) and value not in placed and not _must_be_dense(value, op):
                placed.add(value)
            else:
                op.operands[index] = _copy(value, op)


def _is_movable(value: SSAValue) -> bool:
    """Whether the producer of `value` can write it wherever it should lie."""
    owner = value.owner
    return isinstance(owner, Operation) and not isinstance(owner, SliceOp | ReshapeOp | ConstantOp)


def _must_be_dense(value: SSAValue, op: ConcatOp) -> bool:
    """
    Whether `value` has one position, which engines read without gaps (spec/nvdla.md §3.5), and would get
    some.
    """
    return cube_of(value.type).positions == 1 and op.axis.value.data != 1


def _in_concat(value: SSAValue) -> bool:
    return any(isinstance(use.operation, ConcatOp) for use in value.uses)


def _reshaped_from(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.source
    return value


def _copy(value: SSAValue, before: Operation) -> SSAValue:
    copy = SdpOp(value, [], value.type)
    return _insert(copy, before)


def _insert(op: Operation, before: Operation) -> SSAValue:
    op.location = derived(before.location)
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(op, before)
    return op.results[0]


def _lanes(value: SSAValue, target: NvdlaTarget) -> int:
    return channels_per_atom(target, precision_of(value.type))


def _is_misaligned(op: ConcatOp, target: NvdlaTarget) -> bool:
    channels = [cube_of(source.type).channels for source in op.sources[:-1]]
    return op.axis.value.data == 1 and any(count % _lanes(op.result, target) for count in channels)


def _select(op: ConcatOp, pool: DisposablePool) -> None:
    """Replaces a concatenation by the sum of its sources, each shifted to its channels by a convolution."""
    total = cube_of(op.result.type).channels
    begin = 0
    value: SSAValue | None = None
    for source in op.sources:
        count = cube_of(source.type).channels
        weights = np.zeros((total, count, 1, 1), np.float16)
        weights[np.arange(begin, begin + count), np.arange(count)] = 1
        value = _shifted(source, weights, value, op, pool)
        begin += count
    assert value is not None
    Rewriter.replace_op(op, [], [value])


def _select_slice(op: SliceOp, pool: DisposablePool) -> None:
    """Replaces a slice that begins inside an atom by a convolution that picks its channels."""
    begin, row, column = op.offsets.get_values()
    source, result = cube_of(op.source.type), cube_of(op.result.type)
    value = op.source
    if (result.height, result.width) != (source.height, source.width):
        rows = tensor_type(
            (1, source.channels, result.height, result.width), tensor_of(op.source.type).element_type
        )
        value = _insert(SliceOp(op.source, (0, row, column), rows), op)
    weights = np.zeros((result.channels, source.channels, 1, 1), np.float16)
    weights[np.arange(result.channels), begin + np.arange(result.channels)] = 1
    Rewriter.replace_op(op, [], [_shifted(value, weights, None, op, pool)])


def _shifted(
    source: SSAValue, weights: np.ndarray, added: SSAValue | None, before: Operation, pool: DisposablePool
) -> SSAValue:
    cube = cube_of(source.type)
    shape = (1, weights.shape[0], cube.height, cube.width)
    element = tensor_of(source.type).element_type
    constant = ConstantOp(pool.create(weights), ConstantLayout.KERNELS, tensor_type(weights.shape, element))
    kernels = _insert(constant, before)
    sums = f32 if element == f16 else i32
    accumulator = _insert(ConvOp(source, kernels, FlowType(tensor_type(shape, sums))), before)
    stages = [(SUM, added)] if added is not None else []
    return _insert(SdpOp(accumulator, stages, tensor_type(shape, element)), before)
