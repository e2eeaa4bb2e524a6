"""
Kernels of native code against onnxruntime's: products, convolutions, chains and movement, one model each.

    python bench/kernels.py [--threads 1] [--rounds 5] [--match conv] [--page docs/native-performance.md]

The last column is the share of the machine's peak: how long the processor takes for as many products and
sums, or to move as many bytes, whichever is longer (`bench/racing/peak.py` measures both), over how long we
take.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, parser

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.racing.figures import geometric_mean
from bench.racing.page import heading, replace_section
from bench.racing.peak import bytes_a_second, products_a_second
from bench.racing.peers import ANCHOR, OURS
from bench.racing.race import Row, measure
from bench.racing.tables import loads


@dataclass(frozen=True)
class Case:
    """One operator or a few: nodes as text from `x` to `y`, shapes of the input and the weights."""

    name: str
    nodes: str
    x: Sequence[int]
    weights: Mapping[str, Sequence[int]]
    numbers: int
    """Numbers that have to be read and written at least, each time."""
    work: float = 0.0
    """Additions and multiplications, or 0 where memory is what counts."""
    passes: int = 1
    """How often that many numbers are read and written, one operator after the other."""
    writes: bool = True
    """Whether about half of them are written; else nearly all are read."""
    element: str = "float"

    def bound(self, threads: int) -> float:
        """Seconds that this processor takes at least."""
        size = 4 * self.numbers
        moving = self.passes * size / bytes_a_second(size, threads, writes=self.writes)
        return max(self.work / products_a_second(threads), moving)


def product(m: int, k: int, n: int) -> Case:
    """A product with a constant matrix."""
    numbers = m * k + k * n + m * n
    return Case(
        f"gemm {m}x{k}x{n}", "y = MatMul(x, w)", [m, k], {"w": [k, n]}, numbers, 2 * m * n * k, writes=False
    )


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
    work = 2 * out * out * filters * kernel * kernel * (channels + 2 * filters)
    label = f"conv{kernel}x{kernel} {channels}->{filters} {size}" + (f"/{stride}" if stride > 1 else "")
    numbers = channels * size * size + filters * out * out
    return Case(label, " ".join(lines), [1, channels, size, size], weights, numbers, work)


def depthwise(channels: int, size: int) -> Case:
    """Three depthwise convolutions."""
    node = f"Conv<group={channels}, pads=[1,1,1,1]>"
    nodes = f"a = {node}(x, w) b = {node}(a, w) y = {node}(b, w)"
    numbers = channels * size * size
    weights = {"w": [channels, 1, 3, 3]}
    shape = [1, channels, size, size]
    return Case(f"depthwise {channels} {size}", nodes, shape, weights, 2 * numbers, 54 * numbers, passes=3)


def gather(rows: int, width: int, count: int) -> Case:
    """Rows of a table of words."""
    name = f"gather {count} of {rows}x{width}"
    return Case(name, "y = Gather(w, x)", [count], {"w": [rows, width]}, 2 * count * width, element="int64")


def mapped(
    name: str, nodes: str, x: Sequence[int], weights: Mapping[str, Sequence[int]] | None = None
) -> Case:
    """As many numbers as are given are written."""
    return Case(f"{name} {'x'.join(map(str, x))}", nodes, x, weights or {}, 2 * prod(x))


def reduced(name: str, nodes: str, x: Sequence[int]) -> Case:
    """Few numbers of many."""
    return Case(f"{name} {'x'.join(map(str, x))}", nodes, x, {}, prod(x), writes=False)


CASES = [
    product(128, 768, 768),
    product(128, 768, 3072),
    product(128, 3072, 768),
    product(3136, 64, 256),
    product(1, 768, 768),
    product(1, 2048, 1000),
    conv(64, 64, 56, 3),
    conv(128, 128, 28, 3),
    conv(256, 256, 14, 3),
    conv(512, 512, 7, 3),
    conv(256, 64, 56, 1),
    conv(3, 64, 224, 7, 2),
    depthwise(144, 56),
    depthwise(384, 14),
    mapped("softmax", "y = Softmax<axis=-1>(x)", [12, 128, 128]),
    mapped("softmax", "y = Softmax<axis=-1>(x)", [1, 1000]),
    mapped("softmax of channels", "y = Softmax<axis=1>(x)", [1, 21, 128, 128]),
    mapped("layernorm", "y = LayerNormalization(x, s, b)", [128, 768], {"s": [768], "b": [768]}),
    mapped("gelu", "e = Erf(x) t = Add(e, one) y = Mul(x, t)", [128, 3072], {"one": [1]}),
    reduced("reducemean rows", "y = ReduceMean<axes=[1]>(x)", [256, 4096]),
    reduced("reducemax columns", "y = ReduceMax<axes=[0]>(x)", [4096, 256]),
    reduced("reducemean columns", "y = ReduceMean<axes=[1]>(x)", [8, 512, 256]),
    reduced("reducemean images", "y = ReduceMean<axes=[2, 3]>(x)", [1, 512, 28, 28]),
    mapped("transpose 102", "y = Transpose<perm=[1,0,2]>(x)", [12, 128, 64]),
    mapped("transpose 021", "y = Transpose<perm=[0,2,1]>(x)", [12, 128, 64]),
    mapped("transpose 10", "y = Transpose<perm=[1,0]>(x)", [512, 512]),
    mapped("transpose 0231", "y = Transpose<perm=[0,2,3,1]>(x)", [1, 64, 56, 56]),
    gather(30522, 768, 128),
    mapped("add", "y = Add(x, x)", [128, 3072]),
    reduced("maxpool", "y = MaxPool<kernel_shape=[3,3], strides=[2,2]>(x)", [1, 64, 112, 112]),
]


def model_of(case: Case) -> onnx.ModelProto:
    """The model of a case, with random weights."""
    sizes = ", ".join(map(str, case.x))
    ends = f"({case.element}[{sizes}] x) => (float y)"
    text = f'<ir_version: 8, opset_import: ["": 17]> g {ends} {{ {case.nodes} }}'
    model = parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    generator = np.random.default_rng(3)
    for name, shape in case.weights.items():
        array = generator.normal(size=shape) / np.sqrt(max(1, prod(shape[1:])))
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return onnx.shape_inference.infer_shapes(model)


@dataclass(frozen=True)
class Found:
    """What was measured of a case, and the seconds that the processor takes at least."""

    case: Case
    row: Row
    bound: float

    @property
    def speed(self) -> str:
        """Products and sums in a second, or bytes."""
        seconds = self.row.paces[OURS].best
        if self.case.work:
            return f"{self.case.work / seconds / 1e9:.0f} GFLOP/s"
        return f"{4 * self.case.numbers * self.case.passes / seconds / 1e9:.0f} GB/s"

    @property
    def share(self) -> float:
        """Of the machine's peak."""
        return self.bound / self.row.paces[OURS].best


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; exit 1 if an output differs."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--match", default="", help="kernels whose name contains this")
    options.add_argument("--page", type=Path, help="writes the table to its section of a page")
    given = options.parse_args(arguments)
    found: list[Found] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(each for each in CASES if given.match in each.name):
            path = Path(folder, f"{number}.onnx")
            path.write_bytes(model_of(case).SerializeToString())
            case.bound(given.threads)
            row = measure(case.name, path, (ANCHOR, OURS), given.threads, given.rounds)
            path.unlink()
            # The second time, since others may have computed during the first.
            found.append(Found(case, row, case.bound(given.threads)))
            print(line(found[-1]), flush=True)
    minima = [each.row.paces[OURS].minimum for each in found if OURS in each.row.paces]
    if minima:
        print(f"geometric mean of minima {geometric_mean(minima):.3f}")
    # What the loops did at best may have been found after a kernel was measured.
    found = [replace(each, bound=each.case.bound(given.threads)) for each in found]
    if given.page is not None:
        replace_section(given.page, heading("Kernels", given.threads), table(found))
    return 1 if any(each.row.failures for each in found) else 0


def line(found: Found) -> str:
    """A kernel's times as text."""
    row = found.row
    if OURS not in row.paces:
        return f"{row.model:<28} {'; '.join(row.failures.values())}"
    own, anchor = row.paces[OURS], row.paces[ANCHOR]
    return (
        f"{row.model:<28} {own.best * 1e6:9.1f} us, {ANCHOR} {anchor.best * 1e6:9.1f} us, "
        f"{own.median:5.2f} ({own.minimum:.2f}) {found.speed:>12} {found.share:4.0%}"
    )


def table(found: Sequence[Found]) -> str:
    """The same in Markdown."""
    lines = [
        f"{loads([each.row for each in found])}\n",
        f"| kernel | us | {ANCHOR} us | ratio (of minima) | speed | share of peak |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in found:
        if OURS not in each.row.paces:
            lines.append(f"| {each.row.model} | {'; '.join(each.row.failures.values())} |" + "  |" * 4)
            continue
        own, anchor = each.row.paces[OURS], each.row.paces[ANCHOR]
        noise = "\\*" if own.is_noisy else ""
        lines.append(
            f"| {each.row.model} | {own.best * 1e6:.1f} | {anchor.best * 1e6:.1f} "
            f"| {own.median:.2f} ({own.minimum:.2f}){noise} | {each.speed} | {each.share:.0%} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
