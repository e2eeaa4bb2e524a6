"""
Tiles of products and convolutions, chosen for a processor's registers, execution units and caches.

A tile is a rectangle of the result whose sums stay in vector registers while a loop runs over the terms. Each
iteration of that loop loads `width` vectors of one operand, broadcasts `count` elements of the other and adds
`count * width` products. What bounds it is the slowest of the multiply-adds, the loads, and the latency of an
addition to the same sum (docs/internals/cpu-kernels.md §4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, DictionaryAttr, ModuleOp, i64
from xdsl.ir import Attribute

from xonnc.dialects.krnl.int8_tiles import ByteConvOp
from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.dialects.krnl.types import size_of
from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_krnl.krnl_attach_core import on_core
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_static, volume
from xonnc.targets.cpu import CpuTarget, load_cpu, portable

Tile: TypeAlias = tuple[int, int]
"""Pixels or rows, and vectors of channels or columns."""

TILES = "krnl.tiles"
"""Attribute of a module: tiles by kernel, which were measured to be faster than those chosen here."""

LOOP_CYCLES = 1.0
"""Cycles of the loop itself in each iteration: its counter, addresses and branch."""

LOAD_COST = 1.25
"""
Cycles of a load for one that the core could do at best: loads meet in banks and miss the first-level cache.

With AVX2 on Zen 4, tiles of 14 pixels and one vector, which load 15 times for 14 multiply-adds, took 1.05 to
1.1 times as long as those that load half as often.
"""

EDGE_COST = 0.02
"""Share of time by which tiles of another size at an edge are slower: code that is fetched besides."""

MAX_WIDTH = 8
"""Vectors of a tile at most: as many streams of weights are read at each step."""


@dataclass(frozen=True)
class Tiles:
    """The choice of tiles for a processor."""

    target: CpuTarget
    measured: Mapping[str, Tile] = field(default_factory=dict[str, Tile])
    """By kernel (`tile_keys.py`), tiles that were measured; they replace the computed ones."""

    def conv(self, key: str, columns: int, blocks: int) -> Tile:
        """Pixels of a row and vectors of channels of a convolution."""
        return self._measured(key) or conv_tiles(columns, blocks, self.target)[0]

    def depthwise(self, key: str, columns: int) -> Tile:
        """Pixels of a row of a depthwise convolution, and the one vector that a tile is wide."""
        pixels, _ = self._measured(key) or depthwise_tiles(columns, self.target)[0]
        return pixels, 1

    def gemm(self, key: str, size: int, sizes: tuple[Size, Size, Size]) -> Tile:
        """Rows and columns of a product of elements of `size` bytes."""
        return self._measured(key) or gemm_tiles(size, sizes, self.target)[0]

    def square(self, size: int) -> int:
        """
        Rows and columns of the squares of elements of `size` bytes that are transposed in registers.

        Each exchange reads two rows and writes two: half of the registers hold rows, the others what
        becomes of them.
        """
        return min(self.target.vector_bytes // size, self.target.registers // 2)

    def prefetch(self, size: int, sizes: tuple[Size, Size, Size], tile: Tile) -> int:
        """
        How many bytes ahead a packed B is prefetched; 0 if it need not be.

        It may pay where all of B is read once, from beyond the first-level cache, if hardware stops at the
        end of a page. Zen 4 streams from the third level by itself, 1.2 to 1.4 times as fast as with
        prefetches between its loads.
        """
        m, n, k = sizes
        if not (is_static(m) and is_static(n) and is_static(k)) or m > tile[0]:
            return 0
        return self.target.core.prefetch_bytes if n * k * size >= large_bytes(self.target) else 0

    def prefetched_line(self, kernel: Sequence[int], image: Sequence[Size]) -> int:
        """
        The length of the cache lines that a convolution of an image of f32 in blocks of channels prefetches.

        With a window of one pixel, a tile takes few cycles for a block of channels, and the next lies too far
        away for hardware to prefetch it: each block would wait for the second-level cache or beyond. Larger
        windows take long enough for the processor to read ahead by itself. 0: nothing is prefetched.
        """
        core, (_, *sizes) = self.target.core, image
        size = 4 * volume(sizes)
        is_far = len(sizes) == 4 and is_static(size) and size > core.l1_bytes
        return core.line_bytes if is_far and prod(kernel) == 1 else 0

    def _measured(self, key: str) -> Tile | None:
        return self.measured.get(key)

    @classmethod
    def of(cls, processor: str, is_portable: bool, module: ModuleOp) -> Tiles:
        """The choice for a module: by the core that is attached to it, and by the tiles measured on that."""
        target = on_core(load_cpu(processor), module)
        target = portable(target) if is_portable else target
        held = module.attributes.get(TILES)
        if held is None:
            return cls(target)
        if not isinstance(held, DictionaryAttr):
            raise XonncError(f"{TILES}: it is a dictionary of tiles by kernel, found {held}")
        return cls(target, {name: _tile(name, each) for name, each in held.data.items()})


def _tile(name: str, attribute: Attribute) -> Tile:
    """A tile that an attribute of a module gives; `XonncError` if it is none."""
    if DenseArrayBase.constr(i64).verifies(attribute):
        values = [int(value) for value in attribute.get_values()]
        if len(values) == 2 and min(values) > 0:
            return values[0], values[1]
    raise XonncError(f"{TILES}: the tile of '{name}' is two numbers above 0, found {attribute}")


def set_tiles(module: ModuleOp, measured: Mapping[str, Tile]) -> None:
    """Has the kernels of a module take tiles that were measured."""
    module.attributes[TILES] = DictionaryAttr(
        {name: DenseArrayBase.from_list(i64, list(tile)) for name, tile in sorted(measured.items())}
    )


def large_bytes(target: CpuTarget) -> int:
    """Bytes of a matrix from which on it does not stay in the first-level cache, whatever else is read."""
    return 4 * target.core.l1_bytes


def step_cycles(count: int, width: int, target: CpuTarget) -> float:
    """Cycles of one iteration of a tile."""
    core, bytes_ = target.core, target.vector_bytes
    fmas, loads = core.fmas(bytes_), core.loads(bytes_)
    return max(count * width / fmas, LOAD_COST * (count + width) / loads, core.fma_latency) + LOOP_CYCLES


def _fitting(counts: int, widths: int, registers: int) -> Iterable[Tile]:
    """Tiles whose sums, vectors and broadcast element fit the registers."""
    for width in range(1, min(widths, MAX_WIDTH) + 1):
        for count in range(1, counts + 1):
            if count * width + width + 1 > registers:
                break
            yield count, width


def _cost(tile: Tile, counts: int, widths: int, target: CpuTarget) -> float:
    """Cycles for one term of `counts` times `widths` sums, narrow tiles at both edges included."""
    count, width = tile
    whole, rest = divmod(counts, count)
    panels, rest_width = divmod(widths, width)
    cost = 0.0
    for panel_count, own in ((panels, width), (1 if rest_width else 0, rest_width)):
        edge = step_cycles(rest, own, target) if rest else 0.0
        cost += panel_count * (whole * step_cycles(count, own, target) + edge)
    return cost * (1.0 + EDGE_COST * (bool(rest) + bool(rest_width)))


def conv_tiles(columns: int, blocks: int, target: CpuTarget) -> list[Tile]:
    """Pixels of a row and vectors of channels that fit the registers, the fastest first."""
    fitting = _fitting(min(columns, target.registers), blocks, target.registers)
    return sorted(fitting, key=lambda tile: _cost(tile, columns, blocks, target))


DEPTHWISE_SUMS = 8
"""Pixels of a depthwise tile: sums that hide the latency of additions, as many registers for what is read."""


def depthwise_tiles(columns: int, target: CpuTarget) -> list[Tile]:
    """
    Pixels of a row of a depthwise convolution, the fastest first; tiles are one vector wide.

    Each pixel that a row of the window reads is loaded once, and stays in a register until the last sum that
    takes it.
    """
    first = min(columns, DEPTHWISE_SUMS)
    others = sorted(range(1, min(columns, target.registers // 2) + 1), key=lambda count: -(-columns // count))
    return [(count, 1) for count in dict.fromkeys([first, *others])]


SMALL_M_ACCUMULATORS = 12
"""Vectors of sums of a product with few rows: as many as hide how long a multiplication takes."""

MIN_ACCUMULATORS = 4
"""Vectors of sums that are enough where B comes from the second cache, which gives one in a cycle."""

ADDRESSES = 6
"""Rows of A that lie a number of elements apart which only a run tells: each takes a register."""


def gemm_tiles(size: int, sizes: tuple[Size, Size, Size], target: CpuTarget) -> list[Tile]:
    """Rows and columns of a product of elements of `size` bytes, the fastest first."""
    lanes = target.vector_bytes // size
    m, n, k = sizes
    first = _gemm_tile(size, sizes, target)
    if not is_static(m) or not is_static(n) or not is_static(k):
        return [first]
    panels = -(-n // lanes)
    fitting = _fitting(min(m, target.registers), panels, target.registers)
    others = sorted(fitting, key=lambda tile: _cost(tile, m, panels, target))
    return list(dict.fromkeys([first, *((rows, width * lanes) for rows, width in others)]))


def _gemm_tile(size: int, sizes: tuple[Size, Size, Size], target: CpuTarget) -> Tile:
    lanes = target.vector_bytes // size
    m, n, k = sizes
    rows, vectors = _full_tile(m, -(-n // lanes) if is_static(n) else 0, target)
    if not is_static(k) and rows > ADDRESSES:
        # So many sums as leave a register for each vector of B, and one for the number of A.
        rows, vectors = ADDRESSES, max(vectors, (target.registers - 1) // (ADDRESSES + 1))
    needed = -(-n // lanes) if is_static(n) else vectors
    if is_static(m) and m * vectors < min(SMALL_M_ACCUMULATORS, rows * vectors):
        most = min(SMALL_M_ACCUMULATORS // m, target.registers // 2, needed)
        panels = -(-needed // most)
        is_large = is_static(n) and is_static(k) and n * k * size >= large_bytes(target)
        is_shared = is_large and needed >= 2 * MIN_ACCUMULATORS
        # An even number of panels of one width, so that two threads have the same to do.
        return m, -(-needed // (panels + panels % 2)) * lanes if is_shared else most * lanes
    wanted = min(vectors, needed)
    return rows * vectors // wanted if wanted < vectors else rows, wanted * lanes


MAX_ROWS = 8
"""Rows of a tile of a product: each is a stream of A of its own."""

FULL_WIDTHS = (3, 4, 2)
"""Vectors of a row of a tile of a product that fills the registers, the best first where none is left."""

CLEAR_GAIN = 0.003
"""Share of cycles by which another width is better for certain: the estimate is no closer."""


def _full_tile(m: Size, panels: int, target: CpuTarget) -> Tile:
    """Rows and vectors that fill the registers; another width where that leaves less for narrow tiles."""
    registers = target.registers
    first, *others = [(min(MAX_ROWS, (registers - 1 - width) // width), width) for width in FULL_WIDTHS]
    if not is_static(m) or not panels:
        return first
    costs = {tile: _cost(tile, m, panels, target) for tile in (first, *others)}
    best = min(costs, key=costs.__getitem__)
    return best if costs[best] < (1 - CLEAR_GAIN) * costs[first] else first


def tiles_for(op: GemmOp | ConvOp | ByteConvOp, target: CpuTarget) -> list[Tile]:
    """Tiles that an op may have, as its attribute `tile` says them, the fastest by computation first."""
    if isinstance(op, GemmOp):
        m, n, k = op.sizes
        assert DYNAMIC_INDEX not in (m, n, k), "tiles of open sizes are not compared"
        return gemm_tiles(size_of(element_of(op.c)), (m, n, k), target)
    columns = int(op.out.get_values()[1])
    if isinstance(op, ByteConvOp):
        return conv_tiles(columns, op.vectors, target)
    if op.depthwise is None:
        return conv_tiles(columns, op.blocks, target)
    return depthwise_tiles(columns, target)
