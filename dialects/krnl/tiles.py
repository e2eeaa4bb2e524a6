"""Products of matrices in register tiles."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
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
)
from xdsl.utils.exceptions import VerifyException

ACTIVATIONS = ("none", "relu")
"""What may be done to the elements of a product before they are stored."""


@irdl_op_definition
class GemmOp(IRDLOperation):
    """
    `C = activation(A B + bias)`, in tiles that stay in vector registers (spec/cpu-performance.md §4).

    `A` is `M×K`, its rows `K` apart; `B` is `[N/NR][K][NR]` where `packed`, else `K×N`; `C` is `M×N`. `tile`
    is `[MR, NR]`. The bias is one number for each column, or each row with `bias_of_rows`. There are as
    many products as places in `batch_a` and `batch_b`; their results lie one behind the other.

    ```mlir
    "krnl.gemm"(%c, %a, %b) {m = 4, n = 32, k = 8, tile = array<i64: 4, 32>} : …
    ```
    """

    name = "krnl.gemm"

    c = operand_def(MemRefType)
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    bias = opt_operand_def(MemRefType)
    m = prop_def(IntegerAttr)
    n = prop_def(IntegerAttr)
    k = prop_def(IntegerAttr)
    tile = prop_def(DenseArrayBase.constr(i64))
    packed = opt_prop_def(UnitAttr)
    bias_of_rows = opt_prop_def(UnitAttr)
    activation = opt_prop_def(StringAttr)
    batch_a = opt_prop_def(DenseArrayBase.constr(i64))
    """Where the matrices of A of each product begin, in elements; one product at 0 if absent."""
    batch_b = opt_prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    def verify_(self) -> None:
        """Sizes above 0, a tile of two sizes, a known activation, as many matrices of A as of B."""
        sizes = [attribute.value.data for attribute in (self.m, self.n, self.k)]
        if min(sizes) < 1:
            raise VerifyException(f"krnl.gemm: m, n and k are above 0, found {sizes}")
        tile = self.tile.get_values()
        if len(tile) != 2 or min(tile) < 1:
            raise VerifyException(f"krnl.gemm: tile holds two sizes above 0, found {list(tile)}")
        if self.activation is not None and self.activation.data not in ACTIVATIONS:
            raise VerifyException(f"krnl.gemm: activation is one of {', '.join(ACTIVATIONS)}")
        starts = [len(held.get_values()) if held else 1 for held in (self.batch_a, self.batch_b)]
        if starts[0] != starts[1]:
            raise VerifyException(f"krnl.gemm: {starts[0]} matrices of A, {starts[1]} of B")
