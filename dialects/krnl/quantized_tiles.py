"""Matrix products with block-quantized weights, dequantized in registers."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
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


@irdl_op_definition
class DequantizeGemmOp(IRDLOperation):
    """
    `C = A ((B - zero point) scale)` in register tiles, with B of 4 or 8 bits.

    `A` is `M×K` and `C` is `M×N`, row-major f32. `B` holds unsigned integers of `bits` bits, packed in words
    along K, lowest bits first: `[N/NR][K/(32/bits)][NR]`; `tile` is `[MR, NR]`. Each `block` consecutive
    elements of a column share a scale, `[N/NR][K/block][NR]`, and a zero point: of `zero_points`, in the same
    order, or the number `zero_point`. The last panel is padded to `NR` columns.

    `unpack` is `[least rows, depth, MR]`: from that number of rows on, each panel is dequantized, `depth`
    rows of B at a time, to its part of `pieces`, `[N/NR][depth][NR]`, and multiplied in tiles of `MR×NR`.

    Iterations are panels; `range` selects some. `m` is dynamic if `-9223372036854775808`, and then given in
    `dynamic_sizes`.

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
    pieces = opt_operand_def(MemRefType)
    m = prop_def(IntegerAttr)
    n = prop_def(IntegerAttr)
    k = prop_def(IntegerAttr)
    bits = prop_def(IntegerAttr)
    block = prop_def(IntegerAttr)
    zero_point = opt_prop_def(IntegerAttr)
    tile = prop_def(DenseArrayBase.constr(i64))
    unpack = opt_prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @property
    def iterations(self) -> int:
        """The number of panels."""
        return -(-self.n.value.data // int(self.tile.get_values()[1]))

    @property
    def per_word(self) -> int:
        """Weights in a word."""
        return WORD_BITS // self.bits.value.data

    def verify_(self) -> None:
        """Sizes above 0, whole blocks of whole words, one kind of zero point, and element types."""
        m, n, k, block = (each.value.data for each in (self.m, self.n, self.k, self.block))
        if (m < 1 and m != DYNAMIC_INDEX) or min(n, k, block) < 1:
            raise VerifyException(f"{self.name}: m, n, k and block are above 0, found {[m, n, k, block]}")
        if len(self.dynamic_sizes) != (m == DYNAMIC_INDEX):
            raise VerifyException(f"{self.name}: only m is dynamic, found {len(self.dynamic_sizes)} operands")
        if self.bits.value.data not in (4, 8):
            raise VerifyException(f"{self.name}: bits is 4 or 8, found {self.bits.value.data}")
        if k % block or block % self.per_word:
            raise VerifyException(
                f"{self.name}: k holds whole blocks, and a block whole words of {self.per_word} weights, "
                f"found k {k}, block {block}"
            )
        if (self.zero_points is None) == (self.zero_point is None):
            raise VerifyException(f"{self.name}: either zero_points or zero_point is given")
        if element_of(self.b) != i32 or (self.zero_points is not None and element_of(self.zero_points) != i8):
            raise VerifyException(f"{self.name}: b holds i32, and zero_points i8")
        require_pairs(self, ("tile",))
        require_range(self, self.range)
        self._verify_unpack(k, block)

    def _verify_unpack(self, k: int, block: int) -> None:
        if (self.unpack is None) != (self.pieces is None):
            raise VerifyException(f"{self.name}: unpack and pieces are given together")
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
