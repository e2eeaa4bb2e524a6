"""One to many: an operator with two results by several ONNX operators, on every target."""

from typing import Any

import numpy as np

from xonnc.plugin import Builder, Plugin, TensorType, Value, attribute, one, operator, type_variables

plugin = Plugin("gates", version="1.0")


@operator(plugin, domain="com.gates", name="HardGate", since=1)
class HardGate:
    """`gate = max(x + shift, 0)`, and what it lets through, `passed = x gate`."""

    inputs = one("T", name="x")
    outputs = (one("T", name="gate"), one("T", name="passed"))
    types = type_variables(T=[np.float32, np.float64])
    shift = attribute(float, default=1.0)

    @staticmethod
    def infer(op: Any) -> tuple[TensorType, TensorType]:
        return op.x, op.x

    @staticmethod
    def reference(op: Any, x: Any) -> Any:
        gate = np.maximum(x + x.dtype.type(op.shift), x.dtype.type(0))
        return gate, x * gate

    @staticmethod
    def decompose(op: Any, b: Builder) -> tuple[Value, Value]:
        gate = b.Relu(b.Add(op.x, op.shift))
        return gate, b.Mul(op.x, gate)
