"""
`dla-fuse`: merge consecutive SDP passes, and let the PDP read the SDP's result on the fly.

```mlir
%a = "dla.sdp"(%acc, %bias) <{x1_stage = #dla.stage<type = alu, mode = per_kernel>}>
%b = "dla.sdp"(%a, %c) <{x1_stage = #dla.stage<type = alu, mode = per_point, act = relu>}>
```
becomes one `dla.sdp` on `%acc` with the bias in X1 and the sum and ReLU in X2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import Activation, AluFunction, OperandMode, SdpStage, StageFunction
from xonnc.dialects.dla.engines import ConvOp, PdpOp, SdpOp
from xonnc.dialects.dla.types import FlowType, flow_type, tensor_of
from xonnc.dialects.onnx.locations import joined as joined_locations
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.lowering.dla.convolution_plans import fits_in_one_tile
from xonnc.lowering.dla.fused_layers import FusedLayer
from xonnc.lowering.dla.pipelined_plans import cycles_of
from xonnc.lowering.dla_planning.precision import precision_of, processed_precision
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Operand
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, load_target

STAGES = 3


@dataclass(frozen=True)
class DlaFuse(ModulePass):
    """Merge SDP passes, and feed the PDP on the fly where the hardware allows it."""

    name = "dla-fuse"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fuse(op, load_target(self.target))


def fuse(module: ModuleOp, target: NvdlaTarget) -> None:
    """Merge SDP passes and on-the-fly poolings in `module`, in program order."""
    for op in [op for op in module.walk() if isinstance(op, SdpOp)]:
        _fuse_into(op, STAGES if target.sdp_y else STAGES - 1)
    for op in [op for op in module.walk() if isinstance(op, PdpOp)]:
        if _can_flow(op, target) and may_decide(DlaFuse.name, "pooling on the fly", op):
            _flow(op)


def _fuse_into(op: SdpOp, slots: int) -> None:
    """Merge the preceding passes into `op`, one after another."""
    while True:
        joined = _joined(op, slots)
        if joined is None:
            return
        op = joined


def _joined(op: SdpOp, slots: int) -> SdpOp | None:
    for source, stages in _readings(op):
        before = _only_reader(source)
        if before is None or converts_precision(before) or not _can_convert(before, op):
            continue
        packed = _packed(before, stages, slots)
        if packed is None or not may_decide(DlaFuse.name, "SDP passes", op):
            continue
        joined = SdpOp(before.source, packed, op.result.type, lut=op.lut or before.lut, out_cvt=op.out_cvt)
        joined.location = joined_locations(op.location, before.location)
        _move_flow(before.source, op)
        Rewriter.replace_op(op, joined)
        Rewriter.erase_op(before)
        return joined
    return None


def _readings(op: SdpOp) -> list[tuple[SSAValue, Sequence[Operand]]]:
    """
    Return the ways to read `op` as stages on one source: as it is and, for an addition of two cubes, with the
    operands swapped.

    The source that is computed later comes first, since its pass is the better one to extend.
    """
    written = (op.source, op.stages)
    stage, operand = op.stages[0]
    swappable = (
        operand is not None
        and stage.mode is OperandMode.PER_POINT
        and stage.type is not StageFunction.BOTH
        and stage.act is not Activation.PRELU
        and not isinstance(op.source.type, FlowType)
    )
    if not swappable or operand is None:
        return [written]
    swapped = (operand, ((stage, op.source), *op.stages[1:]))
    later = _position(operand) > _position(op.source)
    return [swapped, written] if later else [written, swapped]


def _position(value: SSAValue) -> int:
    owner = value.owner
    if not isinstance(owner, Operation) or (block := owner.parent_block()) is None:
        return -1
    return block.get_operation_index(owner)


def _only_reader(value: SSAValue) -> SdpOp | None:
    """Return the SDP pass that produces `value` for a single reader, `None` for other values."""
    before = _producer(value)
    # Stages after an output converter have a pass of their own.
    return None if before is None or before.out_cvt is not None else before


def _producer(value: SSAValue) -> SdpOp | None:
    """Return the SDP pass that writes `value` for a single reader, `None` for other values."""
    owner = value.owner
    if not isinstance(owner, SdpOp) or isinstance(value.type, FlowType) or not value.has_one_use():
        return None
    return owner


def converts_precision(op: SdpOp) -> bool:
    """Whether an SDP pass writes another precision than the one that it computes in."""
    return processed_precision(op) is not precision_of(op.result.type)


def _can_convert(before: SdpOp, op: SdpOp) -> bool:
    """
    Whether `before` can write what `op` does. Of a convolution's sums the SDP makes their precision or INT16;
    FP16 of integers, and INT8 of INT16, only from memory (docs/internals/nvdla-hardware.md §4.2).
    """
    result = precision_of(op.result.type)
    return not isinstance(before.source.type, FlowType) or result in (
        processed_precision(before),
        Precision.INT16,
    )


def _packed(before: SdpOp, stages: Sequence[Operand], slots: int) -> list[Operand] | None:
    """Return the stages of `before` and those after it as one pass, `None` if it takes more than one."""
    if all(stage == SdpStage() for stage, _ in stages):
        return list(before.stages)
    if _is_for_y_alone(before.stages[-1][0]) or _is_for_y_alone(stages[-1][0]):
        return None
    return pack_stages([*before.stages, *stages], slots)


def _is_for_y_alone(stage: SdpStage) -> bool:
    """Whether a stage of Y means something else, or nothing, in X1 and X2."""
    is_reversed = stage.type is StageFunction.BOTH
    return is_reversed or stage.act is Activation.LUT or bool(stage.mul_offset)


def pack_stages(stages: Sequence[Operand], slots: int) -> list[Operand] | None:
    """
    The same computation in at most `slots` stages, `None` if it takes more.

    A ReLU joins the stage before it; two numbers, added and then multiplied, share one, unless a PReLU
    multiplies; Y, which multiplies first, takes no stage that does both.

    Y has no ReLU (docs/internals/nvdla-hardware.md §4.2): what ends in one needs another form there, or
    another pass.
    """
    packed: list[Operand] = []
    for stage, operand in stages:
        if stage == SdpStage():
            continue
        joined = _join(packed[-1], stage) if packed else None
        if joined is not None:
            packed[-1] = joined
        else:
            packed.append((stage, operand))
    if len(packed) < STAGES or len(packed) > slots:
        return packed if len(packed) <= slots else None
    last = _for_y(packed[-1])
    return None if last is None else [*packed[:-1], last]


def _for_y(operand: Operand) -> Operand | None:
    """
    Convert a stage of X to the form that Y supports, `None` if there is none.

    `relu(x)` is `max(x, 0)`, which may follow a multiplication by a scalar because Y multiplies first. After
    an addition no ALU is left, and operands in memory would have to hold zeros.
    """
    stage, value = operand
    if stage.type is StageFunction.BOTH:
        return None
    if stage.act is not Activation.RELU:
        return operand
    if stage.type is StageFunction.NONE:
        return replace(stage, type=StageFunction.ALU, alu=AluFunction.MAX, act=Activation.NONE), value
    if stage.type is StageFunction.MUL and stage.mode is OperandMode.PER_LAYER:
        return replace(stage, type=StageFunction.BOTH, alu=AluFunction.MAX, act=Activation.NONE), value
    return None


def _join(first: Operand, second: SdpStage) -> Operand | None:
    stage, operand = first
    if stage.act is not Activation.NONE:
        return None
    if second.type is StageFunction.NONE:
        return replace(stage, act=second.act), operand
    numbers = stage.mode is second.mode is OperandMode.PER_LAYER
    if second.act is Activation.PRELU:
        return None
    if numbers and (stage.type, second.type) == (StageFunction.ALU, StageFunction.MUL):
        both = replace(stage, type=StageFunction.BOTH, act=second.act, mul_operand=second.mul_operand)
        return both, None
    return None


def _move_flow(source: SSAValue, before: Operation) -> None:
    """Move the convolution that computes `source` next to the pass that will read it."""
    owner = source.owner
    if isinstance(source.type, FlowType) and isinstance(owner, ConvOp):
        owner.detach()
        block = before.parent_block()
        assert block is not None
        block.insert_op_before(owner, before)


def _can_flow(op: PdpOp, target: NvdlaTarget) -> bool:
    """
    Whether the PDP reads the SDP's result on the fly (docs/internals/nvdla-hardware.md §3.8): single reader,
    no column split, and a convolution in one tile, if that is no slower than tiles beside each other.
    """
    producer = _producer(op.source)
    if producer is None or converts_precision(producer) or op.split_num.value.data != 1:
        return False
    conv = producer.source.owner
    if not isinstance(conv, ConvOp):
        return True
    return fits_in_one_tile(target, conv) and flows_faster(conv, producer, op, target)


def flows_faster(conv: ConvOp, producer: SdpOp, op: PdpOp, target: NvdlaTarget) -> bool:
    """
    Whether a pooling on the fly ends no later than one from memory, by the cycle model.

    On the fly there is less traffic, but the convolution has one tile, which loads before it computes.
    """
    flowing = cycles_of([FusedLayer((conv, producer, op))], target)
    return flowing <= cycles_of([FusedLayer((conv, producer)), FusedLayer((op,))], target)


def _flow(op: PdpOp) -> None:
    producer = op.source.owner
    assert isinstance(producer, SdpOp)
    flow = flow_type(tensor_of(producer.result.type))
    flowing = producer.clone_with(producer.source, producer.stages, flow)
    flowing.location = producer.location
    _move_flow(producer.source, op)
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(flowing, op)
    op.operands[0] = flowing.result
    Rewriter.erase_op(producer)
