"""What the DLA cannot take: every reason, all of a model at once, and nothing changed half-way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xonnc.errors import RefusalError, XonncError
from xonnc.lowering.dla.dla_split import DlaSplit
from xonnc.lowering.dla_to_loadable.emit_loadable import loadable_of
from xonnc.lowering.dla_to_loadable.stages import compile_to_loadable
from xonnc.targets import load_target

Build = Callable[..., onnx.ModelProto]
Simplified = Callable[[onnx.ModelProto], ModuleOp]

CASES: list[tuple[str, dict[str, Any], str]] = [
    (
        "y = MatMul(x, z)",
        {"inputs": {"x": (2, 3), "z": (3, 4)}},
        "B is computed at run time (the convolution core takes constant weights)",
    ),
    (
        'y = Resize<mode="cubic">(x, , s)',
        {"weights": {"s": np.array([1, 1, 2, 2], np.float32)}},
        "mode cubic (nearest and linear are supported); use one of these",
    ),
    (
        'y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, , s)',
        {"x": (1, 2, 201, 401), "weights": {"s": np.array([1, 1, 2, 2], np.float32)}},
        "1204 different interpolations (up to 1024); use scales of small numbers, half_pixel",
    ),
    (
        'y = Resize<mode="linear", antialias=1>(x, , s)',
        {"opset": 18, "weights": {"s": np.array([1, 1, 0.5, 0.5], np.float32)}},
        "antialias (the engines interpolate between neighbors); use antialias 0",
    ),
    (
        'y = Resize<mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_larger">(x, , , s)',
        {"opset": 18, "x": (1, 2, 5, 4), "weights": {"s": np.array([7, 7])}},
        "keep_aspect_ratio_policy not_larger; use stretch",
    ),
    (
        'y = Resize<mode="linear", coordinate_transformation_mode="half_pixel_symmetric">(x, , s)',
        {"opset": 19, "x": (1, 2, 5, 4), "weights": {"s": np.array([1, 1, 1.5, 1.5], np.float32)}},
        "half_pixel_symmetric of a size that is rounded; use half_pixel",
    ),
    (
        'y = Resize<coordinate_transformation_mode="tf_crop_and_resize">(x, r, s)',
        {
            "weights": {
                "s": np.array([1, 1, 2, 2], np.float32),
                "r": np.array([0, 0, 0.2, 0.2, 1, 1, 0.8, 0.8], np.float32),
            }
        },
        "tf_crop_and_resize; use one of asymmetric, align_corners, half_pixel, half_pixel_symmetric, "
        "pytorch_half_pixel",
    ),
    (
        "y = Resize(x, , s)",
        {"x": (1, 2, 100, 1), "weights": {"s": np.array([1, 1, 2.3, 1], np.float32)}},
        "slices of rows (up to 64)",
    ),
    (
        'y = ConvTranspose<auto_pad="SAME_UPPER", strides=[2,2]>(x, w)',
        {"weights": {"w": (3, 2, 3, 3)}},
        "auto_pad or output_shape; give the pads",
    ),
    (
        "y = ConvTranspose(x, w)",
        {"weights": {"w": (3, 2, 3)}, "x": (1, 3, 8)},
        "1 spatial dimensions (transposed convolutions take 2)",
    ),
    (
        "y = Conv(x, w)",
        {"x": (1, 2, 4, 4, 4), "weights": {"w": (3, 2, 1, 1, 1)}},
        "3 spatial dimensions (the convolution core takes 1 or 2)",
    ),
    (
        "y = Conv(x, w)",
        {"x": (33, 2, 4, 4), "weights": {"w": (3, 2, 1, 1)}},
        "batch size 33 (up to 32, as groups); use a smaller batch",
    ),
    (
        "y = Relu(x)",
        {"x": (2, 8192, 1)},
        "input 0: size 16384 (the core takes up to 8192); split the tensor before the node",
    ),
    (
        "y = Conv(x, z)",
        {"inputs": {"x": (1, 2, 4, 4), "z": (1, 2, 3, 3)}},
        "the kernels must be a constant, found a computed value",
    ),
    *(
        (
            "r = Reshape(x, s)\ny = Conv(r, w)",
            {
                "weights": {"s": np.array([batch, 1, 4100 // batch]), "w": (1, 1, 3)},
                "x": (batch, 4100 // batch, 1, 1),
            },
            f"the reshape to [{batch}, 1, {4100 // batch}] moves data",
        )
        for batch in (1, 2)
    ),
    (
        "y = Conv<strides=[1,11]>(x, w)",
        {"weights": {"w": (1, 1, 1, 1)}, "x": (1, 1, 100, 1000)},
        "stride 11 (the core takes up to 8)",
    ),
    (
        "y = Conv<strides=[1,8], pads=[0,4,0,0]>(x, w)",
        {"weights": {"w": (3, 3, 1, 2)}, "x": (1, 3, 4, 1)},
        "windows that read padding alone; use fewer pads",
    ),
    (
        "y = Conv<dilations=[60,1], pads=[50,0,40,0]>(x, w)",
        {"weights": {"w": (3, 3, 2, 1)}, "x": (1, 3, 40, 4)},
        "dilations [60, 1] (the core takes up to 32), with results that read padding alone; use fewer pads",
    ),
    (
        "y = Conv<pads=[32,0,0,0]>(x, w)",
        {"weights": {"w": (3, 3, 3, 3)}},
        "pad at top or left 32 (the core takes up to 31)",
    ),
    (
        "y = Conv<pads=[0,0,64,0]>(x, w)",
        {"weights": {"w": (3, 3, 3, 3)}},
        "pad at bottom or right 64 (the core takes up to 63)",
    ),
    (
        "y = Conv(x, w)",
        {"weights": {"w": (8, 9000, 1, 1)}, "x": (1, 9000, 1, 1)},
        "size 9000 (the core takes up to 8192)",
    ),
    (
        "y = Conv<pads=[1,1,1,1]>(x, w)",
        {"weights": {"w": (1, 2048, 3, 3)}, "x": (1, 2048, 3, 8000)},
        "does not fit the convolution buffer",
    ),
    ("y = Gemm<transA=1>(x, w)", {"weights": {"w": (3, 5)}, "x": (3, 40)}, "transA = 1 on [3, 40]"),
    (
        "y = Gemm(x, w)",
        {"weights": {"w": (4, 5)}, "x": (33, 4)},
        "A has 33 rows (up to 32, as groups); use fewer rows",
    ),
    (
        "y = MatMul(x, w)",
        {"weights": {"w": (1, 4, 5)}, "x": (1, 1, 4)},
        "B has rank 3 (the convolution core takes a matrix)",
    ),
    (
        "y = MatMul(x, w)",
        {"weights": {"w": (4, 5)}, "x": (1, 1, 3, 4)},
        "A of shape [1, 1, 3, 4] times a matrix with 4 rows (A is the cube [1, 3, 4]",
    ),
    ("y = Div(x, c)", {"weights": {"c": np.array([0.0], np.float32)}}, "the divisor contains zeros"),
    (
        "y = Div(x, z)",
        {"inputs": {"x": (1, 3, 1, 2), "z": (1, 3, 2, 1)}},
        "[1, 3, 1, 2] and [1, 3, 2, 1] are both broadcast; expand one of them first",
    ),
    (
        "y = Div(x, z)",
        {"inputs": {"x": (1, 3, 4, 2), "z": (1, 1, 4, 2)}},
        "[1, 1, 4, 2] broadcast to [1, 3, 4, 2] (the SDP broadcasts per-channel tensors only)",
    ),
    (
        "y = Div(c, x)",
        {"weights": {"c": (1, 3, 8, 8)}, "x": (1, 3, 1, 1)},
        "[1, 3, 1, 1] is broadcast to [1, 3, 8, 8]; expand it first",
    ),
    ("y = MaxPool<kernel_shape=[2,2], dilations=[2,2]>(x)", {}, "dilations [2, 2] (the PDP takes 1)"),
    (
        "y = AveragePool<kernel_shape=[2,2], dilations=[2,2]>(x)",
        {"opset": 19},
        "dilations [2, 2] (the PDP takes 1)",
    ),
    (
        "y = AveragePool<kernel_shape=[257,256], pads=[1,0,0,0]>(x)",
        {"x": (1, 1, 257, 256)},
        "a kernel of 257x256 (above 65536 elements all windows must have as many); count padding",
    ),
    (
        "y = AveragePool<kernel_shape=[320,320]>(x)",
        {"x": (1, 320, 321, 320)},
        "320 groups with a kernel of 320x320, which are 10485760000 weights with zeros between the "
        "groups (up to 268435456); use a smaller kernel",
    ),
    (
        "y = MaxPool<kernel_shape=[8,8]>(x)",
        {"x": (1, 3, 8, 1100)},
        "1093 output columns exceed the PDP's line buffer even when split",
    ),
    (
        "y = Concat<axis=1>(x, x)",
        {"x": (33, 1, 2, 2)},
        "a concatenation of 66 slices (up to 64); use a smaller batch",
    ),
    (
        "y = Slice(x, a, b)",
        {"weights": {"a": np.array([0], np.int64), "b": np.array([0], np.int64)}},
        "an empty result",
    ),
    (
        "y = Tile(x, k)",
        {"x": (1, 3, 4, 4), "weights": {"k": np.array([1, 1 << 20, 1, 1], np.int64)}},
        "a tensor of 50331648 elements (up to 33554432); make it smaller",
    ),
    (
        # As dense kernels, these would be 596 GiB.
        f"c = Concat<axis=1>({', '.join(['x'] * 100)})\ny = Gather<axis=1>(c, k)",
        {"x": (1, 8000, 1, 1), "weights": {"k": np.arange(800_000)[::-1].copy()}},
        "size 800000 (the core takes up to 8192); split the tensor before the node",
    ),
    (
        "y = Gather<axis=1>(x, k)",
        {"x": (1, 3, 4), "weights": {"k": np.array([[0, 1], [1, 2]], np.int64)}},
        "a selection of [3, 1, 4] to [2, 2, 4] that mixes channels, rows and columns",
    ),
    (
        "y = Gather<axis=1>(x, k)",
        {"weights": {"k": np.array([3], np.int64)}},
        "an index outside of axis 1, which has size 3",
    ),
    (
        "y = Pad(x, k)",
        {"weights": {"k": np.array([0, 0, 0, -4, 0, 0, 0, -4], np.int64)}},
        "pads that leave an empty tensor",
    ),
    (
        "y = Slice(x, a, b, c, d)",
        {
            "x": (1, 3, 70, 2),
            "weights": {
                name: np.array([index], np.int64)
                for name, index in zip("abcd", (-1, -71, 2, -1), strict=True)
            },
        },
        "70 slices of rows (up to 64)",
    ),
    (
        "r = Reshape(x, s)\ny = ReduceSum(r, k)",
        {"weights": {"s": np.array([1, 6, 4, 8], np.int64), "k": np.array([1], np.int64)}},
        "a reduction of [1, 6, 4, 8] to [1, 1, 4, 8] that mixes channels with rows or columns",
    ),
    (
        "y = DepthToSpace<blocksize=2>(x)",
        {"x": (2, 4, 2, 2)},
        "batch size 2 (channels of one image are rearranged); use batch size 1",
    ),
    (
        "y = Pow(x, e)",
        {"weights": {"e": np.array([2, 3, 2], np.float32).reshape(3, 1, 1)}},
        "3 exponents (the CPU emulator takes a scalar)",
    ),
    (
        "y = LRN<size=3>(x)",
        {"x": (2, 8, 2, 2)},
        "[2, 8, 2, 2] (the CDP normalizes one image with up to 2 spatial dimensions); use batch size 1",
    ),
    (
        "y = GlobalMaxPool(x)",
        {"x": (1, 2, 3, 4, 5)},
        "3 spatial dimensions (the PDP takes 2)",
    ),
    (
        "y = Dropout(x, r, t)",
        {"weights": {"r": np.array(0.5, np.float32), "t": np.array(True)}},
        "training_mode 1 (random numbers are not supported); set it to 0",
    ),
    ("y = Softmax<axis=1>(x)", {}, "softmax over 3 elements of [1, 3, 8, 8]"),
    (
        "r = Reshape(x, k)\ny = MaxPool<kernel_shape=[1,1]>(r)",
        {"weights": {"k": np.array([1, 6, 4, 8], np.int64)}},
        "Reshape_0 (Reshape): the reshape to [1, 6, 4, 8] moves data",
    ),
    ("y = LRN<size=11>(x)", {"x": (1, 16, 4, 4)}, "size 11 (the CDP takes 3, 5, 7, 9)"),
    (
        "y = LRN<size=5, alpha=-1.0>(x)",
        {"x": (1, 16, 4, 4)},
        "alpha -1 and bias 1 (both must be positive)",
    ),
    (
        "y = Transpose<perm=[0,2,3,1]>(x)",
        {},
        "perm [0, 2, 3, 1] of [1, 3, 8, 8] moves rows or columns (the core permutes channels)",
    ),
    (
        "y = Sin(x)",
        {},
        "Sin_0 (Sin): the DLA has no such operator; in a package (-o model.xpkg) it runs on the CPU",
    ),
    *(
        (
            f"y = Gemm<transA={transposed}>(x, b, c)",
            {"x": (4, 1 << 40) if transposed else (1 << 40, 4), "weights": {"b": (4, 5), "c": (5,)}},
            "input 0: size 4398046511104 (the core takes up to 8192)",
        )
        for transposed in (0, 1)
    ),
]


@pytest.mark.parametrize(("nodes", "options", "reason"), CASES)
def test_reasons(
    nodes: str, options: dict[str, Any], reason: str, build: Build, simplified: Simplified, context: Context
):
    module = simplified(build(nodes, **options))
    with pytest.raises(RefusalError) as caught:
        compile_to_loadable(module, "nv_full", context)
    assert reason in str(caught.value)
    assert all("\n" not in line for line in caught.value.reasons)


def test_all_reasons_come_at_once(build: Build, simplified: Simplified, context: Context):
    module = simplified(build("a = Sin(x)\nb = Relu(a)\nc = Cos(b)\ny = Softmax<axis=1>(c)"))
    with pytest.raises(RefusalError) as caught:
        compile_to_loadable(module, "nv_full", context)
    assert [reason.split(":")[0] for reason in caught.value.reasons] == [
        "Sin_0 (Sin)",
        "Cos_2 (Cos)",
        "Softmax_3 (Softmax)",
    ]


def test_a_target_without_fp16(build: Build, simplified: Simplified, context: Context):
    module = simplified(build("y = Relu(x)"))
    with pytest.raises(RefusalError, match="nv_small computes in int8; the model needs fp16"):
        compile_to_loadable(module, "nv_small", context)


def test_an_unknown_target(build: Build, simplified: Simplified, context: Context):
    with pytest.raises(XonncError, match="no target 'nv_ful'"):
        compile_to_loadable(simplified(build("y = Relu(x)")), "nv_ful", context)


def test_a_size_that_is_not_known(context: Context):
    module = parsed(
        context,
        """func.func @main_graph(%x: tensor<?x3x8x8xf32>) -> tensor<?x3x8x8xf32> {
             %y = "onnx.Relu"(%x) : (tensor<?x3x8x8xf32>) -> tensor<?x3x8x8xf32>
             "onnx.Return"(%y) : (tensor<?x3x8x8xf32>) -> ()
           }""",
    )
    with pytest.raises(RefusalError, match="fix the shapes of the model's inputs"):
        compile_to_loadable(module, "nv_full", context)


def test_integers(context: Context):
    module = parsed(
        context,
        """func.func @main_graph(%x: tensor<1x3xi64>) -> tensor<1x3xi64> {
             %y = "onnx.Max"(%x, %x) : (tensor<1x3xi64>, tensor<1x3xi64>) -> tensor<1x3xi64>
             "onnx.Return"(%y) : (tensor<1x3xi64>) -> ()
           }""",
    )
    with pytest.raises(RefusalError, match=r"tensor<1x3xi64>.*the DLA computes in fp16"):
        compile_to_loadable(module, "nv_full", context)


def test_a_convolution_that_was_not_split(context: Context):
    module = parsed(
        context,
        """func.func @main(%x: tensor<1x512x7x7xf16>, %w: tensor<32x512x7x7xf16>) {
                %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
                strides = array<i64: 1, 1>}> : (tensor<1x512x7x7xf16>, tensor<32x512x7x7xf16>) ->
                !dla.flow<tensor<1x32x1x1xf32>> %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0,
                0, 0>}> : (!dla.flow<tensor<1x32x1x1xf32>>) -> tensor<1x32x1x1xf16> func.return
           }""",
    )
    with pytest.raises(
        XonncError, match="32 kernels on an input of 512x7x7 do not fit the convolution buffer"
    ):
        DlaSplit().apply(context, module)


def test_a_module_without_a_network(context: Context):
    with pytest.raises(XonncError, match="a loadable holds one network; the module has 0 functions"):
        loadable_of(ModuleOp([]), load_target("nv_full"))


def test_a_memory_beyond_4_gib(context: Context):
    module = parsed(
        context,
        """"dla.memory"() <{role = "activations", size = 4294967296 : i64, sym_name = "m"}> : () -> ()
           func.func @main() { func.return }""",
    )
    with pytest.raises(XonncError, match="a memory object of 4294967296 bytes"):
        loadable_of(module, load_target("nv_full"))


def parsed(context: Context, text: str) -> ModuleOp:
    return Parser(context, text).parse_module()
