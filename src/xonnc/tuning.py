"""
Measure tile sizes of the kernels of a model on this processor.

    for kernel in tune("model.onnx").kernels:
        print(kernel.name, kernel.computed, kernel.fastest, kernel.gain)

Tiles faster than those of the cost model are kept in a file (`runtime/native/tuned.py`), which sessions and
`xonnc compile` for the target `cpu` read.
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

from xonnc.aligned_arrays import aligned_empty
from xonnc.argument_types import checks_arguments
from xonnc.contexts import new_context
from xonnc.dialects.krnl.int8_tiles import Int8ConvOp
from xonnc.dialects.krnl.memory import shape_of
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.dialects.krnl.types import is_buffer, size_of
from xonnc.dialects.onnx.elements import drop_attributes
from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import llvm_module, llvm_text
from xonnc.lowering.native.read_program import KernelCall, kernel_calls
from xonnc.lowering.onnx_to_krnl.planning.tile_keys import key_of
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import Tile, set_tiles, tiles_for
from xonnc.native_compilation import CompileOptions, lower_to_program, prepare_for_lowering, resolve_processor
from xonnc.runtime.native.jit import Code, machine_code
from xonnc.runtime.native.tuned_tiles import save_tiles
from xonnc.simplifier import simplify, specialize_shapes

TileOp: TypeAlias = GemmOp | ConvOp | Int8ConvOp

OnKernel: TypeAlias = Callable[[int, int, str], None]
"""A function called with the number of kernels measured, their total, and the name of the next."""

MAX_CANDIDATES = 6
"""Candidate tiles of a kernel: that of the cost model, and the next best by it."""

SAMPLE_SECONDS = 0.002
"""The least duration of one sample; a short kernel is called repeatedly."""

MIN_ROUNDS = 3
"""The fewest samples of a tile: with fewer, none may be free of interference by other processes."""

MAX_ROUNDS = 25
"""The most samples of a tile; more do not change the minimum."""

MIN_GAIN = 0.03
"""The least relative gain over the cost model's tile for which another is kept; less is measurement noise."""


@dataclass(frozen=True)
class TunedKernel:
    """The measurements of one kernel; times are seconds for one call."""

    name: str
    nodes: Sequence[str]
    """The ONNX nodes that it computes."""
    computed: Tile
    fastest: Tile
    """The cost model's tile, unless another was faster in two measurements."""
    before: float
    after: float

    @property
    def gain(self) -> float:
        """The relative time saved."""
        return 1.0 - self.after / self.before

    @property
    def saved(self) -> float:
        """The seconds saved in one run of the model."""
        return len(self.nodes) * (self.before - self.after)


@dataclass(frozen=True)
class Tuning:
    """The measurements of a model."""

    kernels: Sequence[TunedKernel]
    unmeasured: Sequence[str]
    """Kernels for which no time was left."""
    file: Path


@checks_arguments
def tune(
    model: str | Path | onnx.ModelProto,
    target: str = "cpu",
    seconds: float = 60.0,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    on_kernel: OnKernel = lambda done, total, name: None,
) -> Tuning:
    """
    Measure candidate tiles for the kernels of a model on this processor, and keep those that are faster.

    Each kernel runs alone on random data, its candidates in rotation; the minimum of several samples counts.
    A tile faster than the cost model's has to win a second measurement. Only kernels of static shape are
    measured.

    Parameters:
        model: the path of the model, or the model in memory.
        target: must be `cpu`.
        seconds: the approximate time budget.
        input_shapes: static shapes for dynamic inputs, by name.
        on_kernel: called before each kernel.

    Returns: the measurements and the file in which faster tiles are kept.

    Raises: `XonncError` for another target, a budget that is not positive, or a model without tiled kernels.

    Example:
        >>> tuning = xonnc.tuning.tune("model.onnx", seconds=30)
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
        override = found.fastest if found.fastest != found.computed else None
        file = save_tiles(options.processor, {name: override})
    file = save_tiles(options.processor, {})
    return Tuning(measured, list(kernels)[len(measured) :], file)


@dataclass(frozen=True)
class _Kernel:
    """A tiled kernel of a lowered model."""

    function: FuncOp
    op: TileOp
    nodes: Sequence[str]


def _candidates(module: ModuleOp, options: CompileOptions) -> dict[str, dict[Tile, _Kernel]]:
    """
    Return the kernels of each candidate tile, that of the cost model first; the most expensive kernels first.
    """
    first = _lowered(module, options, {})
    tile_choices = {
        name: tiles_for(each.op, options.processor)[:MAX_CANDIDATES] for name, each in first.items()
    }
    found = {name: {tile_choices[name][0]: kernel} for name, kernel in first.items()}
    for number in range(1, max(map(len, tile_choices.values()), default=0)):
        tiles = {name: each[number] for name, each in tile_choices.items() if number < len(each)}
        for name, kernel in _lowered(module, options, tiles).items():
            if name in tiles:
                found[name][tiles[name]] = kernel
    # What takes longest first, in case time runs out.
    order = sorted(found, key=lambda name: -_work(first[name]))
    return {name: found[name] for name in order if len(found[name]) > 1}


def _work(kernel: _Kernel) -> int:
    """Return the multiplications of all calls of a kernel in one run."""
    op = kernel.op
    if isinstance(op, GemmOp):
        return len(kernel.nodes) * prod(op.sizes)
    weights = prod(shape_of(op.w))
    return len(kernel.nodes) * weights * prod(int(size) for size in op.out.get_values())


def _lowered(module: ModuleOp, options: CompileOptions, tiles: Mapping[str, Tile]) -> dict[str, _Kernel]:
    """Return the tiled kernels of static shape of a module, by `tile_keys.key_of`."""
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
            # Free what is left in the module, above all its constants.
            function.detach()
            found[name] = _Kernel(function, op, [*known, *nodes.get(function.sym_name.data, ())])
    drop_attributes(copy)
    return found


def _tiled(function: FuncOp) -> TileOp | None:
    """Return the GEMM or convolution that is the only op of a kernel of static shape, else `None`."""
    ops = [op for op in function.walk() if isinstance(op, TileOp)]
    others = [type_ for type_ in function.function_type.inputs if not is_buffer(type_)]
    is_static = all(DYNAMIC_INDEX not in type_.get_shape() for type_ in _buffers(function))
    if len(ops) != 1 or not is_static or len(others) not in (0, 2):
        return None
    # Tiles of dot products are not chosen by size.
    return None if isinstance(ops[0], GemmOp) and ops[0].transposed_b is not None else ops[0]


def _buffers(function: FuncOp) -> list[MemRefType]:
    return [type_ for type_ in function.function_type.inputs if is_buffer(type_)]


def _fastest(
    name: str, candidates: Mapping[Tile, _Kernel], options: CompileOptions, seconds: float
) -> TunedKernel:
    """Return the fastest candidate: the first, unless another is faster in two measurements."""
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
    """Kernels that compute the same with different tiles, timed in rotation."""

    kernels: Mapping[Tile, _Kernel]
    options: CompileOptions
    best: dict[Tile, float] = field(default_factory=dict[Tile, float])
    """The least time of one call over all samples, in seconds."""

    def __post_init__(self) -> None:
        rows: list[tuple[str, list[KernelCall]]] = []
        for number, kernel in enumerate(self.kernels.values()):
            kernel.function.properties["sym_name"] = StringAttr(f"kernel_{number}")
            types = kernel.function.function_type.inputs
            positions = range(len(_buffers(kernel.function)))
            iterations = kernel.op.iterations if len(positions) < len(types) else 0
            rows.append((f"run_{number}", [KernelCall(f"kernel_{number}", positions, iterations, 0)]))
        functions = [kernel.function for kernel in self.kernels.values()]
        text = llvm_text(llvm_module(functions, rows, self.options.processor.vector_bytes))
        self._code = Code(machine_code(text, self.options.level), dict.fromkeys(name for name, _ in rows))
        # All kernels run on the same memory: how pages happen to lie in the caches is worth more than a tile.
        self._table, self._memory = _table(functions)
        self._counts = [0] * len(self.kernels)

    def run(self, end: float) -> None:
        """Sample all tiles until the time `end`, within `MIN_ROUNDS` and `MAX_ROUNDS`."""
        for number in range(MAX_ROUNDS):
            if number >= MIN_ROUNDS and time.monotonic() >= end:
                return
            for index, tile in enumerate(self.kernels):
                self.best[tile] = min(self.best.get(tile, float("inf")), self._sample(index))

    def _sample(self, number: int) -> float:
        run = self._code.entries[f"run_{number}"]
        address = self._table.ctypes.data
        if not self._counts[number]:
            # The first call loads pages and caches.
            run(address)
            self._counts[number] = max(1, int(SAMPLE_SECONDS / _seconds(run, address, 1)))
        return _seconds(run, address, self._counts[number])


def _seconds(run: Callable[[int], None], address: int, count: int) -> float:
    """Return the mean time of one call, over `count` calls."""
    start = time.perf_counter()
    for _ in range(count):
        run(address)
    return max(1e-9, time.perf_counter() - start) / count


def _table(
    functions: Sequence[FuncOp],
) -> tuple[npt.NDArray[np.uint64], Sequence[npt.NDArray[np.uint8]]]:
    """
    Allocate the arguments of kernels that differ in tiles alone: an array of addresses, and the buffers.

    Padding of prepacked weights depends on the tile, so each buffer has the largest size. All kernels share
    the buffers, as page placement in the caches affects the time more than the tile.
    """
    random = np.random.default_rng(0)
    buffer_groups = zip(*map(_buffers, functions), strict=True)
    buffers = [
        _buffer(max(types, key=lambda type_: prod(type_.get_shape())), random) for types in buffer_groups
    ]
    return np.array([buffer.ctypes.data for buffer in buffers], np.uint64), buffers


def _buffer(type_: MemRefType, random: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return a buffer of normal random values; denormals would slow the kernels down."""
    element = type_.element_type
    count = prod(type_.get_shape())
    memory = aligned_empty(count * size_of(element))
    if element in (f32, f64):
        kind = np.float32 if element == f32 else np.float64
        memory.view(kind)[:] = random.standard_normal(count, np.float32)
    else:
        memory[:] = 1
    return memory
