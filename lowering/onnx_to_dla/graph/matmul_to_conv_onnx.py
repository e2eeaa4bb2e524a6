"""`matmul-to-conv-onnx`: large products of rows and constant weights as pointwise convolutions, for NVDLA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.attribute_builders import int_array_attr, int_attr
from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.locations import derived, joined, node_location, node_name, output_names
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import AddOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp, TransposeOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.lowering.onnx_to_dla.builders.op_inserter import OpInserter, erase_unread
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements
from xonnc.lowering.onnx_to_dla.graph.layer_norm_to_conv_onnx import columns_before, to_rows
from xonnc.targets.limits import DIMENSION, KERNEL

Array = npt.NDArray[Any]

WORTH_TRANSPOSING = 1 << 22
"""Multiplications from which two transposes on the CPU and the transfer cost less than the product there."""


@dataclass(frozen=True)
class MatMulToConv(ModulePass):
    """
    Rewrite products of `[1, M, K]` and constant weights `[K, N]` to convolutions of `[1, K, M]`.

    On NVDLA the `M` rows are the channels of `[1, M, K]`, and `K` is a kernel's width, of up to 32. The same
    holds for `[1, H, W, K]`, as linear layers of images with channels last have it. A Transpose before the
    product moves after it. Other transposes that do not cancel run on the CPU, so the product must be worth
    them, which with `transposed-only` none is. More than 8192 outputs, such as the characters of an OCR
    model, are several convolutions.
    """

    name = "matmul-to-conv-onnx"

    transposed_only: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        matmul_to_conv(op, DisposablePool.of(ctx), self.transposed_only)


def matmul_to_conv(module: ModuleOp, pool: DisposablePool, transposed_only: bool = False) -> bool:
    """Rewrite the products of `module` that the pass is about; return whether there were any."""
    has_changed = False
    for op in [op for op in module.walk() if isinstance(op, MatMulOp)]:
        shape, weights = static_shape(op.A.type), elements(op.B)
        if shape is None or weights is None or len(shape) not in (3, 4) or shape[0] != 1 or weights.ndim != 2:
            continue
        _, *positions, depth = shape
        is_large = KERNEL.broken(depth) is not None and prod(positions) * weights.size >= WORTH_TRANSPOSING
        if columns_before(op.A) is not None or (is_large and not transposed_only):
            _rewrite(op, positions, weights, pool)
            has_changed = True
    return has_changed


def _rewrite(op: MatMulOp, positions: Sequence[int], weights: Array, pool: DisposablePool) -> None:
    total, bias = _with_bias(op, weights.shape[1])
    builder = _Builder(total, pool, op)
    depth, outputs = weights.shape
    rank = len(positions) + 2
    to_columns = int_array_attr(0, rank - 1, *range(1, rank - 1))
    columns = columns_before(op.A)
    if columns is None:
        columns = builder.op(TransposeOp, (op.A,), (1, depth, *positions), perm=to_columns)
    count = -(-outputs // DIMENSION.most)
    parts: list[SSAValue] = []
    for index in range(count):
        begin, end = (outputs * each // count for each in (index, index + 1))
        window = [1] * len(positions)
        array = np.ascontiguousarray(weights[:, begin:end].T).reshape(end - begin, depth, *window)
        kernels = builder.constant(array)
        addends = builder.none() if bias is None else builder.constant(bias[begin:end])
        made = builder.op(ConvOp, (columns, kernels, addends), (1, end - begin, *positions))
        parts.append(builder.op(TransposeOp, (made,), (1, *positions, end - begin), perm=to_rows(rank)))
    result = parts[0]
    if count > 1:
        result = builder.op(ConcatOp, parts, (1, *positions, outputs), axis=int_attr(rank - 1))
    last = result.owner
    assert isinstance(last, Operation)
    # The last operation keeps the name of the result; the node's own name is that of the convolution.
    last.location = node_location(node_name(last), output_names(total))
    read = op.A, op.B
    drop_attributes(total)
    Rewriter.replace_op(total, [], [result])
    if total is not op:
        Rewriter.erase_op(op)
    erase_unread(read)


def _with_bias(op: MatMulOp, outputs: int) -> tuple[MatMulOp | AddOp, Array | None]:
    """Return the addition of a bias if that alone reads the product, and the bias; else the product."""
    if op.Y.has_one_use():
        total = next(iter(op.Y.uses)).operation
        if isinstance(total, AddOp):
            bias = elements(total.B if total.A is op.Y else total.A)
            if bias is not None and bias.size == bias.shape[-1] == outputs and total.C.type == op.Y.type:
                return total, bias.reshape(-1)
    return op, None


@dataclass(frozen=True)
class _Builder(OpInserter):
    """Inserts operators before the product, or the addition of its bias."""

    product: MatMulOp

    @property
    def location(self) -> LocationAttr:
        """The location of constants and of convolutions."""
        return derived(joined(self.product.location, self.root.location))

    def location_of(self, kind: type[OnnxOp]) -> LocationAttr:
        """Return the location of an operator: convolutions have the node's name."""
        name = node_name(self.root)
        return node_location(f"{name}/{kind.OP_TYPE}") if name and kind is not ConvOp else self.location
