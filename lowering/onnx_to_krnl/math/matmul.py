"""
Gemm and MatMul in register tiles (`krnl.gemm`), with packed B panels as in GotoBLAS (Goto and van de Geijn,
2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import BF16_TERMS, GemmOp
from xonnc.dialects.krnl.types import buffer_of, is_buffer, size_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops.tensor import TransposeOp
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.lowering.onnx_to_krnl.builders.bf16_operands import bf16_operand
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, IndexExpr, copy, dim
from xonnc.lowering.onnx_to_krnl.math.block_weights import dequantize_matmul
from xonnc.lowering.onnx_to_krnl.math.generic_matmul import generic_gemm, generic_matmul
from xonnc.lowering.onnx_to_krnl.math.narrow_weights import narrowed
from xonnc.lowering.onnx_to_krnl.planning.select_bf16_onnx import has_bf16_operands
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import (
    Size,
    are_static,
    is_static,
    max_size,
    min_size,
    static_or_dynamic,
    static_sizes,
    volume,
)
from xonnc.lowering.onnx_to_krnl.planning.tile_keys import gemm_key
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import MAX_DOT_ROWS
from xonnc.rewriting.patterns import Array

supports_dynamic_shapes(onnx.GemmOp, onnx.MatMulOp)


@lowers(onnx.GemmOp)
def gemm(op: onnx.GemmOp, builder: LoweringBuilder) -> str | None:
    """`alpha A B + beta C`; alpha and beta are folded into a constant B and C."""
    b, c = builder.constant(op.B), None if op.C.type == NONE else builder.constant(op.C)
    (m, n), k = builder.sizes(op.Y), builder.sizes(op.A)[op.transA.value.data == 0]
    is_row = c is not None and (c.size == 1 or c.size == c.shape[-1] == n)
    is_plain = b is not None and not op.transA.value.data and builder.element(op.A) in (f32, f64)
    if b is None or not is_plain or not (op.C.type == NONE or is_row) or not is_static(n):
        values = [value for value in op.operands if value.type != NONE]
        is_open = not all(are_static(builder.sizes(value)) for value in (op.Y, *values))
        if is_open:
            return NO_DYNAMIC_KERNEL
        is_tiled = builder.element(op.A) in (f32, f64) and 0 not in (m, n, k)
        return _gemm_in_tiles(op, static_sizes((m, n, k)), builder) if is_tiled else generic_gemm(op, builder)
    matrix = b.T if op.transB.value.data else b
    beta = op.beta.value.data
    bias = None if c is None or not beta else np.broadcast_to(c.reshape(-1), n) * c.dtype.type(beta)
    constant_matmul(op, op.Y, (m, n, k), matrix, bias, builder, op.alpha.value.data)
    return None


def _gemm_in_tiles(op: onnx.GemmOp, sizes: Sequence[int], builder: LoweringBuilder) -> str | None:
    """Multiply operands, transposed first where needed; alpha, beta and C are a pass over the product."""
    m, n, k = sizes
    element, b = builder.element(op.A), builder.constant(op.B)
    a = builder.buffer(op.A)
    a = _transposed(a, (k, m), builder) if op.transA.value.data else a
    alpha, beta = op.alpha.value.data, op.beta.value.data
    # BLAS convention: with beta 0, C is not read, so that its NaN does not propagate.
    has_c = op.C.type != NONE and beta != 0
    is_product = not has_c and alpha == 1
    product = builder.result(op.Y) if is_product else builder.allocate([m, n], element)
    if b is not None:
        tile = gemm_tile(builder, element, (m, n, k))
        panels = prepacked_panels(b.T if op.transB.value.data else b, tile[1], builder)
        call_gemm(product, [a, panels], (m, n, k), tile, builder)
    else:
        is_transposed = bool(op.transB.value.data)
        product_of_buffers(product, [a, builder.buffer(op.B)], ([m, k], [k, n]), builder, is_transposed)
    if is_product:
        return None
    inputs: list[Operand] = [product]
    if has_c:
        shape = builder.shape(op.C)
        inputs.append((op.C, [*[1, 1][len(shape) :], *shape]))
    kernel = Kernel(builder, "gemm", [op.Y], inputs)
    out, source, *added = kernel.buffers
    with kernel.loops([m, n]) as indices:
        total = source[*indices] * alpha
        for each in added:
            total = total + each[*each.broadcast(indices)] * beta
        out[*indices] = total
    kernel.call()
    return None


def _transposed(buffer: SSAValue, shape: tuple[int, int], builder: LoweringBuilder) -> SSAValue:
    """Return the transpose of a matrix of a shape."""
    sizes = [shape[1], shape[0]]
    target = builder.allocate(sizes, element_of(buffer))
    read = AffineAccess(buffer, list(shape), [dim(1), dim(0)])
    copy("transpose", sizes, AffineAccess.whole(target, sizes), read, builder)
    return target


@lowers(onnx.MatMulOp)
def matmul(op: onnx.MatMulOp, builder: LoweringBuilder) -> str | None:
    """Products of the last two axes, the others broadcast."""
    a, b = builder.sizes(op.A), builder.sizes(op.B)
    if op in builder.quantized_weights:
        dequantize_matmul(op, builder.quantized_weights[op], volume(a[:-1]), builder)
        return None
    if builder.element(op.A) not in (f32, f64):
        return generic_matmul(op, builder) if are_static((*a, *b)) else NO_DYNAMIC_KERNEL
    rows = a if len(a) > 1 else (1, *a)
    columns = b if len(b) > 1 else (*b, 1)
    (m, k), n = rows[-2:], columns[-1]
    constant = builder.constant(op.B)
    is_one = volume(columns[:-2]) == 1
    if is_one and constant is not None and is_static(n) and is_static(k):
        added = builder.biases.get(op)
        result, row = (op.Y, None) if added is None else (added[0].C, builder.constant(added[1]))
        bias = None if row is None else row.reshape(-1)
        matrix = constant.reshape(k, n)
        constant_matmul(op, result, (volume(rows[:-1]), n, k), matrix, bias, builder)
        return None
    source = builder.transposed.get(op)
    buffers = [builder.buffer(op.A), builder.buffer(op.B if source is None else source.data)]
    if not (is_static(m) and is_static(n) and is_static(k) and are_static((*rows, *columns))):
        if op in builder.biases:
            return NO_DYNAMIC_KERNEL
        products = _dynamic_products(rows, columns)
        if products is None:
            return "broadcast matrices with a dynamic batch"
        m, count, has = products
        dynamic_matmul(op.Y, buffers, (m, n, k), (count, has), builder, is_transposed=source is not None)
        return None
    if is_one:
        m, starts = prod(static_sizes(rows[:-1])), ([0], [0])
    else:
        starts = _starts(static_sizes(rows), static_sizes(columns))
    batched_matmul(op.Y, buffers, (m, n, k), starts, builder, is_transposed=source is not None)
    return None


MIN_DOT_PRODUCT = 16
"""Terms from which on dot products of vectors are computed without a transposition."""


def plan_transposed(ops: Sequence[Operation], builder: LoweringBuilder) -> dict[Operation, TransposeOp]:
    """Map each MatMul to the transposition of the last two axes of its B, if it is its only reader."""
    found: dict[Operation, TransposeOp] = {}
    for op in ops:
        if not isinstance(op, onnx.MatMulOp) or op in builder.quantized_weights:
            continue
        made = op.B.owner
        if isinstance(made, TransposeOp):
            is_alone = builder.scope.only_user(made.transposed) is op and made.parent is op.parent
            if is_alone and builder.scope.may_join(made, op) and _takes_transposed(op, made, builder):
                found[op] = made
    return found


def _takes_transposed(op: onnx.MatMulOp, made: TransposeOp, builder: LoweringBuilder) -> bool:
    """Whether there is a product with B before a transposition: of floats, not empty, of known sizes."""
    values = op.A, op.B, made.data
    if builder.constant(made.data) is not None or element_type(op.A.type) not in (f32, f64):
        return False
    if any(builder.known_sizes(value) is None for value in (*values, op.Y)):
        return False
    rows, columns, _ = (builder.sizes(value) for value in values)
    last = len(columns) - 1
    axes = int_values(made.perm) or tuple(range(last, -1, -1))
    if len(rows) < 2 or last < 1 or axes != (*range(last - 1), last, last - 1) or 0 in (*rows, *columns):
        return False
    k = columns[-2]
    is_long = is_static(k) and k >= MIN_DOT_PRODUCT
    return is_long and (are_static((*rows, *columns)) or _dynamic_products(rows, columns) is not None)


def _dynamic_products(
    rows: Sequence[Size], columns: Sequence[Size]
) -> tuple[Size, Size, tuple[bool, bool]] | None:
    """
    Return rows of A in a product, the number of products, and whether each has its own A, and its own B.

    None if some, but not all, matrices are broadcast.
    """
    count, m = volume(rows[:-2]), rows[-2]
    if volume(columns[:-2]) == 1:
        count, m = 1, volume(rows[:-1])
    has_both = list(rows[:-2]) == list(columns[:-2])
    if volume(rows[:-2]) == 1 and not has_both:
        count = volume(columns[:-2])
    elif volume(columns[:-2]) != 1 and not has_both:
        return None
    return m, count, (volume(rows[:-2]) != 1 and count != 1, volume(columns[:-2]) != 1)


class _FewRows(NamedTuple):
    """How a product of dynamic sizes is computed where A has few rows."""

    b: SSAValue
    rows: int
    """The most rows of A."""
    tile: tuple[int, int]
    properties: Mapping[str, Attribute]


def dynamic_matmul(
    result: SSAValue,
    buffers: Sequence[SSAValue],
    sizes: tuple[Size, Size, Size],
    batch: tuple[Size, tuple[bool, bool]],
    builder: LoweringBuilder,
    properties: Mapping[str, Attribute] | None = None,
    is_transposed: bool = False,
) -> None:
    """
    Emit products of run-time matrices with dynamic sizes or batch; a third buffer is a bias.

    The result is a tensor or a buffer. `batch` is the number of products, and whether A, and B, has a matrix
    for each. The matrices of B `is_transposed` are N x K.
    """
    count, has = batch
    m, n, k = sizes
    a, b, *bias = buffers
    tile = gemm_tile(builder, element_of(a), sizes)
    attributes = {
        **(properties or {}),
        "dynamic_batch": DenseArrayBase.from_list(i64, [int(each) for each in has]),
    }
    few = _FewRows(b, tile[0], tile, {})
    if is_transposed:
        few = _FewRows(b, MAX_DOT_ROWS, builder.tiles.dot_products(m), {"transposed_b": UnitAttr()})
    if is_static(m) and m <= few.rows:
        # Each element of B is read once.
        found = {**attributes, **few.properties}
        emit_gemm(result, [a, b, *bias], sizes, few.tile, found, builder, count)
        return
    matrices = count if has[1] else 1
    # With few rows, which are found at run time, nothing is packed.
    is_packed = 1 if is_static(m) else min_size(max_size(m - few.rows, 0), 1)
    packed = _pack(b, (matrices * is_packed, k, n), tile[1], builder, is_transposed)
    attributes["packed"] = UnitAttr()
    buffers = [a, packed, *bias]
    emit_gemm(result, buffers, sizes, tile, attributes, builder, count, None if is_static(m) else few)


def _starts(a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the offsets of the matrices of A and of B in each product."""
    numbers = [np.arange(prod(shape[:-2])).reshape(shape[:-2]) for shape in (a, b)]
    a_matrices, b_matrices = np.broadcast_arrays(*numbers)
    return (
        [int(index) * a[-1] * a[-2] for index in a_matrices.reshape(-1)],
        [int(index) * b[-1] * b[-2] for index in b_matrices.reshape(-1)],
    )


def constant_matmul(
    op: onnx.GemmOp | onnx.MatMulOp,
    result: SSAValue,
    sizes: tuple[Size, Size, Size],
    matrix: Array,
    bias: Array | None,
    builder: LoweringBuilder,
    factor: float = 1.0,
) -> None:
    """Emit `factor A B + bias` with a constant B, prepacked in panels as wide as a tile."""
    tile = gemm_tile(builder, builder.element(result), sizes)
    a = builder.buffer(op.A)
    properties: dict[str, Attribute] = {"packed": UnitAttr()}
    if has_bf16_operands(op):
        m, _, k = sizes
        a = bf16_operand(op.A, a, [m, k], builder)
        scaled = matrix if factor == 1.0 else matrix * np.float32(factor)
        weights = builder.packed(scaled, "bf16_panels", {"width": tile[1]})
        properties["products"] = StringAttr(builder.target.bf16_dot)
    elif (narrow := _narrow(matrix, sizes, factor, builder)) is not None:
        weights = prepacked_panels(narrow[0], tile[1], builder)
        if narrow[1]:
            properties["unpack"] = DenseArrayBase.from_list(i64, list(narrow[1]))
    else:
        weights = prepacked_panels(matrix, tile[1], builder, factor)
    buffers = [a, weights]
    if bias is not None:
        buffers.append(builder.constant_buffer(bias))
    emit_gemm(result, buffers, sizes, tile, properties, builder)


def _narrow(
    matrix: Array, sizes: tuple[Size, Size, Size], factor: float, builder: LoweringBuilder
) -> tuple[Array, Sequence[int]] | None:
    """Return weights in 16 bits and their `unpack`, where that loses nothing and pays."""
    if factor != 1.0 or matrix.dtype != np.float32:
        return None
    unpack = builder.tiles.narrow_weights(sizes)
    weights = None if unpack is None else narrowed(matrix, builder.target.narrow_weights)
    return None if unpack is None or weights is None else (weights, unpack)


def prepacked_panels(matrix: Array, width: int, builder: LoweringBuilder, factor: float = 1.0) -> SSAValue:
    """Return a buffer of `factor` times a constant matrix, in panels of `width` columns."""
    return builder.packed(matrix, "gemm_panels", {"width": width}, factor)


def call_gemm(
    output: SSAValue,
    buffers: Sequence[SSAValue],
    sizes: tuple[Size, Size, Size],
    tile: tuple[int, int],
    builder: LoweringBuilder,
    properties: Mapping[str, Attribute] | None = None,
    count: Size = 1,
    few: _FewRows | None = None,
) -> None:
    """
    Emit a kernel of one `krnl.gemm`; `buffers` are A, B (packed unless `properties` are given) and a bias.

    `count` is the number of products of an `dynamic_batch`. `few` is for a packed B and a dynamic M.
    """
    buffers = [*buffers, *([] if few is None else [few.b])]
    types = [buffer.type for buffer in (output, *buffers)]
    # Views of rows are contiguous: without their offsets in the types, all calls share one kernel.
    rows = [buffer_of(each.element_type, each.get_shape()) for each in types if is_buffer(each)]
    kernel = KernelBuilder(rows)
    attributes = {"packed": UnitAttr()} if properties is None else properties
    if "packed" in attributes:
        terms = BF16_TERMS if "products" in attributes else 1
        if builder.tiles.rows_first(size_of(element_of(output)), sizes):
            attributes = {**attributes, "rows_first": UnitAttr()}
        is_plain = not {"products", "rows_first", "transposed_a", "unpack"}.intersection(attributes)
        piece = _depth_piece(element_of(output), sizes, tile, builder) if is_plain else 0
        attributes = {**attributes, **prefetched(builder, element_of(output), sizes, tile, terms, piece)}
    dynamic_sizes = [kernel.size(size) for size in sizes if not is_static(size)]
    if "dynamic_batch" in attributes:
        dynamic_sizes.append(kernel.size(count))
    iterations = kernel.add_range_arguments()
    if few is None:
        product = add_gemm(kernel, kernel.buffers, sizes, tile, attributes, dynamic_sizes, iterations)
    else:
        *operands, rows_of_b = kernel.buffers
        plain = {name: each for name, each in attributes.items() if name not in OF_PACKED}
        is_few = kernel.add(arith.CmpiOp(dynamic_sizes[0], kernel.index(few.rows), "sle"))
        with kernel.when(is_few):
            operands_of_few = [*operands[:2], rows_of_b, *operands[3:]]
            plain.update(few.properties)
            add_gemm(kernel, operands_of_few, sizes, few.tile, plain, dynamic_sizes, iterations)
        with kernel.when(kernel.add(arith.XOrIOp(is_few, kernel.constant(1, i1)))):
            product = add_gemm(kernel, operands, sizes, tile, attributes, dynamic_sizes, iterations)
    builder.call(
        "gemm", kernel, [output], buffers, count if "dynamic_batch" in attributes else product.iterations
    )


OF_PACKED = ("packed", "prefetch", "next_panel_prefetch", "rows_first", "depth_piece")
"""Attributes of products with a packed B."""


def add_gemm(
    kernel: KernelBuilder,
    buffers: Sequence[SSAValue],
    sizes: tuple[Size, Size, Size],
    tile: tuple[int, int],
    properties: Mapping[str, Attribute],
    dynamic_sizes: Sequence[SSAValue],
    iterations: Sequence[SSAValue] = (),
) -> GemmOp:
    """Add a `krnl.gemm` of C, A, B and perhaps a bias to a kernel: all of it, or a range of iterations."""
    attributes = dict(properties)
    for name, size in zip("mnk", sizes, strict=True):
        attributes[name] = IntegerAttr(static_or_dynamic(size), i64)
    attributes["tile"] = DenseArrayBase.from_list(i64, list(tile))
    c, a, b, *bias = buffers
    product = GemmOp(operands=[c, a, b, bias, iterations, dynamic_sizes], properties=attributes)
    kernel.block.add_op(product)
    return product


def batched_matmul(
    result: SSAValue,
    buffers: Sequence[SSAValue],
    sizes: tuple[int, int, int],
    starts: tuple[Sequence[int], Sequence[int]],
    builder: LoweringBuilder,
    properties: dict[str, Attribute] | None = None,
    *,
    is_transposed: bool = False,
) -> None:
    """
    Emit products of run-time matrices; a third buffer is a bias. Those of a B `is_transposed` are N x K.

    B is packed first if more than one tile of rows of A reads it: rows of B far apart map to few cache sets,
    so unpacked reads would conflict.
    """
    element = builder.element(result)
    operands, tile, attributes = _batch(buffers, sizes, starts, element, is_transposed, builder)
    emit_gemm(result, operands, sizes, tile, {**(properties or {}), **attributes}, builder)


def product_of_buffers(
    output: SSAValue,
    buffers: Sequence[SSAValue],
    shapes: tuple[Sequence[int], Sequence[int]],
    builder: LoweringBuilder,
    is_transposed: bool = False,
    properties: Mapping[str, Attribute] | None = None,
) -> None:
    """
    Emit products of the last two axes of two run-time buffers, whose other axes are broadcast.

    A second one `is_transposed` has the last axes of its shape in the other order.
    """
    (*_, m, k), (*_, n) = shapes
    starts, element = _starts(*shapes), element_of(output)
    operands, tile, attributes = _batch(buffers, (m, n, k), starts, element, is_transposed, builder)
    call_gemm(output, operands, (m, n, k), tile, builder, {**(properties or {}), **attributes})


def _batch(
    buffers: Sequence[SSAValue],
    sizes: tuple[int, int, int],
    starts: tuple[Sequence[int], Sequence[int]],
    element: Attribute,
    is_transposed: bool,
    builder: LoweringBuilder,
) -> tuple[list[SSAValue], tuple[int, int], dict[str, Attribute]]:
    """Return the buffers of run-time products, B packed if that pays, the tile and other attributes."""
    # Without packing, a tile of columns of B touches one cache line per row, N elements apart.
    a, b, *bias = buffers
    tile = gemm_tile(builder, element, sizes)
    attributes: dict[str, Attribute] = {}
    starts_b = starts[1]
    if is_transposed and not bias and sizes[0] <= MAX_DOT_ROWS:
        attributes["transposed_b"] = UnitAttr()
        tile = builder.tiles.dot_products(sizes[0])
    elif is_transposed or sizes[0] > tile[0]:
        b, starts_b = _packed(b, sizes, starts_b, tile[1], is_transposed, builder)
        attributes["packed"] = UnitAttr()
    attributes["batch_a"] = DenseArrayBase.from_list(i64, list(starts[0]))
    attributes["batch_b"] = DenseArrayBase.from_list(i64, list(starts_b))
    return [a, b, *bias], tile, attributes


def _packed(
    b: SSAValue,
    sizes: tuple[int, int, int],
    starts: Sequence[int],
    width: int,
    is_transposed: bool,
    builder: LoweringBuilder,
) -> tuple[SSAValue, list[int]]:
    """Pack matrices into panels; return the buffer and the offset of each product's panels."""
    _, n, k = sizes
    count = max(starts) // (n * k) + 1
    panels = -(-n // width)
    return _pack(b, (count, k, n), width, builder, is_transposed), [
        start // (n * k) * panels * k * width for start in starts
    ]


def _pack(
    b: SSAValue,
    sizes: tuple[Size, Size, Size],
    width: int,
    builder: LoweringBuilder,
    is_transposed: bool = False,
) -> SSAValue:
    """Pack matrices into panels of `width` columns; columns beyond the last stay unset."""
    count, k, n = sizes

    def read(row: IndexExpr, column: IndexExpr) -> AffineAccess:
        shape, at = ([count, n, k], [column, row]) if is_transposed else ([count, k, n], [row, column])
        return AffineAccess(b, shape, [dim(0), *at])

    panels = n // width
    rest = n - panels * width
    shape = [count, (n + width - 1) // width, k, width]
    target = builder.allocate(shape, element_of(b))
    if panels != 0:
        source = read(dim(2), IndexExpr(((1, width), (3, 1))))
        copy("pack", [count, panels, k, width], AffineAccess.whole(target, shape), source, builder)
    if rest != 0:
        write = [dim(0), IndexExpr(offset=panels), dim(1), dim(2)]
        source = read(dim(1), dim(2, offset=panels * width))
        copy("pack", [count, k, rest], AffineAccess(target, shape, write), source, builder)
    return target


def gemm_tile(
    builder: LoweringBuilder, element: Attribute, sizes: tuple[Size, Size, Size]
) -> tuple[int, int]:
    """Return rows and columns of the register tile."""
    return builder.tiles.gemm(gemm_key(sizes, element), size_of(element), sizes)


def _depth_piece(
    element: Attribute, sizes: tuple[Size, Size, Size], tile: tuple[int, int], builder: LoweringBuilder
) -> int:
    """Return how many rows of a packed B a product takes at a time, or 0 for all."""
    m, n, k = sizes
    if not (is_static(n) and is_static(k)) or (is_static(m) and m <= tile[0]):
        return 0
    width = -(-tile[1] * size_of(element) // builder.target.vector_bytes)
    return builder.tiles.depth_piece(k, k, width)


def prefetched(
    builder: LoweringBuilder,
    element: Attribute,
    sizes: tuple[Size, Size, Size],
    tile: tuple[int, int],
    terms: int = 1,
    piece: int = 0,
) -> dict[str, Attribute]:
    """
    Return properties that say whether a packed B is multiplied in pieces, and whether it and the result are
    prefetched.

    A step of a tile multiplies `terms` rows of B. A piece is of that number of rows, or of all if it is 0.
    """
    properties: dict[str, Attribute] = {"depth_piece": IntegerAttr(piece, i64)} if piece else {}
    if distance := builder.tiles.prefetch(size_of(element), sizes, tile):
        properties["prefetch"] = IntegerAttr(distance, i64)
    m, n, k = sizes
    if is_static(n) and is_static(k):
        lanes = builder.target.vector_bytes // size_of(element)
        tiles = -(-m // tile[0]) if is_static(m) else None
        found = builder.tiles.next_panel_prefetch(
            k // terms, -(-n // lanes), -(-tile[1] // lanes), tiles, piece
        )
        if found:
            properties["next_panel_prefetch"] = IntegerAttr(found, i64)
    if builder.tiles.write_prefetch(size_of(element), sizes):
        properties["write_prefetch"] = UnitAttr()
    return properties


def emit_gemm(
    result: SSAValue,
    buffers: Sequence[SSAValue],
    sizes: tuple[Size, Size, Size],
    tile: tuple[int, int],
    properties: dict[str, Attribute],
    builder: LoweringBuilder,
    count: Size = 1,
    few: _FewRows | None = None,
) -> None:
    """Emit a kernel of one `krnl.gemm`, as `call_gemm` does, with a Relu fused that follows a tensor."""
    if is_buffer(result.type):
        call_gemm(result, buffers, sizes, tile, builder, properties, count, few)
        return
    activation = following_relu(result, builder)
    attributes = dict(properties)
    if activation is not None:
        builder.fused.add(activation)
        attributes["activation"] = StringAttr("relu")
        result = activation.results[0]
    call_gemm(builder.result(result), buffers, sizes, tile, builder, attributes, count, few)


def following_relu(result: SSAValue, builder: LoweringBuilder) -> Operation | None:
    """Return the Relu that is the only reader of a result, or None."""
    reader, made = builder.scope.only_user(result), result.owner
    if not isinstance(reader, onnx.ReluOp) or not isinstance(made, Operation):
        return None
    is_theirs = reader.parent is made.parent and builder.scope.may_join(reader, made)
    return reader if is_theirs and builder.has_known_sizes(reader.Y) else None
