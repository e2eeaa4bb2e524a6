"""An activation as a lookup table of NVDLA; on other targets by its kernel or its decomposition."""

from typing import Any

import numpy as np

from xonnc.plugin import Builder, Plugin, Scalar, TensorType, Value, attribute, one, operator, type_variables

plugin = Plugin("bumps", version="1.0")


@operator(plugin, domain="com.bumps", name="Bump", since=1)
class Bump:
    """`1 / (1 + (x / width)²)`"""

    inputs = one("T", name="x")
    outputs = one("T")
    types = type_variables(T=[np.float32, np.float64])
    width = attribute(float, default=1.0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Any) -> Any:
        return (1 / (1 + (x / op.width) ** 2)).astype(x.dtype)

    @staticmethod
    def kernel(op: Any, x: Any) -> Scalar:
        return 1 / (1 + (x / op.width) * (x / op.width))

    # NVDLA: one pass of the CDP through a table.
    @staticmethod
    def lookup(op: Any, x: Any) -> Any:
        return 1 / (1 + (x / op.width) ** 2)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        scaled = b.Div(op.x, op.width)
        return b.Reciprocal(b.Add(b.Mul(scaled, scaled), 1.0))
