"""
`select-bf16-onnx`: let products of float32 with constant weights round their operands to bfloat16.

```mlir
%y = "onnx.MatMul"(%x, %w) : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
```

becomes

```mlir
%y = "onnx.MatMul"(%x, %w) {krnl.operand_type = bf16} : (tensor<8x64xf32>, …) -> tensor<8x32xf32>
```

An instruction then adds two products to each lane of a float32 accumulator, and weights take half the
memory. Where such instructions take longer than those of float32 (Intel's without matrix tiles), only
products of a few rows are marked, whose weights come from beyond L2. No optimization level includes this
pass, since operands keep 8 of their 24 significant bits: a user allows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.attributes import OPERAND_TYPE
from xonnc.dialects.krnl.tiles import BF16_TERMS
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import element_type, static_shape
from xonnc.lowering.onnx_to_krnl.planning.krnl_attach_core import on_core
from xonnc.rewriting.patterns import Array
from xonnc.targets.cpu import load_cpu, portable


@dataclass(frozen=True)
class SelectBf16(ModulePass):
    """
    Let products of float32 with constant weights round their operands to bfloat16.

    Only for processors with instructions for such products, and where these take less time.
    """

    name = "select-bf16-onnx"

    processor: str = "avx512bf16"
    portable: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark every product that has a kernel for bfloat16."""
        target = on_core(load_cpu(self.processor), op)
        if not (portable(target) if self.portable else target).bf16_dot:
            return
        lanes = target.vector_bytes // 4
        for each in op.walk():
            is_faster = target.core.has_fast_bf16 or _is_bound_by_memory(each, target.core.l2_bytes)
            if is_faster and _has_bf16_kernel(each, lanes):
                each.attributes[OPERAND_TYPE] = bf16


def has_bf16_operands(op: Operation) -> bool:
    """Whether the operands of a product are rounded to bfloat16."""
    return op.attributes.get(OPERAND_TYPE) == bf16


MAX_STREAMED_ROWS = 4
"""
Rows of a product at most that is bound by reading its weights, where dot products take twice as long as FMAs.

Of the time in float32, an Intel Xeon (Emerald Rapids) took 0.54 with 1 row, 0.61 with 4, 0.85 with 6 and 1.9
with 32 (weights of 768x3072).
"""


def _is_bound_by_memory(op: Operation, l2_bytes: int) -> bool:
    """Whether an op multiplies a few rows by weights that L2 does not hold."""
    if not isinstance(op, MatMulOp | GemmOp):
        return False
    weights, shape = _weights(op.B), static_shape(op.Y.type)
    if weights is None or shape is None:
        return False
    return prod(shape[:-1]) <= MAX_STREAMED_ROWS and weights.nbytes > l2_bytes


def _has_bf16_kernel(op: Operation, lanes: int) -> bool:
    """Whether an op multiplies by constant weights an even number of times for each result."""
    match op:
        case MatMulOp():
            weights = _weights(op.B)
            return weights is not None and weights.ndim == 2 and weights.shape[0] % BF16_TERMS == 0
        case GemmOp():
            weights = _weights(op.B)
            if weights is None or op.transA.value.data:
                return False
            return weights.shape[1 if op.transB.value.data else 0] % BF16_TERMS == 0
        case ConvOp():
            # Images of fewer channels than lanes are read in NCHW, not the channels of a pixel together.
            weights = _weights(op.W)
            if weights is None or weights.ndim not in (3, 4) or op.group.value.data != 1:
                return False
            return weights.shape[1] >= lanes and weights.shape[1] % BF16_TERMS == 0
        case _:
            return False


def _weights(value: SSAValue) -> Array | None:
    """Return constant float32 weights that are not empty, or None."""
    weights = constant_elements(value) if element_type(value.type) == f32 else None
    return weights if weights is not None and weights.size else None
