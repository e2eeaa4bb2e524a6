"""
`dla-resolve-views`: insert copies where a cube would need two addresses.

The sources of a concatenation are written into its result's memory. That takes a producer that can write
there: a network input, a slice, or a cube that already is elsewhere is copied by an SDP pass. A single
position of an image is copied by the PDP, because the SDP reads none with gaps. A reshape reads a copy of
rows with gaps between them. Channels that do not start on a whole atom are moved by one-hot convolutions,
because engines write whole atoms: float16 sources are shifted and added, integers are written to whole atoms
and then gathered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32, i32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import ConstantLayout, OperandMode, PoolMode, SdpStage, StageFunction
from xonnc.dialects.dla.engines import ConvOp, PdpOp, SdpOp
from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of, flow_type, tensor_of
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.types import tensor_type
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import channels_per_atom, round_up
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.views import Views
from xonnc.lowering.dla_planning.feasibility import fits_buffer
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget, load_target

SUM = SdpStage(type=StageFunction.ALU, mode=OperandMode.PER_POINT)

MAX_PICKED_CHANNELS = 128
"""Channels that one gathering convolution selects, if whole atoms and the buffer allow it."""


@dataclass(frozen=True)
class DlaResolveViews(ModulePass):
    """Insert copies so that every concatenation, slice and result is a matter of addresses."""

    name = "dla-resolve-views"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        resolve_views(op, load_target(self.target), DisposablePool.of(ctx))


def resolve_views(module: ModuleOp, target: NvdlaTarget, pool: DisposablePool) -> None:
    """Insert the copies that `module` needs."""
    for block in blocks(module):
        for op in list(block.ops):
            if isinstance(op, ConcatOp) and _is_misaligned(op, target):
                if tensor_of(op.result.type).element_type == f16:
                    _select(op, pool)
                else:
                    _gather(op, target, pool)
        for op in list(block.ops):
            if isinstance(op, SliceOp) and _is_single(op):
                _take_out(op)
        for op in list(block.ops):
            if isinstance(op, SliceOp) and op.offsets.get_values()[0] % _lanes(op.source, target):
                _select_slice(op, pool)
        _copy_where_needed(block)
        _copy_rows_with_gaps(block, target)


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


def _copy_rows_with_gaps(block: Block, target: NvdlaTarget) -> None:
    """Let reshapes read copies of rows that are part of longer ones, or have rows of others between them."""
    views = Views(block, target)
    for op in list(block.ops):
        if isinstance(op, ReshapeOp) and cube_of(op.source.type).height > 1 and not views.is_dense(op.source):
            op.operands[0] = _copy(op.source, op)
            views = Views(block, target)


def _is_movable(value: SSAValue) -> bool:
    """Whether the producer of `value` can write it to any address."""
    owner = value.owner
    return isinstance(owner, Operation) and not isinstance(owner, SliceOp | ReshapeOp | ConstantOp)


def _must_be_dense(value: SSAValue, op: ConcatOp) -> bool:
    """
    Whether `value` has a single position, which engines read without gaps (docs/internals/nvdla-hardware.md
    §3.5), and would get gaps.
    """
    return cube_of(value.type).positions == 1 and op.axis.value.data != 1


def _is_single(op: SliceOp) -> bool:
    """Whether a slice is a single position of several, stored with gaps."""
    return cube_of(op.result.type).positions == 1 != cube_of(op.source.type).positions


def _take_out(op: SliceOp) -> None:
    readers = [use for use in op.result.uses if not isinstance(use.operation, PdpOp)]
    following = op.next_op
    assert following is not None
    if not readers:
        return
    taken = _insert(_moved_position(op.result), following)
    for use in readers:
        use.operation.operands[use.index] = taken


def _in_concat(value: SSAValue) -> bool:
    return any(isinstance(use.operation, ConcatOp) for use in value.uses)


def _reshaped_from(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.source
    return value


def _copy(value: SSAValue, before: Operation) -> SSAValue:
    if isinstance(before, ConcatOp) and _must_be_dense(value, before):
        return _insert(_moved_position(value), before)
    return _insert(SdpOp(value, [], value.type), before)


def _moved_position(value: SSAValue) -> PdpOp:
    """Return a copy of a single position by the PDP, which accepts gaps."""
    return PdpOp(
        value, value.type, mode=PoolMode.MAX, kernel=(1, 1), strides=(1, 1), pads=(0, 0, 0, 0), split_num=1
    )


def _insert(op: Operation, before: Operation) -> SSAValue:
    op.location = derived(before.location)
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(op, before)
    return op.results[0]


def _lanes(value: SSAValue, target: NvdlaTarget) -> int:
    return channels_per_atom(target, precision_of(value.type))


def _is_misaligned(op: ConcatOp, target: NvdlaTarget) -> bool:
    return op.axis.value.data == 1 and any(begin % _lanes(op.result, target) for begin in op.begins[:-1])


def _select(op: ConcatOp, pool: DisposablePool) -> None:
    """
    Replace a concatenation by the sum of its sources, each shifted to its channels by a one-hot convolution.

    Lanes after a source's last channel are not read: they may hold NaN.
    """
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


def _gather(op: ConcatOp, target: NvdlaTarget, pool: DisposablePool) -> None:
    """
    Replace a concatenation by one whose sources start at whole atoms, and one-hot convolutions that gather
    its channels. Lanes between the sources have zero weights and may hold any integer.
    """
    lanes = _lanes(op.result, target)
    sources = list(op.sources)
    cube, element = cube_of(op.result.type), tensor_of(op.result.type).element_type
    counts = [cube_of(source.type).channels for source in sources]
    spread = sum(round_up(count, lanes) for count in counts[:-1]) + counts[-1]
    spaced = ConcatOp(sources, 1, tensor_type((1, spread, cube.height, cube.width), element), alignment=lanes)
    value = _insert(spaced, op)
    indices = np.concatenate(
        [begin + np.arange(count) for begin, count in zip(spaced.begins, counts, strict=False)]
    )
    step = _picked_at_once(cube, target, precision_of(op.result.type), lanes)
    parts = [
        _picked(value, indices[begin : begin + step], lanes, op, pool)
        for begin in range(0, cube.channels, step)
    ]
    result = parts[0] if len(parts) == 1 else _insert(ConcatOp(parts, 1, op.result.type), op)
    Rewriter.replace_op(op, [], [result])


def _picked_at_once(cube: CubeShape, target: NvdlaTarget, precision: Precision, lanes: int) -> int:
    """Return how many channels one convolution gathers, in whole atoms. Its kernels grow with the square."""
    step = round_up(MAX_PICKED_CHANNELS, lanes)
    while step > lanes:
        source = CubeShape(2 * step, cube.height, cube.width)
        if fits_buffer(target, precision, source, step, Window2D((1, 1))):
            break
        step = round_up(step // 2, lanes)
    return step


def _picked(
    value: SSAValue, indices: npt.NDArray[np.int64], lanes: int, before: Operation, pool: DisposablePool
) -> SSAValue:
    """Gather the channels of `value` at `indices`, which ascend."""
    first = int(indices[0]) // lanes * lanes
    count = int(indices[-1]) + 1 - first
    cube = cube_of(value.type)
    if count < cube.channels:
        part = tensor_type((1, count, cube.height, cube.width), tensor_of(value.type).element_type)
        value = _insert(SliceOp(value, (first, 0, 0), part), before)
    weights = np.zeros((len(indices), count, 1, 1), np.float16)
    weights[np.arange(len(indices)), indices - first] = 1
    return _shifted(value, weights, None, before, pool)


def _select_slice(op: SliceOp, pool: DisposablePool) -> None:
    """Replace a slice that starts inside of an atom by a one-hot convolution."""
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
    source: SSAValue,
    weights: npt.NDArray[np.float16],
    added: SSAValue | None,
    before: Operation,
    pool: DisposablePool,
) -> SSAValue:
    cube = cube_of(source.type)
    shape = (1, weights.shape[0], cube.height, cube.width)
    element = tensor_of(source.type).element_type
    constant = ConstantOp(pool.create(weights), ConstantLayout.KERNELS, tensor_type(weights.shape, element))
    kernels = _insert(constant, before)
    sums = f32 if element == f16 else i32
    accumulator = _insert(ConvOp(source, kernels, flow_type(tensor_type(shape, sums))), before)
    stages = [(SUM, added)] if added is not None else []
    return _insert(SdpOp(accumulator, stages, tensor_type(shape, element)), before)
