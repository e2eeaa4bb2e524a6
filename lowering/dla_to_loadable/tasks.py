"""
The descriptors of one task: network, dependency graph, operations, surfaces (docs/internals/nvdla-hardware.md
§2.1, §2.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.dla.attributes import Lut
from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, PowerOp, SdpOp, SoftmaxOp
from xonnc.dialects.dla.types import FlowType, PackedType, SurfaceType, cube_of
from xonnc.formats.nvdla import enumerations as hw
from xonnc.formats.nvdla import records
from xonnc.lowering.dla.fused_layers import FusedLayer
from xonnc.lowering.dla.lifetimes import CONSTANTS
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.lowering.dla_planning.surface_sizes import descriptor_bytes, span_bytes, surface_count
from xonnc.lowering.dla_to_loadable.dependencies import (
    DependencyEntry,
    DependencyLayer,
    dependency_graph,
    queue_heads,
)
from xonnc.lowering.dla_to_loadable.descriptors import Descriptors, DescriptorWriter, lut_param
from xonnc.lowering.dla_to_loadable.hazards import ByteRange
from xonnc.targets import NvdlaTarget

NO_LUT = bytes(records.LutParam.byte_size())
"""The list of lookup tables exists even if it is empty (docs/internals/nvdla-hardware.md §1.4)."""

NO_CONSUMER = records.Consumer(index=-1, event=hw.Event.OP_COMPLETED)


@dataclass(frozen=True)
class TaskBlobs:
    """
    The network descriptor, the other lists by name, and the number of dummy addresses at the end of the list.
    """

    network: bytes
    lists: tuple[tuple[str, bytes], ...]
    dummies: int


class DlaTaskWriter:
    """
    Writes the descriptors of a DLA task; `positions` are the data memories' indexes in its address list.
    """

    def __init__(self, target: NvdlaTarget, positions: Mapping[str, int]):
        self._target = target
        self._positions = positions
        self._descriptors = DescriptorWriter(target, positions.__getitem__)

    def write(self, group: Sequence[FusedLayer]) -> TaskBlobs:
        """Describe the layers of one task."""
        ops = [op for fused in group for op in fused.ops]
        layers = self._layers(ops)
        entries = dependency_graph(layers)
        luts = list(dict.fromkeys(op.lut.data for op in ops if isinstance(op, CdpOp | SdpOp) and op.lut))
        described = [self._describe(op, luts) for op in ops]
        first = len(self._positions) + 1
        network = records.NetworkDesc(
            dependency_graph_index=first,
            operation_desc_index=first + 1,
            surface_desc_index=first + 2,
            lut_data_index=first + 3,
            op_head=queue_heads(layers, len(hw.OpType)),
            num_operations=len(ops),
            num_luts=len(luts),
            num_addresses=first + 5,
        )
        graph = b"".join(_common(index, layers[index], entry).pack() for index, entry in enumerate(entries))
        surface_size = records.surface_bytes(records.Layout.CUBES_32)
        lists = (
            ("dep_graph", graph),
            ("op_list", b"".join(item.operation.pack().ljust(records.OP_BYTES, b"\0") for item in described)),
            ("surf_list", b"".join(item.surface.pack().ljust(surface_size, b"\0") for item in described)),
            ("lut_list", b"".join(lut_param(lut).pack() for lut in luts) or NO_LUT),
        )
        return TaskBlobs(network.pack(), lists, dummies=1)

    def _layers(self, ops: Sequence[Operation]) -> list[DependencyLayer]:
        layers: list[DependencyLayer] = []
        for op in ops:
            flows = isinstance(op.operands[0].type, FlowType)
            layers.append(
                DependencyLayer(
                    _engine(op),
                    tuple(extent for value in op.operands for extent in self._extents(value)),
                    self._extents(op.results[0]),
                    len(layers) - 1 if flows else None,
                    len(op.operands) > int(flows),
                    self._settings(op),
                )
            )
        return layers

    def _settings(self, op: Operation) -> tuple[int, ...]:
        """Return the bank split of a convolution if the core must be idle to change it (§9.2)."""
        if not isinstance(op, ConvOp) or op.banks is None or self._target.queues_bank_splits:
            return ()
        return op.banks.data.data_banks, op.banks.data.weight_banks

    def _extents(self, value: SSAValue) -> tuple[ByteRange, ...]:
        """
        Return the bytes of a cube by surface, and of computed weights; none for constants, which are never
        overwritten.
        """
        type_ = value.type
        if not isinstance(type_, SurfaceType | PackedType) or type_.memory.data == CONSTANTS:
            return ()
        begin = type_.offset.data
        memory = self._positions[type_.memory.data]
        if isinstance(type_, PackedType):
            return (ByteRange(memory, begin, begin + type_.size.data),)
        surfaces = surface_count(type_, self._target)
        stride = type_.surface_stride.data if surfaces > 1 else 0
        end = begin + span_bytes(type_, self._target) - (surfaces - 1) * stride
        return (ByteRange(memory, begin, end, stride, surfaces),)

    def _describe(self, op: Operation, luts: list[Lut]) -> Descriptors:
        match op:
            case ConvOp():
                return self._descriptors.conv(op)
            case SdpOp():
                return self._descriptors.sdp(op, -1 if op.lut is None else luts.index(op.lut.data))
            case PdpOp():
                return self._descriptors.pdp(op)
            case CdpOp():
                return self._descriptors.cdp(op, luts.index(op.lut.data))
            case _:
                raise AssertionError(f"{op.name} is no layer of the DLA")


def emulator_task(fused: FusedLayer, positions: Mapping[str, int], target: NvdlaTarget) -> TaskBlobs:
    """Describe a task of the CPU emulator, which is a single operation."""
    (op,) = fused.ops
    first = len(positions) + 1
    network = records.EmuNetworkDesc(
        operation_desc_index=first, operation_buffer_desc_index=first + 1, num_operations=1
    )
    buffers = b"".join(
        _emulator_buffer(value, positions, target).pack() for value in (op.operands[0], op.results[0])
    )
    return TaskBlobs(network.pack(), (("op_list", _emulated(op).pack()), ("op_buf_list", buffers)), dummies=3)


def _emulated(op: Operation) -> records.EmuOp:
    if isinstance(op, PowerOp):
        power, scale, shift = (number.value.data for number in (op.power, op.scale, op.shift))
        return records.EmuOp(op_type=hw.EmuOpType.POWER, power=power, scale=scale, shift=shift)
    assert isinstance(op, SoftmaxOp), f"{op.name} is no operation of the emulator"
    return records.EmuOp(
        op_type=hw.EmuOpType.SOFTMAX,
        input_scale=op.input_scale.value.data,
        output_scale=op.output_scale.value.data,
    )


def _emulator_buffer(
    value: SSAValue, positions: Mapping[str, int], target: NvdlaTarget
) -> records.EmuBufferDesc:
    type_ = value.type
    assert isinstance(type_, SurfaceType), "dla-allocate places cubes"
    cube, precision = cube_of(type_), precision_of(type_)
    small = target.memory_atom_bytes == 8
    formats = {
        hw.Precision.FP16: hw.EmuFormat.FF16,
        hw.Precision.INT16: hw.EmuFormat.INT16,
        hw.Precision.INT8: hw.EmuFormat.INT8_8 if small else hw.EmuFormat.INT8,
    }
    return records.EmuBufferDesc(
        address_index=positions[type_.memory.data],
        address_index_offset=type_.offset.data,
        size=descriptor_bytes(type_, target),
        format=formats[precision],
        width=cube.width,
        height=cube.height,
        channel=cube.channels,
        line_stride=type_.line_stride.data,
        surf_stride=type_.surface_stride.data,
    )


def _engine(op: Operation) -> hw.OpType:
    match op:
        case ConvOp():
            return hw.OpType.CONV
        case SdpOp():
            return hw.OpType.SDP
        case PdpOp():
            return hw.OpType.PDP
        case CdpOp():
            return hw.OpType.CDP
        case _:
            raise AssertionError(f"{op.name} is no layer of the DLA")


def _common(index: int, layer: DependencyLayer, entry: DependencyEntry) -> records.CommonOpDesc:
    consumers = [NO_CONSUMER] * len(hw.OpType)
    for engine, consumer in entry.consumers.items():
        consumers[engine] = records.Consumer(index=consumer.index, event=consumer.event)
    parent = entry.fused_parent
    fused = NO_CONSUMER if parent is None else records.Consumer(index=parent, event=hw.Event.OP_ENABLED)
    return records.CommonOpDesc(
        index=index,
        op_type=layer.engine,
        dependency_count=entry.dependency_count,
        consumers=tuple(consumers),
        fused_parent=fused,
    )
