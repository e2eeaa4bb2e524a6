"""
Gemm and MatMul in register tiles (`krnl.gemm`), with packed B panels as in GotoBLAS (Goto and van de Geijn,
2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
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
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.types import NONE
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
from xonnc.lowering.onnx_to_krnl.planning.select_bf16_onnx import has_bf16_operands
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import (
    Size,
    are_static,
    is_static,
    max_size,
    min_size,
    static_sizes,
    volume,
)
from xonnc.lowering.onnx_to_krnl.planning.tile_keys import gemm_key
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
        matrix = builder.buffer(op.B)
        matrix = _transposed(matrix, (n, k), builder) if op.transB.value.data else matrix
        product_of_buffers(product, [a, matrix], ([m, k], [k, n]), builder)
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
    if not (is_static(m) and is_static(n) and is_static(k) and are_static((*rows, *columns))):
        return _dynamic_matmul(op, rows, columns, builder)
    if is_one:
        m, starts = prod(static_sizes(rows[:-1])), ([0], [0])
    else:
        starts = _starts(static_sizes(rows), static_sizes(columns))
    batched_matmul(op.Y, [builder.buffer(op.A), builder.buffer(op.B)], (m, n, k), starts, builder)
    return None


def _dynamic_matmul(
    op: onnx.MatMulOp, rows: Sequence[Size], columns: Sequence[Size], builder: LoweringBuilder
) -> str | None:
    """Products of run-time matrices with dynamic sizes or a dynamic batch."""
    if op in builder.biases:
        return NO_DYNAMIC_KERNEL
    count, m = volume(rows[:-2]), rows[-2]
    k, n = columns[-2:]
    if volume(columns[:-2]) == 1:
        count, m = 1, volume(rows[:-1])
    has_both = list(rows[:-2]) == list(columns[:-2])
    if volume(rows[:-2]) == 1 and not has_both:
        count = volume(columns[:-2])
    elif volume(columns[:-2]) != 1 and not has_both:
        return "broadcast matrices with a dynamic batch"
    has = volume(rows[:-2]) != 1 and count != 1, volume(columns[:-2]) != 1
    dynamic_matmul(op.Y, [builder.buffer(op.A), builder.buffer(op.B)], (m, n, k), (count, has), builder)
    return None


def dynamic_matmul(
    result: SSAValue,
    buffers: Sequence[SSAValue],
    sizes: tuple[Size, Size, Size],
    batch: tuple[Size, tuple[bool, bool]],
    builder: LoweringBuilder,
    properties: Mapping[str, Attribute] | None = None,
) -> None:
    """
    Emit products of run-time matrices with dynamic sizes or batch; a third buffer is a bias.

    `batch` is the number of products, and whether A, and B, has a matrix for each.
    """
    count, has = batch
    m, n, k = sizes
    a, b, *bias = buffers
    tile = gemm_tile(builder, builder.element(result), sizes)
    attributes = {
        **(properties or {}),
        "dynamic_batch": DenseArrayBase.from_list(i64, [int(each) for each in has]),
    }
    if is_static(m) and m <= tile[0]:
        # Each element of B is read once.
        emit_gemm(result, [a, b, *bias], sizes, tile, attributes, builder, count)
        return
    matrices = count if has[1] else 1
    # With few rows, which are found at run time, nothing is packed.
    is_packed = 1 if is_static(m) else min_size(max_size(m - tile[0], 0), 1)
    packed = _pack(b, (matrices * is_packed, k, n), tile[1], builder)
    unpacked = None if is_static(m) else b
    attributes["packed"] = UnitAttr()
    emit_gemm(result, [a, packed, *bias], sizes, tile, attributes, builder, count, unpacked)


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
    else:
        weights = prepacked_panels(matrix, tile[1], builder, factor)
    buffers = [a, weights]
    if bias is not None:
        buffers.append(builder.constant_buffer(bias))
    emit_gemm(result, buffers, sizes, tile, properties, builder)


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
    unpacked: SSAValue | None = None,
) -> None:
    """
    Emit a kernel of one `krnl.gemm`; `buffers` are A, B (packed unless `properties` are given) and a bias.

    `count` is the number of products of an `dynamic_batch`. B is read `unpacked`, if given, where A has
    no more rows than a tile.
    """
    buffers = [*buffers, *([] if unpacked is None else [unpacked])]
    types = [buffer.type for buffer in (output, *buffers)]
    # Views of rows are contiguous: without their offsets in the types, all calls share one kernel.
    rows = [buffer_of(each.element_type, each.get_shape()) for each in types if is_buffer(each)]
    kernel = KernelBuilder(rows)
    attributes = {"packed": UnitAttr()} if properties is None else properties
    if "packed" in attributes:
        terms = BF16_TERMS if "products" in attributes else 1
        attributes = {**attributes, **prefetched(builder, element_of(output), sizes, tile, terms)}
        if builder.tiles.rows_first(size_of(element_of(output)), sizes):
            attributes["rows_first"] = UnitAttr()
    dynamic_sizes = [kernel.size(size) for size in sizes if not is_static(size)]
    if "dynamic_batch" in attributes:
        dynamic_sizes.append(kernel.size(count))
    iterations = kernel.add_range_arguments()
    if unpacked is None:
        product = add_gemm(kernel, kernel.buffers, sizes, tile, attributes, dynamic_sizes, iterations)
    else:
        *operands, rows_of_b = kernel.buffers
        plain = {name: each for name, each in attributes.items() if name not in OF_PACKED}
        is_few = kernel.add(arith.CmpiOp(dynamic_sizes[0], kernel.index(tile[0]), "sle"))
        with kernel.when(is_few):
            few = [*operands[:2], rows_of_b, *operands[3:]]
            add_gemm(kernel, few, sizes, tile, plain, dynamic_sizes, iterations)
        with kernel.when(kernel.add(arith.XOrIOp(is_few, kernel.constant(1, i1)))):
            product = add_gemm(kernel, operands, sizes, tile, attributes, dynamic_sizes, iterations)
    builder.call(
        "gemm", kernel, [output], buffers, count if "dynamic_batch" in attributes else product.iterations
    )


OF_PACKED = ("packed", "prefetch", "next_panel_prefetch", "rows_first")
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
        attributes[name] = IntegerAttr(size if is_static(size) else DYNAMIC_INDEX, i64)
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
) -> None:
    """
    Emit products of run-time matrices; a third buffer is a bias.

    B is packed first if more than one tile of rows of A reads it: rows of B far apart map to few cache sets,
    so unpacked reads would conflict.
    """
    tile = gemm_tile(builder, builder.element(result), sizes)
    operands, attributes = _batch(buffers, sizes, starts, tile, builder)
    emit_gemm(result, operands, sizes, tile, {**(properties or {}), **attributes}, builder)


def product_of_buffers(
    output: SSAValue,
    buffers: Sequence[SSAValue],
    shapes: tuple[Sequence[int], Sequence[int]],
    builder: LoweringBuilder,
) -> None:
    """Emit products of the last two axes of two run-time buffers, whose other axes are broadcast."""
    (*_, m, k), (*_, n) = shapes
    starts = _starts(*shapes)
    tile = gemm_tile(builder, element_of(output), (m, n, k))
    operands, attributes = _batch(buffers, (m, n, k), starts, tile, builder)
    call_gemm(output, operands, (m, n, k), tile, builder, attributes)


def _batch(
    buffers: Sequence[SSAValue],
    sizes: tuple[int, int, int],
    starts: tuple[Sequence[int], Sequence[int]],
    tile: tuple[int, int],
    builder: LoweringBuilder,
) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """Return the buffers of run-time products, B packed if that pays, and where their matrices begin."""
    # Without packing, a tile of columns of B touches one cache line per row, N elements apart.
    a, b, *bias = buffers
    attributes: dict[str, Attribute] = {}
    starts_b = starts[1]
    if sizes[0] > tile[0]:
        b, starts_b = _packed(b, sizes, starts_b, tile[1], builder)
        attributes["packed"] = UnitAttr()
    attributes["batch_a"] = DenseArrayBase.from_list(i64, list(starts[0]))
    attributes["batch_b"] = DenseArrayBase.from_list(i64, list(starts_b))
    return [a, b, *bias], attributes


def _packed(
    b: SSAValue, sizes: tuple[int, int, int], starts: Sequence[int], width: int, builder: LoweringBuilder
) -> tuple[SSAValue, list[int]]:
    """Pack matrices into panels; return the buffer and the offset of each product's panels."""
    _, n, k = sizes
    count = max(starts) // (n * k) + 1
    panels = -(-n // width)
    return _pack(b, (count, k, n), width, builder), [
        start // (n * k) * panels * k * width for start in starts
    ]


def _pack(b: SSAValue, sizes: tuple[Size, Size, Size], width: int, builder: LoweringBuilder) -> SSAValue:
    """Pack matrices into panels of `width` columns; columns beyond the last stay unset."""
    count, k, n = sizes
    panels = n // width
    rest = n - panels * width
    shape = [count, (n + width - 1) // width, k, width]
    target = builder.allocate(shape, element_of(b))
    if panels != 0:
        read = [dim(0), dim(2), IndexExpr(((1, width), (3, 1)))]
        copy(
            "pack",
            [count, panels, k, width],
            AffineAccess.whole(target, shape),
            AffineAccess(b, list(sizes), read),
            builder,
        )
    if rest != 0:
        write = [dim(0), IndexExpr(offset=panels), dim(1), dim(2)]
        read = [dim(0), dim(1), dim(2, offset=panels * width)]
        copy(
            "pack",
            [count, k, rest],
            AffineAccess(target, shape, write),
            AffineAccess(b, list(sizes), read),
            builder,
        )
    return target


def gemm_tile(
    builder: LoweringBuilder, element: Attribute, sizes: tuple[Size, Size, Size]
) -> tuple[int, int]:
    """Return rows and columns of the register tile."""
    return builder.tiles.gemm(gemm_key(sizes, element), size_of(element), sizes)


def prefetched(
    builder: LoweringBuilder,
    element: Attribute,
    sizes: tuple[Size, Size, Size],
    tile: tuple[int, int],
    terms: int = 1,
) -> dict[str, Attribute]:
    """
    Return properties that say whether a packed B and the result are prefetched.

    A step of a tile multiplies `terms` rows of B.
    """
    properties: dict[str, Attribute] = {}
    if distance := builder.tiles.prefetch(size_of(element), sizes, tile):
        properties["prefetch"] = IntegerAttr(distance, i64)
    m, n, k = sizes
    if is_static(n) and is_static(k):
        lanes = builder.target.vector_bytes // size_of(element)
        tiles = -(-m // tile[0]) if is_static(m) else None
        found = builder.tiles.next_panel_prefetch(k // terms, -(-n // lanes), -(-tile[1] // lanes), tiles)
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
    unpacked: SSAValue | None = None,
) -> None:
    """Emit a kernel of one `krnl.gemm`, as `call_gemm` does, with a following Relu fused."""
    activation = following_relu(result, builder)
    attributes = dict(properties)
    if activation is not None:
        builder.fused.add(activation)
        attributes["activation"] = StringAttr("relu")
        result = activation.results[0]
    call_gemm(builder.result(result), buffers, sizes, tile, builder, attributes, count, unpacked)


def following_relu(result: SSAValue, builder: LoweringBuilder) -> Operation | None:
    """Return the Relu that is the only reader of a result, or None."""
    reader, made = builder.scope.only_user(result), result.owner
    if not isinstance(reader, onnx.ReluOp) or not isinstance(made, Operation):
        return None
    is_theirs = reader.parent is made.parent and builder.scope.may_join(reader, made)
    return reader if is_theirs and builder.has_known_sizes(reader.Y) else None
