"""
An interpreter of models in the krnl dialect, between `convert-onnx-to-krnl` and `plan-memory`.

It shares no code with the lowering to LLVM: if it gives the right outputs and native code does not,
`convert-krnl-to-llvm` is wrong. A memory plan is obeyed, so that values overwrite each other as planned.

    interpret(module, {"x": array})
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ModuleOp,
    ShapedType,
    TensorType,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from xonnc.dialects.krnl.attributes import OFFSETS, arena_of, location_of
from xonnc.dialects.krnl.dynamic_shapes import ShapedOp, SubviewOp
from xonnc.dialects.krnl.loops import DefineLoopsOp, IterateOp, YieldOp
from xonnc.dialects.krnl.memory import (
    CallOp,
    GlobalOp,
    LoadOp,
    MemcpyOp,
    MemsetOp,
    SameBufferOp,
    StoreOp,
    TransposeOp,
    shape_of,
)
from xonnc.dialects.krnl.packing import PackOp
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.runtime.verification.interpreted_tiles import PackedWeights, convolve, multiply
from xonnc.runtime.verification.scalar_evaluation import NotInterpretedError, dtype_of, evaluate_scalar

Array: TypeAlias = npt.NDArray[Any]

MAX_SECONDS = 10.0
"""Longest interpretation."""


def interpret(
    module: ModuleOp, feeds: Mapping[str, object], names: Sequence[str], seconds: float = MAX_SECONDS
) -> list[Array]:
    """
    Return the outputs of a module of kernels.

    `names` are those of the inputs in order. Raises `NotInterpretedError` for an operation that the
    interpreter lacks, a dynamic shape, or a module that takes longer than `seconds`.
    """
    functions = {each.sym_name.data: each for each in module.ops if isinstance(each, FuncOp)}
    model = next(iter(functions.values()))
    interpreter = _Interpreter(functions, time.monotonic() + seconds)
    arena = (arena_of(model) or {}).get("size", 0)
    interpreter.arena = np.zeros(arena, np.uint8)
    inputs = [np.array(feeds[name], order="C") for name in names]
    with np.errstate(all="ignore"):
        return [np.asarray(each) for each in interpreter.run(model.body.block, inputs)]


class _Interpreter:
    def __init__(self, functions: Mapping[str, FuncOp], end: float) -> None:
        self.functions = functions
        self.end = end
        self.values: dict[SSAValue, Any] = {}
        self.arena = np.zeros(0, np.uint8)

    def run(self, block: Block, arguments: Sequence[object]) -> list[Any]:
        """Run a block; return the operands of its terminator."""
        if time.monotonic() > self.end:
            raise NotInterpretedError("interpretation takes too long")
        self.values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if isinstance(op, YieldOp | scf.YieldOp | FuncReturnOp | ReturnOp):
                return self.operands(op.operands)
            results = self.results(op)
            self.values.update(zip(op.results, results, strict=True))
        return []

    def operands(self, operands: Iterable[SSAValue]) -> list[Any]:
        return [self.values[each] for each in operands]

    def results(self, op: Operation) -> Sequence[Any]:
        match op:
            case LoadOp():
                return (self.values[op.memref][tuple(self.operands(op.indices))],)
            case StoreOp():
                self.values[op.memref][tuple(self.operands(op.indices))] = self.values[op.value]
                return ()
            case IterateOp():
                return self.iterate(op)
            case DefineLoopsOp() | NoValueOp():
                return (None,) * len(op.results)
            case scf.IfOp():
                region = op.true_region if self.values[op.cond] else op.false_region
                return self.run(region.block, ()) if region.blocks else ()
            case UnrealizedConversionCastOp() | memref.AllocOp() | GlobalOp() | PackOp():
                return (self.buffer(op),)
            case SubviewOp() | ShapedOp():
                return (self.view(op),)
            case SameBufferOp():
                a, b = self.values[op.lhs], self.values[op.rhs]
                return (np.bool_(a.ctypes.data == b.ctypes.data),)
            case CallOp() | MemcpyOp() | MemsetOp() | TransposeOp() | GemmOp() | ConvOp():
                self.effect(op)
                return ()
            case _:
                return (evaluate_scalar(op, self.operands(op.operands)),)

    def buffer(self, op: Operation) -> Array | PackedWeights:
        """Return the buffer that an operation gives: fresh, in the arena, constant, or of another shape."""
        match op:
            case memref.AllocOp(memref=result):
                shape, dtype = _static_shape(result.type), dtype_of(_element(result.type))
                offset = location_of(result, OFFSETS)
                if offset is None:
                    return np.zeros(shape, dtype)
                count = prod(shape) * dtype.itemsize
                return self.arena[offset : offset + count].view(dtype).reshape(shape)
            case GlobalOp(value=Attribute() as value) if (array := elements_array(value)) is not None:
                return _cast(array, op.output.type)
            case PackOp():
                return PackedWeights(op, self.values[op.source])
            case UnrealizedConversionCastOp():
                return _cast(self.values[op.operands[0]], op.results[0].type)
            case _:
                raise NotInterpretedError(op.name)

    def view(self, op: SubviewOp | ShapedOp) -> Array:
        """Return a slice of a buffer, or its first elements in another shape; it shares the memory."""
        source, sizes = self.values[op.source], iter(self.operands(op.sizes))
        if isinstance(op, SubviewOp):
            source = source[self.values[op.index] :]
        shape = [int(next(sizes)) if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
        return source.reshape(-1)[: prod(shape)].reshape(shape)

    def effect(self, op: CallOp | MemcpyOp | MemsetOp | TransposeOp | GemmOp | ConvOp) -> None:
        """Run an operation that only writes buffers."""
        match op:
            case CallOp():
                self.call(op)
            case GemmOp():
                multiply(op, self.values)
            case ConvOp(epilogue=region):
                convolve(op, self.values, lambda x: x if region is None else self.run(region.block, [x])[0])
            case MemsetOp():
                self.values[op.dest][...] = self.values[op.value]
            case MemcpyOp():
                count, to, start = self.operands((op.num_elems, op.dest_offset, op.src_offset))
                source = self.values[op.src].reshape(-1)[start : start + count]
                self.values[op.dest].reshape(-1)[to : to + count] = source
            case TransposeOp():
                size, strides = op.size.value.data, op.strides.get_values()
                if DYNAMIC_INDEX in strides:
                    raise NotInterpretedError("krnl.transpose with dynamic strides")
                to = _position(self.values[op.dest], self.operands(op.dest_indices))
                start = _position(self.values[op.src], self.operands(op.src_indices))
                dest, source = self.values[op.dest].reshape(-1), self.values[op.src].reshape(-1)
                for i, j in product(range(size), repeat=2):
                    dest[to + j * strides[0] + i] = source[start + i * strides[1] + j]

    def call(self, op: CallOp) -> None:
        kernel = self.functions.get(op.func_name.data)
        if kernel is None or not kernel.body.blocks or op.returned:
            raise NotInterpretedError(f"kernel {op.func_name.data}")
        arguments = self.operands(op.parameters)
        if op.iterations is not None:
            arguments += [np.int64(0), np.int64(op.iterations.value.data)]
        elif op.iterations_parameter is not None:
            arguments += [np.int64(0), arguments[op.iterations_parameter.value.data]]
        block = kernel.body.block
        self.run(block, [_shaped(each, arg.type) for each, arg in zip(arguments, block.args, strict=True)])

    def iterate(self, op: IterateOp) -> Sequence[Any]:
        # Iteration order does not matter beyond the loops' own: schedules only reorder independent ones.
        if list(op.optimized_loops) != [loop for loop, _, _ in op.input_loops()]:
            raise NotInterpretedError("scheduled loops")
        bounds = [
            [each if isinstance(each, int) else int(self.values[each]) for each in ends]
            for _, *ends in op.input_loops()
        ]
        carried = self.operands(op.iter_args)
        for indices in product(*(range(low, high) for low, high in bounds)):
            carried = self.run(op.body.block, [*map(np.int64, indices), *carried])
        return carried


def _element(type_: Attribute) -> Attribute:
    assert is_buffer(type_)
    return type_.element_type


def _static_shape(type_: Attribute) -> tuple[int, ...]:
    shape = type_.get_shape() if isinstance(type_, ShapedType) else ()
    if DYNAMIC_INDEX in shape:
        raise NotInterpretedError("a dynamic shape")
    return shape


def _shaped(value: Any, type_: Attribute) -> Any:
    """A buffer in another static shape, sharing memory; packed weights and scalars as they are."""
    is_packed = isinstance(value, PackedWeights)
    return value.reshape(_static_shape(type_)) if is_buffer(type_) and not is_packed else value


def _cast(value: Array, type_: Attribute) -> Array:
    """A tensor as a buffer or the reverse: integers are signless in buffers, narrow floats are bits."""
    if not isa(type_, TensorType) and not is_buffer(type_):
        raise NotInterpretedError(str(type_))
    return value.reshape(_static_shape(type_)).view(dtype_of(type_.element_type))


def _position(buffer: Array, indices: Sequence[Any]) -> int:
    return int(np.ravel_multi_index([int(each) for each in indices], buffer.shape)) if indices else 0
