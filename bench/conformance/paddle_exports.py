"""What Paddle2ONNX writes: of paddle.vision, and of networks with Paddle's idioms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.conformance.model_specs import Feeds, ModelSpec

PADDLE = "Paddle2ONNX"
OPSET = 13

VISION = (
    *("LeNet", "mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x0_25", "squeezenet1_1"),
    *("resnet18", "densenet121"),
)
"""Networks of paddle.vision.models."""


def _image_network(paddle: Any) -> Any:
    """A stem, squeeze and excitation, bilinear upsampling, and a classifier."""
    nn = paddle.nn

    class Network(nn.Layer):
        def __init__(self) -> None:
            nn.Layer.__init__(self)
            self.stem = nn.Sequential(nn.Conv2D(3, 8, 3, 2, 1, bias_attr=False), nn.BatchNorm2D(8))
            self.depthwise = nn.Conv2D(8, 8, 3, 1, 1, groups=8)
            self.squeeze, self.excite = nn.Conv2D(8, 2, 1), nn.Conv2D(2, 8, 1)
            self.larger = nn.Upsample([16, 16], mode="bilinear")
            self.head = nn.Linear(8, 5)

        def forward(self, x: Any) -> Any:
            x = nn.functional.hardswish(self.stem(x))
            mean = nn.functional.adaptive_avg_pool2d(self.depthwise(x), 1)
            x = x * nn.functional.hardsigmoid(self.excite(nn.functional.relu(self.squeeze(mean))))
            pooled = paddle.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1)
            return nn.functional.softmax(self.head(pooled)), self.larger(x)

    return Network()


def _sequence_network(paddle: Any) -> Any:
    """A bidirectional LSTM and a classifier of each step, as for the recognition of text."""
    nn = paddle.nn

    class Network(nn.Layer):
        def __init__(self) -> None:
            nn.Layer.__init__(self)
            self.recurrent = nn.LSTM(6, 8, direction="bidirect")
            self.head = nn.Linear(16, 4)

        def forward(self, x: Any) -> Any:
            scores = self.head(self.recurrent(x)[0])
            return paddle.argmax(scores, axis=-1), nn.functional.softmax(scores, axis=2)

    return Network()


NETWORKS: dict[str, tuple[Callable[[Any], Any], Sequence[int]]] = {
    "image": (_image_network, (3, 16, 16)),
    "sequence": (_sequence_network, (7, 6)),
}
"""Networks and the shape of an example, by name."""


def _exported(build: Callable[[Any], Any], shape: Sequence[int]) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        paddle = import_module("paddle")
        paddle.seed(0)
        network = build(paddle)
        network.eval()
        spec = paddle.static.InputSpec([-1, *shape], "float32", "x")
        # The exporter prints what is wrong, and ends the process or writes nothing.
        with suppress(SystemExit):
            paddle.onnx.export(network, str(path.with_suffix("")), input_spec=[spec], opset_version=OPSET)
        if not path.exists():
            raise RuntimeError("Paddle2ONNX writes no model")
        return {"x": np.random.default_rng(4).standard_normal((2, *shape)).astype(np.float32)}

    return make


def _vision(name: str) -> ModelSpec:
    def build(paddle: Any) -> Any:
        return getattr(paddle.vision.models, name)(num_classes=10)

    shape = (1, 28, 28) if name == "LeNet" else (3, 96, 96)
    return ModelSpec(f"paddle_{name}", PADDLE, _exported(build, shape), name == "LeNet")


def model_specs() -> list[ModelSpec]:
    """The networks of paddle.vision and those above."""
    made = [ModelSpec(f"paddle_{name}", PADDLE, _exported(*each)) for name, each in NETWORKS.items()]
    return [*map(_vision, VISION), *made]
