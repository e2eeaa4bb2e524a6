"""
Register tiles of matrix products and convolutions, chosen for registers, execution units and caches.

A tile is a rectangle of the result whose accumulators stay in vector registers over the reduction loop. Each
iteration loads `width` vectors of one operand, broadcasts `count` elements of the other, and does `count ·
width` multiply-adds. It is bound by the multiply-adds, the loads, or the latency of the accumulation (see
docs/internals/cpu-kernels.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, DictionaryAttr, ModuleOp, i64
from xdsl.ir import Attribute

from xonnc.dialects.krnl.int8_tiles import Int8ConvOp
from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.dialects.krnl.types import size_of
from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_krnl.planning.krnl_attach_core import on_core
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume
from xonnc.targets.cpu import CpuTarget, load_cpu, portable

Tile: TypeAlias = tuple[int, int]
"""(Pixels or rows, vectors of channels or columns)."""

TILES = "krnl.tiles"
"""Attribute of a module: measured tiles by kernel, which override those chosen here."""

LOOP_CYCLES = 1.0
"""Overhead of a loop iteration in cycles: counter, addresses, branch."""

LOAD_COST = 1.25
"""
Cycles per load, relative to the peak rate: bank conflicts and L1 misses.

With AVX2 on Zen 4, tiles of 14 pixels by one vector (15 loads for 14 multiply-adds) took 1.05 to 1.1 times as
long as those with half as many loads.
"""

EDGE_COST = 0.02
"""Relative cost of tiles of another size at an edge: instruction fetch."""

MIN_UNPACKED_ROWS = 24
"""From this number of rows on, unpacking weights once for all of them takes less time than in each tile."""

MAX_NARROW_ROWS = 8
"""
Rows of A at most for which weights stay in 16 bits if their number is known.

Of the time with float32, 0.5 with 1 to 4 rows, 0.7 to 0.9 with 8, 1.0 to 1.2 with 16 (Emerald Rapids).
"""

NARROW_DEPTH = 1024
"""
Rows of a panel of 16 bits at most that are widened at a time: with 32 columns, 128 KB of the stack.

Sums are stored and loaded between pieces. A product of 512 rows, 768x3072, took 1.12 of the time of float32
with 256 rows, 1.03 with 768.
"""

MAX_UNPACKED_DEPTH = 512
"""
Rows of unpacked weights in a piece at most: with AVX-512, 128 KB of the stack.

Sums are stored and loaded between pieces. Of the time of float32 weights, 512 rows of A times 2048x5632
weights of 4 bits took 1.26 with pieces of 64 rows, 1.15 with 128, 1.12 with 256 and 1.04 with 512; 32 rows
1.15, 1.09, 1.17 and 1.19.
"""

UNPACKED_ROWS = 6
"""
Rows of a tile of unpacked weights, as wide as a panel.

The sums fill the registers. Rows of A that are a multiple of 4 KB apart compete for 8 ways of the L1 cache.
"""

ASSUMED_COLUMNS = 4096
"""Columns for which a B of dynamic width has to fit into L2, so that all its panels are an inner loop."""

ASSUMED_WIDTHS = (7, 8, 10, 14, 16, 20, 28, 32, 40, 56, 64, 80, 112, 160)
"""Pixels of a row of images of dynamic width: a tile for all of them wastes as little as possible on each."""

L2_BYTES = 32
"""Bytes a cycle that are assumed to come from L2: half of the peak of recent processors."""

MAX_DYNAMIC_PIXELS = 8
"""
Pixels of a tile at most in rows of dynamic width, for which there is code for each number from half of them.
"""

MAX_PANEL_COST = 1.25
"""
Cycles of a product in panels of rows of pixels at most, as a multiple of those of full tiles: gathering
pixels in order and packing them takes longer.
"""

PIECES_IN_L2 = 4
"""
Pieces of a panel of weights that L2 holds: one, beside the rows of the image and the next one.

3x3 convolutions of 2048 channels, in pieces of 128 to 256 channels with 2 MB of L2, took 0.69 of the time of
whole panels, of images of dynamic size 0.41; pieces of 512 took 0.72.
"""

MIN_PIECE_BYTES = 1 << 18
"""
Bytes of weights of a piece at least: code that continues sums takes longer to compile, and gained nothing
with AVX2 where L2 has 256 KB.
"""

MAX_WIDTH = 8
"""Vectors of a tile at most: each is a stream of weights."""


@dataclass(frozen=True)
class Tiles:
    """The choice of tiles for a processor."""

    target: CpuTarget
    measured: Mapping[str, Tile] = field(default_factory=dict[str, Tile])
    """Measured tiles by kernel (`tile_keys.py`), which override computed ones."""

    def conv(self, key: str, columns: Size, blocks: int, steps: int, shuffles: int = 0) -> Tile:
        """Return pixels of a row and vectors of channels of a convolution; the rest as in `conv_tiles`."""
        return self._measured(key) or conv_tiles(columns, blocks, steps, self.target, shuffles)[0]

    def depthwise(self, key: str, columns: Size) -> Tile:
        """Return pixels of a row of a depthwise convolution; tiles are one vector wide."""
        pixels, _ = self._measured(key) or depthwise_tiles(columns, self.target)[0]
        return pixels, 1

    def gemm(self, key: str, size: int, sizes: tuple[Size, Size, Size]) -> Tile:
        """Return rows and columns of a product of elements of `size` bytes."""
        return self._measured(key) or gemm_tiles(size, sizes, self.target)[0]

    def dot_products(self, m: Size) -> Tile:
        """Return rows of A and of B of a tile of dot products; vectors of sums fill half the registers."""
        sums = self.target.registers // 2
        rows = min(m, sums // MIN_ACCUMULATORS) if is_static(m) else sums // MIN_ACCUMULATORS
        return rows, sums // (1 << (rows - 1).bit_length())

    def of_pixels(
        self, size: int, filters: int, pixels: tuple[int, int]
    ) -> tuple[tuple[int, int], int] | None:
        """
        Return a panel of pixels (rows, columns of the image) and the filters of a tile of a product.

        A panel is a part of a row or some whole rows, as many in every panel, so that pixels are gathered
        into panels directly. None if no such panel fills its vectors.
        """
        lanes = self.target.vector_bytes // size
        rows, columns = pixels
        parts = [(1, part) for part in range(1, columns + 1) if not columns % part]
        whole = [(count, columns) for count in range(2, rows + 1) if not rows % count]
        costs: dict[tuple[tuple[int, int], int], float] = {}
        for panel in parts + whole:
            width = panel[0] * panel[1]
            vectors = -(-width // lanes)
            if vectors <= max(FULL_WIDTHS):
                height = min(MAX_ROWS, (self.target.registers - 1 - vectors) // vectors)
                costs[panel, min(height, filters)] = (
                    _cost((height, vectors), filters, vectors, self.target) / width
                )
        best = min(costs, key=costs.__getitem__)
        vectors = FULL_WIDTHS[0]
        full = _cost((_full_tile(filters, vectors, self.target)[0], vectors), filters, vectors, self.target)
        return best if costs[best] <= MAX_PANEL_COST * full / (vectors * lanes) else None

    def dequantize_gemm(self, n: int) -> Tile:
        """Return rows and columns of a product with quantized weights of `n` columns."""
        lanes = self.target.vector_bytes // 4
        # A row takes all vectors of a panel, more rows fewer at a time (`krnl_to_llvm/dequantize_gemm.py`).
        rows, vectors = (8, 4) if self.target.registers >= 32 else (4, 2)
        return rows, min(vectors, -(-n // lanes)) * lanes

    def unpack(self, sizes: tuple[Size, int], block: int, per_word: int) -> tuple[int, int, int] | None:
        """
        Return from how many rows weights are unpacked, the rows of B in a piece, and those of A in a tile.

        `sizes` are M and K. None if there are fewer rows. A tile is as wide as a panel.
        """
        m, k = sizes
        if is_static(m) and m < MIN_UNPACKED_ROWS:
            return None
        depths = [each for each in range(per_word, MAX_UNPACKED_DEPTH + 1, per_word) if not k % each]
        depth = max(each for each in depths if not each % block or not block % each)
        return MIN_UNPACKED_ROWS, depth, UNPACKED_ROWS

    def narrow_weights(self, sizes: tuple[Size, Size, Size]) -> Sequence[int] | None:
        """
        Return how weights of float32 that 16 bits hold are read in them: `unpack` of `krnl.gemm`, `[]` if no
        row needs it; None if float32 takes less time.

        A few rows are bound by the memory that weights come from, more by multiplications. Panels of weights
        that L2 holds are the inner loop for many rows.
        """
        m, n, k = sizes
        if not (is_static(n) and is_static(k)) or 8 * n * k <= self.target.core.l2_bytes:
            return None
        if is_static(m):
            return [] if m <= MAX_NARROW_ROWS else None
        return MIN_UNPACKED_ROWS, -(-k // -(-k // NARROW_DEPTH))

    def square(self, size: int) -> int:
        """
        Return the size of squares, of elements of `size` bytes, that are transposed in registers.

        Half of the registers hold rows, the other half the results of each exchange step.
        """
        return min(self.target.vector_bytes // size, self.target.registers // 2)

    def prefetch(self, size: int, sizes: tuple[Size, Size, Size], tile: Tile) -> int:
        """
        Return how many bytes ahead a packed B is prefetched, or 0.

        It may pay where B is streamed once from beyond L1, if hardware prefetchers stop at page boundaries.
        Zen 4 streams from L3 by itself, 1.2 to 1.4 times as fast as with software prefetches.

        Where several tiles of rows read a panel that L1 does not hold, each reads it from L2. Intel's
        prefetchers into L1 do not keep up with a tile's multiply-adds, AMD's do.
        """
        m, n, k = sizes
        core = self.target.core
        if is_static(m) and m <= tile[0]:
            is_large = is_static(n) and is_static(k) and n * k * size >= large_bytes(self.target)
            return core.prefetch_bytes if is_large else 0
        return core.panel_prefetch_bytes if is_static(k) and k * tile[1] * size > core.l1_bytes else 0

    def write_prefetch(self, size: int, sizes: tuple[Size, Size, Size]) -> bool:
        """Return whether tiles of a product prefetch the lines of the result, which is too large for L2."""
        m, n, _ = sizes
        least = self.target.core.write_prefetch_bytes
        return least > 0 and is_static(m) and is_static(n) and m * n * size >= least

    def rows_first(self, size: int, sizes: tuple[Size, Size, Size]) -> bool:
        """
        Return whether each tile of rows of A is multiplied by all panels of a packed B.

        Lines of C are then written in order, a row of tiles at a time. With panels as the outer loop, each
        tile writes to other pages than the one before, which takes longer than the products if K is small
        and C is not in a cache. All tiles read all of B, which L2 has to hold.
        """
        m, n, k = sizes
        if not is_static(k):
            return False
        columns = n if is_static(n) else ASSUMED_COLUMNS
        l2_bytes = self.target.core.l2_bytes
        is_large = not (is_static(m) and is_static(n)) or m * n * size >= l2_bytes // 8
        return is_large and columns * k * size <= l2_bytes // 2

    def weight_prefetch(self, size: int, tile: Tile) -> int:
        """
        Return how many bytes ahead a convolution prefetches weights, or 0.

        `size` is the bytes of weights for one output channel, which is also the most that a tile reads of the
        image for one pixel. If L1 does not hold both for a tile, each tile reads the weights from L2.
        """
        pixels, width = tile
        lanes = self.target.vector_bytes // 4
        core = self.target.core
        return core.panel_prefetch_bytes if size * (width * lanes + pixels) > core.l1_bytes else 0

    def depth_piece(self, steps: int, depth: int, width: int) -> int:
        """
        Return how many input channels a convolution multiplies all its pixels by at a time, or 0 for all.

        Each tile has `steps` multiplications of `width` vectors for `depth` channels. A panel of weights
        beyond its part of L2 is read from L3 or memory for each row.
        """
        core, bytes_of_step = self.target.core, width * self.target.vector_bytes
        lanes = self.target.vector_bytes // 4
        most = max(core.l2_bytes // PIECES_IN_L2, MIN_PIECE_BYTES) // bytes_of_step
        blocks = most * depth // steps // lanes
        if steps <= most or not blocks:
            return 0
        pieces = -(-depth // (blocks * lanes))
        return -(-depth // (pieces * lanes)) * lanes

    def next_panel_prefetch(
        self, steps: int, blocks: int, width: int, tiles: int | None, steps_of_piece: int = 0
    ) -> int:
        """
        Return how many bytes of the next panel of weights each step of a tile prefetches into L2, or 0; for a
        dynamic number of tiles, None, `DYNAMIC_INDEX`.

        Weights are `blocks` vectors for each of `steps` steps, in panels of `width` vectors, each of which is
        read by a number of tiles. From beyond L2 the first of these gets them slower than it multiplies. If
        all tiles fetch a part of the next panel, they arrive in time; L2 must hold two panels, or those of
        `steps_of_piece` steps.
        """
        is_far = _are_far(steps, blocks, self.target)
        if not is_far or not _two_panels_fit(steps_of_piece or steps, width, self.target) or tiles == 1:
            return 0
        return DYNAMIC_INDEX if tiles is None else -(-width * self.target.vector_bytes // tiles)

    def prefetched_line(self, kernel: Sequence[int], image: Sequence[Size]) -> int:
        """
        Return the cache line size if a convolution of NCHWc f32 images should prefetch, or 0.

        A 1x1 tile takes few cycles per block of channels, and the next block is too far away for the hardware
        prefetcher. Larger windows take long enough for out-of-order execution to read ahead. Images of
        dynamic size are assumed not to fit L1.
        """
        core, (_, *sizes) = self.target.core, image
        size = 4 * volume(sizes)
        is_far = len(sizes) == 4 and not (is_static(size) and size <= core.l1_bytes)
        return core.line_bytes if is_far and prod(kernel) == 1 else 0

    def _measured(self, key: str) -> Tile | None:
        return self.measured.get(key)

    @classmethod
    def of(cls, processor: str, is_portable: bool, module: ModuleOp) -> Tiles:
        """Return the choice for a module: by its attached core, and tiles measured on that."""
        target = on_core(load_cpu(processor), module)
        target = portable(target) if is_portable else target
        attribute = module.attributes.get(TILES)
        if attribute is None:
            return cls(target)
        if not isinstance(attribute, DictionaryAttr):
            raise XonncError(f"{TILES}: a dictionary of tiles by kernel is expected, found {attribute}")
        return cls(target, {name: _tile(name, each) for name, each in attribute.data.items()})


def _tile(name: str, attribute: Attribute) -> Tile:
    """Parse a tile of the attribute; raise XonncError if it is invalid."""
    if DenseArrayBase.constr(i64).verifies(attribute):
        values = [int(value) for value in attribute.get_values()]
        if len(values) == 2 and min(values) > 0:
            return values[0], values[1]
    raise XonncError(f"{TILES}: the tile of '{name}' is two integers above 0, found {attribute}")


def set_tiles(module: ModuleOp, measured: Mapping[str, Tile]) -> None:
    """Set the measured tiles of a module."""
    module.attributes[TILES] = DictionaryAttr(
        {name: DenseArrayBase.from_list(i64, list(tile)) for name, tile in sorted(measured.items())}
    )


def large_bytes(target: CpuTarget) -> int:
    """Return the size from which a matrix does not stay in L1."""
    return 4 * target.core.l1_bytes


def step_cycles(count: int, width: int, target: CpuTarget) -> float:
    """Return the cycles of one iteration of a tile's reduction loop."""
    core, bytes_ = target.core, target.vector_bytes
    fmas, loads = core.fmas(bytes_), core.loads(bytes_)
    return max(count * width / fmas, LOAD_COST * (count + width) / loads, core.fma_latency) + LOOP_CYCLES


def _fitting(counts: int, widths: int, registers: int) -> Iterable[Tile]:
    """Yield tiles whose accumulators, loaded vectors and one broadcast element fit the registers."""
    for width in range(1, min(widths, MAX_WIDTH) + 1):
        for count in range(1, counts + 1):
            if count * width + width + 1 > registers:
                break
            yield count, width


def _cost(tile: Tile, counts: int, widths: int, target: CpuTarget) -> float:
    """Return the cycles per reduction step of `counts` by `widths` accumulators, remainder tiles included."""
    count, width = tile
    full, rest = divmod(counts, count)
    panels, rest_width = divmod(widths, width)
    cost = 0.0
    for panel_count, own in ((panels, width), (1 if rest_width else 0, rest_width)):
        edge = step_cycles(rest, own, target) if rest else 0.0
        cost += panel_count * (full * step_cycles(count, own, target) + edge)
    return cost * (1.0 + EDGE_COST * (bool(rest) + bool(rest_width)))


FAR_PANEL_COST = 1.25
"""
Relative cost of tiles whose panel of weights, from beyond L2, is too large to be there beside the next one.

3x3 convolutions of 512 channels on 7x7 pixels took 1.3 times as long with panels of 1.2 MB as with 0.6 MB.
"""


def dynamic_row(columns: int, pixels: int) -> list[int]:
    """
    Return the pixels of the tiles of a row whose width is found at run time.

    The row is divided into as few tiles as possible of nearly equal size. A row of less than half a tile has
    tiles of one pixel: there is code for each number of pixels between, and for one.
    """
    if columns < -(-pixels // 2):
        return [1] * columns
    count = -(-columns // pixels)
    size, longer = divmod(columns, count)
    return [size + 1] * longer + [size] * (count - longer)


def _dynamic_cost(tile: Tile, widths: int, steps: int, target: CpuTarget) -> float:
    """Return the cycles per reduction step and pixel, summed over rows of the widths assumed."""
    count, width = tile
    panels, rest = divmod(widths, width)

    def cycles(number: int, width: int) -> float:
        is_far = steps * width * target.vector_bytes > target.core.l1_bytes
        return number * _dynamic_row_cycles(count, width, is_far, target)

    return cycles(panels, width) + (cycles(1, rest) if rest else 0.0)


@cache
def _dynamic_row_cycles(count: int, width: int, is_far: bool, target: CpuTarget) -> float:
    """Return the cycles of rows of the widths assumed, of panels that are in L1 or not."""
    # Narrow tiles of wide panels are bound by L2, where L1 does not hold the weights.
    reading = width * target.vector_bytes / L2_BYTES if is_far else 0.0
    return sum(
        max(step_cycles(pixels, width, target), reading + LOOP_CYCLES) / columns
        for columns in ASSUMED_WIDTHS
        for pixels in dynamic_row(columns, count)
    )


def conv_tiles(columns: Size, blocks: int, steps: int, target: CpuTarget, shuffles: int = 0) -> list[Tile]:
    """
    Return tiles (pixels, vectors of channels) that fit the registers, fastest first.

    `steps` is the number of multiplications for each result. Where a block has the channels of several
    groups, tiles are one vector wide, and the indices of `shuffles` take a register each.
    """
    most = min(columns, target.registers) if is_static(columns) else MAX_DYNAMIC_PIXELS

    def row_cost(tile: Tile, blocks: int) -> float:
        if is_static(columns):
            return _cost(tile, columns, blocks, target)
        return _dynamic_cost(tile, blocks, steps, target)

    if shuffles:
        fitting = _fitting(most, 1, max(4, target.registers - shuffles - 1))
        return sorted(fitting, key=lambda tile: row_cost(tile, 1))
    fitting = _fitting(most, blocks, target.registers)
    are_far = target.core.next_panel_bytes > 0 and _are_far(steps, blocks, target)

    def cost(tile: Tile) -> float:
        is_slow = are_far and not _two_panels_fit(steps, tile[1], target)
        return row_cost(tile, blocks) * (FAR_PANEL_COST if is_slow else 1.0)

    return sorted(fitting, key=cost)


def _are_far(steps: int, blocks: int, target: CpuTarget) -> bool:
    """Whether weights, `blocks` vectors for each of the steps, are not in L2 when their layer begins."""
    return 2 * steps * blocks * target.vector_bytes > target.core.l2_bytes


def _two_panels_fit(steps: int, width: int, target: CpuTarget) -> bool:
    """Whether two panels of weights fit L2, of `width` vectors for each of the steps."""
    return 2 * steps * width * target.vector_bytes <= target.core.next_panel_bytes


DEPTHWISE_SUMS = 8
"""
Pixels of a depthwise tile: enough accumulators to hide the latency of additions, and registers for the row.
"""


def depthwise_tiles(columns: Size, target: CpuTarget) -> list[Tile]:
    """
    Return depthwise tiles, fastest first; they are one vector wide.

    Each pixel of a row is loaded once and stays in a register until its last use.
    """
    if not is_static(columns):
        return [(DEPTHWISE_SUMS, 1)]
    first = min(columns, DEPTHWISE_SUMS)
    others = sorted(range(1, min(columns, target.registers // 2) + 1), key=lambda count: -(-columns // count))
    return [(count, 1) for count in dict.fromkeys([first, *others])]


SMALL_M_ACCUMULATORS = 12
"""Accumulators of a product with few rows: enough to hide the latency of a multiply-add."""

MAX_DOT_ROWS = 16
"""
Rows of A up to which a product with a transposed B is computed by dot products.

With more, transposing B once takes less time than adding up the lanes of each sum.
"""

MIN_ACCUMULATORS = 4
"""Accumulators that suffice where B streams from L2 at about one vector per cycle."""

ADDRESSES = 6
"""Rows of A with a dynamic stride: each address takes a general-purpose register."""


def gemm_tiles(size: int, sizes: tuple[Size, Size, Size], target: CpuTarget) -> list[Tile]:
    """Return (rows, columns) of tiles for elements of `size` bytes, fastest first."""
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
        # Accumulators, vectors of B and a broadcast of A must fit: rows · v + v + 1 <= registers.
        rows, vectors = ADDRESSES, max(vectors, (target.registers - 1) // (ADDRESSES + 1))
    needed = -(-n // lanes) if is_static(n) else vectors
    # Few rows: widen the tile until there are enough accumulators to hide the latency of a multiply-add.
    if is_static(m) and m * vectors < min(SMALL_M_ACCUMULATORS, rows * vectors):
        most = min(SMALL_M_ACCUMULATORS // m, target.registers // 2, needed)
        panels = -(-needed // most)
        is_large = is_static(n) and is_static(k) and n * k * size >= large_bytes(target)
        is_shared = is_large and needed >= 2 * MIN_ACCUMULATORS
        # An even number of equal panels, so that two threads are balanced.
        return m, -(-needed // (panels + panels % 2)) * lanes if is_shared else most * lanes
    requested = min(vectors, needed)
    return rows * vectors // requested if requested < vectors else rows, requested * lanes


MAX_ROWS = 8
"""Rows of a tile at most: each is a stream of A."""

FULL_WIDTHS = (3, 4, 2)
"""Vectors per row of a tile that fills the registers, best first if there is no remainder."""

CLEAR_GAIN = 0.003
"""Relative gain in estimated cycles from which another width is chosen: the model is not more exact."""


def _full_tile(m: Size, panels: int, target: CpuTarget) -> Tile:
    """Return a tile that fills the registers; another width if it leaves a smaller remainder."""
    registers = target.registers
    first, *others = [(min(MAX_ROWS, (registers - 1 - width) // width), width) for width in FULL_WIDTHS]
    if not is_static(m) or not panels:
        return first
    costs = {tile: _cost(tile, m, panels, target) for tile in (first, *others)}
    best = min(costs, key=costs.__getitem__)
    return best if costs[best] < (1 - CLEAR_GAIN) * costs[first] else first


def tiles_for(op: GemmOp | ConvOp | Int8ConvOp, target: CpuTarget) -> list[Tile]:
    """Return the possible tiles of an op, as in its attribute `tile`, fastest by estimate first."""
    if isinstance(op, GemmOp):
        m, n, k = op.sizes
        assert DYNAMIC_INDEX not in (m, n, k), "tiles of dynamic sizes are not compared"
        return gemm_tiles(size_of(element_of(op.c)), (m, n, k), target)
    columns = int(op.out.get_values()[1])
    assert columns != DYNAMIC_INDEX, "tiles of dynamic sizes are not compared"
    if isinstance(op, Int8ConvOp):
        return conv_tiles(columns, op.vectors // op.group_count, 0, target)
    if op.depthwise is None:
        shuffles = op.depth.value.data if op.shares_blocks else 0
        return conv_tiles(columns, op.blocks // op.block_groups, op.steps, target, shuffles)
    return depthwise_tiles(columns, target)
