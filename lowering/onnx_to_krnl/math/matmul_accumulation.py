"""Matrix products of any type, transposed or broadcast, as loops without register tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size

STEP = 4
"""Terms that are added per load and store of an accumulator."""


@dataclass(frozen=True)
class MatrixOperand:
    """
    Matrices in a buffer.

    `shape` has the rank of the loops, with 1 on axes that are broadcast; the last two are swapped in the
    buffer if `is_transposed`.
    """

    buffer: SSAValue
    shape: Sequence[int]
    is_transposed: bool = False

    @property
    def stored_shape(self) -> Sequence[int]:
        """The shape of the buffer."""
        *outer, rows, columns = self.shape
        return [*outer, columns, rows] if self.is_transposed else self.shape

    def read(self, buffer: Buffer, indices: Sequence[Scalar], kind: Attribute) -> Scalar:
        """Load one element as the type `kind`."""
        *outer, row, column = indices
        return buffer.read_as(
            kind, *buffer.broadcast([*outer, column, row] if self.is_transposed else indices)
        )


def matrix_shapes(a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """
    Return the operands of a matrix product as matrices of one rank, and the axes before them of the result.
    """
    shapes = [a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)]
    rank = max(map(len, shapes))
    left, right = ([1] * (rank - len(shape)) + list(shape) for shape in shapes)
    return left, right, [max(sizes) for sizes in zip(left[:-2], right[:-2], strict=True)]


def accumulate_matmul(
    sums: SSAValue,
    batch: Sequence[int],
    sizes: tuple[int, int, int],
    factors: tuple[MatrixOperand, MatrixOperand],
    kind: Attribute,
    builder: LoweringBuilder,
) -> None:
    """
    Add `A B` to accumulators of the type `kind`, for each index of a batch; `sizes` are rows, columns, terms.
    """
    m, n, k = sizes
    a, b = factors
    for first, count, step in ((0, k // STEP, STEP), (k // STEP * STEP, k % STEP, 1)):
        if not count:
            continue
        operands = [(each.buffer, each.stored_shape) for each in factors]
        kernel = Kernel(builder, "matmul_sums", [(sums, [*batch, m, n])], operands)
        out, rows, columns = kernel.buffers
        with kernel.loops([*batch, m, count, n]) as (*outer, row, term, column):
            total = out[*outer, row, column]
            for number in range(step):
                at = term.scaled_by(step).offset_by(first + number)
                left = a.read(rows, [*outer, row, at], kind)
                total = total + left * b.read(columns, [*outer, at, column], kind)
            out[*outer, row, column] = total
        kernel.call()


def round_result(result: SSAValue, sums: SSAValue, sizes: Sequence[Size], builder: LoweringBuilder) -> None:
    """Round accumulators to the element type of a result."""
    kernel = Kernel(builder, "round_result", [(result, sizes)], [(sums, sizes)])
    out, source = kernel.buffers
    with kernel.loops(sizes) as indices:
        out[*indices] = source[*indices]
    kernel.call()
