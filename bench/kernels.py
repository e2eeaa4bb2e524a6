"""
Kernels of native code against onnxruntime: GEMM, convolution, elementwise, reduction and data movement.

    python bench/kernels.py [--threads 1] [--rounds 5] [--match conv] [--page docs/native-performance.md]

The last column is the fraction of the roofline bound that is reached: the larger of FLOPs over peak FLOP/s
and bytes over peak bandwidth, both as `runtime/native/roofline.py` measures them, over the measured time.
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

from bench.latency.measure import ModelResult, measure
from bench.latency.page import heading, replace_section
from bench.latency.peers import BASELINE, XONNC
from bench.latency.ratios import geometric_mean
from bench.latency.tables import load_averages
from bench.loops import ENDED_BY_CONDITION, WITH_PRODUCTS, growing
from xonnc.native_compilation import resolve_processor
from xonnc.runtime.native.roofline import MachinePeaks


@dataclass(frozen=True)
class KernelCase:
    """A small model: nodes in ONNX text syntax from `x` to `y`, shapes of the input and of the weights."""

    name: str
    nodes: str
    x: Sequence[int]
    weights: Mapping[str, Sequence[int]]
    elements: int
    """Elements that each pass must read and write at least."""
    flops: float = 0.0
    """FLOPs, or 0 for a memory-bound kernel."""
    memory_passes: int = 1
    """Passes over memory: operators that follow each other unfused."""
    writes: bool = True
    """Whether about half of the elements are written; otherwise nearly all are reads."""
    element: str = "float"
    opset: int = 17
    dynamic_sizes: Sequence[str] = ()
    """Names of dynamic dimensions of the input, as in `bench/latency/feeds.py`; "" for others."""
    result: str = "float"
    """Type of the output's elements."""
    weight_type: str = "float32"

    def seconds_bound(self, threads: int) -> float:
        """The roofline bound on this processor, in seconds."""
        size = 4 * self.elements
        peaks = MachinePeaks(resolve_processor("cpu"))
        moving = self.memory_passes * size / peaks.bytes_per_second(size, threads, writes=self.writes)
        return max(self.flops / peaks.flops(threads), moving)


def matmul_case(m: int, k: int, n: int) -> KernelCase:
    """MatMul with a constant matrix."""
    elements = m * k + k * n + m * n
    return KernelCase(
        f"gemm {m}x{k}x{n}", "y = MatMul(x, w)", [m, k], {"w": [k, n]}, elements, 2 * m * n * k, writes=False
    )


def conv_case(channels: int, filters: int, size: int, kernel: int, stride: int = 1) -> KernelCase:
    """Three equal convolutions, so that layout conversions occur only at the input and the output."""
    pads, names = kernel // 2, ("a", "b", "y")
    lines = [
        f"{name} = Conv<pads=[{pads},{pads},{pads},{pads}], strides=[{step},{step}]>({source}, {weight})"
        for name, source, weight, step in zip(
            names, ("x", "a", "b"), ("w", "v", "v"), (stride, 1, 1), strict=True
        )
    ]
    out = size // stride
    weights = {"w": [filters, channels, kernel, kernel], "v": [filters, filters, kernel, kernel]}
    flops = 2 * out * out * filters * kernel * kernel * (channels + 2 * filters)
    label = f"conv{kernel}x{kernel} {channels}->{filters} {size}" + (f"/{stride}" if stride > 1 else "")
    elements = channels * size * size + filters * out * out
    return KernelCase(label, " ".join(lines), [1, channels, size, size], weights, elements, flops)


def grouped_case(channels: int, groups: int, size: int) -> KernelCase:
    """A 3x3 convolution in groups, as ResNeXt and RegNet have them."""
    depth = channels // groups
    pixels = channels * size * size
    return KernelCase(
        f"conv3x3 {groups} groups of {depth} {size}",
        f"r = Relu(x) y = Conv<group={groups},pads=[1,1,1,1]>(r, w)",
        [1, channels, size, size],
        {"w": [channels, depth, 3, 3]},
        2 * pixels + channels * depth * 9,
        2 * pixels * depth * 9,
    )


def depthwise_case(channels: int, size: int) -> KernelCase:
    """Three depthwise convolutions."""
    node = f"Conv<group={channels}, pads=[1,1,1,1]>"
    nodes = f"a = {node}(x, w) b = {node}(a, w) y = {node}(b, w)"
    elements = channels * size * size
    weights = {"w": [channels, 1, 3, 3]}
    shape = [1, channels, size, size]
    return KernelCase(
        f"depthwise {channels} {size}", nodes, shape, weights, 2 * elements, 54 * elements, memory_passes=3
    )


def transposed_conv_case(
    channels: int, filters: int, sizes: Sequence[int], kernel: int, stride: int, begin: int
) -> KernelCase:
    """A transposed convolution in its general form: few filters, or a volume."""
    rank = len(sizes)
    strides, pads = [stride] * rank, [begin] * 2 * rank
    out = [(size - 1) * stride + kernel - 2 * begin for size in sizes]
    return KernelCase(
        f"convtranspose {'x'.join([str(kernel)] * rank)} {channels}->{filters} {'x'.join(map(str, sizes))}",
        f"y = ConvTranspose<strides={strides}, pads={pads}>(x, w)",
        [1, channels, *sizes],
        {"w": [channels, filters, *[kernel] * rank]},
        channels * prod(sizes) + filters * prod(out),
        2 * channels * filters * prod(sizes) * kernel**rank,
    )


def gather_case(rows: int, width: int, count: int) -> KernelCase:
    """Embedding lookup."""
    name = f"gather {count} of {rows}x{width}"
    return KernelCase(
        name, "y = Gather(w, x)", [count], {"w": [rows, width]}, 2 * count * width, element="int64"
    )


def elementwise_case(
    name: str, nodes: str, x: Sequence[int], weights: Mapping[str, Sequence[int]] | None = None
) -> KernelCase:
    """A kernel that reads and writes equally many elements."""
    return KernelCase(f"{name} {'x'.join(map(str, x))}", nodes, x, weights or {}, 2 * prod(x))


def reduction_case(name: str, nodes: str, x: Sequence[int]) -> KernelCase:
    """A kernel that reads many elements and writes few."""
    return KernelCase(f"{name} {'x'.join(map(str, x))}", nodes, x, {}, prod(x), writes=False)


def max_pool_case(size: int) -> KernelCase:
    """MaxPool of stride 1, as in the spatial pyramid pooling of detectors."""
    node = f"y = MaxPool<kernel_shape=[{size},{size}], pads=[{','.join([str(size // 2)] * 4)}]>(x)"
    return KernelCase(f"maxpool {size}x{size}/1", node, [1, 256, 20, 20], {}, 2 * 256 * 400)


def recurrent_case(operator: str, gates: int) -> KernelCase:
    """A small recurrent layer of 50 time steps."""
    weights = {"w": [1, gates * 64, 96], "r": [1, gates * 64, 64], "b": [1, 2 * gates * 64]}
    results = "y, h, c" if operator == "LSTM" else "y, h"
    node = f"{results} = {operator}<hidden_size=64>(x, w, r, b)"
    flops = 2 * 50 * 2 * gates * 64 * (96 + 64)
    return KernelCase(
        f"{operator.lower()} 96-64, 50 steps of 2", node, [50, 2, 96], weights, 50 * 2 * 160, flops
    )


def resize_case(opset: int, mode: str) -> KernelCase:
    """Resize of an image to twice its size."""
    how = 'coordinate_transformation_mode="half_pixel"'
    if mode == "nearest":
        how = 'coordinate_transformation_mode="asymmetric", nearest_mode="floor"'
    node = "none = Constant<value=float[0] {}>() scales = Constant<value=float[4] {1, 1, 2, 2}>() "
    node += f'y = Resize<mode="{mode}", {how}>(x, none, scales)'
    return KernelCase(
        f"resize {mode} opset {opset}", node, [1, 32, 40, 40], {}, 5 * 32 * 40 * 40, opset=opset
    )


ROIS = """
  part = Constant<value=float {30.0}>()
  corner = Abs(w) a = Mul(corner, part) size = Abs(v) b = Mul(size, part)
  end = Add(a, b)
"""
"""A hundred regions of interest."""

QDQ_CONVOLUTIONS = """
  as = Constant<value=float {0.04}>() az = Constant<value=uint8 {120}>()
  ws = Constant<value=float {0.0107}>() wz = Constant<value=int8 {0}>()
  q = QuantizeLinear(x, as, az) d = DequantizeLinear(q, as, az)
  wd = DequantizeLinear(w, ws, wz) vd = DequantizeLinear(v, ws, wz)
  a = Conv<pads=[1,1,1,1]>(d, wd) r = Relu(a) rq = QuantizeLinear(r, as, az) rd = DequantizeLinear(rq, as, az)
  b = Conv<pads=[1,1,1,1]>(rd, vd) yq = QuantizeLinear(b, as, az) y = DequantizeLinear(yq, as, az)
"""
"""
Two convolutions in QDQ format, as onnxruntime's static quantization exports them.

With these scales hardly any sum is exactly between two integers, where peers round to different ones.
"""

DYNAMIC_QUANTIZATION = """
  wz = Constant<value=uint8 {124}>()
  q, s, z = DynamicQuantizeLinear(x)
"""
"""Activations and weights as onnxruntime's dynamic quantization exports them."""


def quantized_case(
    name: str, nodes: str, x: Sequence[int], w: Mapping[str, Sequence[int]], flops: float
) -> KernelCase:
    """An int8 model of dynamic batch size; its bound is that of float32."""
    weights = "uint8" if "Integer" in name else "int8"
    return KernelCase(name, nodes, x, w, 2 * prod(x), flops, dynamic_sizes=["batch"], weight_type=weights)


NEAREST_NEIGHBORS = """
  count = Constant<value_ints=[5]>() one = Constant<value_ints=[1]>() two = Constant<value_ints=[2]>()
  r = Unsqueeze(x, one) d = Sub(r, w) s = ReduceSumSquare<axes=[2], keepdims=0>(d)
  n, i = TopK<largest=0>(s, count) y = Sqrt(n)
"""
"""K-nearest neighbors: squared distances and TopK."""

NON_MAX_SUPPRESSION = """
  parts = Constant<value_ints=[4, 4]>() most = Constant<value_ints=[100]>()
  overlap = Constant<value_floats=[0.5]>() least = Constant<value_floats=[0.05]>()
  boxes, rest = Split<axis=2>(x, parts) scores = Transpose<perm=[0,2,1]>(rest)
  found = NonMaxSuppression(boxes, scores, most, overlap, least) y = Cast<to=1>(found)
"""

BYTES = """
  as = Constant<value=float {0.02}>() az = Constant<value=uint8 {128}>()
  ws = Constant<value=float {0.01}>() wz = Constant<value=int8 {0}>() ys = Constant<value=float {0.09}>()
"""
"""Scales and zero points of quantized tensors."""


def dynamic_image_case(
    name: str, nodes: str, weights: Mapping[str, Sequence[int]], flops: float = 0.0
) -> KernelCase:
    """Operators on images of dynamic height and width."""
    kind = "int8" if "QDQ" in name else "float32"
    return KernelCase(
        f"{name}, dynamic image",
        nodes,
        [1, 64, 56, 56],
        weights,
        2 * 64 * 3136,
        flops,
        dynamic_sizes=["", "", "height", "width"],
        weight_type=kind,
    )


def bytes_case(name: str, nodes: str) -> KernelCase:
    """Operators between DequantizeLinear and QuantizeLinear, from `d` to `f`."""
    text = f"{BYTES} d = DequantizeLinear(x, as, az) {nodes} y = QuantizeLinear(f, as, az)"
    shape = [1, 256, 28, 28]
    return KernelCase(
        f"QDQ {name} 1x256x28x28", text, shape, {}, 256 * 784 // 2, element="uint8", result="uint8"
    )


CASES = [
    matmul_case(128, 768, 768),
    matmul_case(128, 768, 3072),
    matmul_case(128, 3072, 768),
    matmul_case(3136, 64, 256),
    matmul_case(1, 768, 768),
    matmul_case(1, 2048, 1000),
    conv_case(64, 64, 56, 3),
    conv_case(128, 128, 28, 3),
    conv_case(256, 256, 14, 3),
    conv_case(512, 512, 7, 3),
    conv_case(256, 64, 56, 1),
    conv_case(3, 64, 224, 7, 2),
    grouped_case(512, 32, 14),
    grouped_case(128, 32, 56),
    grouped_case(72, 3, 28),
    KernelCase(
        "conv3x3x3 16->16 16x32x32",
        "r = Relu(x) y = Conv<pads=[1,1,1,1,1,1]>(r, w)",
        [1, 16, 16, 32, 32],
        {"w": [16, 16, 3, 3, 3]},
        2 * 16 * 16384,
        2 * 16 * 16384 * 16 * 27,
    ),
    KernelCase(
        "depthwise 31x31 128 28",
        "r = Relu(x) y = Conv<group=128,pads=[15,15,15,15]>(r, w)",
        [1, 128, 28, 28],
        {"w": [128, 1, 31, 31]},
        2 * 128 * 784,
        2 * 128 * 784 * 961,
    ),
    depthwise_case(144, 56),
    depthwise_case(384, 14),
    elementwise_case("softmax", "y = Softmax<axis=-1>(x)", [12, 128, 128]),
    elementwise_case("softmax", "y = Softmax<axis=-1>(x)", [1, 1000]),
    elementwise_case("softmax of channels", "y = Softmax<axis=1>(x)", [1, 21, 128, 128]),
    elementwise_case("layernorm", "y = LayerNormalization(x, s, b)", [128, 768], {"s": [768], "b": [768]}),
    elementwise_case("gelu", "e = Erf(x) t = Add(e, one) y = Mul(x, t)", [128, 3072], {"one": [1]}),
    reduction_case("reducemean rows", "y = ReduceMean<axes=[1]>(x)", [256, 4096]),
    reduction_case("argmax rows", "i = ArgMax<axis=1>(x) y = Cast<to=1>(i)", [64, 1000]),
    reduction_case("argmax channels", "i = ArgMax<axis=1>(x) y = Cast<to=1>(i)", [1, 21, 128, 128]),
    elementwise_case("log", "a = Abs(x) y = Log(a)", [128, 3072]),
    elementwise_case("sin", "y = Sin(x)", [128, 3072]),
    reduction_case("reducemax columns", "y = ReduceMax<axes=[0]>(x)", [4096, 256]),
    reduction_case("reducemean columns", "y = ReduceMean<axes=[1]>(x)", [8, 512, 256]),
    reduction_case("reducemean images", "y = ReduceMean<axes=[2, 3]>(x)", [1, 512, 28, 28]),
    elementwise_case("transpose 102", "y = Transpose<perm=[1,0,2]>(x)", [12, 128, 64]),
    elementwise_case("transpose 021", "y = Transpose<perm=[0,2,1]>(x)", [12, 128, 64]),
    elementwise_case("transpose 10", "y = Transpose<perm=[1,0]>(x)", [512, 512]),
    elementwise_case("transpose 0231", "y = Transpose<perm=[0,2,3,1]>(x)", [1, 64, 56, 56]),
    gather_case(30522, 768, 128),
    elementwise_case("add", "y = Add(x, x)", [128, 3072]),
    reduction_case("maxpool", "y = MaxPool<kernel_shape=[3,3], strides=[2,2]>(x)", [1, 64, 112, 112]),
    max_pool_case(5),
    max_pool_case(9),
    max_pool_case(13),
    KernelCase(
        "conv5x1 of one column",
        "a = Conv<pads=[2,0,2,0]>(x, w) r = Relu(a) y = Conv<pads=[2,0,2,0]>(r, w)",
        [1, 64, 400, 1],
        {"w": [64, 64, 5, 1]},
        2 * 64 * 400,
        4 * 400 * 64 * 64 * 5,
    ),
    KernelCase(
        "conv9 of rows",
        "a = Conv<pads=[4,4]>(x, w) r = Relu(a) y = Conv<pads=[4,4]>(r, w)",
        [1, 64, 1000],
        {"w": [64, 64, 9]},
        2 * 64 * 1000,
        4 * 1000 * 64 * 64 * 9,
    ),
    recurrent_case("LSTM", 4),
    recurrent_case("GRU", 3),
    *(resize_case(opset, mode) for opset in (11, 13) for mode in ("nearest", "linear")),
    quantized_case(
        "int8 QDQ conv3x3 64, dynamic batch",
        QDQ_CONVOLUTIONS,
        [1, 64, 28, 28],
        {"w": [64, 64, 3, 3], "v": [64, 64, 3, 3]},
        4 * 28 * 28 * 64 * 64 * 9,
    ),
    quantized_case(
        "ConvInteger 3x3 64, dynamic batch",
        DYNAMIC_QUANTIZATION + "c = ConvInteger<pads=[1,1,1,1]>(q, w, z, wz) y = Cast<to=1>(c)",
        [1, 64, 28, 28],
        {"w": [64, 64, 3, 3]},
        2 * 28 * 28 * 64 * 64 * 9,
    ),
    quantized_case(
        "MatMulInteger 768x768, dynamic rows",
        DYNAMIC_QUANTIZATION + "c = MatMulInteger(q, w, z, wz) y = Cast<to=1>(c)",
        [1, 768],
        {"w": [768, 768]},
        2 * 768 * 768,
    ),
    KernelCase(
        "roialign",
        ROIS + "rois = Concat<axis=1>(a, end) which = Constant<value=int64[1] {0}>() "
        "count = Constant<value_ints=[100]>() b0 = Expand(which, count) "
        "y = RoiAlign<output_height=7, output_width=7, sampling_ratio=2, spatial_scale=0.25>(x, rois, b0)",
        [1, 64, 50, 50],
        {"w": [100, 2], "v": [100, 2]},
        64 * 2500 + 100 * 64 * 49,
    ),
    KernelCase(
        "maxroipool",
        ROIS + "zero = Constant<value=float {0.0}>() first = Constant<value_ints=[1]>() "
        "sums = ReduceSum<keepdims=1>(a, first) none = Mul(sums, zero) rois = Concat<axis=1>(none, a, end) "
        "y = MaxRoiPool<pooled_shape=[7,7], spatial_scale=0.25>(x, rois)",
        [1, 64, 50, 50],
        {"w": [100, 2], "v": [100, 2]},
        64 * 2500 + 100 * 64 * 49,
    ),
    KernelCase("nonmaxsuppression", NON_MAX_SUPPRESSION, [1, 1000, 8], {}, 8000),
    KernelCase(
        "topk 300 of 8400",
        "count = Constant<value_ints=[300]>() y, i = TopK(x, count)",
        [1, 8400],
        {},
        8400,
    ),
    KernelCase(
        "topk 5 of 1000",
        "count = Constant<value_ints=[5]>() y, i = TopK<largest=0>(x, count)",
        [200, 1000],
        {},
        200000,
    ),
    KernelCase(
        "QLinearConv 3x3, 4 groups of 16",
        BYTES + "q = QLinearConv<group=4,pads=[1,1,1,1]>(x, as, az, w, ws, wz, ys, az) y = Cast<to=1>(q)",
        [1, 64, 28, 28],
        {"w": [64, 16, 3, 3]},
        4 * 64 * 784,
        2 * 64 * 784 * 16 * 9,
        element="uint8",
        weight_type="int8",
    ),
    KernelCase(
        "sum of bytes 1x256x28x28",
        BYTES
        + "d = DequantizeLinear(x, as, az) a = Add(d, d) q = QuantizeLinear(a, ys, az) y = Cast<to=1>(q)",
        [1, 256, 28, 28],
        {},
        256 * 784,
        element="uint8",
    ),
    KernelCase(
        "one query, 512 keys of 12 heads",
        "t = Transpose<perm=[0,2,1]>(x) y = MatMul(w, t)",
        [12, 512, 64],
        {"w": [12, 1, 64]},
        12 * 512 * 64,
        2 * 12 * 512 * 64,
        writes=False,
    ),
    transposed_conv_case(32, 3, [64, 64], 9, 1, 4),
    transposed_conv_case(32, 16, [8, 16, 16], 2, 2, 0),
    elementwise_case("atan", "y = Atan(x)", [128, 3072]),
    elementwise_case("acos", "a = Tanh(x) y = Acos(a)", [128, 3072]),
    elementwise_case("sinh", "y = Sinh(x)", [128, 3072]),
    elementwise_case("pow", "a = Abs(x) y = Pow(a, w)", [128, 3072], {"w": [1, 3072]}),
    elementwise_case("fmod", "y = Mod<fmod=1>(x, w)", [128, 3072], {"w": [1, 3072]}),
    bytes_case("sigmoid", "f = Sigmoid(d)"),
    bytes_case("silu", "s = Sigmoid(d) f = Mul(d, s)"),
    bytes_case(
        "resize nearest",
        "none = Constant<value=float[0] {}>() twice = Constant<value=float[4] {1, 1, 2, 2}>() "
        'f = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">'
        "(d, none, twice)",
    ),
    bytes_case("concat of two scales", "e = DequantizeLinear(x, ys, az) f = Concat<axis=1>(d, e)"),
    dynamic_image_case(
        "conv3x3 64",
        "a = Conv<pads=[1,1,1,1]>(x, w) r = Relu(a) y = Conv<pads=[1,1,1,1]>(r, w)",
        {"w": [64, 64, 3, 3]},
        4 * 3136 * 64 * 64 * 9,
    ),
    dynamic_image_case(
        "conv3x3 64 SAME/2",
        'a = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(x, w) r = Relu(a) y = Conv<pads=[1,1,1,1]>(r, w)',
        {"w": [64, 64, 3, 3]},
        4 * 784 * 64 * 64 * 9,
    ),
    dynamic_image_case(
        "depthwise 64",
        "r = Relu(x) y = Conv<group=64, pads=[1,1,1,1]>(r, w)",
        {"w": [64, 1, 3, 3]},
        18 * 64 * 3136,
    ),
    dynamic_image_case(
        "int8 QDQ conv3x3 64",
        QDQ_CONVOLUTIONS,
        {name: [64, 64, 3, 3] for name in "wv"},
        4 * 3136 * 64 * 64 * 9,
    ),
    *(
        dynamic_image_case(name, f"y = {operator}<kernel_shape=[3,3], strides=[2,2], {attributes}>(x)", {})
        for name, operator, attributes in (
            ("maxpool 3x3/2", "MaxPool", "pads=[1,1,1,1]"),
            ("maxpool 3x3 SAME/2", "MaxPool", 'auto_pad="SAME_UPPER"'),
            ("averagepool 3x3/2", "AveragePool", "pads=[1,1,1,1]"),
            ("averagepool 3x3/2 with pads", "AveragePool", "pads=[1,1,1,1], count_include_pad=1"),
        )
    ),
    elementwise_case("cast to int32 and back", "i = Cast<to=6>(x) y = Cast<to=1>(i)", [128, 3072]),
    elementwise_case(
        "pad reflect",
        'p = Constant<value_ints=[0, 0, 1, 1, 0, 0, 1, 1]>() y = Pad<mode="reflect">(x, p)',
        [1, 64, 56, 56],
    ),
    KernelCase("loop ended by condition", ENDED_BY_CONDITION, [16], {}, 200 * 16),
    KernelCase("loop with products", WITH_PRODUCTS, [1, 256], {"w": [256, 256]}, 65536, 400 * 2 * 65536),
    *(
        KernelCase(f"loop growing by {size}", growing(size), [1, size], {"w": [size, size]}, 200 * size)
        for size in (16, 512)
    ),
    KernelCase("nearest neighbours", NEAREST_NEIGHBORS, [100, 20], {"w": [1, 1000, 20]}, 20000 + 100000),
]


def build_model(case: KernelCase) -> onnx.ModelProto:
    """Build the model of a case, with random weights."""
    names = [*case.dynamic_sizes, *[""] * len(case.x)]
    sizes = ", ".join(name or str(size) for name, size in zip(names, case.x, strict=False))
    ends = f"({case.element}[{sizes}] x) => ({case.result} y)"
    text = f'<ir_version: 8, opset_import: ["": {case.opset}]> g {ends} {{ {case.nodes} }}'
    model = parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    generator = np.random.default_rng(3)
    for name, shape in case.weights.items():
        array = generator.normal(size=shape) / np.sqrt(max(1, prod(shape[1:])))
        if case.weight_type != "float32":
            # Centered in the 8-bit range, as calibrated weights are.
            array = 30 * generator.normal(size=shape) + (124 if case.weight_type == "uint8" else 0)
            array = np.clip(array, *((0, 255) if case.weight_type == "uint8" else (-127, 127)))
        model.graph.initializer.append(numpy_helper.from_array(array.astype(case.weight_type), name))
    return onnx.shape_inference.infer_shapes(model)


@dataclass(frozen=True)
class KernelResult:
    """Measurements of a case, and its roofline bound in seconds."""

    case: KernelCase
    row: ModelResult
    seconds_bound: float

    @property
    def speed(self) -> str:
        """Achieved GFLOP/s, or GB/s of a memory-bound kernel."""
        seconds = self.row.latencies[XONNC].best
        if self.case.flops:
            return f"{self.case.flops / seconds / 1e9:.0f} GFLOP/s"
        return f"{4 * self.case.elements * self.case.memory_passes / seconds / 1e9:.0f} GB/s"

    @property
    def fraction_of_peak(self) -> float:
        """The roofline bound over the measured time."""
        return self.seconds_bound / self.row.latencies[XONNC].best


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; exit 1 if an output differs."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--match", default="", help="only kernels whose name contains this text")
    options.add_argument("--page", type=Path, help="write the table to its section of a page")
    given = options.parse_args(arguments)
    found: list[KernelResult] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(each for each in CASES if given.match in each.name):
            path = Path(folder, f"{number}.onnx")
            path.write_bytes(build_model(case).SerializeToString())
            case.seconds_bound(given.threads)
            row = measure(case.name, path, (BASELINE, XONNC), given.threads, given.rounds)
            path.unlink()
            # Measure the peak again: other processes may have been running during the first measurement.
            found.append(KernelResult(case, row, case.seconds_bound(given.threads)))
            print(line(found[-1]), flush=True)
    minima = [each.row.latencies[XONNC].minimum for each in found if XONNC in each.row.latencies]
    if minima:
        print(f"geometric mean of minima {geometric_mean(minima):.3f}")
    # The best peak may have been measured after a kernel: recompute all bounds with it.
    found = [replace(each, seconds_bound=each.case.seconds_bound(given.threads)) for each in found]
    if given.page is not None:
        replace_section(given.page, heading("Kernels", given.threads), table(found))
    return 1 if any(each.row.failures for each in found) else 0


def line(found: KernelResult) -> str:
    """A line of text about a kernel."""
    row = found.row
    if XONNC not in row.latencies:
        return f"{row.model:<28} {'; '.join(row.failures.values())}"
    own, baseline = row.latencies[XONNC], row.latencies[BASELINE]
    return (
        f"{row.model:<28} {own.best * 1e6:9.1f} us, {BASELINE} {baseline.best * 1e6:9.1f} us, "
        f"{own.median:5.2f} ({own.minimum:.2f}) {found.speed:>12} {found.fraction_of_peak:4.0%}"
    )


def table(found: Sequence[KernelResult]) -> str:
    """The table in Markdown."""
    lines = [
        f"{load_averages([each.row for each in found])}\n",
        f"| kernel | us | {BASELINE} us | ratio (of minima) | speed | fraction of peak |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in found:
        if XONNC not in each.row.latencies:
            lines.append(f"| {each.row.model} | {'; '.join(each.row.failures.values())} |" + "  |" * 4)
            continue
        own, baseline = each.row.latencies[XONNC], each.row.latencies[BASELINE]
        noise = "\\*" if own.is_noisy else ""
        lines.append(
            f"| {each.row.model} | {own.best * 1e6:.1f} | {baseline.best * 1e6:.1f} "
            f"| {own.median:.2f} ({own.minimum:.2f}){noise} | {each.speed} | {each.fraction_of_peak:.0%} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
