"""Checks of a module before the DLA's passes: one function, one block, only operations of the DLA."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, SSAValue

from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.dla.storage import ConstantOp, MemoryOp
from xonnc.dialects.dla.types import FlowType, ImageType, PackedType, SurfaceType, tensor_of
from xonnc.errors import XonncError
from xonnc.lowering.dla.fused_layers import EMULATED_OPS, ENGINE_OPS, VIEW_OPS
from xonnc.lowering.dla_planning.precision import PRECISIONS
from xonnc.lowering.dla_planning.surface_sizes import span_bytes
from xonnc.targets import NvdlaTarget

SUPPORTED_OPS = (*ENGINE_OPS, *EMULATED_OPS, *VIEW_OPS, ConstantOp, ReturnOp)


def blocks(module: ModuleOp) -> list[Block]:
    """Return the blocks of all functions of `module`, each checked to be a network of the DLA."""
    return [_block(function) for function in module.walk() if isinstance(function, FuncOp)]


def network(module: ModuleOp) -> tuple[FuncOp, Block]:
    """Return the only network of `module`."""
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    if len(functions) != 1:
        raise XonncError(f"a loadable holds one network; the module has {len(functions)} functions")
    return functions[0], _block(functions[0])


def _block(function: FuncOp) -> Block:
    name = function.sym_name.data
    if len(function.body.blocks) != 1:
        raise XonncError(f"@{name}: a network of the DLA is one block, found {len(function.body.blocks)}")
    block = function.body.block
    for op in block.ops:
        if not isinstance(op, SUPPORTED_OPS):
            raise XonncError(f"@{name}: {op.name} is not a DLA operation; run convert-onnx-to-dla first")
        for value in (*op.operands, *op.results):
            _check_elements(name, value)
    if not isinstance(block.last_op, ReturnOp):
        raise XonncError(f"@{name}: a network ends in func.return")
    return block


def _check_elements(name: str, value: SSAValue) -> None:
    type_ = value.type
    if isinstance(type_, FlowType):
        return
    if isinstance(type_, ImageType | SurfaceType | PackedType):
        type_ = tensor_of(type_)
    element = getattr(type_, "element_type", None)
    if element not in PRECISIONS:
        raise XonncError(f"@{name}: {type_} (the engines hold f16, i16 or i8)")


def check_allocated(module: ModuleOp, block: Block, target: NvdlaTarget) -> None:
    """Check that every value in `block` has an address within a memory object; `XonncError` otherwise."""
    memories = {op.sym_name.data: op.size.value.data for op in module.walk() if isinstance(op, MemoryOp)}
    for value in _values(block):
        type_ = value.type
        if isinstance(type_, FlowType):
            continue
        if not isinstance(type_, SurfaceType | PackedType):
            raise XonncError(f"{type_} has no address; run dla-allocate first")
        end = type_.offset.data + bytes_of(type_, target)
        size = memories.get(type_.memory.data)
        if size is None or end > size:
            actual = "is not there" if size is None else f"has {size} bytes"
            raise XonncError(f'{type_} ends at {end}, but memory "{type_.memory.data}" {actual}')
    for op in block.ops:
        if isinstance(op, ConvOp) and op.banks is None:
            raise XonncError("a dla.conv has no banks of the convolution buffer; run dla-split first")


def _values(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def bytes_of(type_: SurfaceType | PackedType, target: NvdlaTarget) -> int:
    """Return the size of a surface or packed constant."""
    return type_.size.data if isinstance(type_, PackedType) else span_bytes(type_, target)


def memory_of(type_: Attribute) -> str:
    """Return the name of the memory object that holds a surface."""
    return type_.memory.data if isinstance(type_, SurfaceType) else ""
