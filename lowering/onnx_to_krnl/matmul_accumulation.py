"""Matrix products of any type, transposed or broadcast, as loops without register tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

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
    element: Attribute
    is_transposed: bool = False

    @property
    def stored_shape(self) -> Sequence[int]:
        """The shape of the buffer."""
        *outer, rows, columns = self.shape
        return [*outer, columns, rows] if self.is_transposed else self.shape

    def read(
        self, kernel: KernelBuilder, buffer: SSAValue, indices: Sequence[SSAValue], kind: Attribute
    ) -> Scalar:
        """Load one element as the type `kind`."""
        operand_indices = [
            kernel.index(0) if size == 1 else index for index, size in zip(indices, self.shape, strict=True)
        ]
        if self.is_transposed:
            operand_indices[-2:] = reversed(operand_indices[-2:])
        return read_as(kernel, buffer, operand_indices, self.element, kind)


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
        kernel = KernelBuilder(
            [
                buffer_type([*batch, m, n], kind),
                buffer_type(a.stored_shape, a.element),
                buffer_type(b.stored_shape, b.element),
            ]
        )
        out, rows, columns = kernel.buffers
        with kernel.loops([*batch, m, count, n]) as indices:
            *outer, row, term, column = indices
            coordinates = [*outer, row, column]
            total = Scalar(kernel, kernel.load(out, coordinates))
            for number in range(step):
                at = kernel.affine(term, step, first + number)
                left = a.read(kernel, rows, [*outer, row, at], kind)
                total = total + left * b.read(kernel, columns, [*outer, at, column], kind)
            kernel.store(total.value, out, coordinates)
        builder.call("matmul_sums", kernel, [sums], [a.buffer, b.buffer])


def round_result(
    result: SSAValue, sums: SSAValue, sizes: Sequence[int], kind: Attribute, builder: LoweringBuilder
) -> None:
    """Round accumulators to the element type of a result."""
    element = builder.element(result)
    kernel = KernelBuilder([buffer_type(sizes, element), buffer_type(sizes, kind)])
    with kernel.loops(sizes) as indices:
        kernel.write(kernel.load(kernel.buffers[1], indices), kernel.buffers[0], indices, element)
    builder.call("round_result", kernel, [builder.result(result)], [sums])
