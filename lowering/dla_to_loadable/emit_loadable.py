"""
The last stage: a network on surfaces with addresses becomes a loadable (docs/internals/nvdla-hardware.md
§1.4, §2, §5).

Memory 0 is a dummy page, then come the network's memory objects, each with one address, then the descriptors
of each task. All tasks list the same data addresses, so an index means the same address in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from xonnc.dialects.dla.attributes import MemoryRole
from xonnc.dialects.dla.images import ImageCount, images_in
from xonnc.dialects.dla.storage import ConstantOp, MemoryOp
from xonnc.dialects.dla.types import PackedType, SurfaceType, cube_of, image_of
from xonnc.errors import XonncError
from xonnc.formats.nvdla import enumerations as hw
from xonnc.formats.nvdla.geometry import round_up
from xonnc.formats.nvdla.loadable import (
    AddressEntry,
    Blob,
    Data,
    Loadable,
    MemoryEntry,
    SubmitEntry,
    TaskEntry,
    TensorDesc,
    Version,
)
from xonnc.formats.nvdla.pixel_normalization import Normalization, normalization_blob
from xonnc.formats.nvdla.quantization import quantization_blob
from xonnc.lowering.dla.fused_layers import EMULATED_OPS, FusedLayer, fused_layers
from xonnc.lowering.dla.network_checks import check_allocated, memory_of, network
from xonnc.lowering.dla.packing import PackedConstant
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.lowering.dla_planning.surface_sizes import format_of
from xonnc.lowering.dla_to_loadable.tasks import DlaTaskWriter, TaskBlobs, emulator_task
from xonnc.lowering.onnx_to_dla.builders.image_inputs import images_of
from xonnc.lowering.onnx_to_dla.quantization.quantization_attributes import qparams_by_name
from xonnc.targets import NvdlaTarget

PAGE_BYTES = 4096
DLA_VERSION: Version = (0, 12, 3)
EMU_VERSION: Version = (0, 0, 1)
MAX_MEMORY_BYTES = (1 << 32) - 1
"""The runtime allocates with 32-bit sizes (docs/internals/nvdla-hardware.md §1.3)."""

TENSOR_TYPES = {
    hw.Precision.FP16: hw.DataType.HALF,
    hw.Precision.INT16: hw.DataType.INT16,
    hw.Precision.INT8: hw.DataType.INT8,
}

FEATURE_FORMATS = {8: hw.PixelFormat.FEATURE_X8}
"""Format names of feature cubes, by bytes of an atom."""


def loadable_of(module: ModuleOp, target: NvdlaTarget) -> Loadable:
    """
    Return the loadable of a network after `dla-allocate`; weights are packed while it is written.

    Raises `XonncError` if a memory object exceeds the 4 GiB that the runtime can allocate.
    """
    function, block = network(module)
    check_allocated(module, block, target)
    builder = _LoadableBuilder()
    for op in [op for op in module.walk() if isinstance(op, MemoryOp)]:
        _add_memory(builder, op, function, target)
    for index, group in enumerate(tasks(function)):
        _add_task(builder, index, group, target)
    qparams = qparams_by_name(function.arg_attrs, _names(function.arg_attrs, len(block.args), "input"))
    qparams |= qparams_by_name(function.res_attrs, _names(function.res_attrs, len(_results(block)), "output"))
    if qparams:
        builder.blobs.append(quantization_blob(qparams))
    if images := images_of(function):
        names = _names(function.arg_attrs, len(block.args), "input")
        pixels = {names[index]: Normalization(one.mean, one.std) for index, one in images.items()}
        builder.blobs.append(normalization_blob(pixels))
    return Loadable(
        tasks=tuple(builder.tasks),
        memories=tuple(builder.memories),
        addresses=tuple(builder.addresses),
        blobs=tuple(builder.blobs),
        tensors=tuple(builder.tensors),
        submits=tuple(SubmitEntry(id=task.id, task_id=(task.id,)) for task in builder.tasks),
    )


def tasks(function: FuncOp) -> list[list[FusedLayer]]:
    """Group fused layers into tasks: each emulated operation is a task, consecutive other layers form one."""
    groups: list[list[FusedLayer]] = []
    joins = False
    for fused in fused_layers(function.body.block):
        emulated = isinstance(fused.ops[0], EMULATED_OPS)
        if joins and not emulated:
            groups[-1].append(fused)
        else:
            groups.append([fused])
        joins = not emulated
    return groups


@dataclass
class _LoadableBuilder:
    """The lists of a loadable under construction."""

    memories: list[MemoryEntry] = field(default_factory=list[MemoryEntry])
    addresses: list[AddressEntry] = field(default_factory=list[AddressEntry])
    blobs: list[Blob] = field(default_factory=list[Blob])
    tasks: list[TaskEntry] = field(default_factory=list[TaskEntry])
    tensors: list[TensorDesc] = field(default_factory=list[TensorDesc])
    data_addresses: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self):
        self.add_memory(PAGE_BYTES, hw.MemoryFlags.ALLOC)

    def add_memory(
        self,
        size: int,
        flags: hw.MemoryFlags,
        contents: Sequence[tuple[int, Blob]] = (),
        bind_id: int = 0,
        tensor_desc_id: int = 0,
        domain: hw.MemoryDomain = hw.MemoryDomain.SYSTEM,
    ) -> int:
        """
        Add a memory object filled with `contents` at their offsets, and an address of its start; return its
        id.
        """
        if size > MAX_MEMORY_BYTES:
            raise XonncError(
                f"a memory object of {size} bytes (the runtime allocates up to {MAX_MEMORY_BYTES})"
            )
        index = len(self.memories)
        self.memories.append(
            MemoryEntry(
                id=index,
                domain=domain,
                flags=flags,
                size=size,
                alignment=PAGE_BYTES,
                contents=tuple(blob.name for _, blob in contents),
                offsets=tuple(offset for offset, _ in contents),
                bind_id=bind_id,
                tensor_desc_id=tensor_desc_id,
            )
        )
        self.addresses.append(AddressEntry(id=index, mem_id=index, offset=0, size=size))
        self.blobs += [blob for _, blob in contents]
        return index


def _add_memory(builder: _LoadableBuilder, op: MemoryOp, function: FuncOp, target: NvdlaTarget) -> None:
    name, size = op.sym_name.data, op.size.value.data
    block = function.body.block
    match op.role:
        case MemoryRole.ACTIVATIONS:
            index = builder.add_memory(round_up(size, PAGE_BYTES), hw.MemoryFlags.ALLOC)
        case MemoryRole.ON_CHIP:
            index = builder.add_memory(size, hw.MemoryFlags.ALLOC, domain=hw.MemoryDomain.SRAM)
        case MemoryRole.CONSTANTS:
            contents = [
                (offset, Blob(name=f"tb-{number}", data=data))
                for number, (offset, data) in enumerate(_constants(function, name, target))
            ]
            flags = hw.MemoryFlags.ALLOC | hw.MemoryFlags.SET
            index = builder.add_memory(round_up(size, PAGE_BYTES), flags, contents)
        case MemoryRole.INPUT:
            inputs = _Bound(block.args, function.arg_attrs, hw.MemoryFlags.INPUT, "input")
            index = _add_tensor(builder, name, size, inputs, target)
        case MemoryRole.OUTPUT:
            outputs = _Bound(_results(block), function.res_attrs, hw.MemoryFlags.OUTPUT, "output")
            index = _add_tensor(builder, name, size, outputs, target)
    builder.data_addresses[name] = index


def _results(block: Block) -> Sequence[SSAValue]:
    return block.last_op.operands if block.last_op is not None else ()


def _constants(function: FuncOp, memory: str, target: NvdlaTarget) -> Iterator[tuple[int, Data]]:
    for op in [op for op in function.body.block.ops if isinstance(op, ConstantOp)]:
        packed = op.result.type
        assert isinstance(packed, PackedType | SurfaceType), "dla-allocate places constants"
        if packed.memory.data == memory:
            yield packed.offset.data, PackedConstant.of(op, target)


def _names(attributes: ArrayAttr[DictionaryAttr] | None, count: int, default: str) -> list[str]:
    """Return the ONNX names of a function's arguments or results."""
    given = [entry.data.get("onnx.name") for entry in attributes or ()]
    given += [None] * (count - len(given))
    return [name.data if isinstance(name, StringAttr) else f"{default}_{i}" for i, name in enumerate(given)]


class _Bound(NamedTuple):
    """The arguments or the results of a function, which the runtime binds."""

    values: Sequence[SSAValue]
    attributes: ArrayAttr[DictionaryAttr] | None
    direction: hw.MemoryFlags
    default_name: str

    def name(self, index: int) -> str:
        """Return the ONNX name."""
        return _names(self.attributes, len(self.values), self.default_name)[index]


def _add_tensor(
    builder: _LoadableBuilder, memory: str, size: int, tensors: _Bound, target: NvdlaTarget
) -> int:
    """Add a bound memory object and the description of its tensor."""
    bound = [index for index, value in enumerate(tensors.values) if memory_of(value.type) == memory]
    if len(bound) != 1:
        raise XonncError(f'memory "{memory}" has {len(bound)} inputs or outputs; it must have one')
    (bind_id,) = bound
    surface = tensors.values[bind_id].type
    assert isinstance(surface, SurfaceType), "dla-allocate places cubes"
    cube, precision, image = cube_of(surface), precision_of(surface), image_of(surface)
    images = images_in(tensors.attributes, bind_id) or ImageCount(1, cube.channels)
    feature = FEATURE_FORMATS.get(target.memory_atom_bytes, hw.PixelFormat.FEATURE)
    tensor = len(builder.tensors)
    index = builder.add_memory(
        size, hw.MemoryFlags.ALLOC | tensors.direction, bind_id=bind_id, tensor_desc_id=tensor
    )
    builder.tensors.append(
        TensorDesc(
            name=tensors.name(bind_id),
            id=tensor,
            mem_id=index,
            size=size,
            data_format=hw.DataFormat.NCXHWX if image is None else hw.DataFormat.NHWC,
            data_type=TENSOR_TYPES[precision],
            data_category=hw.DataCategory.FEATURE if image is None else hw.DataCategory.IMAGE,
            pixel_format=feature if image is None else format_of(image),
            pixel_mapping=hw.PixelMapping.PITCH_LINEAR,
            n=images.count,
            c=images.channels,
            h=cube.height if image is None else cube.height // images.count,
            w=cube.width,
            stride_0=precision.bytes,
            stride_1=surface.line_stride.data,
            stride_2=surface.surface_stride.data,
        )
    )
    return index


def _add_task(builder: _LoadableBuilder, index: int, group: list[FusedLayer], target: NvdlaTarget) -> None:
    positions = {name: position for position, name in enumerate(builder.data_addresses, start=1)}
    emulated = isinstance(group[0].ops[0], EMULATED_OPS)
    if emulated:
        blobs = emulator_task(group[0], positions, target)
        interface, version = hw.Interface.EMU1, EMU_VERSION
    else:
        blobs = DlaTaskWriter(target, positions).write(group)
        interface, version = hw.Interface.DLA1, DLA_VERSION
    addresses = [_add_blob(builder, index, name, data, interface, version) for name, data in _parts(blobs)]
    dummies = [0] * blobs.dummies
    data = list(builder.data_addresses.values())
    builder.tasks.append(
        TaskEntry(
            id=index,
            interface=interface,
            instance=-1,
            address_list=tuple([addresses[0], *data, *addresses[1:], *dummies]),
        )
    )


def _parts(blobs: TaskBlobs) -> list[tuple[str, bytes]]:
    return [("addr0", blobs.network), *blobs.lists]


SUB_INTERFACES = {
    hw.Interface.DLA1: {"addr0": 1, "dep_graph": 2, "op_list": 3, "surf_list": 4, "lut_list": 5},
    hw.Interface.EMU1: {"addr0": 1, "op_list": 3, "op_buf_list": 4},
}
"""Values that NVDLA's compiler writes (docs/internals/nvdla-hardware.md §1.1)."""


def _add_blob(
    builder: _LoadableBuilder, task: int, name: str, data: bytes, interface: hw.Interface, version: Version
) -> int:
    blob = Blob(
        name=f"task-{task}-{name}",
        data=data,
        interface=interface,
        sub_interface=SUB_INTERFACES[interface][name],
        version=version,
    )
    flags = hw.MemoryFlags.ALLOC | hw.MemoryFlags.SET
    return builder.add_memory(round_up(len(data), PAGE_BYTES), flags, [(0, blob)])
