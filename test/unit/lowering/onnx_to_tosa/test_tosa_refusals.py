"""What TOSA cannot say is refused in one line with the node, the operator and the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tosa_cases import case, ints

from xonnc.contexts import new_context
from xonnc.errors import RefusalError
from xonnc.formats.onnx import import_proto
from xonnc.passes import run_pass

Build = Callable[..., onnx.ModelProto]

STATIC = "(TOSA has static shapes); give sizes of inputs"
WINDOW = {"weights": {"w": (3, 3, 3, 3)}}
IMAGE = "(TOSA resizes rows and columns of images)"


def refused(message: str, nodes: str, **options: Any) -> Any:
    """A network whose node is refused with a message."""
    return case(message, nodes, message=message, **options)


def resize(message: str, attributes: str, sizes: list[int], opset: int = 13) -> Any:
    """A resize of a 1x3x8x8 image that is refused."""
    nodes = f"y = Resize<{attributes}>(x, , , s)"
    return refused(f"Resize_0 (Resize): {message}", nodes, weights=ints(s=sizes), opset=opset)


CASES = [
    refused(
        "LRN_0 (LRN): there is no lowering to TOSA; a package (-o model.xpkg) runs it on the CPU",
        "y = LRN<size=3>(x)",
    ),
    refused(
        "Clip_1 (Clip): a bound is computed at run time (TOSA takes a constant)",
        "m = ReduceMax<keepdims=0>(x)\ny = Clip(x, , m)",
    ),
    refused(
        "Conv_0 (Conv): 3 spatial dimensions (TOSA has operators on images)",
        "y = Conv(x, w)",
        x=(1, 3, 4, 4, 4),
        weights={"w": (2, 3, 3, 3, 3)},
    ),
    refused(
        "ConvTranspose_0 (ConvTranspose): 3 groups (TOSA's transposed convolution has one)",
        "y = ConvTranspose<group=3>(x, w)",
        **WINDOW,
    ),
    refused(
        "ConvTranspose_0 (ConvTranspose): dilations [2, 2] (TOSA's transposed convolution has none)",
        "y = ConvTranspose<dilations=[2,2]>(x, w)",
        **WINDOW,
    ),
    refused(
        "ConvTranspose_0 (ConvTranspose): out_pad [-3, -3, -3, -3] with a kernel [3, 3] (TOSA cuts less than "
        "a kernel off)",
        "y = ConvTranspose<pads=[3,3,3,3]>(x, w)",
        **WINDOW,
    ),
    refused(
        "MaxPool_0 (MaxPool): the indices are read (TOSA's pooling gives none)",
        "y, i = MaxPool<kernel_shape=[2,2]>(x)\nz = Cast<to=1>(i)",
        outputs=("y", "z"),
    ),
    refused(
        "MaxPool_0 (MaxPool): dilations [2, 2] (TOSA's pooling has none)",
        "y = MaxPool<kernel_shape=[2,2], dilations=[2,2]>(x)",
    ),
    refused(
        "AveragePool_0 (AveragePool): dilations [2, 1] (TOSA's pooling has none)",
        "y = AveragePool<kernel_shape=[2,2], dilations=[2,1]>(x)",
        opset=19,
    ),
    refused(
        "AveragePool_0 (AveragePool): ceil_mode with count_include_pad (TOSA counts all or none of the pads)",
        "y = AveragePool<kernel_shape=[3,3], strides=[2,2], ceil_mode=1, count_include_pad=1>(x)",
    ),
    refused(
        "Pow_1 (Pow): a power of i32 (TOSA has powers of floats)",
        "i = Cast<to=6>(x)\nj = Pow(i, i)\ny = Cast<to=1>(j)",
    ),
    refused(
        "MatMul_1 (MatMul): a product of i32 (TOSA's are of floats and quantized integers)",
        "i = Cast<to=6>(x)\nj = MatMul(i, i)\ny = Cast<to=1>(j)",
    ),
    refused(
        "ReduceMean_1 (ReduceMean): a mean of i32 (TOSA's sums of integers are not divided)",
        "i = Cast<to=6>(x)\nj = ReduceMean(i)\ny = Cast<to=1>(j)",
    ),
    refused(
        "Cast_0 (Cast): elements of i64 (TOSA has f32, f16, bf16, i1, i8, i16 and i32)",
        "i = Cast<to=7>(x)\ny = Cast<to=1>(i)",
    ),
    refused(
        "Pad_0 (Pad): mode reflect (TOSA pads with a constant)",
        'y = Pad<mode="reflect">(x, p)',
        weights=ints(p=[0, 0, 1, 1, 0, 0, 1, 1]),
    ),
    refused(
        "Slice_0 (Slice): the result is empty (TOSA's tensors are not)",
        "z = Slice(x, a, b)\ny = Relu(z)",
        weights=ints(a=[0], b=[0]),
    ),
    refused(
        "LayerNormalization_0 (LayerNormalization): the mean or the deviation is read",
        "y, m = LayerNormalization(x, s)",
        weights={"s": (8,)},
        outputs=("y", "m"),
        opset=17,
    ),
    refused(
        f"Resize_0 (Resize): [1, 3, 8, 8] to [1, 6, 8, 8] {IMAGE}",
        "y = Resize(x, , s)",
        weights={"s": np.array([1, 2, 1, 1], np.float32)},
    ),
    resize("mode cubic (TOSA has nearest and linear)", 'mode="cubic"', [1, 3, 16, 16]),
    resize(
        "coordinates tf_half_pixel_for_nn (TOSA takes half_pixel, asymmetric and align_corners)",
        'coordinate_transformation_mode="tf_half_pixel_for_nn"',
        [1, 3, 16, 16],
    ),
    resize(
        "a scale of 2062 / 16 (TOSA takes numerators up to 2048 and more than 1 / 16)",
        'mode="linear"',
        [1, 3, 1031, 8],
    ),
    resize("antialias (TOSA has none)", 'mode="linear", antialias=1', [1, 3, 4, 4], opset=18),
    refused(
        "Resize_0 (Resize): scales [1.0, 1.0, 1.1875, 1.0] make 9 of 8, which is no whole ratio; give sizes",
        "y = Resize(x, , s)",
        weights={"s": np.array([1, 1, 1.1875, 1], np.float32)},
    ),
    refused(
        "BatchNormalization_0 (BatchNormalization): training mode; export the model for inference",
        "y, a, b = BatchNormalization<training_mode=1>(x, s, s, s, s)",
        weights={"s": (3,)},
        opset=15,
    ),
    refused(
        "QuantizeLinear_0 (QuantizeLinear): ui16 (TOSA quantizes i8, ui8, i16 and i32)",
        "q = QuantizeLinear(x, s, z)\ny = Cast<to=1>(q)",
        weights={"s": np.array(1, np.float32), "z": np.array(1, np.uint16)},
        opset=21,
    ),
    refused(
        "QuantizeLinear_0 (QuantizeLinear): blocks of 4 (TOSA has a scale per tensor or channel)",
        "q = QuantizeLinear<axis=1, block_size=4>(x, s, z)\ny = Cast<to=1>(q)",
        x=(2, 8),
        weights={"s": np.ones((2, 2), np.float32), "z": np.zeros((2, 2), np.int8)},
        opset=21,
    ),
    refused(
        "QuantizeLinear_1 (QuantizeLinear): the scale is computed at run time (TOSA takes a constant)",
        "m = ReduceMax<keepdims=0>(x)\nq = QuantizeLinear(x, m)\ny = DequantizeLinear(q, c)",
        weights={"c": np.array(1, np.float32)},
    ),
]


def lower(model: onnx.ModelProto) -> None:
    context = new_context()
    module = import_proto(model, context)
    for name in ("simplify-onnx", "convert-onnx-to-tosa"):
        run_pass(name, context, module)


@pytest.mark.parametrize(("nodes", "options"), CASES)
def test_refused(nodes: str, options: dict[str, Any], build: Build):
    options = dict(options)
    message = options.pop("message")
    with pytest.raises(RefusalError) as refusal:
        lower(build(nodes, **options))
    assert refusal.value.reasons == [message]


def test_all_refusals_are_told_at_once(build: Build):
    with pytest.raises(RefusalError) as refusal:
        lower(build("a = LRN<size=3>(x)\nb = Relu(a)\nc = LRN<size=3>(x)\ny = Add(b, c)"))
    assert [reason.partition(":")[0] for reason in refusal.value.reasons] == ["LRN_0 (LRN)", "LRN_2 (LRN)"]


@pytest.mark.parametrize(
    ("element", "shape", "message"),
    [
        (TensorProto.FLOAT, ["n", 3], f"tensor<?x3xf32> {STATIC}"),
        (TensorProto.FLOAT, [0, 3], "tensor<0x3xf32> is empty (TOSA's tensors are not)"),
        (TensorProto.INT64, [2, 3], "tensor<2x3xi64> (TOSA has f32, f16, bf16, i1, i8, i16 and i32)"),
    ],
)
def test_inputs_and_outputs_that_tosa_lacks(element: int, shape: list[Any], message: str):
    node = helper.make_node("Neg", ["x"], ["y"], name="neg")
    ports = [helper.make_tensor_value_info(name, element, shape) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "network", ports[:1], ports[1:]))
    with pytest.raises(RefusalError) as refusal:
        lower(model)
    assert refusal.value.reasons == [f"input 0: {message}"]


def test_an_output_of_64_bits_is_refused():
    constant = helper.make_tensor("c", TensorProto.INT64, [2], [1, 2])
    node = helper.make_node("Identity", ["c"], ["y"], name="same")
    port = helper.make_tensor_value_info("y", TensorProto.INT64, [2])
    model = helper.make_model(helper.make_graph([node], "network", [], [port], [constant]))
    with pytest.raises(RefusalError) as refusal:
        lower(model)
    assert refusal.value.reasons == ["output 0: tensor<2xi64> (TOSA has f32, f16, bf16, i1, i8, i16 and i32)"]
