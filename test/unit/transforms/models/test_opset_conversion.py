"""Conversion of models to older opsets, compared in onnxruntime."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import onnx.shape_inference
import pytest

from xonnc.contexts import new_context
from xonnc.errors import CollectedError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.model_check import check_model
from xonnc.runtime.reference import open_session
from xonnc.transforms.models.opset_conversion import convert_opset

LOW = 7

RANK_3 = "g (float[2, 4, 6] x) => (float[{}] y) {}"
RANK_4 = "g (float[1, 4, 6, 5] x) => (float[{}] y) {}"
DYNAMIC = "g (float[n, 4, m] x) => (float[{}] y) {}"


def parsed(opset: int, text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {text}')


def converted(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    context = new_context()
    module = import_proto(model, context)
    convert_opset(module, opset, context)
    result = export_proto(module)
    onnx.shape_inference.infer_shapes(result, check_type=True, strict_mode=True)
    assert check_model(result) == []
    return result


def outputs(model: onnx.ModelProto, x: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
    session, _ = open_session(model.SerializeToString(), "model", threads=1)
    return [np.asarray(each) for each in session.run(None, {"x": x})]


CASES = {
    "Squeeze": (13, LOW, RANK_4, "4, 6, 5", "{a = Constant<value = int64[1] {-4}>() y = Squeeze(x, a)}"),
    "SqueezeAll": (13, LOW, RANK_4, "4, 6, 5", "{y = Squeeze(x)}"),
    "Unsqueeze": (13, LOW, RANK_3, "2, 4, 1, 6, 1", "<int64[2] a = {-1, 2}> {y = Unsqueeze(x, a)}"),
    "ReduceSum": (13, LOW, DYNAMIC, "n, m", "<int64[1] a = {1}> {y = ReduceSum<keepdims = 0>(x, a)}"),
    "ReduceSumNoop": (13, LOW, RANK_3, "2, 4, 6", "{y = ReduceSum<noop_with_empty_axes = 1>(x)}"),
    "ReduceMean": (18, LOW, DYNAMIC, "n, 4, 1", "<int64[1] a = {-1}> {y = ReduceMean(x, a)}"),
    "ReduceMax": (20, LOW, RANK_3, "1, 1, 1", "{y = ReduceMax(x)}"),
    "Split18": (18, LOW, RANK_3, "2, 4, 2", "{a, b, y = Split<axis = -1, num_outputs = 3>(x)}"),
    "Split18Uneven": (18, LOW, RANK_3, "2, 4, 0", "{a, b, c, y = Split<axis = 2, num_outputs = 4>(x)}"),
    "Split13": (13, LOW, RANK_3, "2, 4, 4", "<int64[2] s = {2, 4}> {a, y = Split<axis = 2>(x, s)}"),
    "Clip": (13, LOW, DYNAMIC, "n, 4, m", "<float l = {-0.5}, float h = {0.25}> {y = Clip(x, l, h)}"),
    "ClipAbove": (13, LOW, RANK_3, "2, 4, 6", '<float h = {0.25}> {y = Clip(x, "", h)}'),
    "Dropout": (13, LOW, RANK_3, "2, 4, 6", "<float r = {0.3}> {y = Dropout(x, r)}"),
    "Softmax": (13, LOW, DYNAMIC, "n, 4, m", "{y = Softmax<axis = 1>(x)}"),
    "SoftmaxLast": (13, LOW, DYNAMIC, "n, 4, m", "{y = Softmax(x)}"),
    "LogSoftmax": (13, LOW, RANK_3, "2, 4, 6", "{y = LogSoftmax<axis = 0>(x)}"),
    "Pad": (
        *(19, LOW, RANK_3, "2, 6, 7"),
        "<int64[4] p = {1, 0, 1, 1}, int64[2] a = {1, -1}, float v = {2.5}> {y = Pad(x, p, v, a)}",
    ),
    "Slice": (
        *(13, LOW, DYNAMIC, "n, 2, k"),
        "<int64[2] s = {1, -4}, int64[2] e = {3, -1}, int64[2] a = {1, -1}> {y = Slice(x, s, e, a)}",
    ),
    "TopK": (11, LOW, RANK_3, "2, 4, 2", "<int64[1] k = {2}> {y, i = TopK(x, k)}"),
    "ResizeNearest": (19, LOW, RANK_4, "1, 4, 12, 15", '<float[4] s = {1, 1, 2, 3}> {y = Resize(x, "", s)}'),
    "ResizeLinear": (
        *(19, LOW, RANK_4, "1, 4, 12, 10", "<int64[4] s = {1, 4, 12, 10}> {y = Resize<mode = "),
        '"linear", coordinate_transformation_mode = "asymmetric">(x, "", "", s)}',
    ),
    "ResizeHalfPixel": (
        *(19, 11, RANK_4, "1, 4, 9, 10"),
        '<int64[4] s = {1, 4, 9, 10}> {y = Resize<mode = "linear">(x, "", "", s)}',
    ),
    "HardSwish": (14, LOW, RANK_3, "2, 4, 6", "{y = HardSwish(x)}"),
    "Gelu": (20, 9, DYNAMIC, "n, 4, m", "{y = Gelu(x)}"),
    "GeluTanh": (20, 8, RANK_3, "2, 4, 6", '{y = Gelu<approximate = "tanh">(x)}'),
    "LayerNormalization": (
        *(17, LOW, RANK_3, "2, 4, 6"),
        "<float[6] s = {1, 2, 3, 4, 5, 6}> {y = LayerNormalization(x, s)}",
    ),
    "GroupNormalization": (
        *(21, LOW, RANK_4, "1, 4, 6, 5"),
        "<float[4] s = {1, 2, 3, 4}> {y = GroupNormalization<num_groups = 2>(x, s, s)}",
    ),
    "BatchNormalization": (
        *(15, LOW, RANK_4, "1, 4, 6, 5"),
        "<float[4] s = {1, 2, 3, 4}> {y = BatchNormalization(x, s, s, s, s)}",
    ),
    "Celu": (12, LOW, RANK_3, "2, 4, 6", "{y = Celu<alpha = 2.0>(x)}"),
    "Mish": (18, LOW, RANK_3, "2, 4, 6", "{y = Mish(x)}"),
    "GreaterOrEqual": (
        *(16, 11, RANK_3, "2, 4, 6"),
        "<float t = {0.25}> {a = GreaterOrEqual(x, t) y = Cast<to = 1>(a)}",
    ),
    "CastLike": (15, LOW, RANK_3, "2, 4, 6", "<float t = {0.25}> {y = CastLike(x, t)}"),
    "AveragePool": (
        19,
        LOW,
        RANK_4,
        "1, 4, 4, 3",
        "{y = AveragePool<kernel_shape=[3,3], dilations=[1,1]>(x)}",
    ),
    "ConstantInts": (
        *(18, LOW, RANK_3, "2, 24"),
        "{a = Constant<value_ints = [2, 24]>() y = Reshape(x, a)}",
    ),
    "Flatten": (13, LOW, RANK_3, "8, 6", "{y = Flatten<axis = -1>(x)}"),
}


@pytest.mark.parametrize("name", CASES)
def test_older_opsets_compute_the_same(name: str) -> None:
    opset, lowest, signature, *rest = CASES[name]
    shape, body = rest[0], "".join(rest[1:])
    model = parsed(opset, signature.format(shape, body))
    rng = np.random.default_rng(0)
    x = rng.normal(0, 2, (1, 4, 6, 5) if signature is RANK_4 else (2, 4, 6)).astype(np.float32)
    expected = outputs(model, x)
    for target in {max(lowest, each) for each in (7, 8, 9, 10, 11, 12, 13, 17) if each < opset}:
        result = converted(model, target)
        assert [each.version for each in result.opset_import] == [target]
        for one, other in zip(outputs(result, x), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


REFUSED = [
    (
        *(13, 12, "g (float[2, 1] x, int64[1] a) => (float[k] y) {y = Squeeze(x, a)}"),
        "y: Squeeze as it is here exists from opset 13 on; axes must be constant in this opset, where it is",
    ),
    (
        *(13, 9, "g (float[8] x) => (float[k] y) <int64[1] s = {0}, int64[1] e = {8}, int64[1] t = {2}>"),
        "{y = Slice(x, s, e, s, t)}",
        "y: Slice as it is here exists from opset 10 on; Slice has steps from opset 10 on",
    ),
    (
        *(19, 10, "g (float[1, 1, 4] x) => (float[1, 1, 8] y) <float[3] s = {1, 1, 2}>"),
        '{y = Resize<mode = "linear">(x, "", s)}',
        "y: Resize as it is here exists from opset 11 on; Resize has half_pixel from opset 11 on",
    ),
    (
        *(20, 8, "g (float[4] x) => (float[4] y) {y = Gelu(x)}"),
        "y: Gelu as it is here exists from opset 20 on; in its function body, Erf as it is here",
    ),
    (
        *(14, 12, "g (int16[4] x) => (int16[4] y) {y = Add(x, x)}"),
        "y: Add takes no tensor(int16) in opset 12",
    ),
    (
        *(19, 18, "g (float[1, 1, 9] x) => (float[1, 1, k] y)"),
        "{y = AveragePool<kernel_shape = [3], dilations = [2]>(x)}",
        "y: AveragePool has no attribute 'dilations' in opset 18",
    ),
    (
        *(13, 10, 'g (double[4] x) => (double[4] y) <double h = {0.1}> {y = Clip(x, "", h)}'),
        "the attribute holds 0.1 in 32 bits only",
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[-1].split(";")[-1][-30:])
def test_what_cannot_be_converted(case: tuple[int, int, str]) -> None:
    opset, target, *text, message = case
    with pytest.raises(CollectedError, match=re.escape(message)):
        converted(parsed(opset, "".join(text)), target)
