"""Two versions of an operator; an attribute with another name than in the model; an elementwise kernel."""

from typing import Any

import numpy as np

from xonnc.plugin import Builder, Plugin, Scalar, TensorType, Value, attribute, one, operator, type_variables

plugin = Plugin("leaky", version="1.0")


class Leaky:
    """What both versions share."""

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Any) -> Any:
        slope: float = op.negative_slope
        return np.maximum(x, 0) + x.dtype.type(slope) * np.minimum(x, 0)

    # Native code: the compiler fuses it with the operators around it.
    @staticmethod
    def kernel(op: Any, x: Any) -> Scalar:
        return (x < 0).select(x * op.negative_slope, x)

    # Other targets.
    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.LeakyRelu(op.x, alpha=op.negative_slope)


@operator(plugin, domain="com.leaky", name="LeakyRelu", since=6)
class LeakyRelu6(Leaky):
    """`x`, times `alpha` below 0."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = type_variables(T=[np.float32, np.float64])
    negative_slope = attribute(float, default=0.01, source="alpha")


@operator(plugin, domain="com.leaky", name="LeakyRelu", since=16)
class LeakyRelu16(Leaky):
    """The same; since version 16 the slope must be given."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = type_variables(T=[np.float32, np.float64])
    negative_slope = attribute(float, source="alpha")

    @staticmethod
    def samples(rng: np.random.Generator) -> Any:
        for alpha in (0.0, 0.2, -1.0):
            yield [rng.normal(size=(3, 5)).astype(np.float32)], {"alpha": alpha}
