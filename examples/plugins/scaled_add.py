"""An operator as hardware layers of NVDLA in float16; on other targets by its decomposition."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from xonnc.plugin import (
    Builder,
    FeatureCube,
    LayerBuilder,
    Plugin,
    TensorType,
    Value,
    attribute,
    broadcast,
    one,
    operator,
    type_variables,
)

plugin = Plugin("sums", version="1.0")


@operator(plugin, domain="com.sums", name="ScaledAdd")
class ScaledAdd:
    """`max(alpha x + y, 0)`"""

    inputs = (one("T", name="x"), one("T", name="y"))
    outputs = one("T")
    types = type_variables(T=[np.float32, np.float64])
    alpha = attribute(float, default=0.5)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.x, op.y)

    @staticmethod
    def reference(op: Any, x: Any, y: Any) -> Any:
        return np.maximum(x.dtype.type(op.alpha) * x + y, x.dtype.type(0))

    # NVDLA: a product, a sum and a ReLU, which the compiler fuses into one pass of the SDP.
    @staticmethod
    def layers(op: Any, b: LayerBuilder) -> FeatureCube:
        return b.relu(b.add(b.multiply(op.x, op.alpha), op.y))

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Relu(b.Add(b.Mul(op.x, op.alpha), op.y))


@operator(plugin, domain="com.sums", name="SpreadPool")
class SpreadPool:
    """Largest less smallest element of each 2x2 window of `NxCxHxW`; NVDLA and the host only."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = type_variables(T=[np.float32])

    @staticmethod
    def infer(op: Any) -> TensorType:
        if op.x.rank != 4:
            raise op.fail(f"rank {op.x.rank}; it takes 4")
        n, c, height, width = op.x.shape
        return op.x.with_shape((n, c, height // 2, width // 2))

    @staticmethod
    def reference(op: Any, x: Any) -> Any:
        n, c, height, width = x.shape
        windows = x[:, :, : height // 2 * 2, : width // 2 * 2].reshape(n, c, height // 2, 2, width // 2, 2)
        return windows.max((3, 5)) - windows.min((3, 5))

    # NVDLA: two passes of the PDP, whose difference the SDP computes.
    @staticmethod
    def layers(op: Any, b: LayerBuilder) -> FeatureCube:
        if op.x.shape[0] != 1:
            raise b.refuse(f"a batch of {op.x.shape[0]} (takes 1)")
        largest = b.pool(op.x, "max", kernel=(2, 2), strides=(2, 2))
        smallest = b.pool(op.x, "min", kernel=(2, 2), strides=(2, 2))
        return b.add(largest, b.multiply(smallest, -1.0))

    @staticmethod
    def samples(rng: np.random.Generator) -> Iterator[Any]:
        for shape in ((1, 3, 4, 6), (1, 1, 2, 2), (1, 8, 5, 7)):
            yield [rng.normal(size=shape).astype(np.float32)], {}
