"""
3x3 convolutions of NCHWc images by Winograd's filtering, a strip of tiles at a time.

One kernel transforms the pixels of a strip, multiplies the matrices of all points (`krnl.gemm`), and
transforms the products to results, with what is fused into the convolution. The transformed pixels and the
products of a strip stay in the L2 cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import gcd, prod

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, f32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.tiles import GemmOp
from xonnc.dialects.krnl.types import buffer_of
from xonnc.dialects.krnl.winograd import transform_pixels, transform_products, transformed_size
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.matmul import gemm_tile
from xonnc.lowering.onnx_to_krnl.nn.conv_epilogue import apply_epilogue
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import BlockedBuffer, ConvFusion
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, static_sizes
from xonnc.rewriting.patterns import Array


@dataclass(frozen=True)
class WinogradOperands:
    """What a convolution reads and writes; all images are NCHWc."""

    source: SSAValue
    shape: Sequence[Size]
    start: tuple[int, int]
    """Row and column of the source that the first weight of the first result is multiplied by."""
    weights: Array
    bias: SSAValue | None
    residual: BlockedBuffer | None
    result: BlockedBuffer


def lower_winograd(
    fusion: ConvFusion, tile: int, operands: WinogradOperands, builder: LoweringBuilder
) -> None:
    """Emit the kernel of a convolution and its call."""
    _Winograd(fusion, tile, operands, builder).emit()


def _divided(tiles: int, channels: tuple[int, int], size: int, builder: LoweringBuilder) -> tuple[int, int]:
    """
    Return in how many strips tiles are computed, and in how many parts the results' blocks of channels.

    `channels` are those of pixels and of results. L2 should hold the intermediate values of a strip. But each
    strip reads all weights, which may be more than the intermediate values of all tiles, written and read
    once. Threads divide such weights among them, else the strips.
    """
    l2_bytes = builder.target.core.l2_bytes
    values, weights = (4 * size * size * each for each in (sum(channels), prod(channels)))
    strips, parts = -(-tiles // max(1, l2_bytes // 2 // values)), 1
    if weights > l2_bytes:
        blocks, rest = divmod(channels[1], builder.layouts.lanes)
        parts = 1 if rest else gcd(builder.threads, blocks)
        strips = 1 if (strips - 1) * weights > 2 * values * tiles else strips
    shares = builder.threads // parts
    return min(tiles, -(-strips // shares) * shares), parts


class _Winograd:
    """The kernel of a convolution."""

    def __init__(
        self, fusion: ConvFusion, tile: int, operands: WinogradOperands, builder: LoweringBuilder
    ) -> None:
        self.fusion, self.tile, self.operands, self.builder = fusion, tile, operands, builder
        self.size = transformed_size(tile)
        self.lanes = builder.layouts.lanes
        self.images, _, rows, columns = operands.result.sizes
        assert is_static(rows)
        assert is_static(columns)
        self.rows, self.columns = rows, columns
        self.blocks = operands.weights.shape[1] // self.lanes
        self.tiles_of_row = -(-self.columns // tile)
        self.tiles = -(-self.rows // tile) * self.tiles_of_row
        """Tiles of an image."""
        # The tiles of a strip may be those of several images, if their number is known.
        tiles = self.tiles * (self.images if is_static(self.images) else 1)
        filters, channels = operands.weights.shape[:2]
        strips, self.parts = _divided(tiles, (channels, filters), self.size, builder)
        self.result_blocks = operands.result.blocks[1] // self.parts
        """Blocks of channels of a part of the results."""
        self.workers = (
            min(builder.threads, strips * self.parts) if is_static(self.images) else builder.threads
        )
        """Threads that compute at once, each with memory of its own for the values of a strip."""
        self.count = -(-tiles // strips)
        """Tiles of a strip; the last one may have fewer, and computes some twice."""
        self.sizes = self.count, self.result_blocks * self.lanes, channels
        """M, N and K of the products."""
        self.gemm_tile = gemm_tile(builder, f32, self.sizes)
        _, n, k = self.sizes
        self.matrix = -(-n // self.gemm_tile[1]) * self.gemm_tile[1] * k
        """Weights of a point for a part of the results."""

    def emit(self) -> None:
        """Emit the kernel and its call."""
        it, builder = self.operands, self.builder
        form = {"tile": self.tile, "width": self.gemm_tile[1], "groups": self.parts}
        packed = builder.packed(it.weights, "winograd", form)
        points = [self.workers, self.size * self.size, self.count]
        memory: list[Operand] = [
            (builder.allocate(shape, f32), shape)
            for shape in ([*points, blocks, self.lanes] for blocks in (self.blocks, self.result_blocks))
        ]
        outputs: list[Operand] = [(it.result.buffer, it.result.blocks), *memory]
        # Parts of the weights of each point follow each other.
        weights = [self.size * self.size * self.parts, self.matrix]
        inputs: list[Operand] = [(it.source, it.shape), (packed, weights)]
        if it.bias is not None:
            inputs.append((it.bias, [self.parts, self.result_blocks, self.lanes]))
        if it.residual is not None:
            inputs.append((it.residual.buffer, it.residual.blocks))
        shapes = tuple(tuple(each[1]) for each in (*outputs, *inputs) if isinstance(each, tuple))
        starts = it.start, it.result.start, None if it.residual is None else it.residual.start
        bounds = repr((self.fusion.low, self.fusion.high))
        key = shapes, starts, bounds, it.bias is None, tuple(self.fusion.epilogue), self.tile, packed.type
        written, read = ([_buffer(each) for each in operands] for operands in (outputs, inputs))
        build = partial(self._built, outputs, inputs)
        builder.call_built("winograd", key, build, written, read, self.workers)

    def _built(self, outputs: Sequence[Operand], inputs: Sequence[Operand]) -> KernelBuilder:
        """Return the kernel."""
        kernel = Kernel(self.builder, "winograd", outputs, inputs)
        out, transformed, multiplied, source, weights, *rest = kernel.buffers
        bias = rest.pop(0) if self.operands.bias is not None else None
        tiles, workers = kernel.size(self.images) * self.tiles, self.workers
        first, end = (Scalar(kernel.ssa, each) for each in kernel.ssa.add_range_arguments())
        with kernel.loops([end - first]) as (number,):
            worker, strips = number + first, (tiles + (self.count - 1)) // self.count
            own, sums = (_part(kernel, each, worker) for each in (transformed, multiplied))
            total = strips * self.parts
            start = total * worker // workers
            with kernel.loops([total * (worker + 1) // workers - start]) as (index,):
                part, at = (start + index) // strips, (start + index) % strips * self.count
                self._transform_pixels(kernel, source, own, (at, tiles))
                self._multiply(kernel, own, _part(kernel, weights, part), sums)
                count = (tiles - at).minimum(self.count)
                self._transform_products(kernel, sums, count)
                added = None if bias is None else _part(kernel, bias, part)
                self._store(kernel, sums, added, (out, *rest), (at, count), part * self.result_blocks)
        return kernel.ssa

    def _origin(self, tile: Scalar) -> tuple[Scalar, tuple[Scalar, Scalar]]:
        """Return the image of a tile, and its first row and column, as if the image were larger."""
        image, number = tile // self.tiles, tile % self.tiles
        return image, (number // self.tiles_of_row * self.tile, number % self.tiles_of_row * self.tile)

    def _moved_inside(self, origin: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        """Return the origin of a tile, moved so that the image has all of its results."""
        row, column = origin
        return row.minimum(self.rows - self.tile), column.minimum(self.columns - self.tile)

    def _transform_pixels(
        self, kernel: Kernel, buffer: Buffer, own: Buffer, at: tuple[Scalar, Scalar]
    ) -> None:
        """Transform the pixels of a strip; `at` is its first tile, and the number of all."""
        (first, tiles), size, stride = at, range(self.size), self.blocks * self.lanes
        image = _Image(self.operands.shape, self.operands.start)
        with kernel.loops([self.count]) as (number,):
            index, origin = self._origin((first + number).minimum(tiles - 1))
            source = _part(kernel, buffer, index)
            corner, row = image.at(self._moved_inside(origin)), number * stride
            with kernel.loops([self.blocks, self.lanes]) as (block, lane):
                pixel = corner + block * image.plane + lane
                by_column = [
                    transform_pixels(
                        [source[pixel.offset_by(image.distance(i, j))] for i in size], _multiply_add
                    )
                    for j in size
                ]
                target = row + block * self.lanes + lane
                for i in size:
                    values = transform_pixels([column[i] for column in by_column], _multiply_add)
                    for j, value in enumerate(values):
                        own[target.offset_by((i * self.size + j) * self.count * stride)] = value

    def _multiply(self, kernel: Kernel, own: Buffer, weights: Buffer, sums: Buffer) -> None:
        """Multiply the matrices of each point: pixels of tiles by input channels, and weights."""
        (m, n, k), tile = self.sizes, self.gemm_tile
        points = range(self.size * self.size)
        properties: dict[str, Attribute] = {
            "m": IntegerAttr(m, i64),
            "n": IntegerAttr(n, i64),
            "k": IntegerAttr(k, i64),
            "tile": DenseArrayBase.from_list(i64, list(tile)),
            "packed": UnitAttr(),
            "batch_a": DenseArrayBase.from_list(i64, [point * m * k for point in points]),
            "batch_b": DenseArrayBase.from_list(i64, [point * self.parts * self.matrix for point in points]),
        }
        # The matrices of weights of all points follow each other, as the panels of one do.
        tiles = self.builder.tiles
        panel = tiles.next_panel_prefetch(
            k, len(points) * -(-n // self.lanes), -(-tile[1] // self.lanes), -(-m // tile[0])
        )
        distances = {"prefetch": tiles.prefetch(4, self.sizes, tile), "next_panel_prefetch": panel}
        properties |= {name: IntegerAttr(distance, i64) for name, distance in distances.items() if distance}
        product_of_points = GemmOp(
            operands=[sums.value, own.value, weights.value, [], [], []], properties=properties
        )
        kernel.ssa.block.add_op(product_of_points)

    def _transform_products(self, kernel: Kernel, sums: Buffer, count: Scalar) -> None:
        """Transform products to results, which replace some of them."""
        size, stride = range(self.size), self.result_blocks * self.lanes
        with kernel.loops([count, stride]) as (number, channel):
            at = number * stride + channel
            offsets = [[at.offset_by((i * self.size + j) * self.count * stride) for j in size] for i in size]
            by_column = [transform_products([sums[row[j]] for row in offsets], _multiply_add) for j in size]
            for i in range(self.tile):
                values = transform_products([column[i] for column in by_column], _multiply_add)
                for offset, value in zip(offsets[i], values, strict=False):
                    sums[offset] = value

    def _store(
        self,
        kernel: Kernel,
        sums: Buffer,
        bias: Buffer | None,
        images: Sequence[Buffer],
        at: tuple[Scalar, Scalar],
        start: Scalar,
    ) -> None:
        """
        Store the results of tiles, from a block of channels on; `images` are the result and the residual.

        Of a tile that was moved inside, rows and columns that the tile before it has are left out: their sums
        may be rounded in another way, and are another thread's to store.
        """
        (first, count), stride = at, self.result_blocks * self.lanes
        given = [each for each in (self.operands.result, self.operands.residual) if each is not None]
        geometries = [_Image(each.blocks, each.start) for each in given]
        with kernel.loops([count]) as (number,):
            image, origin = self._origin(first + number)
            written, *read = (_part(kernel, each, image) for each in images)
            skipped = [
                index - inside for index, inside in zip(origin, self._moved_inside(origin), strict=True)
            ]
            ends = [kernel.index(self.tile) - each for each in skipped]
            with kernel.loops(ends) as (row, column):
                pixel = origin[0] + row, origin[1] + column
                corners = [each.at(pixel) for each in geometries]
                point = (skipped[0] + row) * self.size + skipped[1] + column
                source = (point * self.count + number) * stride
                with kernel.loops([self.result_blocks, self.lanes]) as (block, lane):
                    value = sums[source + block * self.lanes + lane]
                    value = value if bias is None else value + bias[block * self.lanes + lane]
                    offsets = [
                        corner + (start + block) * geometry.plane + lane
                        for corner, geometry in zip(corners, geometries, strict=True)
                    ]
                    for buffer, offset in zip(read, offsets[1:], strict=True):
                        value = value + buffer[offset]
                    written[offsets[0]] = apply_epilogue(self.fusion, _clamped(value, self.fusion))


class _Image:
    """Where pixels of an NCHWc image are; `start` is that of row and column 0."""

    def __init__(self, shape: Sequence[Size], start: tuple[int, int]) -> None:
        _, _, rows, columns, lanes = shape
        assert is_static(rows)
        assert is_static(columns)
        assert is_static(lanes)
        self._row, self._pixel, self._start = columns * lanes, lanes, start
        self.plane = rows * columns * lanes
        """The distance between blocks of channels."""

    def distance(self, rows: int, columns: int) -> int:
        """Return the distance to a pixel so many rows and columns further."""
        return rows * self._row + columns * self._pixel

    def at(self, pixel: tuple[Scalar, Scalar]) -> Scalar:
        """Return the offset of a pixel."""
        row, column = pixel
        return (row * self._row + column * self._pixel).offset_by(self.distance(*self._start))


def _part(kernel: Kernel, buffer: Buffer, index: Scalar) -> Buffer:
    """
    Return the part of a buffer at an index of its first axis, as a row of elements.

    So the address of each element of a tile is a sum with a constant.
    """
    sizes = static_sizes(buffer.shape[1:])
    part = kernel.ssa.subview(buffer.value, index.value, sizes)
    flat = buffer_of(f32, (prod(sizes),))
    return Buffer(
        kernel.ssa, kernel.ssa.add(ShapedOp(operands=[part, []], result_types=[flat])), [prod(sizes)], f32
    )


def _buffer(operand: Operand) -> SSAValue:
    value = operand[0] if isinstance(operand, tuple) else operand
    assert isinstance(value, SSAValue)
    return value


def _multiply_add(value: Scalar, factor: float, addend: Scalar | None) -> Scalar:
    if addend is None:
        return value * factor
    if factor == 1.0:
        return addend + value
    return addend - value if factor == -1.0 else value.multiply_add(factor, addend)


def _clamped(value: Scalar, fusion: ConvFusion) -> Scalar:
    """Return a result within the bounds of a fused Relu or Clip, NaN as it is."""
    if fusion.low is not None:
        value = (value < fusion.low).select(fusion.low, value)
    if fusion.high is not None:
        value = (value > fusion.high).select(fusion.high, value)
    return value
