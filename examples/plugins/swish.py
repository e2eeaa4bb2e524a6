"""Many to one: a rule that makes one operator of a pattern, and one that takes it apart for other targets."""

from typing import Any

import numpy as np

from xonnc.plugin import (
    Builder,
    Plugin,
    Scalar,
    TensorType,
    Value,
    one,
    operator,
    ops,
    rewrite,
    type_variables,
    value,
)

plugin = Plugin("nets", version="1.0")


@operator(plugin, domain="org.nets", name="Swish")
class Swish:
    """`x sigmoid(x)`"""

    inputs = one("T", name="x")
    outputs = one("T")
    types = type_variables(T=[np.float32, np.float64])

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Any) -> Any:
        return x / (1 + np.exp(-x))

    @staticmethod
    def kernel(op: Any, x: Any) -> Scalar:
        return x / (1 + (-x).exp())

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Mul(op.x, b.Sigmoid(op.x))


@rewrite(plugin, into="fuse-operators-onnx", pattern=ops.Mul(value.x, ops.Sigmoid(value.x)))
def swish(b: Builder, x: Value) -> Value:
    """x sigmoid(x) = Swish(x)"""
    return b.call("org.nets", "Swish", [x], {})
