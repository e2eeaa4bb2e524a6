"""Random small networks: compiled, checked, simulated, compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

import numpy as np
import onnx
import pytest

Build = Callable[..., onnx.ModelProto]
Deviation = Callable[[onnx.ModelProto], float]


@dataclass
class Draft:
    """A network in the making: nodes as text, weights, and the shapes of its values."""

    generator: np.random.Generator
    values: dict[str, tuple[int, ...]]
    nodes: list[str] = field(default_factory=list[str])
    weights: dict[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])

    @property
    def last(self) -> str:
        return next(reversed(self.values))

    def number(self, low: int, high: int) -> int:
        return int(self.generator.integers(low, high + 1))

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = shape
        return name

    def add(self, call: str, shape: tuple[int, ...]) -> None:
        name = f"v{len(self.values)}"
        self.nodes.append(f"{name} = {call}")
        self.values[name] = shape

    def like(self, shape: tuple[int, ...]) -> str:
        """A value of `shape`, any of those there are."""
        names = [name for name, other in self.values.items() if other == shape]
        return names[self.number(0, len(names) - 1)]


def conv(draft: Draft) -> None:
    _, channels, height, width = draft.values[draft.last]
    rows, columns = draft.number(1, min(5, height)), draft.number(1, min(5, width))
    kernels, stride = draft.number(1, 50), draft.number(1, 3)
    top, left = draft.number(0, rows - 1), draft.number(0, columns - 1)
    weight, bias = draft.weight(kernels, channels, rows, columns), draft.weight(kernels)
    call = f"Conv<pads=[{top},{left},0,1], strides=[{stride},1]>({draft.last}, {weight}, {bias})"
    draft.add(call, (1, kernels, (height + top - rows) // stride + 1, width + left + 1 - columns + 1))


def grouped(draft: Draft) -> None:
    _, channels, height, width = draft.values[draft.last]
    groups = [count for count in range(1, channels + 1) if channels % count == 0]
    group = groups[draft.number(0, len(groups) - 1)]
    kernels = group * draft.number(1, max(1, 32 // group))
    weight = draft.weight(kernels, channels // group, 1, 1)
    draft.add(f"Conv<group={group}>({draft.last}, {weight})", (1, kernels, height, width))


def unary(draft: Draft) -> None:
    calls = ("Relu({})", "Neg({})", "LeakyRelu<alpha=0.2>({})", "HardSigmoid<alpha=0.3>({})")
    call = calls[draft.number(0, len(calls) - 1)]
    draft.add(call.format(draft.last), draft.values[draft.last])


def binary(draft: Draft) -> None:
    shape = draft.values[draft.last]
    operator = ("Add", "Mul", "Sub", "Max")[draft.number(0, 3)]
    operands = [draft.last, draft.like(shape)]
    draft.generator.shuffle(operands)
    draft.add(f"{operator}({', '.join(operands)})", shape)


def constant(draft: Draft) -> None:
    shape = draft.values[draft.last]
    choices = ((1,), (shape[1], 1, 1), shape, (1, 1, *shape[2:]))
    operator = ("Add", "Mul")[draft.number(0, 1)]
    weight = draft.weight(*choices[draft.number(0, 3)])
    draft.add(f"{operator}({draft.last}, {weight})", shape)


def pool(draft: Draft) -> None:
    _, channels, height, width = draft.values[draft.last]
    rows, columns = draft.number(1, min(8, height)), draft.number(1, min(8, width))
    stride, top = draft.number(1, 3), draft.number(0, rows - 1)
    operator = ("MaxPool", "AveragePool")[draft.number(0, 1)]
    call = (
        f"{operator}<kernel_shape=[{rows},{columns}], strides=[{stride},1], pads=[{top},0,0,0]>({draft.last})"
    )
    draft.add(call, (1, channels, (height + top - rows) // stride + 1, width - columns + 1))


def concat(draft: Draft) -> None:
    shape = draft.values[draft.last]
    fitting = [name for name, other in draft.values.items() if other[2:] == shape[2:]]
    parts = [draft.last, *(fitting[draft.number(0, len(fitting) - 1)] for _ in range(draft.number(1, 2)))]
    channels = sum(draft.values[part][1] for part in parts)
    draft.add(f"Concat<axis=1>({', '.join(parts)})", (1, channels, *shape[2:]))


def excite(draft: Draft) -> None:
    source, shape = draft.last, draft.values[draft.last]
    draft.add(f"GlobalAveragePool({source})", (*shape[:2], 1, 1))
    draft.add(f"Mul({source}, {draft.last})", shape)


STEPS = (conv, conv, grouped, unary, binary, constant, pool, concat, excite)


def draft_of(seed: int) -> Draft:
    """A network of one to five random steps; one in three ends in a fully connected layer."""
    generator = np.random.default_rng(seed)
    sizes = (int(generator.integers(1, 70)), int(generator.integers(1, 30)), int(generator.integers(1, 30)))
    draft = Draft(generator, {"x": (1, *sizes)})
    for _ in range(draft.number(1, 5)):
        STEPS[draft.number(0, len(STEPS) - 1)](draft)
    if draft.number(0, 2) == 0:
        elements = prod(draft.values[draft.last])
        draft.add(f"Flatten({draft.last})", (1, elements))
        weight, bias = draft.weight(12, elements), draft.weight(12)
        draft.add(f"Gemm<transB=1>({draft.last}, {weight}, {bias})", (1, 12))
    return draft


@pytest.mark.parametrize("seed", range(60))
def test_a_random_network(seed: int, build: Build, deviation: Deviation):
    draft = draft_of(seed)
    model = build("\n".join(draft.nodes), x=draft.values["x"], weights=draft.weights, outputs=(draft.last,))
    assert deviation(model) < 8e-3
