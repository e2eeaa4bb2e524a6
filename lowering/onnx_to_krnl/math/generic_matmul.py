"""Gemm and MatMul in the forms without register tiles: other types, transposed, general broadcasting."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.math.matmul_accumulation import (
    MatrixOperand,
    accumulate_matmul,
    matrix_shapes,
    round_result,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type


def generic_gemm(op: onnx.GemmOp, builder: LoweringBuilder) -> str | None:
    """`alpha A B + beta C` with any operand transposed or broadcast."""
    kind = compute_type(builder.element(op.A))
    if kind not in (f32, f64):
        return "a Gemm of integers"
    (m, n), (rows, columns) = builder.shape(op.Y), builder.shape(op.A)
    is_transposed = bool(op.transA.value.data)
    k = rows if is_transposed else columns
    a = MatrixOperand(builder.buffer(op.A), [m, k], is_transposed)
    b = MatrixOperand(builder.buffer(op.B), [k, n], bool(op.transB.value.data))
    sums = builder.allocate([m, n], kind)
    fill(sums, m * n, 0, builder)
    accumulate_matmul(sums, [], (m, n, k), (a, b), kind, builder)
    inputs: list[Operand] = [sums]
    # BLAS convention: with beta 0, C is not read, so that its NaN does not propagate.
    if op.C.type != NONE and op.beta.value.data:
        shape = builder.shape(op.C)
        inputs.append((op.C, [*[1, 1][len(shape) :], *shape]))
    kernel = Kernel(builder, "gemm", [op.Y], inputs)
    out, source, *added = kernel.buffers
    with kernel.loops([m, n]) as indices:
        total = source[*indices] * op.alpha.value.data
        for each in added:
            total = total + each.read_as(kind, *each.broadcast(indices)) * op.beta.value.data
        out[*indices] = total
    kernel.call()
    return None


def generic_matmul(op: onnx.MatMulOp, builder: LoweringBuilder) -> str | None:
    """Products of the last two axes, the others broadcast."""
    element = builder.element(op.A)
    left, right, batch = matrix_shapes(builder.shape(op.A), builder.shape(op.B))
    m, n, k = left[-2], right[-1], left[-1]
    factors = (
        MatrixOperand(builder.buffer(op.A), left),
        MatrixOperand(builder.buffer(op.B), right),
    )
    kind: Attribute = compute_type(element)
    is_direct = kind == element or is_integer(element)
    sums = builder.result(op.Y) if is_direct else builder.allocate([*batch, m, n], kind)
    fill(sums, prod([*batch, m, n]), 0, builder)
    accumulate_matmul(sums, batch, (m, n, k), factors, kind, builder)
    if not is_direct:
        round_result(op.Y, sums, [*batch, m, n], builder)
    return None
