"""
`dla-split-kernels`: split the kernels of convolutions whose kernel group exceeds the convolution buffer.

The core computes `atomic_k` kernels together, which must all be in the buffer. Convolutions with fewer
kernels leave part of their last atom empty; `dla-resolve-views` gathers their results.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import OperandMode, SdpStage
from xonnc.dialects.dla.engines import ConvOp, SdpOp
from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, SliceOp
from xonnc.dialects.dla.types import cube_of, flow_type, shape_of, tensor_of
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.types import tensor_type
from xonnc.lowering.dla.convolution_plans import window_of
from xonnc.lowering.dla_planning.feasibility import fits_buffer, kernels_at_once
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.targets import NvdlaTarget, load_target


@dataclass(frozen=True)
class DlaSplitKernels(ModulePass):
    """Split the kernels of convolutions whose kernel group exceeds the convolution buffer."""

    name = "dla-split-kernels"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split_kernels(op, load_target(self.target), DisposablePool.of(ctx))


def split_kernels(module: ModuleOp, target: NvdlaTarget, pool: DisposablePool) -> None:
    """Split every convolution of `module` that fits in no other way."""
    for op in [op for op in module.walk() if isinstance(op, ConvOp)]:
        source, window, precision = cube_of(op.source.type), window_of(op), precision_of(op.source.type)
        kernels = shape_of(op.weights.type)[0]
        if fits_buffer(target, precision, source, kernels, window):
            continue
        most = kernels_at_once(target, precision, source, kernels, window)
        if most is not None and isinstance(op.weights.owner, ConstantOp):
            _split(op, -(-kernels // most), pool)


def _split(op: ConvOp, count: int, pool: DisposablePool) -> None:
    kernels = shape_of(op.weights.type)[0]
    reader = next(iter(op.accumulator.uses)).operation
    assert isinstance(reader, SdpOp)
    ends = [kernels * index // count for index in range(count + 1)]
    parts = [_part(op, reader, begin, end, pool) for begin, end in pairwise(ends)]
    joined = _insert(ConcatOp(parts, 1, reader.result.type), reader)
    Rewriter.replace_op(reader, [], [joined])
    Rewriter.erase_op(op)


def _part(op: ConvOp, reader: SdpOp, begin: int, end: int, pool: DisposablePool) -> SSAValue:
    weights = _elements(op.weights, 0, begin, end, reader, pool)
    sums = flow_type(_channels_type(op.accumulator, end - begin))
    accumulator = _insert(op.clone_with(op.source, weights, sums, op.pads.get_values(), None), reader)
    stages = [(stage, _operand(stage, each, begin, end, reader, pool)) for stage, each in reader.stages]
    result = _channels_type(reader.result, end - begin)
    return _insert(reader.clone_with(accumulator, stages, result), reader)


def _operand(
    stage: SdpStage, operand: SSAValue | None, begin: int, end: int, before: Operation, pool: DisposablePool
) -> SSAValue | None:
    if operand is None or stage.mode is OperandMode.PER_LAYER:
        return operand
    if isinstance(operand.owner, ConstantOp):
        return _elements(operand, int(stage.mode is OperandMode.PER_POINT), begin, end, before, pool)
    return _insert(SliceOp(operand, (begin, 0, 0), _channels_type(operand, end - begin)), before)


def _elements(
    value: SSAValue, axis: int, begin: int, end: int, before: Operation, pool: DisposablePool
) -> SSAValue:
    """Return part of a constant, without a copy."""
    constant = value.owner
    assert isinstance(constant, ConstantOp)
    array = elements_array(constant.value)
    assert array is not None
    part = array[begin:end] if axis == 0 else array[:, begin:end]
    element = tensor_of(value.type).element_type
    return _insert(ConstantOp(pool.create(part), constant.layout, tensor_type(part.shape, element)), before)


def _channels_type(value: SSAValue, count: int):
    cube = cube_of(value.type)
    return tensor_type((1, count, cube.height, cube.width), tensor_of(value.type).element_type)


def _insert(op: Operation, before: Operation) -> SSAValue:
    op.location = derived(before.location)
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(op, before)
    return op.results[0]
