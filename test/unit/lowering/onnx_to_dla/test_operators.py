"""Every lowering by numbers: compiled for nv_full, checked, simulated and compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from operator_cases import PICKED, REDUCED, case

from xonnc.compiler import run_frontend
from xonnc.dialects.dla.storage import ConstantOp
from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import convert
from xonnc.targets import load_target

Build = Callable[..., onnx.ModelProto]
Deviation = Callable[[onnx.ModelProto], float]

TOLERANCE = 4e-3
"""Of the largest output: inputs and weights are rounded to FP16, 2^-11, before anything else."""


ENLARGED = [
    case(name, f"y = ConvTranspose<{attributes}>(x, w, b)", weights={"w": w, "b": (m,)}, x=(1, w[0], 5, 6))
    for name, attributes, w, m in (
        ("transposed by 2", "strides=[2,2]", (6, 20, 2, 2), 20),
        ("transposed with overlap", "strides=[2,2], pads=[1,1,1,1]", (6, 20, 4, 3), 20),
        ("transposed with gaps", "strides=[3,2]", (6, 5, 2, 1), 5),
        (
            "transposed with more at the end",
            "strides=[2,3], output_padding=[1,2], pads=[2,0,1,1]",
            (6, 5, 5, 3),
            5,
        ),
        ("transposed by 1", "pads=[1,0,0,2]", (6, 5, 3, 3), 5),
        ("transposed in groups", "strides=[2,1], group=2", (6, 4, 3, 2), 8),
        ("transposed and dilated", "strides=[2,2], dilations=[2,3]", (6, 5, 2, 2), 5),
    )
] + [
    case(
        f"nearest {scales}",
        f"y = Resize{attributes}(x, , s)",
        weights={"s": np.array(scales, np.float32)},
        x=(1, 18, 5, 4),
    )
    for attributes, scales in (
        ('<mode="nearest">', [1, 1, 2, 2]),
        ('<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">', [1, 1, 3, 2]),
        ('<mode="nearest">', [1, 1, 1, 4]),
    )
]

SAMPLED = [
    case(
        f"nearest {scales} {attributes}",
        f'y = Resize<mode="nearest"{attributes}>(x, , s)',
        weights={"s": np.array(scales, np.float32)},
        x=(1, 18, 7, 5),
        opset=19,
    )
    for attributes, scales in (
        ("", [1, 1, 7 / 3, 1.5]),
        ("", [1, 1, 0.5, 2]),
        ("", [1, 1, 0.3, 0.7]),
        (', nearest_mode="ceil"', [1, 1, 2, 2]),
        (', nearest_mode="round_prefer_ceil"', [1, 1, 1.3, 3]),
        (', coordinate_transformation_mode="asymmetric"', [1, 1, 2, 2]),
        (', coordinate_transformation_mode="asymmetric", nearest_mode="floor"', [1, 1, 2.5, 1]),
        (', coordinate_transformation_mode="align_corners"', [1, 1, 2, 1.7]),
        (', coordinate_transformation_mode="half_pixel_symmetric"', [1, 1, 1.23, 2.55]),
        (', coordinate_transformation_mode="pytorch_half_pixel"', [1, 1, 0.5, 1.5]),
    )
] + [
    case(
        "nearest of sizes",
        'y = Resize<mode="nearest">(x, , , s)',
        weights={"s": np.array([1, 18, 7, 7])},
        x=(1, 18, 3, 4),
    )
]

LINES = [
    case(
        f"lines {scales} of {x}",
        f'y = Resize<mode="linear"{attributes}>(x, , s)',
        weights={"s": np.array(scales, np.float32)},
        x=x,
    )
    for attributes, scales, x in (
        ("", [1, 1, 2, 2], (1, 18, 5, 4)),
        (', coordinate_transformation_mode="asymmetric"', [1, 1, 3, 2], (1, 3, 5, 4)),
        (', coordinate_transformation_mode="pytorch_half_pixel"', [1, 1, 1, 4], (1, 40, 3, 6)),
        ("", [1, 1, 2, 3], (1, 5, 1, 4)),
        ("", [1, 1, 2, 3], (1, 5, 4, 1)),
        ("", [1, 1, 2, 3], (2, 5, 1, 1)),
        ("", [1, 1, 2, 2], (2, 3, 4, 5)),
    )
]

FUNCTIONS = [
    case(f"{name} {attributes}".strip(), f"y = {name}{attributes}(x)", x=(1, 5, 6, 7), opset=20)
    for name, attributes in (
        ("Sigmoid", ""),
        ("Tanh", ""),
        ("Erf", ""),
        ("Gelu", ""),
        ("Gelu", '<approximate="tanh">'),
        ("HardSwish", ""),
        ("Softplus", ""),
        ("Mish", ""),
        ("Elu", "<alpha=0.7>"),
        ("Selu", ""),
        ("Celu", "<alpha=1.5>"),
        ("Exp", ""),
    )
]

CONVOLUTIONS = [
    case("1x1", "y = Conv(x, w, b)", weights={"w": (20, 3, 1, 1), "b": (20,)}),
    case("same", "y = Conv<pads=[1,1,1,1]>(x, w, b)", weights={"w": (20, 3, 3, 3), "b": (20,)}),
    case("no bias", "y = Conv<strides=[2,3]>(x, w)", weights={"w": (7, 3, 3, 2)}, x=(1, 3, 11, 13)),
    case(
        "asymmetric pads",
        "y = Conv<pads=[2,0,1,3], strides=[2,1]>(x, w)",
        weights={"w": (17, 5, 4, 5)},
        x=(1, 5, 9, 7),
    ),
    case(
        "dilated",
        "y = Conv<dilations=[2,3], pads=[2,3,2,3]>(x, w)",
        weights={"w": (16, 3, 3, 3)},
        x=(1, 3, 12, 12),
    ),
    case(
        "auto_pad",
        'y = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(x, w)',
        weights={"w": (8, 3, 4, 4)},
        x=(1, 3, 9, 9),
    ),
    case(
        "lower",
        'y = Conv<auto_pad="SAME_LOWER", strides=[2,2]>(x, w)',
        weights={"w": (8, 3, 4, 4)},
        x=(1, 3, 9, 9),
    ),
    case(
        "long strides",
        "y = Conv<strides=[9], pads=[9,4], group=2>(x, w, b)",
        weights={"w": (4, 3, 20), "b": (4,)},
        x=(1, 6, 90),
    ),
    case(
        "prime strides",
        "y = Conv<strides=[11,11]>(x, w, b)",
        weights={"w": (5, 8, 11, 11), "b": (5,)},
        x=(1, 8, 44, 47),
    ),
    case(
        "prime strides in groups",
        "y = Conv<strides=[22,13], pads=[1,2,3,4], group=3, dilations=[2,3]>(x, w)",
        weights={"w": (3, 1, 3, 3)},
        x=(1, 3, 44, 47),
    ),
    case(
        "padding alone",
        "y = Conv<strides=[1,10], pads=[0,4,0,0]>(x, w, b)",
        weights={"w": (3, 3, 1, 2), "b": (3,)},
        x=(1, 3, 4, 1),
    ),
    case(
        "channels of one position",
        "g = GlobalAveragePool(x)\nr = Reshape(g, s)\ny = Conv<dilations=[2], pads=[1,2]>(r, w, b)",
        weights={"s": np.array([1, 2, 6]), "w": (3, 2, 3), "b": (3,)},
        x=(1, 12, 3, 3),
    ),
    case("one dimension", "y = Conv<pads=[1,1]>(x, w)", weights={"w": (8, 4, 3)}, x=(1, 4, 20)),
    case("70 channels", "y = Conv(x, w)", weights={"w": (33, 70, 2, 2)}, x=(1, 70, 5, 6)),
    case(
        "two groups of 16",
        "y = Conv<group=2>(x, w, b)",
        weights={"w": (32, 16, 3, 3), "b": (32,)},
        x=(1, 32, 6, 6),
    ),
    case("groups of 3", "y = Conv<group=4>(x, w)", weights={"w": (8, 3, 3, 3)}, x=(1, 12, 6, 6)),
    case("128 in two", "y = Conv<group=2>(x, w)", weights={"w": (64, 64, 1, 1)}, x=(1, 128, 4, 4)),
    case(
        "depthwise", "y = Conv<group=24, pads=[1,1,1,1]>(x, w)", weights={"w": (24, 1, 3, 3)}, x=(1, 24, 6, 6)
    ),
    case(
        "rows in pieces",
        "y = Conv<pads=[1,1,1,1]>(x, w, b)",
        weights={"w": (16, 40, 3, 3), "b": (16,)},
        x=(1, 40, 90, 90),
    ),
    case(
        "channels in parts", "y = Conv(x, w, b)", weights={"w": (20, 512, 7, 7), "b": (20,)}, x=(1, 512, 7, 7)
    ),
    case(
        "kernel in parts",
        "y = Conv<pads=[9,9,9,9]>(x, w)",
        weights={"w": (16, 64, 19, 19)},
        x=(1, 64, 22, 22),
    ),
    case(
        "pads beyond the kernel", "y = Conv<pads=[2,1,1,2]>(x, w, b)", weights={"w": (8, 3, 1, 1), "b": (8,)}
    ),
    case(
        "kernel beyond 32", "y = Conv<pads=[0,2,0,2]>(x, w)", weights={"w": (4, 2, 35, 37)}, x=(1, 2, 40, 40)
    ),
]

PRODUCTS = [
    case("gemm", "y = Gemm<transB=1>(x, w, b)", weights={"w": (10, 30), "b": (10,)}, x=(1, 30)),
    case(
        "gemm scaled",
        "y = Gemm<alpha=0.5, beta=2.0>(x, w, b)",
        weights={"w": (30, 10), "b": (1, 10)},
        x=(1, 30),
    ),
    case(
        "after a flatten",
        "f = Flatten(x)\ny = Gemm<transB=1>(f, w, b)",
        weights={"w": (10, 192), "b": (10,)},
    ),
    case(
        "after 29x27",
        "f = Flatten(x)\ny = Gemm<transB=1>(f, w)",
        weights={"w": (10, 40 * 29 * 27)},
        x=(1, 40, 29, 27),
    ),
    case("matmul", "y = MatMul(x, w)", weights={"w": (30, 10)}, x=(1, 30)),
]

ELEMENTWISE = [
    case("relu", "y = Relu(x)"),
    case("leaky relu", "y = LeakyRelu<alpha=0.1>(x)"),
    case("prelu by channel", "y = PRelu(x, s)", weights={"s": (3, 1, 1)}),
    case(
        "clip",
        "y = Clip(x, a, b)",
        weights={"a": np.array(-0.5, np.float32), "b": np.array(0.75, np.float32)},
    ),
    case(
        "relu6", "y = Clip(x, a, b)", weights={"a": np.array(0, np.float32), "b": np.array(1.5, np.float32)}
    ),
    case("relu6 before opset 11", "y = Clip<min=0.0, max=1.5>(x)", opset=9),
    case("clip before opset 12", "y = Clip(x, a)", weights={"a": np.array(-0.5, np.float32)}, opset=11),
    case("hard sigmoid", "y = HardSigmoid<alpha=0.3, beta=0.4>(x)"),
    case("neg", "y = Neg(x)"),
    case("add of two", "r = Relu(x)\ny = Add(x, r)"),
    case("mul of two", "r = Relu(x)\ny = Mul(r, x)"),
    case("sub of two", "r = Relu(x)\ny = Sub(r, x)"),
    case("max of two", "r = Neg(x)\ny = Max(r, x)"),
    case("min of three", "r = Neg(x)\ny = Min(r, x, c)", weights={"c": np.array(0.25, np.float32)}),
    case("sum of three", "r = Relu(x)\nn = Neg(x)\ny = Sum(x, r, n)"),
    case("add a number", "y = Add(x, c)", weights={"c": np.array([0.3], np.float32)}),
    case("add by channel", "y = Add(x, c)", weights={"c": (1, 3, 1, 1)}),
    case("add by element", "y = Add(x, c)", weights={"c": (1, 3, 8, 8)}),
    case("add by row", "y = Add(x, c)", weights={"c": (8, 1)}),
    case("number minus", "y = Sub(c, x)", weights={"c": np.array([0.3], np.float32)}),
    case("minus by channel", "y = Sub(x, c)", weights={"c": (3, 1, 1)}),
    case("divide", "y = Div(x, c)", weights={"c": np.array([[[2.0]], [[-3.0]], [[0.7]]], np.float32)}),
    case("squeeze and excite", "g = GlobalAveragePool(x)\ny = Mul(x, g)"),
    case(
        "constant and cube",
        "r = Relu(x)\nc = Concat<axis=1>(r, k)\ny = Neg(c)",
        weights={"k": (1, 16, 8, 8)},
        x=(1, 16, 8, 8),
    ),
]

POOLS = [
    case("max", "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)"),
    case("max padded", "y = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>(x)"),
    case("max ceil", "y = MaxPool<kernel_shape=[3,3], strides=[2,2], ceil_mode=1>(x)"),
    case("average", "y = AveragePool<kernel_shape=[3,2], strides=[1,2]>(x)"),
    case("average padded", "y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)"),
    case("average with pads", "y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1>(x)"),
    case(
        "average with long strides", "y = AveragePool<kernel_shape=[2,3], strides=[1,9]>(x)", x=(1, 3, 3, 22)
    ),
    case("average of all padded", "y = AveragePool<kernel_shape=[9,2], pads=[1,1,0,0]>(x)", x=(1, 3, 9, 2)),
    case(
        "wide average padded",
        "a = AveragePool<kernel_shape=[9,3], pads=[4,1,4,1]>(x)\nc = Conv(a, w, b)\ny = Add(c, c)",
        weights={"w": (4, 3, 1, 1), "b": (4,)},
    ),
    case("average ceil", "y = AveragePool<kernel_shape=[3,3], strides=[2,2], ceil_mode=1>(x)", opset=19),
    case(
        "average padded before 1x1",
        "a = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)\nc = Conv(a, w, b)\ny = Relu(c)",
        weights={"w": (20, 3, 1, 1), "b": (20,)},
    ),
    case(
        "average padded, two readers",
        "a = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)\nc = Conv(a, w)\ny = Add(c, a)",
        weights={"w": (3, 3, 1, 1)},
    ),
    case("global average", "y = GlobalAveragePool(x)", x=(1, 20, 7, 7)),
    case("global average 13", "y = GlobalAveragePool(x)", x=(1, 20, 13, 13)),
    case("global average 65x9", "y = GlobalAveragePool(x)", x=(1, 4, 65, 9)),
    case("global max 13", "y = GlobalMaxPool(x)", x=(1, 20, 13, 11)),
    case(
        "max 9",
        "y = MaxPool<kernel_shape=[9,9], pads=[4,4,4,4]>(x)",
        x=(1, 5, 7, 13),
    ),
    case(
        "max of 13 rows, 1 column",
        "y = MaxPool<kernel_shape=[13,1], pads=[12,0,3,0]>(x)",
        x=(1, 5, 9, 6),
    ),
    case(
        "max 20 of every third",
        "y = MaxPool<kernel_shape=[20,9], pads=[19,1,10,8], strides=[3,2]>(x)",
        x=(1, 5, 13, 17),
    ),
    case(
        "columns in pieces",
        "y = MaxPool<kernel_shape=[3,3], strides=[1,1], pads=[1,1,1,1]>(x)",
        x=(1, 16, 9, 150),
    ),
    case("averages in pieces", "y = AveragePool<kernel_shape=[5,5], strides=[2,2]>(x)", x=(1, 3, 9, 172)),
    case(
        "after a convolution",
        "c = Conv(x, w)\nr = Relu(c)\ny = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r)",
        weights={"w": (16, 3, 1, 1)},
    ),
]

NORMALIZATIONS = [
    case("lrn 5", "y = LRN<size=5, alpha=0.0001, beta=0.75>(x)", x=(1, 20, 4, 4)),
    case("lrn 3 bent", "y = LRN<size=3, alpha=0.5, beta=0.75, bias=2.0>(x)", x=(1, 7, 6, 5)),
    case(
        "lrn 9",
        "m = Mul(x, k)\ny = LRN<size=9, alpha=0.01, beta=0.5>(m)",
        x=(1, 33, 4, 4),
        weights={"k": np.array([9], np.float32)},
    ),
    case(
        "two tables",
        "a = LRN<size=5, alpha=0.1, beta=0.75>(x)\ny = LRN<size=5, alpha=0.7, beta=0.5>(a)",
        x=(1, 20, 4, 4),
    ),
]

TENSORS = [
    case("concat of atoms", "a = Relu(x)\nb = Neg(x)\ny = Concat<axis=1>(a, b)", x=(1, 16, 5, 5)),
    case("concat inside atoms", "a = Relu(x)\nb = Neg(x)\ny = Concat<axis=1>(a, b, x)"),
    case("concat twice", "a = Relu(x)\nb = Concat<axis=1>(a, a)\ny = Concat<axis=1>(b, a)", x=(1, 16, 5, 5)),
    case("concat of rows", "a = Relu(x)\nb = Neg(x)\ny = Concat<axis=2>(a, b)"),
    case("concat of columns", "a = Relu(x)\nb = Neg(x)\ny = Concat<axis=3>(a, b)"),
    case("concat of an input", "a = Relu(x)\ny = Concat<axis=1>(x, a)", x=(1, 16, 5, 5)),
    case("result and part", "a = Relu(x)\ny = Concat<axis=1>(a, x)", x=(1, 16, 5, 5), outputs=("y", "a")),
    case(
        "reshape of rows",
        "r = Relu(x)\ns = Reshape(r, k)\ny = Neg(s)",
        weights={"k": np.array([1, 3, 4, 16], np.int64)},
    ),
    case("flattened result", "r = Relu(x)\ny = Flatten(r)"),
    case("relu of a flatten", "f = Flatten(x)\ny = Relu(f)"),
    case(
        "normalization of a flatten",
        "f = Flatten(x)\ny = BatchNormalization(f, s, b, m, v)",
        weights={"s": (192,), "b": (192,), "m": (192,), "v": np.linspace(0.5, 2, 192, dtype=np.float32)},
    ),
    case("input as result", "r = Relu(x)\ny = Identity(x)", outputs=("y", "r")),
    case(
        "channel shuffle",
        "a = Reshape(x, k)\nb = Transpose<perm=[0,2,1,3,4]>(a)\ny = Reshape(b, s)",
        x=(1, 24, 5, 6),
        weights={"k": np.array([1, 3, 8, 5, 6], np.int64), "s": np.array([1, 24, 5, 6], np.int64)},
    ),
    case("transpose of ones", "a = Transpose<perm=[0,2,3,1]>(x)\ny = Neg(a)", x=(1, 20, 1, 1)),
    case(
        "squeeze", "a = Squeeze(x, k)\ny = Neg(a)", x=(1, 20, 1, 1), weights={"k": np.array([2, 3], np.int64)}
    ),
    case("softmax", "y = Softmax(x)", x=(1, 1000)),
    case("softmax over channels", "y = Softmax<axis=1>(x)", x=(1, 37, 1, 1)),
    case("softmax before opset 13", "y = Softmax(x)", x=(1, 37, 1, 1), opset=9),
    case("between two softmaxes", "s = Softmax(x)\nr = Neg(s)\ny = Softmax(r)", x=(1, 32)),
    case("two inputs", "y = Add(x, z)", inputs={"x": (1, 3, 4, 4), "z": (1, 3, 4, 4)}),
]


BATCHES = [
    case(
        "batch of images",
        "y = Conv<pads=[1,1,1,1]>(x, w, b)",
        x=(3, 5, 6, 7),
        weights={"w": (4, 5, 3, 3), "b": (4,)},
    ),
    case("batch in groups", "y = Conv<group=2>(x, w)", x=(2, 16, 6, 7), weights={"w": (32, 8, 1, 1)}),
    case("batch of rows", "y = Conv(x, w)", x=(2, 5, 9), weights={"w": (4, 5, 3)}),
    case(
        "batch transposed",
        "y = ConvTranspose<strides=[2,2]>(x, w, b)",
        x=(2, 3, 4, 5),
        weights={"w": (3, 4, 2, 3), "b": (4,)},
    ),
    case("batch pooled", "y = AveragePool<kernel_shape=[2,2]>(x)", x=(3, 5, 6, 7)),
    case(
        "batch normalised",
        "y = BatchNormalization(x, s, b, m, v)",
        x=(2, 3, 4, 5),
        weights={"s": (3,), "b": (3,), "m": (3,), "v": np.array([0.5, 2.0, 1.0], np.float32)},
    ),
    case("batch with slopes", "y = PRelu(x, s)", x=(2, 3, 4, 5), weights={"s": (3, 1, 1)}),
    case("three dimensions", "y = Add(x, z)", inputs={"x": (3, 4, 5), "z": (3, 4, 5)}),
    case(
        "five dimensions", "a = Relu(x)\ny = Add(a, z)", inputs={"x": (2, 3, 2, 4, 5), "z": (2, 3, 2, 4, 5)}
    ),
    case("gates of a batch", "y = Mul(x, z)", inputs={"x": (2, 3, 4, 5), "z": (2, 3, 1, 1)}),
    case("no dimension", "y = Relu(x)", x=()),
    case("concat of a batch", "a = Relu(x)\ny = Concat<axis=1>(a, x)", x=(2, 5, 3, 4)),
    case("concat to a batch", "a = Relu(x)\ny = Concat<axis=0>(a, x)", x=(2, 5, 3, 4)),
    case("concat of five dimensions", "a = Relu(x)\ny = Concat<axis=3>(a, x)", x=(1, 2, 3, 4, 5)),
    case(
        "nearest of a batch",
        "y = Resize(x, , s)",
        x=(2, 3, 4, 5),
        weights={"s": np.array([1, 1, 2, 2], np.float32)},
    ),
    case("transpose of a matrix", "y = Transpose<perm=[1,0]>(x)", x=(5, 4)),
    case("gemm of rows", "y = Gemm(x, w, b)", x=(5, 20), weights={"w": (20, 7), "b": (7,)}),
    case("gemm of columns", "y = Gemm<transA=1>(x, w, b)", x=(20, 5), weights={"w": (20, 7), "b": (5, 7)}),
    case("gemm of flat images", "f = Flatten(x)\ny = Gemm(f, w)", x=(3, 4, 2, 3), weights={"w": (24, 7)}),
    case("matmul of rows", "y = MatMul(x, w)", x=(1, 6, 20), weights={"w": (20, 7)}),
    case("matmul by a vector", "y = MatMul(x, w)", x=(6, 20), weights={"w": (20,)}),
]


EMULATED = [
    case("mean", "y = Mean(x, z)", inputs={"x": (2, 5, 3, 4), "z": (2, 5, 3, 4)}),
    case("magnitude", "y = Abs(x)", x=(2, 5, 3)),
    case("root", "a = Abs(x)\ny = Sqrt(a)", x=(2, 5, 3)),
    case(
        "reciprocal",
        "a = Abs(x)\nb = Add(a, c)\ny = Reciprocal(b)",
        x=(2, 5, 3),
        weights={"c": np.array([1], np.float32)},
    ),
    case("square", "y = Pow(x, e)", x=(2, 5, 3), weights={"e": np.array(2, np.float32)}),
    case("quotient", "b = Exp(z)\ny = Div(x, b)", inputs={"x": (2, 5, 3), "z": (2, 5, 3)}),
    case("quotient of a constant", "b = Exp(x)\ny = Div(c, b)", x=(1, 5, 3), weights={"c": (5, 1)}),
    case(
        "instance normalisation",
        "y = InstanceNormalization(x, s, b)",
        x=(2, 3, 9, 8),
        weights={"s": (3,), "b": (3,)},
    ),
    case(
        "instance normalisation of numbers whose squares overflow",
        "a = Mul(x, c)\ny = InstanceNormalization(a, s, b)",
        x=(1, 3, 9, 8),
        weights={"s": (3,), "b": (3,), "c": np.array(300, np.float32)},
    ),
]


ALL = (
    PICKED
    + REDUCED
    + EMULATED
    + BATCHES
    + ENLARGED
    + SAMPLED
    + LINES
    + FUNCTIONS
    + CONVOLUTIONS
    + PRODUCTS
    + ELEMENTWISE
    + POOLS
    + NORMALIZATIONS
    + TENSORS
)


@pytest.mark.parametrize(("nodes", "options"), ALL)
def test_numbers(nodes: str, options: dict[str, Any], build: Build, deviation: Deviation):
    assert deviation(build(nodes, **options)) < TOLERANCE


def test_batch_normalization_that_no_convolution_takes_in(build: Build, deviation: Deviation):
    weights = {"s": (3,), "b": (3,), "m": (3,), "v": np.array([0.5, 2.0, 1.0], np.float32)}
    model = build("y = BatchNormalization(x, s, b, m, v)", weights=weights)
    assert deviation(model) < TOLERANCE


def test_a_relu_behind_a_sum_in_the_third_stage(build: Build, deviation: Deviation):
    """Y has no ReLU: Relu, BatchNormalization and Relu after a convolution take two passes."""
    weights = {"w": (8, 3, 3, 3), "s": (8,), "b": (8,), "m": (8,), "v": np.full(8, 0.5, np.float32)}
    nodes = "c = Conv(x, w) \n r = Relu(c) \n n = BatchNormalization(r, s, b, m, v) \n y = Relu(n)"
    assert deviation(build(nodes, weights=weights)) < TOLERANCE


SPLITS: dict[str, tuple[str, tuple[int, ...]]] = {
    "half of an atom": ("a, b = Split<axis=1>(x) \n y = Relu(a)", (1, 16, 8, 8)),
    "the middle": ("a, b, c = Split<axis=1>(x) \n y = Add(a, c)", (1, 9, 8, 8)),
    "rows": ("a, b = Split<axis=2>(x) \n y = Relu(b)", (1, 3, 8, 8)),
    "after a convolution": ("v = Conv(x, w) \n a, b = Split<axis=1>(v) \n y = Relu(b)", (1, 3, 8, 8)),
}


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_with_an_unused_part(name: str, build: Build, deviation: Deviation):
    nodes, shape = SPLITS[name]
    assert deviation(build(nodes, x=shape, weights={"w": (10, 3, 3, 3)})) < TOLERANCE


LEFT_OVER: dict[str, tuple[str, tuple[int, ...]]] = {
    "rows": ("y = MaxPool<kernel_shape=[2,2],strides=[2,2]>(x)", (1, 16, 13, 12)),
    "both": ("y = AveragePool<kernel_shape=[3,3],strides=[2,2]>(x)", (1, 5, 14, 8)),
    "gaps between windows": ("y = MaxPool<kernel_shape=[1,1],strides=[2,3]>(x)", (1, 5, 4, 6)),
    "long strides": (
        "y = MaxPool<kernel_shape=[3,9],strides=[11,18],pads=[1,1,1,1]>(x)",
        (1, 20, 35, 47),
    ),
    "one element in long strides": ("y = MaxPool<kernel_shape=[1,1],strides=[11,13]>(x)", (1, 5, 23, 40)),
    "a slice in long steps": (
        "b = Constant<value_ints=[3,1]>() \n e = Constant<value_ints=[30,120]>() \n"
        "a = Constant<value_ints=[2,3]>() \n s = Constant<value_ints=[9,11]>() \n y = Slice(x, b, e, a, s)",
        (1, 5, 31, 122),
    ),
    "long strides of long rows": (
        "y = MaxPool<kernel_shape=[1,2],strides=[9,1]>(x)",
        (1, 3, 10, 1000),
    ),
    "long strides of many rows": (
        "y = MaxPool<kernel_shape=[1,1],strides=[1,11]>(x)",
        (1, 1, 400, 250),
    ),
    "rows reshaped, and joined with others": (
        "r = Relu(x) \n a = Concat<axis=3>(r, x) \n b = MaxPool<kernel_shape=[2,1]>(a) \n"
        "s = Constant<value_ints=[1,5,1,16]>() \n c = Reshape(r, s) \n y = Add(b, c)",
        (1, 5, 2, 8),
    ),
    "one position of four": ("y = MaxPool<kernel_shape=[1,1],strides=[2,2]>(x)", (1, 5, 2, 2)),
    "on the fly": (
        "c = Conv<pads=[1,1,1,1]>(x, w) \n y = MaxPool<kernel_shape=[2,2],strides=[2,2]>(c)",
        (1, 3, 13, 12),
    ),
    "on the fly, of a sum": (
        "a = Conv(x, w) \n b = Conv(x, v) \n s = Add(a, b) \n r = Relu(s) \n"
        "y = AveragePool<kernel_shape=[3,2],strides=[3,2],pads=[1,1,0,0]>(r)",
        (1, 3, 15, 14),
    ),
    "on the fly, strides and dilations": (
        "c = Conv<strides=[2,3],dilations=[2,1],pads=[3,1,2,0]>(x, w) \n"
        "y = MaxPool<kernel_shape=[3,3],strides=[2,2]>(c)",
        (1, 3, 23, 41),
    ),
    "three poolings": (
        "a = MaxPool<kernel_shape=[2,2],strides=[2,2]>(x) \n b = MaxPool<kernel_shape=[3,3],strides=[2,2]>(x)"
        "\n c = MaxPool<kernel_shape=[2,2],strides=[2,2]>(a) \n d = Conv<pads=[2,1,0,0]>(b, w) \n"
        "e = MaxPool<kernel_shape=[2,1],strides=[2,2]>(d) \n f = Relu(e) \n y = Concat<axis=1>(c, f)",
        (1, 3, 15, 15),
    ),
}


@pytest.mark.parametrize("name", LEFT_OVER)
def test_windows_that_leave_something_over(name: str, build: Build, deviation: Deviation):
    nodes, shape = LEFT_OVER[name]
    assert deviation(build(nodes, x=shape, weights={"w": (8, 3, 3, 3), "v": (8, 3, 3, 3)})) < TOLERANCE


def test_rows_of_a_product_take_no_memory_until_they_are_packed():
    """A partition that is refused later does not compute its kernels, of which most elements are zeros."""
    rows, inputs, outputs = 24, 5, 12
    weights = np.arange(1.0, 1 + inputs * outputs).reshape(inputs, outputs).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (rows, inputs))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (rows, outputs))],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    front = run_frontend(model)
    convert(front.module, load_target("nv_full"), DisposablePool.of(front.context))
    found = [op.value for op in front.module.walk() if isinstance(op, ConstantOp)]
    merged = rows // len(found)
    assert merged > 1
    for constant in found:
        assert isinstance(constant, DisposableElementsAttr)
        assert constant.payload.is_pending
        assert np.array_equal(constant.array()[:, :, 0, 0], np.kron(np.eye(merged), weights.T))
