"""
Tiles measured on the processor at hand, for the kernels of one model.

    for kernel in tune("model.onnx").kernels:
        print(kernel.name, kernel.computed, kernel.fastest, kernel.gain)

Faster choices are kept in a file (`runtime/native/tuned_tiles.py`), from which sessions
and `xonnc compile` for the target `cpu` take it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, StringAttr, f32, f64
from xdsl.dialects.func import FuncOp

from xonnc.contexts import new_context
from xonnc.dialects.krnl.int8_tiles import ByteConvOp
from xonnc.dialects.krnl.memory import shape_of
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.dialects.krnl.types import is_buffer, size_of
from xonnc.dialects.onnx.elements import drop_attributes
from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import llvm_module, llvm_text
from xonnc.lowering.native.read_program import KernelCall, kernel_calls
from xonnc.lowering.onnx_to_krnl.tile_keys import key_of
from xonnc.lowering.onnx_to_krnl.tile_selection import Tile, set_tiles, tiles_for
from xonnc.native import CompileOptions, lower_to_program, prepare_for_lowering, resolve_processor
from xonnc.runtime.native.instance import aligned_empty
from xonnc.runtime.native.jit import Code, machine_code
from xonnc.runtime.native.tuned_tiles import save_tiles
from xonnc.simplifier import simplify, specialize_shapes

TileOp: TypeAlias = GemmOp | ConvOp | ByteConvOp

OnKernel: TypeAlias = Callable[[int, int, str], None]
"""Is told how many kernels are measured, of how many, and which is next."""

MAX_CANDIDATES = 6
"""Tiles of a kernel that are measured: the computed one, and the next by computation."""

SAMPLE_SECONDS = 0.002
"""How long a kernel runs for one sample, at least."""

MIN_ROUNDS = 3
"""Samples of each tile at least: of fewer, none may be free of what else the machine does."""

MAX_ROUNDS = 25
"""Samples of each tile after which the fastest is known."""

MIN_GAIN = 0.03
"""Share of time that a tile must save over the computed one to be kept: less is noise."""


@dataclass(frozen=True)
class TunedKernel:
    """What was measured of one kernel; times in seconds of one call."""

    name: str
    nodes: Sequence[str]
    """The ONNX nodes that it computes."""
    computed: Tile
    fastest: Tile
    """The computed one, unless another was faster in two races."""
    before: float
    after: float

    @property
    def gain(self) -> float:
        """The share of time that is saved."""
        return 1.0 - self.after / self.before

    @property
    def saved(self) -> float:
        """Seconds that a run of the model takes less."""
        return len(self.nodes) * (self.before - self.after)


@dataclass(frozen=True)
class Tuning:
    """What was measured of a model."""

    kernels: Sequence[TunedKernel]
    unmeasured: Sequence[str]
    """Kernels for which no time was left."""
    file: Path


def tune(
    model: str | Path | onnx.ModelProto,
    target: str = "cpu",
    seconds: float = 60.0,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    on_kernel: OnKernel = lambda done, total, name: None,
) -> Tuning:
    """
    Measures tiles for the kernels of a model on this processor, for about so many seconds.

    Each kernel runs by itself on random numbers, with one tile after the other in rotation; the best of
    several samples counts. A tile faster than the computed one has to win a second benchmark to be kept.
    Only kernels of static shape are measured: `input_shapes` say sizes of inputs that a model leaves open.
    Raises `XonncError` for a model without such kernels.
    """
    if target != "cpu":
        raise XonncError(f"target {target}: tiles are measured for cpu, the processor at hand")
    if seconds <= 0:
        raise XonncError(f"seconds: {seconds:g}; it is above 0")
    end = time.monotonic() + seconds
    options = CompileOptions(resolve_processor(target))
    save_tiles(options.processor, {})
    module = simplify(model, inline_functions=True, fold_overridable=True, declared="checked").module
    if input_shapes:
        module = specialize_shapes(module, input_shapes)
    prepare_for_lowering(module, new_context(), options.passes)
    kernels = _candidates(module, options)
    drop_attributes(module)
    if not kernels:
        raise XonncError(
            "no product or convolution of static shape to tune; --input-shape says dynamic sizes"
        )
    measured: list[TunedKernel] = []
    for number, (name, candidates) in enumerate(kernels.items()):
        on_kernel(number, len(kernels), name)
        left = end - time.monotonic()
        if left <= 0:
            break
        found = _fastest(name, candidates, options, left / (len(kernels) - number))
        measured.append(found)
        kept = found.fastest if found.fastest != found.computed else None
        file = save_tiles(options.processor, {name: kept})
    file = save_tiles(options.processor, {})
    return Tuning(measured, list(kernels)[len(measured) :], file)


@dataclass(frozen=True)
class _Kernel:
    """One tiled kernel of a lowered model."""

    function: FuncOp
    op: TileOp
    nodes: Sequence[str]


def _candidates(module: ModuleOp, options: CompileOptions) -> dict[str, dict[Tile, _Kernel]]:
    """For each kernel, that with each tile which is measured, the computed one first."""
    first = _lowered(module, options, {})
    wanted = {name: tiles_for(each.op, options.processor)[:MAX_CANDIDATES] for name, each in first.items()}
    found = {name: {wanted[name][0]: kernel} for name, kernel in first.items()}
    for number in range(1, max(map(len, wanted.values()), default=0)):
        tiles = {name: each[number] for name, each in wanted.items() if number < len(each)}
        for name, kernel in _lowered(module, options, tiles).items():
            if name in tiles:
                found[name][tiles[name]] = kernel
    # What takes longest first, in case time runs out.
    order = sorted(found, key=lambda name: -_work(first[name]))
    return {name: found[name] for name in order if len(found[name]) > 1}


def _work(kernel: _Kernel) -> int:
    """Multiplications of all calls of a kernel in a run."""
    op = kernel.op
    if isinstance(op, GemmOp):
        return len(kernel.nodes) * prod(op.sizes)
    weights = prod(shape_of(op.w))
    return len(kernel.nodes) * weights * prod(int(size) for size in op.out.get_values())


def _lowered(module: ModuleOp, options: CompileOptions, tiles: Mapping[str, Tile]) -> dict[str, _Kernel]:
    """The tiled kernels of static shape that a module becomes, by the names of `tile_keys.py`."""
    copy = module.clone()
    options.attach(copy)
    set_tiles(copy, tiles)
    _, steps, functions = lower_to_program(copy, options, new_context())
    nodes: dict[str, list[str]] = {}
    for _, row in steps:
        for call in kernel_calls(row):
            nodes.setdefault(call.kernel, []).append(call.node)
    found: dict[str, _Kernel] = {}
    for function in functions:
        op = _tiled(function)
        if op is not None:
            name = key_of(op)
            # Kernels that differ in what is done to their sums have one tile: the last is measured.
            known = found[name].nodes if name in found else ()
            # What is left in the module is let go, constants above all.
            function.detach()
            found[name] = _Kernel(function, op, [*known, *nodes.get(function.sym_name.data, ())])
    drop_attributes(copy)
    return found


def _tiled(function: FuncOp) -> TileOp | None:
    """The product or convolution of static shape that a kernel is, with nothing beside it."""
    ops = [op for op in function.walk() if isinstance(op, TileOp)]
    others = [type_ for type_ in function.function_type.inputs if not is_buffer(type_)]
    is_static = all(DYNAMIC_INDEX not in type_.get_shape() for type_ in _buffers(function))
    return ops[0] if len(ops) == 1 and is_static and len(others) in (0, 2) else None


def _buffers(function: FuncOp) -> list[MemRefType]:
    return [type_ for type_ in function.function_type.inputs if is_buffer(type_)]


def _fastest(
    name: str, candidates: Mapping[Tile, _Kernel], options: CompileOptions, seconds: float
) -> TunedKernel:
    """The fastest of some tiles, which is the first unless another wins a second benchmark against it."""
    computed, kernel = next(iter(candidates.items()))
    end = time.monotonic() + 0.6 * seconds
    benchmark = _TileBenchmark(candidates, options)
    benchmark.run(end)
    best = min(benchmark.best, key=benchmark.best.__getitem__)
    if best != computed and benchmark.best[best] <= (1 - MIN_GAIN) * benchmark.best[computed]:
        # The fastest of many is in part the luckiest: fresh samples tell.
        final = _TileBenchmark({tile: candidates[tile] for tile in (computed, best)}, options)
        final.run(end + 0.4 * seconds)
        if final.best[best] <= (1 - MIN_GAIN) * final.best[computed]:
            return TunedKernel(name, kernel.nodes, computed, best, final.best[computed], final.best[best])
    before = benchmark.best[computed]
    return TunedKernel(name, kernel.nodes, computed, computed, before, before)


@dataclass
class _TileBenchmark:
    """Kernels that do the same with other tiles, timed in rotation."""

    kernels: Mapping[Tile, _Kernel]
    options: CompileOptions
    best: dict[Tile, float] = field(default_factory=dict[Tile, float])
    """Seconds of one call, the least of all samples."""

    def __post_init__(self) -> None:
        rows: list[tuple[str, list[KernelCall]]] = []
        for number, kernel in enumerate(self.kernels.values()):
            kernel.function.properties["sym_name"] = StringAttr(f"kernel_{number}")
            types = kernel.function.function_type.inputs
            places = range(len(_buffers(kernel.function)))
            turns = kernel.op.iterations if len(places) < len(types) else 0
            rows.append((f"run_{number}", [KernelCall(f"kernel_{number}", places, turns, 0)]))
        functions = [kernel.function for kernel in self.kernels.values()]
        text = llvm_text(llvm_module(functions, rows, self.options.processor.vector_bytes))
        self._code = Code(machine_code(text, self.options.level), dict.fromkeys(name for name, _ in rows))
        # All kernels run on the same memory: how pages happen to lie in the caches is worth more than a tile.
        self._table, self._memory = _table(functions)
        self._counts = [0] * len(self.kernels)

    def run(self, end: float) -> None:
        """Takes samples until a time, at least and at most so many as is worth it."""
        for number in range(MAX_ROUNDS):
            if number >= MIN_ROUNDS and time.monotonic() >= end:
                return
            for place, tile in enumerate(self.kernels):
                self.best[tile] = min(self.best.get(tile, float("inf")), self._sample(place))

    def _sample(self, number: int) -> float:
        run = self._code.entries[f"run_{number}"]
        address = self._table.ctypes.data
        if not self._counts[number]:
            # The first call loads pages and caches.
            run(address)
            self._counts[number] = max(1, int(SAMPLE_SECONDS / _seconds(run, address, 1)))
        return _seconds(run, address, self._counts[number])


def _seconds(run: Callable[[int], None], address: int, count: int) -> float:
    """Seconds of one of so many calls."""
    start = time.perf_counter()
    for _ in range(count):
        run(address)
    return max(1e-9, time.perf_counter() - start) / count


def _table(
    functions: Sequence[FuncOp],
) -> tuple[npt.NDArray[np.uint64], Sequence[npt.NDArray[np.uint8]]]:
    """
    The addresses of new buffers for kernels that take the same, and these, which must live as long.

    Weights may be padded to more with one tile than with another: the largest is taken.
    """
    random = np.random.default_rng(0)
    places = zip(*map(_buffers, functions), strict=True)
    buffers = [_buffer(max(types, key=lambda type_: prod(type_.get_shape())), random) for types in places]
    return np.array([buffer.ctypes.data for buffer in buffers], np.uint64), buffers


def _buffer(type_: MemRefType, random: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Numbers that are neither large nor denormal, with which products take longer."""
    element = type_.element_type
    count = prod(type_.get_shape())
    memory = aligned_empty(count * size_of(element))
    if element in (f32, f64):
        kind = np.float32 if element == f32 else np.float64
        memory.view(kind)[:] = random.standard_normal(count, np.float32)
    else:
        memory[:] = 1
    return memory
