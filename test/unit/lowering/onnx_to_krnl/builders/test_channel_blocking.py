"""Networks in the channel-blocked layout agree with the ONNX reference, on each processor family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper
from onnx import parser as onnx_parser

from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor

Array = npt.NDArray[np.generic]


class Evaluator(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


def model_of(
    nodes: str, x: Sequence[int], weights: Mapping[str, Sequence[int] | Array], outputs: str = "y"
) -> onnx.ModelProto:
    """A model from `x` to `outputs`, its nodes as text, weights drawn from a seed or given."""
    sizes = ", ".join(map(str, x))
    given = ", ".join(f"float[] {name}" for name in outputs.split())
    text = f'<ir_version: 8, opset_import: ["": 19]> g (float[{sizes}] x) => ({given}) {{ {nodes} }}'
    model = onnx_parser.parse_model(text)
    generator = np.random.default_rng(3)
    for name, each in weights.items():
        drawn = each if isinstance(each, np.ndarray) else generator.normal(size=each).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(drawn, name))
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(model)


def check(model: onnx.ModelProto, x: Sequence[int], target: str = "cpu") -> list[str]:
    """Compares the outputs; the kernels that ran."""
    feed = {"x": np.random.default_rng(4).normal(size=x).astype(np.float32)}
    evaluator: Evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
    requested = evaluator.run(None, feed)
    session = compile_native(model, target)
    for one, other in zip(session.run(None, feed), requested, strict=True):
        expected = np.asarray(other, np.float32)
        np.testing.assert_allclose(
            np.asarray(one, np.float32), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max()
        )
    assert session.host_calls() == []
    return [name.rpartition("_")[0] for line in session.report() for name in line.what.split()]


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(
    ("attributes", "channels", "filters", "kernel"),
    [
        ("pads=[1,1,1,1]", 16, 16, 3),
        ("pads=[0,1,2,1], strides=[2,1]", 3, 40, 3),
        ("strides=[2,2]", 24, 17, 1),
        ("dilations=[2,1], pads=[2,0,2,0]", 20, 36, 3),
        ("pads=[2,2,2,2], strides=[3,2]", 1, 16, 5),
        ("", 37, 64, 1),
    ],
)
def test_convolutions(target: str, attributes: str, channels: int, filters: int, kernel: int):
    node = f"y = Conv<{attributes}>(x, w, b)" if attributes else "y = Conv(x, w, b)"
    x = [2, channels, 9, 11]
    model = model_of(node, x, {"w": [filters, channels, kernel, kernel], "b": [filters]})
    assert "conv" in check(model, x, target)


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(("channels", "strides"), [(16, 1), (24, 2)])
def test_channels_by_themselves(target: str, channels: int, strides: int):
    nodes = f"y = Conv<group={channels}, pads=[1,1,1,1], strides=[{strides},{strides}]>(x, w, b)"
    x = [1, channels, 10, 13]
    model = model_of(nodes, x, {"w": [channels, 1, 3, 3], "b": [channels]})
    assert "depthwise" in check(model, x, target)


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(
    ("attributes", "kernel"),
    [
        ("strides=[2,2]", 2),
        ("strides=[2,3], pads=[1,0,1,2]", 3),
        ("pads=[1,1,0,1]", 4),
        ("strides=[3,2], output_padding=[2,1]", 2),
        ("strides=[2,1], pads=[2,2,2,2]", 5),
    ],
)
def test_transposed_convolutions(target: str, attributes: str, kernel: int):
    x = [2, 19, 5, 6]
    nodes = f"a = ConvTranspose<{attributes}>(x, w, b) y = Relu(a)"
    kernels = check(model_of(nodes, x, {"w": [19, 24, kernel, kernel], "b": [24]}), x, target)
    assert set(kernels) <= {"block", "unblock", "halo", "conv"}


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(
    "nodes",
    [
        "y = Conv<pads=[2,0,2,0], strides=[3,1], dilations=[2,1]>(x, w, b)",
        "a = Conv<pads=[1,0,3,0]>(x, w, b) r = Relu(a) c = Conv<pads=[2,0,2,0]>(r, v, b) y = Add(c, r)",
        "a = Conv<pads=[2,0,2,0]>(x, w) y = Conv<group=32, pads=[0,0,4,0], strides=[2,1]>(a, u, b)",
        "a = ConvTranspose<strides=[2,1]>(x, t) y = Relu(a)",
        "a = Conv<pads=[2,1,2,1], strides=[1,3]>(x, k) y = Conv<pads=[2,0,2,0]>(a, v)",
    ],
)
def test_images_of_one_column(nodes: str, target: str):
    """Their tiles lie along rows."""
    x = [2, 20, 37, 1]
    weights = {"w": [32, 20, 5, 1], "v": [32, 32, 5, 1], "u": [32, 1, 5, 1], "b": [32]}
    weights |= {"t": [20, 32, 3, 1], "k": [32, 20, 5, 3]}
    used = {name: sizes for name, sizes in weights.items() if f" {name})" in nodes or f" {name}," in nodes}
    assert {"conv", "depthwise"} & set(check(model_of(nodes, x, used), x, target))


def test_a_sum_and_bounds_belong_to_the_convolution():
    nodes = """
        a = Conv<pads=[1,1,1,1]>(x, w, b)
        r = Relu(a)
        c = Conv<pads=[1,1,1,1]>(r, v, b)
        s = Add(c, r)
        d = Clip(s, low, high)
        e = Conv(d, u)
        y = Add(e, d)
    """
    x = [1, 16, 7, 7]
    weights: dict[str, Sequence[int] | Array] = {"w": [32, 16, 3, 3], "v": [32, 32, 3, 3], "b": [32]}
    weights |= {"u": [32, 32, 1, 1], "low": np.array(-0.5, np.float32), "high": np.array(6, np.float32)}
    kernels = check(model_of(nodes, x, weights), x)
    # The first and last are images in rows.
    assert [name for name in kernels if name not in ("halo", "block", "unblock")] == ["conv"] * 3


def test_what_is_joined_is_written_where_it_belongs():
    nodes = """
        a = Conv(x, w)
        b = Conv<pads=[1,1,1,1]>(a, v)
        c = Concat<axis=1>(a, b)
        d = Conv(c, u)
        e = Concat<axis=1>(c, d)
        f = Relu(e)
        y = Conv<pads=[1,1,1,1]>(f, t)
    """
    x = [1, 16, 6, 6]
    weights = {"w": [16, 16, 1, 1], "v": [32, 16, 3, 3], "u": [16, 48, 1, 1], "t": [16, 64, 3, 3]}
    kernels = check(model_of(nodes, x, weights), x)
    assert "join" not in kernels
    assert "concat" not in kernels


def test_parts_of_two_images_are_copied_into_the_second():
    nodes = """
        a = Conv(x, w)
        b = Conv(x, v)
        c = Concat<axis=1>(a, b)
        d = Concat<axis=1>(b, a)
        y = Add(c, d)
    """
    x = [1, 16, 5, 5]
    kernels = check(model_of(nodes, x, {"w": [16, 16, 1, 1], "v": [16, 16, 1, 1]}), x)
    assert kernels.count("join") == 2


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(
    "pool",
    [
        "MaxPool<kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>",
        "MaxPool<kernel_shape=[2,3], ceil_mode=1, strides=[2,2]>",
        "AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>",
        "AveragePool<kernel_shape=[3,2], pads=[1,1,0,0], count_include_pad=1, strides=[1,2]>",
        "GlobalAveragePool",
        "GlobalMaxPool",
    ],
)
def test_pools(target: str, pool: str):
    x = [1, 16, 9, 9]
    model = model_of(f"a = Conv<pads=[1,1,1,1]>(x, w) y = {pool}(a)", x, {"w": [32, 16, 3, 3]})
    kernels = check(model, x, target)
    assert ("unblock" in kernels) == ("Global" not in pool)


def test_functions_of_numbers_keep_the_blocks():
    nodes = """
        a = Conv<pads=[1,1,1,1]>(x, w)
        s = Sigmoid(a)
        m = Mul(a, s)
        n = BatchNormalization(m, scale, shift, mean, variance)
        r = Relu(n)
        y = Conv<pads=[1,1,1,1]>(r, v)
    """
    x = [2, 16, 5, 7]
    positive = np.abs(np.random.default_rng(2).normal(size=24)).astype(np.float32) + 0.1
    weights: dict[str, Sequence[int] | Array] = {"w": [24, 16, 3, 3], "v": [16, 24, 3, 3]}
    weights |= {"scale": [24], "shift": [24], "mean": [24], "variance": positive}
    kernels = check(model_of(nodes, x, weights), x)
    assert sum(name not in ("halo", "block", "unblock") for name in kernels) == 3


def test_outputs_and_other_readers_get_rows():
    nodes = """
        a = Conv<pads=[1,1,1,1]>(x, w)
        z = Relu(a)
        t = Transpose<perm=[0,2,3,1]>(z)
        y = Conv<pads=[1,1,1,1]>(z, v)
    """
    x = [1, 16, 4, 8]
    model = model_of(nodes, x, {"w": [24, 16, 3, 3], "v": [16, 24, 3, 3]}, "y z t")
    kernels = check(model, x)
    after = kernels[kernels.index("conv") + 1 :]
    assert "unblock" in after
    assert "transpose" in after
    # The second convolution reads the blocks of the first.
    assert "block" not in after


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_qdq_pairs_around_float_weights_are_computed_channel_blocked(kind: str):
    nodes = f"""
        zero = Constant<value = {kind} {{7}}>()
        step = Constant<value = float {{0.0625}}>()
        q = QuantizeLinear(x, step, zero)
        d = DequantizeLinear(q, step, zero)
        c = Conv<pads=[1,1,1,1]>(d, w)
        r = Relu(c)
        p = QuantizeLinear(r, step, zero)
        y = DequantizeLinear(p, step, zero)
    """
    x = [1, 16, 5, 6]
    weights = (np.random.default_rng(1).integers(-127, 128, (16, 16, 3, 3)) / 32).astype(np.float32)
    kernels = check(model_of(nodes, x, {"w": weights}), x)
    assert [name for name in kernels if name not in ("halo", "block", "unblock")] == [
        "add_fused",
        "conv",
        "add_fused",
    ]


def test_small_powers_are_multiplications():
    nodes = """
        two = Constant<value = float {2.0}>()
        three = Constant<value = float {3.0}>()
        a = Pow(x, two)
        b = Pow(x, three)
        y = Sub(a, b)
    """
    check(model_of(nodes, [3, 50], {}), [3, 50])


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(("filters", "size"), [(1, 3), (3, 5), (7, 2)])
def test_few_filters_of_large_windows_are_blocked(filters: int, size: int, target: str):
    shape = (2, 20, 9, 11)
    weights = {"w": (filters, 20, size, size), "b": (filters,)}
    nodes = f"c = Conv<pads=[{size // 2}, 1, 1, {size // 2}]>(x, w, b) y = Sigmoid(c)"
    kernels = check(model_of(nodes, shape, weights), shape, target)
    assert "conv" in kernels
    assert "im2col" not in kernels


GATED = """
c = Conv<pads = [1, 1, 1, 1]>(x, w)
a = Tanh(c)
p = POOL
s = Conv(p, v)
g = HardSigmoid(s)
m = Mul(a, g)
n = Add(m, g)
z = Conv<pads = [2, 1, 0, 1]>(n, u)
y = Relu(z)
"""


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(("images", "channels"), [(1, 16), (3, 32), (2, 24)])
@pytest.mark.parametrize(
    "pool",
    ["GlobalAveragePool(a)", "GlobalMaxPool(a)", "ReduceL2(a, axes)", "ReduceMin(a, axes)"],
)
def test_channels_are_weighed_by_what_is_computed(target: str, images: int, channels: int, pool: str):
    """Squeeze and excitation: one number per channel and image; the images and their halo stay in NCHWc."""
    weights = {"w": [channels, 3, 3, 3], "v": [channels, channels, 1, 1], "u": [20, channels, 3, 3]}
    nodes = "axes = Constant<value = int64[2] {2, 3}>()\n" + GATED.replace("POOL", pool)
    assert "conv" in check(model_of(nodes, [images, 3, 7, 9], weights), [images, 3, 7, 9], target)


CROSS_STAGE = """
  c = Conv(x, w) s = Sigmoid(c) m = Mul(c, s)
  a, b = Split<axis=1>(m, sizes)
  d = Conv<pads=[1,1,1,1]>(b, v) e = Add(b, d)
  k = Concat<axis=1>(a, b, e) y = Conv(k, u)
"""
"""A block of YOLO's: a half of the channels goes through convolutions, and all are joined."""


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("parts", [(16, 32), (32, 16), (48, 8), (20, 20)])
def test_parts_of_channels(target: str, images: int, parts: tuple[int, int]):
    first, second = parts
    x = [images, 3, 9, 7]
    shapes = {
        "w": [first + second, 3, 1, 1],
        "v": [second, second, 3, 3],
        "u": [17, first + 2 * second, 1, 1],
        "sizes": np.array(parts, np.int64),
    }
    found = check(model_of(CROSS_STAGE, x, shapes), x, target)
    # Whole blocks of channels stay channel-blocked from the first convolution to the last.
    lanes = resolve_processor(target).vector_bytes // 4
    assert ("block" in found) != (first % lanes == second % lanes == 0)


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        ("c = Conv(x, w) y, z = Split<axis=1>(c, sizes)", "y z"),
        ("c = Conv(x, w) a, z = Split<axis=1>(c, sizes) y = Concat<axis=1>(c, z)", "y z"),
        ("c = Conv(x, w) a, b = Split<axis=1>(c, sizes) k = Concat<axis=1>(b, a) y = Relu(k)", "y"),
        ("c = Conv(x, w) a, b = Split<axis=1>(c, sizes) y = MaxPool<kernel_shape=[3,3]>(b)", "y a"),
        ("c = Conv(x, w) a, b = Split<axis=2>(c, rows) y = Conv<pads=[1,1,1,1]>(b, v)", "y"),
        ("c = Conv(x, w) a, b = Split<axis=-3>(c, sizes) y = Conv<pads=[1,1,1,1]>(b, t)", "y"),
    ],
)
def test_what_reads_parts_of_channels(nodes: str, outputs: str):
    shapes = {
        "w": [48, 3, 1, 1],
        "v": [16, 48, 3, 3],
        "t": [16, 32, 3, 3],
        "sizes": np.array([16, 32], np.int64),
        "rows": np.array([4, 5], np.int64),
    }
    used = {name: shape for name, shape in shapes.items() if f"{name})" in nodes}
    check(model_of(nodes, [1, 3, 9, 7], used, outputs), [1, 3, 9, 7])


def test_parts_of_channels_of_any_number_of_images():
    shapes = {
        "w": [48, 3, 1, 1],
        "v": [32, 32, 3, 3],
        "u": [17, 80, 1, 1],
        "sizes": np.array([16, 32], np.int64),
    }
    model = model_of(CROSS_STAGE, [1, 3, 9, 7], shapes)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    del model.graph.value_info[:]
    for images in (1, 3):
        check(model, [images, 3, 9, 7])
