"""An elementwise kernel that prefers a memory layout, where it would take the one of its operands."""

from typing import Any, Literal

import numpy as np

from xonnc.plugin import Builder, Plugin, Scalar, TensorType, Value, attribute, one, operator, type_variables

plugin = Plugin("soft", version="1.0")


@operator(plugin, domain="com.soft", name="SoftGate")
class SoftGate:
    """`x sigmoid(steepness x)`"""

    inputs = one("T", name="x")
    outputs = one("T")
    types = type_variables(T=[np.float32])
    steepness = attribute(float, default=1.0)

    # Native code: images whose channels fill blocks are computed channel-blocked, as convolutions read them,
    # so that the input is converted and not the result. Others are row-major, between convolutions too.
    @staticmethod
    def layout(op: Any) -> Literal["NCHW", "NCHWc"]:
        channels = op.x.shape[1] if op.x.rank == 4 else 0
        return "NCHWc" if isinstance(channels, int) and channels > 0 and channels % 16 == 0 else "NCHW"

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Any) -> Any:
        return (x / (1 + np.exp(-op.steepness * x))).astype(x.dtype)

    @staticmethod
    def kernel(op: Any, x: Any) -> Scalar:
        return x / (1 + (-op.steepness * x).exp())

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Mul(op.x, b.Sigmoid(b.Mul(op.x, op.steepness)))
