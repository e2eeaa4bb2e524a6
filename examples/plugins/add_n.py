"""An operator with any number of operands, by its decomposition on every target."""

from typing import Any

import numpy as np

from xonnc.plugin import (
    Builder,
    Plugin,
    TensorType,
    Value,
    attribute,
    broadcast,
    one,
    operator,
    type_variables,
    variadic,
)

plugin = Plugin("acme", version="1.0")


@operator(plugin, domain="com.acme", name="AddN", since=1)
class AddN:
    """Sum of all operands, broadcast as NumPy does."""

    inputs = variadic("T", at_least=1, at_most=8)
    outputs = one("T")
    types = type_variables(T=[np.float32, np.float64])
    scale = attribute(float, default=1.0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(*op.inputs)

    @staticmethod
    def reference(op: Any, *arrays: Any) -> Any:
        return np.asarray(op.scale * sum(arrays), arrays[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Mul(b.Add(*op.inputs), op.scale)
