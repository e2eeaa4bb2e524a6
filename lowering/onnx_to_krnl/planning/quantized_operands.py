"""The operands of matrix products that stay quantized."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp


@dataclass(frozen=True)
class QuantizedOperands:
    """The operands that a MatMul with quantized weights absorbs."""

    weights: DequantizeLinearOp
    activations: DequantizeLinearOp | None = None
    """The DequantizeLinear of its activations, if the kernel multiplies integers."""

    @property
    def absorbed(self) -> list[Operation]:
        """The operations that only the product reads."""
        return [self.weights] if self.activations is None else [self.weights, self.activations]
