"""Matrix products and convolutions in register tiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    f16,
    f32,
    i16,
    i64,
)
from xdsl.ir import Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.krnl.conv_sizes import conv_sizes, iterations_of, require_sizes, require_windows
from xonnc.dialects.krnl.memory import element_of, shape_of
from xonnc.dialects.krnl.verification import require_pairs, require_range

MIN_PARALLEL_PANELS = 8
"""From this number on, panels of columns are parallelized: each stays in a core's cache."""

BF16_TERMS = 2
"""Products that an instruction for bfloat16 adds to a lane of its accumulator."""

ACTIVATIONS = ("none", "relu")
"""Activations that can be fused into a product."""


@irdl_op_definition
class GemmOp(IRDLOperation):
    """
    `C = activation(A B + bias)` in register tiles (see docs/internals/cpu-kernels.md).

    `A` is `M×K`, row-major, or `K×M` where `transposed_a`; `B` is `[N/NR][K][NR]` where `packed`, `N×K` where
    `transposed_b`, else `K×N`; `C` is `M×N`. `tile` is `[MR, NR]`. The bias is one value per column, or per
    row with `bias_of_rows`. `batch_a` and `batch_b` are offsets of several products, whose results are
    consecutive.

    `m`, `n` and `k` are dynamic if `-9223372036854775808`; they are given in `dynamic_sizes`. With
    `dynamic_batch` the number of products is dynamic too, and the last of those; `dynamic_batch` says
    whether A, and B, has a matrix for each, or one for all.

    A packed B of static size for a C of f32 may be narrower: f16, or i16, the bits of bfloat16 values, which
    are widened where they are loaded. `unpack` is `[least rows, depth]`: from that number of rows on, the
    stack holds `depth` rows of a widened panel at a time, for all rows of A.

    With `products`, the LLVM intrinsic of a dot product, A and B hold the bits of bfloat16 values, and B is
    packed as `[N/NR][K/2][NR][2]`; sums are float32.

    ```mlir
    "krnl.gemm"(%c, %a, %b) {m = 4, n = 32, k = 8, tile = array<i64: 4, 32>} : …
    ```
    """

    name = "krnl.gemm"

    c = operand_def(MemRefType)
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    bias = opt_operand_def(MemRefType)
    range = var_operand_def(IndexType)
    """The iterations to run: products, panels or tiles of rows, by `iteration_space`."""
    dynamic_sizes = var_operand_def(IndexType)
    m = prop_def(IntegerAttr)
    n = prop_def(IntegerAttr)
    k = prop_def(IntegerAttr)
    tile = prop_def(DenseArrayBase.constr(i64))
    packed = opt_prop_def(UnitAttr)
    transposed_a = opt_prop_def(UnitAttr)
    transposed_b = opt_prop_def(UnitAttr)
    """Whether an element of C is a dot product of a row of A and one of B: for few rows of A."""
    bias_of_rows = opt_prop_def(UnitAttr)
    activation = opt_prop_def(StringAttr)
    batch_a = opt_prop_def(DenseArrayBase.constr(i64))
    """Offsets of the matrices of A of each product, in elements; one product at 0 if absent."""
    batch_b = opt_prop_def(DenseArrayBase.constr(i64))
    dynamic_batch = opt_prop_def(DenseArrayBase.constr(i64))
    prefetch = opt_prop_def(IntegerAttr)
    """The prefetch distance of a packed B, in bytes ahead of its loads."""
    next_panel_prefetch = opt_prop_def(IntegerAttr)
    """
    Bytes of the next panel of a packed B that each step of a tile prefetches; `-9223372036854775808` if they
    depend on a dynamic m.
    """
    depth_piece = opt_prop_def(IntegerAttr)
    """
    Rows of a packed B that all tiles of rows of A multiply by before the next ones, if the cache holds no
    whole panel; C holds the sums meanwhile.
    """
    write_prefetch = opt_prop_def(UnitAttr)
    """Whether a tile prefetches the cache lines of C before its loop over k; N is static."""
    rows_first = opt_prop_def(UnitAttr)
    """Whether the panels of B are the inner loop, for a tile of rows of A each, and not the outer one."""
    products = opt_prop_def(StringAttr)
    unpack = opt_prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @property
    def is_narrow(self) -> bool:
        """Whether elements of B are widened where they are loaded."""
        return self.products is None and element_of(self.b) != element_of(self.c)

    @property
    def terms(self) -> int:
        """Terms of a sum that one instruction adds."""
        return 1 if self.products is None else BF16_TERMS

    @property
    def sizes(self) -> list[int]:
        """M, N and K; `-9223372036854775808` if dynamic."""
        return [attribute.value.data for attribute in (self.m, self.n, self.k)]

    @property
    def iteration_space(self) -> tuple[str, int]:
        """
        The iteration space, `products`, `panels` or `rows`, and the number of iterations.

        It is 0 for a dynamic number of products, and 1 for products with dynamic columns.
        """
        rows, columns = self.tile.get_values()
        m, n, _ = self.sizes
        if self.dynamic_batch is not None:
            return "products", 0
        if DYNAMIC_INDEX in (m, n):
            return ("rows", 1) if n == DYNAMIC_INDEX else ("panels", -(-n // columns))
        if self.batch_a is not None and self.batch_b is not None and len(self.batch_a.get_values()) > 1:
            starts = self.batch_a.get_values(), self.batch_b.get_values()
            is_nested = all(batch_axes(each) is not None for each in starts)
            return ("products", len(starts[0])) if is_nested else ("rows", 1)
        panels, tiles = -(-n // columns), -(-m // rows)
        return ("panels", panels) if panels >= min(tiles, MIN_PARALLEL_PANELS) else ("rows", tiles)

    @property
    def iterations(self) -> int:
        """The number of iterations."""
        return self.iteration_space[1]

    def verify_(self) -> None:
        """Positive sizes, a tile of two sizes, a known activation, as many matrices of A as of B."""
        if min(1 if size == DYNAMIC_INDEX else size for size in self.sizes) < 1:
            raise VerifyException(f"krnl.gemm: m, n and k are above 0, found {self.sizes}")
        count = self.sizes.count(DYNAMIC_INDEX) + (self.dynamic_batch is not None)
        if len(self.dynamic_sizes) != count:
            raise VerifyException(
                f"krnl.gemm: {count} dynamic sizes, found {len(self.dynamic_sizes)} operands"
            )
        if self.dynamic_batch is not None and len(self.dynamic_batch.get_values()) != 2:
            raise VerifyException("krnl.gemm: dynamic_batch holds two numbers")
        tile = self.tile.get_values()
        if len(tile) != 2 or min(tile) < 1:
            raise VerifyException(f"krnl.gemm: tile holds two sizes above 0, found {list(tile)}")
        if self.activation is not None and self.activation.data not in ACTIVATIONS:
            raise VerifyException(f"krnl.gemm: activation is one of {', '.join(ACTIVATIONS)}")
        self._verify_panels()
        if self.write_prefetch is not None and self.n.value.data == DYNAMIC_INDEX:
            raise VerifyException("krnl.gemm: write_prefetch takes a static n")
        if self.products is not None:
            self._verify_products()
        self._verify_narrow()
        is_plain = self.packed is None and self.transposed_a is None and self.bias is None
        if self.transposed_b is not None and not (is_plain and self.k.value.data != DYNAMIC_INDEX):
            raise VerifyException(
                "krnl.gemm: transposed_b takes a static k, an A and a B as they are, and no bias"
            )
        require_range(self, self.range)
        starts = [
            len(batch_strides.get_values()) if batch_strides else 1
            for batch_strides in (self.batch_a, self.batch_b)
        ]
        if starts[0] != starts[1]:
            raise VerifyException(f"krnl.gemm: {starts[0]} matrices of A, {starts[1]} of B")

    def _verify_panels(self) -> None:
        """What is said of the panels of a packed B."""
        if self.prefetch is not None and (self.packed is None or self.prefetch.value.data < 1):
            raise VerifyException("krnl.gemm: prefetch is a number of bytes above 0, of a packed B")
        if self.next_panel_prefetch is not None:
            self._verify_next_panel(self.next_panel_prefetch.value.data)
        if self.depth_piece is not None:
            self._verify_piece(self.depth_piece.value.data)

    def _verify_next_panel(self, size: int) -> None:
        """A packed B of static size, and bytes above 0, or unknown ones of a dynamic m."""
        m, n, k = self.sizes
        is_dynamic = m == DYNAMIC_INDEX
        if self.packed is None or DYNAMIC_INDEX in (n, k) or (size != m if is_dynamic else size < 1):
            raise VerifyException(
                "krnl.gemm: next_panel_prefetch takes a number above 0, a packed B, and static n and k"
            )

    def _verify_piece(self, size: int) -> None:
        """Fewer rows than all of a packed B of floats, whose panels are the outer loop."""
        k = self.k.value.data
        is_plain = self.products is None and self.transposed_a is None and self.unpack is None
        if self.packed is None or not is_plain or self.rows_first is not None or not 0 < size < k:
            raise VerifyException(
                "krnl.gemm: depth_piece is fewer rows than all of a packed B, with a row-major A, panels as "
                "the outer loop, and no unpack or products"
            )

    def _verify_narrow(self) -> None:
        """A packed B of static size, of floats of 16 bits for a C of f32; panels are the outer loop."""
        if self.is_narrow:
            types = [element_of(buffer) for buffer in (self.c, self.b)]
            if types[0] != f32 or types[1] not in (f16, i16):
                raise VerifyException(
                    f"krnl.gemm: the elements of b are those of c, or f16 or i16 (bfloat16) for f32; found "
                    f"{types[1]} for {types[0]}"
                )
            if self.packed is None or DYNAMIC_INDEX in self.sizes[1:]:
                raise VerifyException("krnl.gemm: a b of 16 bits is packed, with static n and k")
        if self.unpack is not None:
            sizes = self.unpack.get_values()
            if not self.is_narrow or len(sizes) != 2 or min(sizes) < 1:
                raise VerifyException("krnl.gemm: unpack is two numbers above 0, of a b of 16 bits")
            is_batch = self.dynamic_batch is not None or self.batch_a is not None
            if is_batch or self.rows_first is not None or self.iteration_space[0] != "panels":
                raise VerifyException("krnl.gemm: unpack takes panels one by one, of one product")

    def _verify_products(self) -> None:
        """Bits of bfloat16 times those of a packed matrix, with an even k and static columns."""
        is_one = self.batch_a is None and self.batch_b is None and self.dynamic_batch is None
        if self.packed is None or self.transposed_a is not None or not is_one:
            raise VerifyException("krnl.gemm: products of bfloat16 are of one row-major A and one packed B")
        _require_bf16(self, (self.c, self.a, self.b), self.k.value.data)
        if self.n.value.data == DYNAMIC_INDEX:
            raise VerifyException("krnl.gemm: products of bfloat16 have a static n")


@irdl_op_definition
class ConvOp(IRDLOperation):
    """
    A direct convolution of NCHWc images in register tiles: `y = epilogue(x * w + bias + residual)`.

    See docs/internals/cpu-kernels.md. `y` and `residual` are `[N][C/L][H][W][L]`; `x` is that or, for few
    channels, `[N][C][H][W]`. Images have halos: `start` is the position in `x` of the first window,
    `out_start` and `residual_start` that of the first pixel. `out` is the computed rows and columns,
    `out_strides` apart in `y`. `tile` is pixels of a row and blocks of channels. `w` is
    `[blocks/B][depth][kernel][L][B L]` with `depth` input channels in groups of `L`, the last panel perhaps
    narrower; with `depthwise`, `[C/L][kernel][L]`.

    With `groups`, equal numbers of consecutive blocks of `x` and `y` form a group, with panels of its own,
    and `depth` is that of one. Groups of a part of a block have as many filters, and panels of one block.

    Iterations are rows of `out` of each panel of each image; `range` selects some. The number of images,
    `out` and `start` are dynamic if `-9223372036854775808`; `dynamic_sizes` gives them in this order. The
    epilogue is a scalar function, applied in registers; bounds are its most frequent form. With `products`,
    the LLVM intrinsic of a dot product, `x` and `w` hold the bits of bfloat16 values, and `w` has pairs of
    input channels side by side.

    ```mlir
    "krnl.conv"(%y, %x, %w) {kernel = array<i64: 1, 1>, …} : …
    ```
    """

    name = "krnl.conv"

    y = operand_def(MemRefType)
    x = operand_def(MemRefType)
    w = operand_def(MemRefType)
    bias = opt_operand_def(MemRefType)
    residual = opt_operand_def(MemRefType)
    range = var_operand_def(IndexType)
    dynamic_sizes = var_operand_def(IndexType)
    depth = prop_def(IntegerAttr)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    start = prop_def(DenseArrayBase.constr(i64))
    out = prop_def(DenseArrayBase.constr(i64))
    out_start = prop_def(DenseArrayBase.constr(i64))
    out_strides = prop_def(DenseArrayBase.constr(i64))
    residual_start = opt_prop_def(DenseArrayBase.constr(i64))
    tile = prop_def(DenseArrayBase.constr(i64))
    prefetch = opt_prop_def(IntegerAttr)
    """Cache line size in bytes, if pixels of the next block of channels are prefetched."""
    weight_prefetch = opt_prop_def(IntegerAttr)
    """The prefetch distance of weights, in bytes ahead of their loads."""
    next_panel_prefetch = opt_prop_def(IntegerAttr)
    """
    Bytes of the next panel of weights that each step of a tile prefetches; `-9223372036854775808` where `out`
    is dynamic: they follow from the number of tiles.
    """
    depth_piece = opt_prop_def(IntegerAttr)
    """
    Input channels that all tiles multiply by before the next ones, if their weights together do not fit the
    cache; `y` holds the sums meanwhile.
    """
    halo = opt_prop_def(DenseArrayBase.constr(i64))
    """
    Rows and columns of zeros around the images of `x` (top, left, bottom, right), if rows and columns of a
    dilated window that read nothing else are skipped.
    """
    depthwise = opt_prop_def(UnitAttr)
    groups = opt_prop_def(IntegerAttr)
    """Groups of channels that are convolved apart; one if absent."""
    plane_step = opt_prop_def(IntegerAttr)
    """
    Planes from one image to the next, if `x` holds planes of volumes: the channels of an image are those of
    the planes under a window, one after the other.
    """
    products = opt_prop_def(StringAttr)
    low = opt_prop_def(FloatAttr)
    """Lower bound of results."""
    high = opt_prop_def(FloatAttr)
    """Upper bound of results."""
    epilogue = opt_region_def("single_block")
    """A scalar function that ends with `krnl.yield`."""

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @property
    def terms(self) -> int:
        """Terms of a sum that one instruction adds."""
        return 1 if self.products is None else BF16_TERMS

    @property
    def group_count(self) -> int:
        """Groups of channels."""
        return 1 if self.groups is None else self.groups.value.data

    @property
    def shares_blocks(self) -> bool:
        """Whether a block has the channels of several groups."""
        return self.group_count > 1 and self.depth.value.data < shape_of(self.y)[4]

    @property
    def block_groups(self) -> int:
        """Groups of whole blocks of channels."""
        return 1 if self.shares_blocks else self.group_count

    @property
    def steps(self) -> int:
        """Multiplications of a tile for each of its sums, each of `terms` terms."""
        return self.depth.value.data * prod(self.kernel.get_values()) // self.terms

    @property
    def panels(self) -> int:
        """Runs of blocks of channels that a tile computes together, the last of a group perhaps narrower."""
        groups = self.block_groups
        return groups * -(-(self.blocks // groups) // int(self.tile.get_values()[1]))

    @property
    def blocks(self) -> int:
        """Blocks of channels of the result."""
        return shape_of(self.y)[1]

    @property
    def sizes(self) -> list[int]:
        """Images, and rows and columns that are computed; `-9223372036854775808` if dynamic."""
        return conv_sizes(self.y, self.out)

    @property
    def iterations(self) -> int:
        """Iterations; those of one image if images are dynamic, of one row if rows are."""
        return iterations_of(self.panels, self.sizes)

    def verify_(self) -> None:
        """Ranks, positive sizes, a range of two, a position for a residual."""
        if len(shape_of(self.y)) != 5 or len(shape_of(self.x)) not in (4, 5):
            raise VerifyException("krnl.conv: y has 5 axes, x 4 or 5")
        require_pairs(self, ("kernel", "strides", "dilations", "out_strides", "tile"))
        require_sizes(self, self.sizes, self.start, self.dynamic_sizes)
        window = self.start, self.kernel, self.strides, self.dilations
        require_windows(self, shape_of(self.x)[2:4], self.sizes[1:], window)
        require_range(self, self.range)
        if (self.residual is None) != (self.residual_start is None):
            raise VerifyException("krnl.conv: a residual and where it starts come together")
        if self.prefetch is not None and (len(shape_of(self.x)) != 5 or self.prefetch.value.data < 1):
            raise VerifyException("krnl.conv: prefetch is a number of bytes above 0, for a channel-blocked x")
        if self.weight_prefetch is not None and (
            self.depthwise is not None or self.weight_prefetch.value.data < 1
        ):
            raise VerifyException(
                "krnl.conv: weight_prefetch is a number of bytes above 0, and no depthwise convolution has it"
            )
        if self.next_panel_prefetch is not None:
            self._verify_next_panel(self.next_panel_prefetch.value.data)
        if self.depth_piece is not None:
            self._verify_piece(self.depth_piece.value.data)
        if self.halo is not None and (
            self.depthwise is not None
            or len(self.halo.get_values()) != 4
            or min(int(size) for size in self.halo.get_values()) < 0
        ):
            raise VerifyException(
                "krnl.conv: halo holds four sizes of 0 or more, not of a depthwise convolution"
            )
        if self.depthwise is not None and (len(shape_of(self.x)) != 5 or self.tile.get_values()[1] != 1):
            raise VerifyException("krnl.conv: depthwise takes a channel-blocked x, and tiles of one block")
        self._verify_groups()
        if self.products is not None:
            if self.depthwise is not None or len(shape_of(self.x)) != 5:
                raise VerifyException(
                    "krnl.conv: products of bfloat16 take a channel-blocked x, all channels"
                )
            _require_bf16(self, (self.y, self.x, self.w), self.depth.value.data)
        if self.epilogue is not None:
            self._verify_epilogue(self.epilogue)

    def _verify_next_panel(self, size: int) -> None:
        """Bytes above 0, dynamic where the tiles are, of a convolution of all channels."""
        is_dynamic = DYNAMIC_INDEX in self.out.get_values()
        if self.depthwise is not None or (size < 1 if not is_dynamic else size != DYNAMIC_INDEX):
            raise VerifyException(
                "krnl.conv: next_panel_prefetch is a number of bytes above 0, dynamic where out is, not of a "
                "depthwise convolution"
            )

    def _verify_piece(self, size: int) -> None:
        """Whole blocks of a channel-blocked `x`, fewer than all channels."""
        is_blocked = len(shape_of(self.x)) == 5 and self.depthwise is None and not self.shares_blocks
        if not is_blocked or not 0 < size < self.depth.value.data or size % shape_of(self.x)[4]:
            raise VerifyException(
                "krnl.conv: depth_piece is whole blocks of input channels, fewer than all, not of a "
                "depthwise convolution or one whose blocks hold several groups"
            )

    def _verify_groups(self) -> None:
        """Groups of whole blocks of `x` and `y`, or of equal parts of a block; whole planes."""
        if self.plane_step is not None:
            self._verify_planes(self.plane_step.value.data)
        if self.groups is None:
            return
        groups = self.groups.value.data
        if self.depthwise is not None or len(shape_of(self.x)) != 5 or groups < 2:
            raise VerifyException("krnl.conv: groups are 2 or more, of a channel-blocked x, not depthwise")
        _, blocks, _, _, lanes = shape_of(self.x)
        depth = self.depth.value.data
        fits = not lanes % depth if self.shares_blocks else not depth % lanes and not self.blocks % groups
        is_alike = not self.shares_blocks or (self.blocks == blocks and self.tile.get_values()[1] == 1)
        if blocks * lanes != groups * depth or not fits or not is_alike:
            raise VerifyException(
                f"krnl.conv: {blocks} and {self.blocks} blocks of {lanes} are not {groups} groups of {depth}"
            )

    def _verify_planes(self, step: int) -> None:
        """Images of all channels, of whole planes that `x` has."""
        if step < 1 or self.depthwise is not None or self.groups is not None:
            raise VerifyException("krnl.conv: plane_step is 1 or more, of a convolution of all channels")
        planes, blocks, _, _, *lanes = shape_of(self.x)
        channels, depth, images = blocks * prod(lanes), self.depth.value.data, self.sizes[0]
        end = (images - 1) * step + depth // channels
        if depth % channels or (DYNAMIC_INDEX not in (planes, images) and end > planes):
            given = f"images of {depth} channels, {step} planes apart, of {planes} planes of {channels}"
            raise VerifyException(f"krnl.conv: {given}")

    def _verify_epilogue(self, epilogue: Region) -> None:
        """One f32 in and one out; no bounds."""
        if self.low is not None or self.high is not None:
            raise VerifyException("krnl.conv: results have bounds or an epilogue, not both")
        end = epilogue.block.last_op
        types = [list(epilogue.block.arg_types), [] if end is None else list(end.operand_types)]
        if types != [[f32], [f32]]:
            raise VerifyException("krnl.conv: the epilogue takes one f32 and yields one f32")


def _require_bf16(op: IRDLOperation, buffers: Sequence[SSAValue], terms: int) -> None:
    """Raise `VerifyException` unless results are f32, operands bits of bfloat16, and their terms in pairs."""
    types = [element_of(buffer) for buffer in buffers]
    if types != [f32, i16, i16]:
        found = ", ".join(map(str, types))
        raise VerifyException(f"{op.name}: products of bfloat16 are f32, of operands in i16; found {found}")
    if terms == DYNAMIC_INDEX or terms % BF16_TERMS:
        raise VerifyException(f"{op.name}: products of bfloat16 take an even number of terms, found {terms}")


class BatchAxis(NamedTuple):
    """An axis of a batch: the number of its matrices, and the elements from one to the next."""

    matrices: int
    distance: int


def batch_axes(starts: Sequence[int]) -> list[BatchAxis] | None:
    """
    Return the axes of a batch whose matrices begin at `starts`, the innermost first.

    Matrices that are broadcast have a distance of 0. `None` for matrices that lie in no such order.
    """
    axes: list[BatchAxis] = []
    if starts[0] != 0:
        return None
    while len(starts) > 1:
        distance = starts[1]
        count = next(
            (number for number, start in enumerate(starts) if start != number * distance), len(starts)
        )
        outer = starts[::count]
        if len(starts) % count or any(
            start != outer[number // count] + number % count * distance for number, start in enumerate(starts)
        ):
            return None
        axes.append(BatchAxis(count, distance))
        starts = outer
    return axes
