"""Networks of one operator or few that TOSA can say, as arguments of the fixture `build`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Weights = dict[str, npt.NDArray[Any]]


def case(name: str, nodes: str, **options: Any) -> Any:
    """A network, given by its nodes in ONNX text syntax."""
    return pytest.param(nodes, options, id=name)


def ints(**lists: Any) -> Weights:
    """Constants of int64."""
    return {name: np.array(values, np.int64) for name, values in lists.items()}


UNARY = [
    case(name, f"y = {name}(x)", opset=20)
    for name in (
        *("Abs", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity"),
        *("LeakyRelu", "LogSoftmax", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sin", "Softmax", "Softplus"),
        *("Tanh", "GlobalAveragePool", "GlobalMaxPool"),
    )
] + [
    case("Sqrt", "p = Abs(x)\ny = Sqrt(p)"),
    case("Log", "p = Exp(x)\nq = Add(p, p)\ny = Log(q)"),
    case("Gelu by tanh", 'y = Gelu<approximate="tanh">(x)', opset=20),
    case("Swish", "s = Sigmoid(x)\ny = Mul(x, s)"),
    case("Softmax of channels", "y = Softmax<axis=1>(x)"),
    case("Softmax of old", "y = Softmax<axis=2>(x)", opset=11),
    case("PRelu", "y = PRelu(x, s)", weights={"s": (3, 1, 1)}),
    case(
        "Clip", "y = Clip(x, a, b)", weights={"a": np.array(-1, np.float32), "b": np.array(1.5, np.float32)}
    ),
    case("Clip below", "y = Clip(x, a)", weights={"a": np.array(-0.5, np.float32)}),
    case(
        "Clip crossed",
        "y = Clip(x, a, b)",
        weights={"a": np.array(2, np.float32), "b": np.array(1, np.float32)},
    ),
    case("Cast", "i = Cast<to=6>(x)\nj = Add(i, i)\ny = Cast<to=1>(j)"),
    case("Cast to bool", "i = Cast<to=9>(x)\ny = Cast<to=1>(i)"),
]

BINARY = [
    case(name, f"y = {name}(x, c)", weights={"c": (3, 1, 1)})
    for name in ("Add", "Sub", "Mul", "Div", "Max", "Min")
] + [
    case("Div of values", "e = Exp(x)\ny = Div(x, e)"),
    case(
        "Div of integers",
        "i = Cast<to=6>(x)\nk = Div(i, c)\ny = Cast<to=1>(k)",
        weights={"c": np.array([[2], [-3]], np.int32)},
        x=(1, 3, 2, 8),
    ),
    case("Pow", "p = Abs(x)\ny = Pow(p, c)", weights={"c": np.array(1.5, np.float32)}),
    case("Pow of 2", "y = Pow(x, c)", weights={"c": np.array([2], np.float32)}, x=(4, 5)),
    case("Pow of values", "p = Exp(x)\ny = Pow(p, x)", x=(4, 5)),
    case("Sum", "y = Sum(x, x, c)", weights={"c": (8,)}),
    case("Mean", "e = Exp(x)\ny = Mean(x, e, x)"),
    case("broadcast on the left", "y = Sub(c, x)", weights={"c": (2, 4, 3, 1, 1)}, x=(3, 5, 2)),
    *(
        case(name, f"g = {name}(x, c)\ny = Where(g, x, c)", weights={"c": (8,)})
        for name in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal")
    ),
    case(
        "booleans",
        "a = Less(x, c)\nb = Less(c, x)\nn = Not(a)\n"
        "d = And(n, b)\ne = Or(d, a)\nf = Xor(e, n)\ny = Cast<to=1>(f)",
        weights={"c": (8,)},
    ),
]

CONVOLUTIONS = [
    case(name, f"y = Conv<{attributes}>(x, w, b)", weights={"w": w, "b": (w[0],)}, x=x)
    for name, attributes, w, x in (
        ("Conv", "pads=[1,1,1,1]", (5, 3, 3, 3), (1, 3, 8, 7)),
        ("Conv of strides that leave rows over", "strides=[2,3]", (4, 3, 3, 2), (2, 3, 8, 9)),
        ("Conv of odd pads", "pads=[2,0,1,3], strides=[2,2]", (4, 3, 3, 3), (1, 3, 9, 8)),
        ("Conv of a pad that is not used", "pads=[1,1,1,1], strides=[4,4]", (4, 3, 1, 1), (1, 3, 8, 8)),
        ("dilated Conv", "dilations=[2,3], pads=[2,2,2,2]", (4, 3, 3, 2), (1, 3, 9, 8)),
        ("depthwise Conv", "group=3, pads=[1,1,1,1]", (3, 1, 3, 3), (1, 3, 8, 8)),
        ("depthwise Conv of 2", "group=3, strides=[2,2]", (6, 1, 3, 2), (1, 3, 8, 8)),
        ("grouped Conv", "group=2, pads=[0,1,1,0]", (6, 2, 3, 3), (1, 4, 6, 5)),
        ("Conv of the same size", 'auto_pad="SAME_LOWER", strides=[2,2]', (4, 3, 3, 3), (1, 3, 8, 7)),
        ("Conv of lines", "pads=[1,2], strides=[2]", (4, 3, 3), (1, 3, 9)),
        ("depthwise Conv of lines", "group=3, pads=[1,1]", (3, 1, 3), (2, 3, 9)),
    )
] + [
    case("Conv without bias", "y = Conv(x, w)", weights={"w": (4, 3, 2, 2)}),
    case("Conv of computed weights", "u = Mul(x, x)\ny = Conv(x, u)", x=(3, 3, 2, 2)),
    case(
        "Conv of computed depthwise weights",
        "u = Transpose<perm=[1,0,2,3]>(x)\ny = Conv<group=3>(x, u)",
        x=(1, 3, 4, 4),
    ),
    *(
        case(name, f"y = ConvTranspose<{attributes}>(x, w, b)", weights={"w": w, "b": (w[1],)}, x=x)
        for name, attributes, w, x in (
            ("ConvTranspose", "strides=[2,2]", (3, 5, 2, 2), (1, 3, 4, 5)),
            ("ConvTranspose of pads", "strides=[2,3], pads=[1,0,1,2]", (3, 5, 4, 3), (2, 3, 4, 5)),
            (
                "ConvTranspose of more at the end",
                "strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]",
                (3, 4, 3, 3),
                (1, 3, 4, 5),
            ),
            (
                "ConvTranspose of the same size",
                'strides=[2,2], auto_pad="SAME_UPPER"',
                (3, 4, 3, 3),
                (1, 3, 4, 5),
            ),
            ("ConvTranspose of lines", "strides=[2], pads=[1,0]", (3, 4, 3), (1, 3, 5)),
        )
    ),
]

POOLINGS = [
    case(name, f"y = {kind}<{attributes}>(x)", x=x)
    for name, kind, attributes, x in (
        ("MaxPool", "MaxPool", "kernel_shape=[2,2], strides=[2,2]", (1, 3, 7, 8)),
        ("MaxPool of pads", "MaxPool", "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", (1, 3, 8, 7)),
        ("MaxPool to the end", "MaxPool", "kernel_shape=[3,3], strides=[2,2], ceil_mode=1", (1, 3, 8, 8)),
        ("MaxPool of lines", "MaxPool", "kernel_shape=[3], strides=[2], pads=[1,0]", (1, 3, 9)),
        ("AveragePool", "AveragePool", "kernel_shape=[2,3], strides=[2,1]", (1, 3, 7, 8)),
        (
            "AveragePool of pads",
            "AveragePool",
            "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]",
            (1, 3, 8, 7),
        ),
        (
            "AveragePool of zeros",
            "AveragePool",
            "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], count_include_pad=1",
            (1, 3, 9, 7),
        ),
        (
            "AveragePool to the end",
            "AveragePool",
            "kernel_shape=[3,3], strides=[2,2], ceil_mode=1",
            (1, 3, 8, 8),
        ),
    )
]

PRODUCTS = [
    case("MatMul", "y = MatMul(x, w)", weights={"w": (8, 5)}, x=(4, 8)),
    case("MatMul of batches", "t = Transpose<perm=[0,1,3,2]>(x)\ny = MatMul(x, t)", x=(2, 3, 4, 5)),
    case("MatMul of one matrix", "y = MatMul(x, w)", weights={"w": (5, 6)}, x=(2, 3, 4, 5)),
    case("MatMul of broadcast batches", "y = MatMul(w, x)", weights={"w": (2, 1, 3, 4)}, x=(3, 4, 5)),
    case("MatMul of a vector", "y = MatMul(x, w)", weights={"w": (5,)}, x=(2, 3, 5)),
    case("Gemm", "y = Gemm<transB=1>(x, w, b)", weights={"w": (6, 8), "b": (6,)}, x=(4, 8)),
    case(
        "Gemm with factors",
        "y = Gemm<transA=1, alpha=0.5, beta=2.0>(x, w, b)",
        weights={"w": (4, 6), "b": (8, 1)},
        x=(4, 8),
    ),
]

REDUCED = [
    case(f"{name} of {axes}", f"y = {name}<axes={axes}, keepdims={keep}>(x)", x=(2, 3, 4, 5))
    for name in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
    for axes, keep in (([2, 3], 1), ([-1], 0))
] + [
    case("ReduceSum", "y = ReduceSum(x, a)", weights=ints(a=[1, -1]), x=(2, 3, 4, 5)),
    case("ReduceSum of all", "y = ReduceSum(x)", x=(2, 3, 4)),
    case(
        "BatchNormalization",
        "y = BatchNormalization(x, s, b, m, v)",
        weights={"s": (3,), "b": (3,), "m": (3,), "v": np.array([0.5, 1, 2], np.float32)},
    ),
    case("InstanceNormalization", "y = InstanceNormalization(x, s, b)", weights={"s": (3,), "b": (3,)}),
    case(
        "LayerNormalization",
        "y = LayerNormalization<axis=-2>(x, s, b)",
        weights={"s": (8, 8), "b": (8, 8)},
        opset=17,
    ),
]

MOVED = [
    case("Reshape", "y = Reshape(x, s)", weights=ints(s=[0, -1])),
    case("Flatten", "y = Flatten(x)"),
    case("Squeeze", "y = Squeeze(x, a)", weights=ints(a=[0, 2]), x=(1, 3, 1, 4)),
    case("Unsqueeze", "y = Unsqueeze(x, a)", weights=ints(a=[0, -1]), x=(3, 4)),
    case("Transpose", "y = Transpose<perm=[2,0,1]>(x)", x=(2, 3, 4)),
    case("Concat", "e = Exp(x)\ny = Concat<axis=1>(x, e, c)", weights={"c": (1, 2, 8, 8)}),
    case(
        "Split",
        "a, b = Split<axis=1>(x, s)\ny = Mul(b, b)\nz = Neg(a)",
        weights=ints(s=[1, 2]),
        outputs=("y", "z"),
    ),
    case("Slice", "y = Slice(x, a, b, c)", weights=ints(a=[1, -5], b=[3, 100], c=[1, 2])),
    case(
        "Slice of steps", "y = Slice(x, a, b, c, d)", weights=ints(a=[1, 0], b=[100, 100], c=[2, 3], d=[2, 3])
    ),
    case("Slice backwards", "y = Slice(x, a, b, c, d)", weights=ints(a=[-1], b=[-100], c=[3], d=[-2])),
    case(
        "Pad", "y = Pad(x, p, v)", weights=ints(p=[0, 1, 0, 2, 0, 0, 3, 1]) | {"v": np.array(0.5, np.float32)}
    ),
    case("Pad that cuts", "y = Pad(x, p)", weights=ints(p=[0, 0, -1, 2, 0, 0, 1, -2])),
    case("Expand", "y = Expand(x, s)", weights=ints(s=[2, 3, 4]), x=(3, 1)),
    case("Tile", "y = Tile(x, r)", weights=ints(r=[1, 2, 1, 3])),
    case("Gather", "y = Gather<axis=1>(x, i)", weights=ints(i=[[2, -3], [0, 1]])),
    case("Gather of one", "y = Gather<axis=2>(x, i)", weights=ints(i=-1)),
    case("DepthToSpace", "y = DepthToSpace<blocksize=2>(x)", x=(1, 8, 2, 3)),
    case("DepthToSpace by columns", 'y = DepthToSpace<blocksize=2, mode="CRD">(x)', x=(2, 8, 2, 3)),
    case("SpaceToDepth", "y = SpaceToDepth<blocksize=2>(x)", x=(1, 2, 4, 6)),
    case("Dropout", "y = Dropout(x)"),
]

RESIZED = [
    case(
        f"Resize {mode} {way} {rounding} {sizes}",
        f'y = Resize<mode="{mode}", coordinate_transformation_mode="{way}"{rounding}>(x, , , s)',
        weights=ints(s=sizes),
        x=(1, 2, 4, 6),
    )
    for mode, way, rounding, sizes in (
        ("nearest", "half_pixel", "", [1, 2, 8, 12]),
        ("nearest", "half_pixel", "", [1, 2, 2, 3]),
        ("nearest", "half_pixel", ', nearest_mode="round_prefer_ceil"', [1, 2, 6, 4]),
        ("nearest", "asymmetric", ', nearest_mode="floor"', [1, 2, 8, 9]),
        ("nearest", "asymmetric", ', nearest_mode="ceil"', [1, 2, 8, 9]),
        ("nearest", "asymmetric", "", [1, 2, 8, 18]),
        ("nearest", "align_corners", ', nearest_mode="floor"', [1, 2, 7, 11]),
        ("linear", "half_pixel", "", [1, 2, 8, 12]),
        ("linear", "half_pixel", "", [1, 2, 3, 5]),
        ("linear", "asymmetric", "", [1, 2, 12, 9]),
        ("linear", "align_corners", "", [1, 2, 7, 11]),
        ("linear", "pytorch_half_pixel", "", [1, 2, 1, 12]),
    )
    if (mode, way, sizes[2]) != ("linear", "pytorch_half_pixel", 1)
] + [
    case(
        "Resize by scales",
        "y = Resize(x, , s)",
        weights={"s": np.array([1, 1, 2, 2], np.float32)},
        x=(1, 3, 3, 4),
    ),
]

FOLDED = [
    case(
        "a residual block",
        "a = Conv<pads=[1,1,1,1]>(x, w)\nb = Relu(a)\n"
        "c = Conv<pads=[1,1,1,1]>(b, w)\nd = Add(c, b)\ny = Relu(d)",
        weights={"w": (3, 3, 3, 3)},
    ),
    case(
        "squeeze and excitation",
        "a = Conv(x, w)\np = GlobalAveragePool(a)\nq = Conv(p, v)\n"
        "s = Sigmoid(q)\nm = Mul(a, s)\ny = Conv(m, w)",
        weights={"w": (3, 3, 1, 1), "v": (3, 3, 1, 1)},
    ),
    case(
        "branches",
        "a = Conv(x, w)\nb = Neg(a)\n"
        "c = Concat<axis=1>(a, b)\nd = Pad(c, p)\ny = MaxPool<kernel_shape=[2,2]>(d)",
        weights={"w": (3, 3, 1, 1)} | ints(p=[0, 0, 1, 0, 0, 0, 0, 2]),
    ),
    case(
        "part of channels",
        "a = Conv(x, w)\ns, t = Split<axis=1>(a, k)\n"
        "u = Tile(s, r)\nv = Sub(u, t)\ny = ReduceMax<axes=[1], keepdims=1>(v)",
        weights={"w": (3, 3, 1, 1)} | ints(k=[1, 2], r=[1, 2, 1, 1]),
    ),
    case(
        "a transposed sum",
        "a = Transpose<perm=[0,2,1]>(x)\nb = Add(a, c)\ny = Mul(b, k)",
        weights={"c": (1, 4, 3), "k": (4, 1)},
        x=(2, 3, 4),
    ),
]
"""Networks whose transposes meet."""

CASES = [
    *(*UNARY, *BINARY, *CONVOLUTIONS, *POOLINGS, *PRODUCTS),
    *(*REDUCED, *MOVED, *RESIZED, *FOLDED),
]


def quantized(
    name: str, nodes: str, ops: set[str], weights: Any = None, kind: Any = np.int8, zero: int = 3, **more: Any
) -> Any:
    """A network between QuantizeLinear and DequantizeLinear of 8 bits: `x` to `q`, `r` to `y`."""
    constants = {
        "sx": np.array(0.05, np.float32),
        "zx": np.array(zero, kind),
        "sy": np.array(0.0413, np.float32),
        "zy": np.array(zero - 9, kind) if kind is np.int8 else np.array(zero + 20, kind),
    }
    text = f"""qx = QuantizeLinear(x, sx, zx)
        q = DequantizeLinear(qx, sx, zx)
        {nodes}
        qr = QuantizeLinear(r, sy, zy)
        y = DequantizeLinear(qr, sy, zy)"""
    return case(name, text, weights=constants | (weights or {}), step=0.0413, ops=ops, **more)


def _held(shape: tuple[int, ...], scale: Any, axis: int = 0) -> Weights:
    """Weights `w` of int8 with scales, one or one for each index."""
    generator = np.random.default_rng(3)
    return {
        "qw": generator.integers(-127, 128, shape).astype(np.int8),
        "sw": np.array(scale, np.float32),
        "zw": np.zeros(np.shape(scale), np.int8),
    }


PER_TENSOR = _held((4, 3, 3, 3), 0.002)
PER_CHANNEL = _held((4, 3, 3, 3), [0.001, 0.002, 0.003, 0.0015])
BIAS = {"b": np.array([0.5, -1, 0.25, 0], np.float32)}
CONV = "w = DequantizeLinear<axis=0>(qw, sw, zw)\n"

INTEGERS = [
    quantized(
        "quantized Conv", CONV + "r = Conv<pads=[1,1,1,1]>(q, w, b)", {"conv2d", "rescale"}, PER_TENSOR | BIAS
    ),
    quantized(
        "quantized Conv of channels",
        CONV + "r = Conv<pads=[1,1,1,1]>(q, w, b)",
        {"conv2d", "rescale"},
        PER_CHANNEL | BIAS,
    ),
    quantized(
        "quantized Conv of unsigned bytes",
        CONV + "r = Conv<pads=[1,1,1,1]>(q, w)",
        {"conv2d", "rescale"},
        PER_CHANNEL,
        kind=np.uint8,
        zero=100,
    ),
    quantized(
        "quantized Conv and Relu",
        CONV + "c = Conv(q, w, b)\nr = Relu(c)",
        {"conv2d", "rescale", "clamp"},
        PER_TENSOR | BIAS,
    ),
    quantized(
        "quantized Conv and Clip",
        CONV + "c = Conv(q, w)\nr = Clip(c, lo, hi)",
        {"conv2d", "clamp"},
        PER_TENSOR | {"lo": np.array(-0.3, np.float32), "hi": np.array(1.1, np.float32)},
    ),
    quantized(
        "quantized depthwise Conv",
        CONV + "r = Conv<group=3>(q, w)",
        {"depthwise_conv2d", "rescale"},
        _held((3, 1, 3, 3), [0.01, 0.02, 0.015]),
    ),
    quantized(
        "quantized grouped Conv",
        CONV + "r = Conv<group=2>(q, w)",
        {"conv2d", "concat"},
        _held((4, 2, 1, 1), [0.01, 0.02, 0.015, 0.03]),
        x=(1, 4, 5, 5),
    ),
    quantized(
        "quantized Conv and a float one",
        CONV + "c = Conv(q, w)\nd = Exp(c)\nr = Add(d, c)",
        {"conv2d", "cast"},
        PER_TENSOR,
    ),
    quantized(
        "quantized Gemm",
        "w = DequantizeLinear<axis=0>(qw, sw, zw)\nr = Gemm<transB=1>(q, w, b)",
        {"conv2d", "rescale"},
        _held((4, 8), [0.01, 0.02, 0.015, 0.03]) | BIAS,
        x=(2, 8),
    ),
    quantized(
        "quantized MatMul",
        "w = DequantizeLinear<axis=1>(qw, sw, zw)\nr = MatMul(q, w)",
        {"conv2d", "rescale"},
        _held((8, 4), [0.01, 0.02, 0.015, 0.03]),
        x=(2, 3, 8),
    ),
    quantized("quantized Add", "t = Relu(q)\nr = Add(q, t)", {"add", "rescale"}),
    quantized(
        "quantized Add of a constant",
        "w = DequantizeLinear(qw, sw, zw)\nr = Sub(q, w)",
        {"sub", "rescale"},
        _held((3, 1, 1), 0.01),
    ),
    quantized("quantized Mul", "t = Relu(q)\nr = Mul(q, t)", {"mul", "rescale"}),
    quantized("quantized GlobalAveragePool", "r = GlobalAveragePool(q)", {"reduce_sum", "rescale"}),
    quantized("quantized ReduceMean", "r = ReduceMean<axes=[3], keepdims=0>(q)", {"reduce_sum", "rescale"}),
    quantized(
        "quantized MaxPool", "r = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(q)", {"max_pool2d", "rescale"}
    ),
    quantized("quantized AveragePool", "r = AveragePool<kernel_shape=[2,2]>(q)", {"avg_pool2d", "cast"}),
    quantized("quantized Concat", "t = Relu(q)\nr = Concat<axis=1>(q, t)", {"concat", "rescale"}),
    quantized(
        "quantized Concat of scales",
        "a = Sigmoid(q)\nqa = QuantizeLinear(a, sa, za)\n"
        "da = DequantizeLinear(qa, sa, za)\nr = Concat<axis=1>(q, da)",
        {"concat", "table", "rescale"},
        {"sa": np.array(0.01, np.float32), "za": np.array(-100, np.int8)},
    ),
    quantized(
        "quantized moves",
        "a = Transpose<perm=[0,2,3,1]>(q)\nr = Reshape(a, s)",
        {"transpose", "reshape"},
        ints(s=[8, -1]),
    ),
    quantized("quantized Softmax", "r = Softmax(q)", {"exp", "cast"}),
    *(
        quantized(f"quantized {name}", f"r = {name}(q)", {"table"}, opset=20)
        for name in ("Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Exp")
    ),
]
"""Networks of integers: `step` is a step of the result, `ops` are among those emitted."""
