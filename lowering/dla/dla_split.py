"""
`dla-split`: assign banks of the convolution buffer, and tile the rows of convolutions that do not fit.

Tiles read overlapping slices of the input, write slices of the result and share the weights, which are read
once if all of them stay in the buffer (docs/internals/nvdla-hardware.md §3.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import BankPlan, BankPlanAttr, OperandMode, SdpStage
from xonnc.dialects.dla.engines import ConvOp, PdpOp, SdpOp, integers
from xonnc.dialects.dla.storage import ConcatOp, SliceOp
from xonnc.dialects.dla.types import ImageType, cube_of, flow_type, image_of, tensor_of
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.types import tensor_type
from xonnc.lowering.dla.dla_bubble_up_slices import drop_unread_sources
from xonnc.lowering.dla.fused_layers import EMULATED_OPS
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.pipelined_plans import pipelined_plans
from xonnc.lowering.dla.plan_sequence import weights_stay
from xonnc.lowering.dla_planning.convolution_tiling import ConvolutionPlan, RowTile
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, load_target


@dataclass(frozen=True)
class DlaSplit(ModulePass):
    """Fit convolutions into the convolution buffer by tiling their rows."""

    name = "dla-split"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split(op, load_target(self.target))


def split(module: ModuleOp, target: NvdlaTarget) -> None:
    """Fit every convolution of `module` into the convolution buffer."""
    for block in blocks(module):
        for op in [op for op in block.ops if isinstance(op, ConvOp)]:
            _drop_unread_rows(op)
        last: tuple[ConvOp, ConvolutionPlan] | None = None
        tasks = _tasks(block)
        plans = pipelined_plans(block, target)
        for op, plan in plans.convolutions.items():
            task = tasks[op]
            if len(plan.tiles) == 1:
                _trim(op, plan.tiles[0])
                op.banks = BankPlanAttr(BankPlan(plan.data_banks, plan.weight_banks))
                parts = [op]
            else:
                parts = _split(op, plan)
            tasks[parts[-1]] = task
            if last is not None and tasks[last[0]] == task and last[0].weights is parts[0].weights:
                if weights_stay(last[1], plan) and may_decide(DlaSplit.name, "weights kept", parts[0]):
                    _keep_weights(last[0], parts[0])
            last = parts[-1], plan
        for pool, tiles in plans.pools.items():
            _split_pool(pool, tiles)


def _drop_unread_rows(op: ConvOp) -> None:
    """Drop what is concatenated to the source for rows below the last window: nothing would read it."""
    joined, source = op.source.owner, cube_of(op.source.type)
    top, _, bottom, _ = op.pads.get_values()
    stride, dilation = op.strides.get_values()[0], op.dilations.get_values()[0]
    outputs = cube_of(op.accumulator.type).height
    rows = (outputs - 1) * stride + (op.kernel[0] - 1) * dilation + 1 - top
    if isinstance(joined, ConcatOp) and not bottom and 0 < rows < source.height:
        op.operands[0] = _rows(op.source, 0, rows, op)
        drop_unread_sources(joined)


def _split_pool(op: PdpOp, tiles: Sequence[RowTile]) -> None:
    """Replace a pooling by one for each tile, which reads the rows that its windows reach."""
    _, left, _, right = op.pads.get_values()
    parts: list[SSAValue] = []
    for tile in tiles:
        part = PdpOp(
            _rows(op.source, tile.first_input, tile.inputs, op),
            _row_type(op.result, tile.outputs),
            mode=op.mode,
            kernel=op.kernel.get_values(),
            strides=op.strides.get_values(),
            pads=(tile.pad_top, left, tile.pad_bottom, right),
            split_num=op.split_num.value.data,
            pad_value=op.pad_value.value.data,
        )
        parts.append(_insert(part, op))
    joined = _insert(ConcatOp(parts, 2, op.result.type), op)
    Rewriter.replace_op(op, [], [joined])


def _tasks(block: Block) -> dict[Operation, int]:
    """Return the number of emulated operations before each convolution, which are tasks of their own."""
    tasks: dict[Operation, int] = {}
    count = 0
    for op in block.ops:
        count += isinstance(op, EMULATED_OPS)
        if isinstance(op, ConvOp):
            tasks[op] = count
    return tasks


def _keep_weights(before: ConvOp, after: ConvOp) -> None:
    """Let `after` use the weights that `before` leaves in the buffer."""
    assert before.banks is not None
    assert after.banks is not None
    before.banks = BankPlanAttr(replace(before.banks.data, skip_weight_release=True))
    after.banks = BankPlanAttr(replace(after.banks.data, weight_reuse=True))


def _trim(op: ConvOp, tile: RowTile) -> None:
    """Drop rows that no window reads, which might not fit the buffer."""
    _, left, _, right = op.pads.get_values()
    op.operands[0] = _rows(op.source, tile.first_input, tile.inputs, op)
    op.properties["pads"] = integers((tile.pad_top, left, tile.pad_bottom, right))


def _split(op: ConvOp, plan: ConvolutionPlan) -> list[ConvOp]:
    """Replace a convolution by one for each tile, which are returned."""
    reader = next(iter(op.accumulator.uses)).operation
    assert isinstance(reader, SdpOp)
    parts = [_part(op, reader, plan, index) for index in range(len(plan.tiles))]
    joined = _insert(ConcatOp([part.result for part in parts], 2, reader.result.type), reader)
    Rewriter.replace_op(reader, [], [joined])
    Rewriter.erase_op(op)
    convolutions = [part.source.owner for part in parts]
    return [each for each in convolutions if isinstance(each, ConvOp)]


def _part(op: ConvOp, reader: SdpOp, plan: ConvolutionPlan, index: int) -> SdpOp:
    tile = plan.tiles[index]
    shares = plan.weights_resident
    banks = BankPlan(
        plan.data_banks,
        plan.weight_banks,
        weight_reuse=shares and index > 0,
        skip_weight_release=shares and index < len(plan.tiles) - 1,
    )
    _, left, _, right = op.pads.get_values()
    source = _rows(op.source, tile.first_input, tile.inputs, reader)
    sums = flow_type(_row_type(op.accumulator, tile.outputs))
    pads = (tile.pad_top, left, tile.pad_bottom, right)
    conv = op.clone_with(source, op.weights, sums, pads, BankPlanAttr(banks))
    stages = [(stage, _operand_rows(stage, operand, tile, reader)) for stage, operand in reader.stages]
    accumulator = _insert(conv, reader)
    result_type = _row_type(reader.result, tile.outputs)
    part = reader.clone_with(accumulator, stages, result_type)
    _insert(part, reader)
    return part


def _operand_rows(
    stage: SdpStage, operand: SSAValue | None, tile: RowTile, before: Operation
) -> SSAValue | None:
    if operand is None or stage.mode is not OperandMode.PER_POINT:
        return operand
    return _rows(operand, tile.first_output, tile.outputs, before)


def _rows(value: SSAValue, first: int, count: int, before: Operation):
    if cube_of(value.type).height == count:
        return value
    rows: TensorType[Attribute] | ImageType = _row_type(value, count)
    if (image := image_of(value.type)) is not None:
        rows = ImageType(image.format, rows)
    return _insert(SliceOp(value, (0, first, 0), rows), before)


def _row_type(value: SSAValue, rows: int) -> TensorType[Attribute]:
    cube = cube_of(value.type)
    return tensor_type((1, cube.channels, rows, cube.width), tensor_of(value.type).element_type)


def _insert(op: Operation, before: Operation) -> SSAValue:
    op.location = derived(before.location)
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(op, before)
    return op.results[0]
