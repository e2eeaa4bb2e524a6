"""Matrix products with block-quantized weights, dequantized in registers."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i8,
    i32,
    i64,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.verification import require_pairs, require_range

WORD_BITS = 32
"""Bits of a word of packed weights."""

FIXED_POINT_TERMS = 32
"""Activations that share an exponent where one row is multiplied in integers."""

MAX_EXACT_BLOCK = 512
"""Up to this size of a block, float32 holds each sum of products of 8 bits exactly."""


class BlockGemmOp(IRDLOperation, ABC):
    """
    A product of a row-major matrix and quantized weights. Subclasses define the operands.

    `B` holds unsigned integers of `bits` bits, packed in words along K, `[N/NR][K/(32/bits)][NR]`; `tile` is
    `[MR, NR]`. Each `block` consecutive elements of a column share a scale, `[N/NR][K/block][NR]`, and a zero
    point: of `zero_points`, in the same order, or the number `zero_point`. The last panel is padded to `NR`
    columns.

    Iterations are panels; `range` selects some. `m` is dynamic if `-9223372036854775808`, and then given in
    `dynamic_sizes`.
    """

    m = prop_def(IntegerAttr)
    n = prop_def(IntegerAttr)
    k = prop_def(IntegerAttr)
    bits = prop_def(IntegerAttr)
    block = prop_def(IntegerAttr)
    zero_point = opt_prop_def(IntegerAttr)
    tile = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @property
    def iterations(self) -> int:
        """The number of panels."""
        return -(-self.n.value.data // int(self.tile.get_values()[1]))

    @property
    def per_word(self) -> int:
        """Weights in a word."""
        return WORD_BITS // self.bits.value.data


@irdl_op_definition
class DequantizeGemmOp(BlockGemmOp):
    """
    `C = A ((B - zero point) scale)` in register tiles, with B of 4 or 8 bits.

    `A` is `M×K` and `C` is `M×N`, row-major f32. The fields of a word of `B` are consecutive along K, lowest
    bits first.

    `unpack` is `[least rows, depth, MR]`: from that number of rows on, each panel is dequantized, `depth`
    rows of B at a time, on the stack, and multiplied in tiles of `MR×NR`.

    `products` is the LLVM intrinsic for the dot product of four uint8 with four int8 values. A single row is
    multiplied by it: 32 activations at a time are rounded to integers of 23 bits with one exponent.

    ```mlir
    "krnl.dequantize_gemm"(%c, %a, %b, %scales) {m = 1, n = 16, k = 32, bits = 4, block = 32,
                                                 zero_point = 8, tile = array<i64: 4, 16>} : …
    ```
    """

    name = "krnl.dequantize_gemm"

    c = operand_def(MemRefType)
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    scales = operand_def(MemRefType)
    zero_points = opt_operand_def(MemRefType)
    range = var_operand_def(IndexType)
    dynamic_sizes = var_operand_def(IndexType)
    unpack = opt_prop_def(DenseArrayBase.constr(i64))
    products = opt_prop_def(StringAttr)

    def verify_(self) -> None:
        """Also a depth of whole blocks or parts of one."""
        _verify(self)
        k, block = self.k.value.data, self.block.value.data
        is_summable = self.bits.value.data == 4 and self.zero_point is not None
        if self.products is not None and (not is_summable or block % FIXED_POINT_TERMS):
            raise VerifyException(
                f"{self.name}: products multiply weights of 4 bits with one zero point and a block that is a "
                f"multiple of {FIXED_POINT_TERMS}"
            )
        if self.unpack is None:
            return
        sizes = list(map(int, self.unpack.get_values()))
        if len(sizes) != 3 or min(sizes) < 1:
            raise VerifyException(f"{self.name}: unpack is three numbers above 0, found {sizes}")
        depth = sizes[1]
        if k % depth or depth % self.per_word or max(block, depth) % min(block, depth):
            raise VerifyException(
                f"{self.name}: the depth of unpack divides k, holds whole words, and is a multiple or a "
                f"divisor of a block, found {depth} of k {k} with blocks of {block}"
            )


@irdl_op_definition
class QuantizedGemmOp(BlockGemmOp):
    """
    `C = (A scale) ((B - zero point) scale)` in register tiles, with A of int8 and B of 4 or 8 bits.

    `A` is `M×K` with a scale for each block of a row, `a_scales` `M×K/block`. `C` is `M×N` f32. `products` is
    the LLVM intrinsic for the dot product of four uint8 with four int8 values. Sums of a block are exact.

    The four bytes of a word of `B` are consecutive along K. Of 4 bits, the lower four bits of the bytes are
    the first four weights of a word, and the upper ones the last four.

    ```mlir
    "krnl.quantized_gemm"(%c, %a, %b, %scales, %a_scales) {m = 1, n = 16, k = 32, bits = 4, block = 32,
        zero_point = 8, products = "llvm.x86.avx512.vpdpbusd.512", tile = array<i64: 4, 16>} : …
    ```
    """

    name = "krnl.quantized_gemm"

    c = operand_def(MemRefType)
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    scales = operand_def(MemRefType)
    zero_points = opt_operand_def(MemRefType)
    range = var_operand_def(IndexType)
    dynamic_sizes = var_operand_def(IndexType)
    a_scales = operand_def(MemRefType)
    products = prop_def(StringAttr)

    def verify_(self) -> None:
        """Also a block whose sums float32 holds exactly, and int8 activations."""
        _verify(self)
        if self.block.value.data > MAX_EXACT_BLOCK:
            raise VerifyException(
                f"{self.name}: block is at most {MAX_EXACT_BLOCK}, found {self.block.value.data}"
            )
        if element_of(self.a) != i8:
            raise VerifyException(f"{self.name}: a holds i8, found {element_of(self.a)}")


def _verify(op: DequantizeGemmOp | QuantizedGemmOp) -> None:
    """Sizes above 0, whole blocks of whole words, one kind of zero point, and element types."""
    m, n, k, block = (each.value.data for each in (op.m, op.n, op.k, op.block))
    if (m < 1 and m != DYNAMIC_INDEX) or min(n, k, block) < 1:
        raise VerifyException(f"{op.name}: m, n, k and block are above 0, found {[m, n, k, block]}")
    if len(op.dynamic_sizes) != (m == DYNAMIC_INDEX):
        raise VerifyException(f"{op.name}: only m is dynamic, found {len(op.dynamic_sizes)} operands")
    if op.bits.value.data not in (4, 8):
        raise VerifyException(f"{op.name}: bits is 4 or 8, found {op.bits.value.data}")
    if k % block or block % op.per_word:
        raise VerifyException(
            f"{op.name}: k holds whole blocks, and a block whole words of {op.per_word} weights, "
            f"found k {k}, block {block}"
        )
    if (op.zero_points is None) == (op.zero_point is None):
        raise VerifyException(f"{op.name}: either zero_points or zero_point is given")
    if element_of(op.b) != i32 or (op.zero_points is not None and element_of(op.zero_points) != i8):
        raise VerifyException(f"{op.name}: b holds i32, and zero_points i8")
    require_pairs(op, ("tile",))
    require_range(op, op.range)
