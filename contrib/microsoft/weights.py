"""Matrix products and Gather with block-quantized weights of 2, 4 or 8 bits."""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, wide
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16, ml_dtypes.bfloat16)


def unpacked(packed: Array, bits: int) -> Array:
    """Unpack integers of `bits` bits from the bytes of the last axis, lowest bits first."""
    count = 8 // bits
    parts = [(packed >> (bits * index)) & ((1 << bits) - 1) for index in range(count)]
    return np.stack(parts, -1).reshape((*packed.shape[:-1], packed.shape[-1] * count))


def unpacked_rows(packed: Array, bits: int) -> Array:
    """Unpack integers from the bytes of the last axis of a matrix, transposed: one column for each row."""
    count = 8 // bits
    # The bytes are transposed, not the integers, of which there are more.
    columns = np.ascontiguousarray(packed.T)
    found = np.empty((columns.shape[0] * count, columns.shape[1]), np.uint8)
    for index in range(count):
        np.right_shift(columns, bits * index, out=found[index::count])
    return np.bitwise_and(found, (1 << bits) - 1, out=found)


def block_weights(op: Any, packed: Array, scales: Array, zeros: Array | None, index: Array) -> Array:
    """
    Dequantize the weights of MatMulNBits; return them transposed, one row for each output column.

    `index` is the block of each element along K, whose scale and zero point it has.
    """
    rows, blocks = op.N, -(-op.K // op.block_size)
    values = unpacked(packed.reshape((rows, blocks, -1)), op.bits)[..., : op.block_size]
    if zeros is None:
        offset: Any = np.float32(1 << (op.bits - 1))
    elif zeros.dtype == np.uint8:
        offset = unpacked(zeros.reshape((rows, -1)), op.bits)[:, index].astype(np.float32)
    else:
        offset = wide(zeros).reshape((rows, blocks))[:, index]
    integers = values.reshape((rows, -1))[:, : op.K].astype(np.float32)
    return np.asarray((integers - offset) * wide(scales).reshape((rows, blocks))[:, index], np.float32)


def integer_offsets(zeros: Array | None, shape: tuple[int, int], bits: int) -> tuple[Array, Array | None]:
    """
    Return integer zero points of blocks, transposed, and what real ones are beyond them.

    `shape` are the numbers of columns of the product and of blocks along K. Without a rest it is `None`.
    """
    rows, blocks = shape
    offsets: Array = np.full((blocks, rows), 1 << (bits - 1), np.uint8)
    if zeros is None:
        return offsets, None
    if zeros.dtype == np.uint8:
        return np.ascontiguousarray(unpacked_rows(zeros.reshape((rows, -1)), bits)[:blocks]), None
    real = wide(zeros).reshape(shape)
    if np.all((real == np.rint(real)) & (real >= 0) & (real < 1 << bits)):
        return np.ascontiguousarray(real.T.astype(np.uint8)), None
    return offsets, real - np.float32(1 << (bits - 1))


INT8_TYPE = 3
"""The number of int8 among ONNX's element types."""

INT8_ACTIVATIONS = 4
"""The `accuracy_level` of MatMulNBits that permits int8 activations."""


@contrib("MatMulNBits")
class MatMulNBits:
    """Matrix product with weights of 2, 4 or 8 bits, quantized by blocks along K with a scale each."""

    inputs = (
        one("T1", name="a"),
        one(np.uint8, name="b"),
        one("T1", name="scales"),
        optional("T3", name="zeros"),
        optional(np.int32, name="g_idx"),
        optional("T1", name="bias"),
    )
    outputs = one("T1")
    types = allowed(T1=REAL, T3=(np.uint8, *REAL))
    K = attribute(int)
    N = attribute(int)
    accuracy_level = attribute(int, default=0)
    bits = attribute(int, default=4, choices=(2, 4, 8))
    block_size = attribute(int)
    weight_prepacked = attribute(int, default=0, choices=(0,))

    @staticmethod
    def require_sizes(op: Any) -> None:
        """
        Raise `XonncError` for weights, scales or zero points of another number of elements than needed.

        Older tools put the zero points of all columns in one row of bytes; onnxruntime refuses that too.
        """
        blocks = -(-op.K // op.block_size)
        zeros = -(-blocks * op.bits // 8) if op.zeros is not None and op.zeros.dtype == np.uint8 else blocks
        needed = {"B": (op.b, blocks * -(-op.block_size * op.bits // 8)), "scales": (op.scales, blocks)}
        for name, (value, count) in (needed | {"zero_points": (op.zeros, zeros)}).items():
            shape = None if value is None else value.shape
            sizes = [each for each in shape or () if isinstance(each, int)]
            if shape is not None and len(sizes) == len(shape) and prod(sizes) != op.N * count:
                found = "x".join(map(str, sizes))
                raise op.fail(f"{name} has {found} elements; N = {op.N} columns need {count} each")

    @staticmethod
    def infer(op: Any) -> TensorType:
        MatMulNBits.require_sizes(op)
        return op.a if op.a.shape is None else op.a.with_shape((*op.a.shape[:-1], op.N))

    @staticmethod
    def reference(op: Any, a: Array, b: Array, scales: Array, *others: Array | None) -> Array:
        zeros, index, bias = others
        y = wide(a) @ block_weights(op, b, scales, zeros, MatMulNBits.block_index(op, index)).T
        return np.asarray(y if bias is None else y + wide(bias)).astype(a.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        packed, scales = op.constant(1), op.constant(2)
        zeros = None if op.zeros is None else op.constant(3)
        given = None if op.g_idx is None else op.constant(4)
        optionals = (op.zeros, zeros), (op.g_idx, given)
        if packed is None or scales is None or any(a is not None and c is None for a, c in optionals):
            y = b.MatMul(op.a, MatMulNBits.unpack(op, b))
            return y if op.bias is None else b.Add(y, op.bias)
        index = MatMulNBits.block_index(op, given)
        order: Array = np.argsort(index, kind="stable")
        if op.K % op.block_size == 0 and np.array_equal(index[order], MatMulNBits.block_index(op, None)):
            return MatMulNBits.packed_product(op, b, packed, wide(scales), zeros, order)
        real = block_weights(op, packed, scales, zeros, index).T
        y = b.MatMul(op.a, b.constant(np.ascontiguousarray(real).astype(op.a.dtype)))
        return y if op.bias is None else b.Add(y, op.bias)

    @staticmethod
    def block_index(op: Any, given: Array | None) -> Array:
        """Return the block of each element along K: `g_idx`, or else blocks of neighbours."""
        if given is None:
            neighbours: Array = np.arange(op.K, dtype=np.int64) // int(op.block_size)
            return neighbours
        blocks = -(-op.K // op.block_size)
        index = given.reshape(-1)
        if index.size != op.K or (index.size and not 0 <= index.min() <= index.max() < blocks):
            raise op.fail(f"g_idx has an index from 0 to {blocks - 1} for each of {op.K} rows, found {index}")
        return index

    @staticmethod
    def packed_product(
        op: Any, b: Builder, packed: Array, scales: Array, zeros: Array | None, order: Array
    ) -> Value:
        """
        Build the product with whole blocks of constant weights, packed in memory, in float32.

        `order` has the elements along K by their blocks: GPTQ quantizes columns in the order of their effect
        on the result and so spreads a block over K. Weights and activations are taken in that order.
        """
        a = op.a if op.a.dtype == np.float32 else b.Cast(op.a, to=np.float32)
        if np.any(order[1:] < order[:-1]):
            a = b.Gather(a, b.constant(order.astype(np.int64)), axis=-1)
        # onnxruntime rounds no activations if there are indices of blocks.
        if op.accuracy_level == INT8_ACTIVATIONS and op.g_idx is None:
            a = MatMulNBits.quantized(op, b, a)
        shape = op.N, op.K // op.block_size
        offsets, rest = integer_offsets(zeros, shape, op.bits)
        y = b.MatMul(a, MatMulNBits.dequantize(op, b, packed, scales, offsets, order))
        if rest is not None:
            # What a zero point is beyond the integer one is a product with the sums of the blocks.
            sums = b.ReduceSum(b.Reshape(a, MatMulNBits.blocks(op)), [-1], keepdims=0)
            moved = (rest * scales.reshape(shape)).astype(np.float32)
            y = b.Sub(y, b.MatMul(sums, b.constant(np.ascontiguousarray(moved.T))))
        if op.bias is not None:
            y = b.Add(y, op.bias if op.a.dtype == np.float32 else b.Cast(op.bias, to=np.float32))
        return y if op.a.dtype == np.float32 else b.Cast(y, to=op.a.dtype)

    @staticmethod
    def blocks(op: Any) -> list[int]:
        """Return the shape of the activations with the blocks of K as an axis."""
        return [*[0] * (len(op.a.shape) - 1), op.K // op.block_size, op.block_size]

    @staticmethod
    def quantized(op: Any, b: Builder, a: Value) -> Value:
        """Build the activations rounded to int8, with a scale for the blocks of weights."""
        largest = b.ReduceMax(b.Abs(b.Reshape(a, MatMulNBits.blocks(op))), [-1], keepdims=0)
        scale = b.Mul(largest, np.float32(1 / 127))
        # A block of zeros, or of numbers so small that their scale is none.
        scale = b.Where(b.Equal(scale, np.float32(0)), np.float32(1), scale)
        given = {"axis": -1, "block_size": op.block_size}
        return b.DequantizeLinear(b.QuantizeLinear(a, scale, output_dtype=INT8_TYPE, **given), scale, **given)

    @staticmethod
    def dequantize(op: Any, b: Builder, packed: Array, scales: Array, offsets: Array, order: Array) -> Value:
        """Build a DequantizeLinear of the constant weights, `K×N`, with a scale for each block of rows."""
        # Weights of 2 bits are kept in 4, for which there are kernels.
        dtype = np.uint8 if op.bits == 8 else ml_dtypes.uint4
        values = unpacked_rows(packed.reshape((op.N, -1)), op.bits)[order]
        real_scales = np.ascontiguousarray(scales.reshape((op.N, -1)).T)
        constants = [b.constant(each) for each in (values.view(dtype), real_scales, offsets.view(dtype))]
        return b.DequantizeLinear(*constants, axis=0, block_size=op.block_size)

    @staticmethod
    def unpack(op: Any, b: Builder) -> Value:
        """Build the dequantization of weights that are not constant from ONNX operators."""
        rows, blocks = op.N, -(-op.K // op.block_size)

        def spread(packed: Any, shape: list[int]) -> Value:
            bytes_ = b.Unsqueeze(b.Reshape(packed, [*shape, -1]), [-1])
            shifts = np.arange(0, 8, op.bits, dtype=np.uint8)
            found = b.BitShift(bytes_, shifts, direction="RIGHT")
            return b.Reshape(b.BitwiseAnd(found, np.uint8((1 << op.bits) - 1)), [*shape, -1])

        values = b.Cast(spread(op.b, [rows, blocks]), to=np.float32)
        if op.zeros is None:
            offset: Any = np.float32(1 << (op.bits - 1))
        elif op.zeros.dtype == np.uint8:
            zero_points = b.Slice(spread(op.zeros, [rows]), [0], [blocks], [1])
            offset = b.Unsqueeze(b.Cast(zero_points, to=np.float32), [-1])
        else:
            offset = b.Cast(b.Reshape(op.zeros, [rows, blocks, 1]), to=np.float32)
        scales = b.Cast(b.Reshape(op.scales, [rows, blocks, 1]), to=np.float32)
        if op.g_idx is not None:
            values = b.Unsqueeze(b.Slice(b.Reshape(values, [rows, -1]), [0], [op.K], [1]), [-1])
            scales = b.Gather(scales, op.g_idx, axis=1)
            offset = offset if op.zeros is None else b.Gather(offset, op.g_idx, axis=1)
        real = b.Reshape(b.Mul(b.Sub(values, offset), scales), [rows, -1])
        return b.CastLike(b.Transpose(b.Slice(real, [0], [op.K], [1]), perm=[1, 0]), op.a)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for bits, zero_kind, has_bias in ((4, 0, 0), (4, 1, 1), (8, 1, 0), (4, 2, 0), (4, 1, 0), (4, 2, 1)):
            size = int(rng.choice([16, 32]))
            n, k = int(rng.integers(1, 9)), int(rng.integers(1, 4)) * size
            blocks = k // size
            b = rng.integers(0, 256, (n, blocks, size * bits // 8)).astype(np.uint8)
            scales = rng.uniform(0.01, 0.1, (n, blocks)).astype(np.float32)
            packed = rng.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8)
            zeros = (None, packed, rng.uniform(0, 15, (n, blocks)).astype(np.float32))[zero_kind]
            a = normal(rng, int(rng.integers(1, 4)), int(rng.integers(1, 4)), k)
            # With integer zero points onnxruntime ignores these if there are indices of blocks.
            has_index = bool(has_bias) and zero_kind != 1
            index = (rng.permutation(k) // size).astype(np.int32) if has_index else None
            operands: list[Array | None] = [a, b, scales, zeros, index, normal(rng, n) if has_bias else None]
            yield operands, {"K": k, "N": n, "bits": bits, "block_size": size}


_POSITIVE = np.array([0, 5.208333333e-03, 2 / 3, 1, 1 / 3, 0.5, 1 / 6, 0.25], np.float32)
FP4 = np.concatenate([_POSITIVE, -_POSITIVE])
NF4 = np.array(
    [
        -1.0,
        -0.6961928009986877,
        -0.5250730514526367,
        -0.39491748809814453,
        -0.28444138169288635,
        -0.18477343022823334,
        -0.09105003625154495,
        0.0,
        0.07958029955625534,
        0.16093020141124725,
        0.24611230194568634,
        0.33791524171829224,
        0.44070982933044434,
        0.5626170039176941,
        0.7229568362236023,
        1.0,
    ],
    np.float32,
)
"""The values of the 16 codes of bitsandbytes' formats FP4 and NF4."""


def bnb_weights(op: Any, packed: Array, absmax: Array) -> Array:
    """Dequantize the weights of MatMulBnb4; the upper nibble of a byte comes first."""
    table = NF4 if op.quant_type else FP4
    flat = packed.reshape(-1)
    values = table[np.stack([flat >> 4, flat & 15], -1).reshape(-1)][: op.N * op.K]
    scales = np.repeat(wide(absmax).reshape(-1), op.block_size)[: op.N * op.K]
    return np.asarray((values * scales).reshape((op.N, op.K)))


@contrib("MatMulBnb4")
class MatMulBnb4:
    """Matrix product with weights in the 4-bit formats of bitsandbytes (FP4, NF4)."""

    inputs = (one("T1", name="a"), one(np.uint8, name="b"), one("T1", name="absmax"))
    outputs = one("T1")
    types = allowed(T1=REAL)
    K = attribute(int)
    N = attribute(int)
    block_size = attribute(int)
    quant_type = attribute(int, choices=(0, 1))
    training_mode = attribute(int, default=0, choices=(0,))
    trans_b = attribute(int, default=1, source="transB", choices=(1,))

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.a if op.a.shape is None else op.a.with_shape((*op.a.shape[:-1], op.N))

    @staticmethod
    def reference(op: Any, a: Array, b: Array, absmax: Array) -> Array:
        return np.asarray(wide(a) @ bnb_weights(op, b, absmax).T).astype(a.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        packed, absmax = op.constant(1), op.constant(2)
        if packed is not None and absmax is not None:
            weights = np.ascontiguousarray(bnb_weights(op, packed, absmax).T)
            return b.MatMul(op.a, b.constant(weights.astype(op.a.dtype)))
        bytes_ = b.Unsqueeze(b.Reshape(op.b, [-1]), [-1])
        nibbles = b.BitwiseAnd(
            b.BitShift(bytes_, np.array([4, 0], np.uint8), direction="RIGHT"), np.uint8(15)
        )
        index = b.Slice(b.Reshape(b.Cast(nibbles, to=np.int64), [-1]), [0], [op.N * op.K], [0])
        values = b.Gather(NF4 if op.quant_type else FP4, index)
        blocks = np.arange(op.N * op.K, dtype=np.int64) // op.block_size
        scales = b.Gather(b.Cast(b.Reshape(op.absmax, [-1]), to=np.float32), blocks)
        weights = b.CastLike(b.Reshape(b.Mul(values, scales), [op.N, op.K]), op.a)
        return b.MatMul(op.a, b.Transpose(weights, perm=[1, 0]))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for kind in (0, 1, 1):
            n, k, size = int(rng.integers(1, 9)), 16 * int(rng.integers(1, 5)), 16
            b = rng.integers(0, 256, (n * k + 1) // 2).astype(np.uint8)
            absmax = rng.uniform(0.1, 2, -(-n * k // size)).astype(np.float32)
            given = {"K": k, "N": n, "block_size": size, "quant_type": kind}
            yield [normal(rng, 2, int(rng.integers(1, 4)), k), b, absmax], given


@contrib("GatherBlockQuantized")
class GatherBlockQuantized:
    """Gather from block-quantized data, dequantizing the gathered elements."""

    inputs = (
        one("T1", name="data"),
        one("Tind", name="indices"),
        one("T2", name="scales"),
        optional("T1", name="zeros"),
    )
    outputs = one("T2")
    types = allowed(T1=(ml_dtypes.uint4, ml_dtypes.int4, np.uint8), T2=REAL, Tind=(np.int32, np.int64))
    bits = attribute(int, default=4, choices=(2, 4, 8))
    block_size = attribute(int, default=128)
    gather_axis = attribute(int, default=0)
    quantize_axis = attribute(int, default=1)

    @staticmethod
    def packs(op: Any) -> int:
        """Return the number of integers packed into each element of the data."""
        return 8 // op.bits if op.data.dtype == np.uint8 else 1

    @staticmethod
    def infer(op: Any) -> TensorType:
        shape, indices = op.data.shape, op.indices.shape
        if shape is None or indices is None:
            return op.scales.with_shape(None)
        axis = op.gather_axis % len(shape)
        last = shape[-1] * GatherBlockQuantized.packs(op)
        shape = (*shape[:-1], last)
        return op.scales.with_shape([*shape[:axis], *indices, *shape[axis + 1 :]])

    @staticmethod
    def reference(op: Any, data: Array, indices: Array, scales: Array, zeros: Array | None) -> Array:
        is_packed = data.dtype == np.uint8
        values = unpacked(data, op.bits) if is_packed else data
        values = values.astype(np.float32)
        axis = op.quantize_axis % values.ndim
        if zeros is not None:
            zero_points = unpacked(zeros, op.bits) if is_packed else zeros
            zero_points = zero_points[tuple(slice(0, size) for size in scales.shape)]
            offset: Any = np.repeat(zero_points.astype(np.float32), op.block_size, axis)
        else:
            offset = np.full(values.shape, 1 << (op.bits - 1) if is_packed else 0, np.float32)
        factor = np.repeat(wide(scales), op.block_size, axis)
        inside = tuple(slice(0, size) for size in values.shape)
        real = (values - offset[inside]) * factor[inside]
        return np.take(real, indices, op.gather_axis).astype(scales.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        shape = op.data.shape
        if shape is None or not all(isinstance(size, int) for size in shape):
            raise op.fail("the shape of the data is not known")
        is_packed = op.data.dtype == np.uint8
        sizes = [*shape[:-1], shape[-1] * GatherBlockQuantized.packs(op)]
        axis = op.quantize_axis % len(sizes)

        def spread(value: Value) -> Value:
            if not is_packed:
                return b.Cast(value, to=np.float32)
            shifts = np.arange(0, 8, op.bits, dtype=np.uint8)
            found = b.BitShift(b.Unsqueeze(value, [-1]), shifts, direction="RIGHT")
            found = b.BitwiseAnd(found, np.uint8((1 << op.bits) - 1))
            return b.Cast(b.Reshape(found, [*(value.shape or ())[:-1], -1]), to=np.float32)

        blocks = np.arange(sizes[axis], dtype=np.int64) // op.block_size
        real = spread(op.data)
        if op.zeros is not None:
            real = b.Sub(real, b.Gather(spread(op.zeros), blocks, axis=axis))
        elif is_packed:
            real = b.Sub(real, float(1 << (op.bits - 1)))
        real = b.Mul(real, b.Gather(b.Cast(op.scales, to=np.float32), blocks, axis=axis))
        return b.Cast(b.Gather(real, op.indices, axis=op.gather_axis), to=op.scales.dtype)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype, has_zero in ((np.uint8, 0), (np.uint8, 1), (ml_dtypes.int4, 0), (ml_dtypes.uint4, 1)):
            rows, blocks = int(rng.integers(2, 9)), 2 * int(rng.integers(1, 3))
            columns = blocks * 16
            low, high = (-8, 8) if dtype == ml_dtypes.int4 else (0, 256 if dtype == np.uint8 else 16)
            width = 2 if dtype == np.uint8 else 1
            data = rng.integers(low, high, (rows, columns // width)).astype(np.int16).astype(dtype)
            zeros = rng.integers(low, high, (rows, blocks // width)).astype(np.int16).astype(dtype)
            scales = rng.uniform(0.1, 1, (rows, blocks)).astype(np.float32)
            indices = rng.integers(0, rows, (2, 3)).astype(np.int64)
            yield [data, indices, scales, zeros if has_zero else None], {"block_size": 16}
