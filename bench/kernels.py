"""
Kernels of native code against onnxruntime's: products, convolutions, chains and movement, one model each.

    python bench/kernels.py [--threads 1] [--rounds 5] [--match conv]

The last column is the share of the fastest product's speed, which is near what the processor can do.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, parser

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.racing.figures import geometric_mean
from bench.racing.peers import ANCHOR, OURS
from bench.racing.race import Row, measure


@dataclass(frozen=True)
class Case:
    """One operator or a few: nodes as text from `x` to `y`, shapes of the input and the weights."""

    name: str
    nodes: str
    x: Sequence[int]
    weights: Mapping[str, Sequence[int]]
    work: float
    """Additions and multiplications in 10⁹, or 0 where memory is what counts."""


def product(m: int, k: int, n: int) -> Case:
    """A product with a constant matrix."""
    return Case(f"gemm {m}x{k}x{n}", "y = MatMul(x, w)", [m, k], {"w": [k, n]}, 2e-9 * m * n * k)


def conv(channels: int, filters: int, size: int, kernel: int, stride: int = 1) -> Case:
    """Three convolutions of one kind, so that layouts are changed on the way in and out only."""
    pads, names = kernel // 2, ("a", "b", "y")
    lines = [
        f"{name} = Conv<pads=[{pads},{pads},{pads},{pads}], strides=[{step},{step}]>({source}, {weight})"
        for name, source, weight, step in zip(
            names, ("x", "a", "b"), ("w", "v", "v"), (stride, 1, 1), strict=True
        )
    ]
    out = size // stride
    weights = {"w": [filters, channels, kernel, kernel], "v": [filters, filters, kernel, kernel]}
    work = 2e-9 * out * out * filters * kernel * kernel * (channels + 2 * filters)
    label = f"conv{kernel}x{kernel} {channels}->{filters} {size}" + (f"/{stride}" if stride > 1 else "")
    return Case(label, " ".join(lines), [1, channels, size, size], weights, work)


def depthwise(channels: int, size: int) -> Case:
    """Three depthwise convolutions."""
    node = f"Conv<group={channels}, pads=[1,1,1,1]>"
    nodes = f"a = {node}(x, w) b = {node}(a, w) y = {node}(b, w)"
    work = 3 * 18e-9 * channels * size * size
    return Case(
        f"depthwise {channels} {size}", nodes, [1, channels, size, size], {"w": [channels, 1, 3, 3]}, work
    )


CASES = [
    product(128, 768, 768),
    product(128, 768, 3072),
    product(128, 3072, 768),
    product(3136, 64, 256),
    product(1, 768, 768),
    conv(64, 64, 56, 3),
    conv(128, 128, 28, 3),
    conv(256, 256, 14, 3),
    conv(512, 512, 7, 3),
    conv(256, 64, 56, 1),
    conv(3, 64, 224, 7, 2),
    depthwise(144, 56),
    depthwise(384, 14),
    Case("softmax 12x128x128", "y = Softmax<axis=-1>(x)", [12, 128, 128], {}, 0),
    Case(
        "layernorm 128x768",
        "y = LayerNormalization(x, s, b)",
        [128, 768],
        {"s": [768], "b": [768]},
        0,
    ),
    Case("gelu 128x3072", "e = Erf(x) t = Add(e, one) y = Mul(x, t)", [128, 3072], {"one": [1]}, 0),
    Case("reduce 256x4096", "y = ReduceMean<axes=[1]>(x)", [256, 4096], {}, 0),
    Case("transpose 12x128x64", "y = Transpose<perm=[1,0,2]>(x)", [12, 128, 64], {}, 0),
    Case("transpose 512x512", "y = Transpose<perm=[1,0]>(x)", [512, 512], {}, 0),
    Case("maxpool 64 112", "y = MaxPool<kernel_shape=[3,3], strides=[2,2]>(x)", [1, 64, 112, 112], {}, 0),
]


def model_of(case: Case) -> onnx.ModelProto:
    """The model of a case, with random weights."""
    sizes = ", ".join(map(str, case.x))
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[{sizes}] x) => (float y) {{ {case.nodes} }}'
    model = parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    generator = np.random.default_rng(3)
    for name, shape in case.weights.items():
        array = generator.normal(size=shape) / np.sqrt(max(1, prod(shape[1:])))
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return onnx.shape_inference.infer_shapes(model)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; exit 1 if an output differs."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--match", default="", help="kernels whose name contains this")
    given = options.parse_args(arguments)
    rows: list[tuple[Case, Row]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(each for each in CASES if given.match in each.name):
            path = Path(folder, f"{number}.onnx")
            path.write_bytes(model_of(case).SerializeToString())
            rows.append((case, measure(case.name, path, (ANCHOR, OURS), given.threads, given.rounds)))
    print(table(rows))
    return 1 if any(row.failures for _, row in rows) else 0


def table(rows: Sequence[tuple[Case, Row]]) -> str:
    """A line for each kernel, and the geometric mean."""
    speeds = {case.name: case.work / row.paces[OURS].best for case, row in rows if OURS in row.paces}
    most = max(speeds.values(), default=0.0)
    lines: list[str] = []
    for case, row in rows:
        if OURS not in row.paces:
            lines.append(f"{case.name:<24} {'; '.join(row.failures.values())}")
            continue
        own, anchor = row.paces[OURS], row.paces[ANCHOR]
        share = f"{speeds[case.name]:6.0f} GFLOP/s {speeds[case.name] / most:4.0%}" if case.work else ""
        lines.append(
            f"{case.name:<24} {own.best * 1e6:9.1f} us, onnxruntime {anchor.best * 1e6:9.1f} us, "
            f"{own.median:5.2f} ({own.minimum:.2f}) {share}".rstrip()
        )
    minima = [row.paces[OURS].minimum for _, row in rows if OURS in row.paces]
    return "\n".join([*lines, f"geometric mean of minima {geometric_mean(minima):.3f}" if minima else ""])


if __name__ == "__main__":
    sys.exit(main())
