"""float16 operators give their f32 result rounded once, with constant and with fed weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from native_nodes import Batch, Node, batches, check, check_batch
from onnx import numpy_helper
from onnx import parser as onnx_parser

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(23)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALF = np.dtype(np.float16)
ROUND_MAGIC = {HALF: 2.0**-10, BFLOAT16: 2.0**-7}


def float16s(dtype: np.dtype[np.generic], *shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32).astype(dtype)


def in_f32(
    operator: str,
    inputs: Sequence[Array],
    attributes: Mapping[str, object],
    dtype: np.dtype[np.generic],
    constant: Sequence[int],
    outputs: int = 1,
    opset: int = 23,
) -> Node:
    """A float16 node that is expected to give the rounded result of its f32 form."""
    wide = [np.asarray(each, np.float32) for each in inputs]
    known = Node(operator, wide, attributes, opset=opset, outputs=outputs).wanted()
    return Node(
        operator,
        inputs,
        attributes,
        constant,
        opset,
        outputs,
        4 * ROUND_MAGIC[dtype],
        [each.astype(dtype) for each in known],
    )


def nodes() -> Iterator[Node]:
    for dtype in (HALF, BFLOAT16):
        for constant in ((), (1, 2)):
            image = [float16s(dtype, 2, 3, 6, 5), float16s(dtype, 4, 3, 3, 2), float16s(dtype, 4)]
            yield in_f32("Conv", image, {"pads": [1, 0, 1, 1]}, dtype, constant, opset=22)
            spread = [float16s(dtype, 2, 3, 4, 5), float16s(dtype, 3, 2, 3, 2), float16s(dtype, 2)]
            yield in_f32("ConvTranspose", spread, {"strides": [2, 1]}, dtype, constant, opset=22)
            gates = [float16s(dtype, 5, 2, 4), float16s(dtype, 1, 12, 4), float16s(dtype, 1, 12, 3)]
            for operator, rows in (("LSTM", 12), ("GRU", 9), ("RNN", 3)):
                some = [gates[0], gates[1][:, :rows], gates[2][:, :rows]]
                yield in_f32(operator, some, {"hidden_size": 3}, dtype, constant, 2, opset=22)
            for shapes in (((5, 7), (7, 6)), ((2, 3, 7), (7, 33)), ((2, 1, 3, 7), (4, 7, 2)), ((7,), (7,))):
                pair = [float16s(dtype, *shape) for shape in shapes]
                yield in_f32("MatMul", pair, {}, dtype, constant[:1], opset=13)
            for flags, a, b in (
                ({"transA": 1, "alpha": 0.5}, (7, 3), (7, 9)),
                ({"beta": 2.0}, (3, 7), (7, 9)),
            ):
                sizes = [float16s(dtype, *a), float16s(dtype, *b), float16s(dtype, 9)]
                yield in_f32("Gemm", sizes, flags, dtype, constant, opset=13)
    for constant in ((), (1, 2, 3, 4)):
        rows = [*(float16s(HALF, 3) for _ in range(3)), np.array([0.5, 1, 2], HALF)]
        yield in_f32("BatchNormalization", [float16s(HALF, 2, 3, 5), *rows], {}, HALF, constant, opset=15)


@pytest.mark.parametrize("batch", batches(nodes()), ids=str)
def test_float16_is_computed_in_f32(batch: Batch) -> None:
    check_batch(batch)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_batch_norms_of_opset_9_are_not_in_training(dtype: type[np.floating]) -> None:
    """The reference evaluator takes them to be."""
    x = RANDOM.normal(size=(2, 3, 4)).astype(dtype)
    scale, bias, mean, variance = (
        np.array(row, dtype) for row in ([1, 2, 3], [0, 1, 0], [1, 1, 2], [1, 4, 9])
    )
    reals = [np.asarray(each, np.float64).reshape(1, 3, 1) for each in (scale, bias, mean, variance)]
    known = (x.astype(np.float64) - reals[2]) * reals[0] / np.sqrt(reals[3] + 1e-5) + reals[1]
    inputs = [x, scale, bias, mean, variance]
    check(Node("BatchNormalization", inputs, opset=9, rtol=4e-3, expected=[known.astype(dtype)]))


def model_of(nodes: str, opset: int = 17) -> onnx.ModelProto:
    """A model of `float16[n, 5] x` and weights of 5 x 5."""
    text = (
        f'<ir_version: 8, opset_import: ["": {opset}]> g (float16[n, 5] x) => (float16[n, m] y) {{ {nodes} }}'
    )
    model = onnx_parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(float16s(HALF, 5, 5), "w"))
    return model


def test_products_of_float16_take_any_number_of_rows() -> None:
    """They run in register tiles, whatever the sizes, and operators share the cast of what they read."""
    model = model_of("a = MatMul(x, w) b = Relu(a) c = MatMul(b, w) d = Gemm(b, w) y = Add(c, d)")
    session = compile_native(model)
    w = numpy_helper.to_array(model.graph.initializer[0]).astype(np.float32)
    for rows in (1, 4, 17):
        x = float16s(HALF, rows, 5)
        expected = 2 * np.maximum(x.astype(np.float32) @ w, 0) @ w
        (found,) = session.run(None, {"x": x})
        assert_rounded(found, expected)
    kernels = [name for line in session.report() for name in line.what.split()]
    assert session.compiled == 1
    assert not session.host_calls()
    assert sum(name.startswith("gemm") for name in kernels) == 3
    assert not any(name.startswith("matmul_sums") for name in kernels)


def assert_rounded(found: object, expected: npt.NDArray[np.floating]) -> None:
    """Numbers of float16 are the expected ones rounded once, up to the order of a sum."""
    wide = np.asarray(found, np.float32)
    np.testing.assert_allclose(wide, expected, rtol=2**-11 + 1e-5, atol=1e-6)


NETWORK = """
<ir_version: 8, opset_import: ["": 21]>
network (TYPE[1, 3, h, 9] x) => (TYPE[1, 32, i, 5] y)
<TYPE[16, 3, 3, 3] v, TYPE[16, 16, 3, 3] w>
{
    a = Conv<pads = [1, 1, 1, 1]>(x, v)
    b = Relu(a)
    c = Conv<pads = [1, 1, 1, 1]>(b, w)
    d = Add(c, b)
    e = HardSigmoid(d)
    f = Mul(d, e)
    g = Concat<axis = 1>(f, b)
    p = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(g)
    k, l = Split<axis = 1, num_outputs = 2>(p)
    m = Softmax<axis = 1>(k)
    y = Concat<axis = 1>(m, l)
}
"""


def test_networks_of_float16_run_the_kernels_of_float32() -> None:
    """Between convolutions nothing is rounded, and the same operators are fused."""
    arrays = {"v": float16s(HALF, 16, 3, 3, 3), "w": float16s(HALF, 16, 16, 3, 3)}
    models: list[onnx.ModelProto] = []
    for name, dtype in (("float16", np.float16), ("float", np.float32)):
        models.append(onnx_parser.parse_model(NETWORK.replace("TYPE", name)))
        rows = [numpy_helper.from_array(each.astype(dtype), key) for key, each in arrays.items()]
        models[-1].graph.initializer.extend(rows)
    half, wide = map(compile_native, models)
    for rows in (6, 9):
        x = float16s(HALF, 1, 3, rows, 9)
        (found,) = half.run(None, {"x": x})
        (expected,) = wide.run(None, {"x": x.astype(np.float32)})
        assert np.asarray(found).dtype == np.float16
        assert_rounded(found, np.asarray(expected, np.float32))
    names = [[name for line in each.report() for name in line.what.split()] for each in (half, wide)]
    kinds = [[name.rsplit("_", 1)[0] for name in each] for each in names]
    assert kinds[0] == ["cast", *kinds[1], "cast"]


def test_float16_is_rounded_where_it_is_read_as_such() -> None:
    """By discontinuous operators, conversions of the model to float16, and outputs; not before others."""
    model = model_of(
        "a = MatMul(x, w) f = Floor(a) s = Cast<to = 1>(a) t = Cast<to = 10>(s) r = Sub(t, f) "
        "h = Mul(a, k) y = Add(r, h)"
    )
    w, k = np.full((5, 5), 2.0**-12, np.float16), np.array(60000, np.float16)
    w[0] = 1
    del model.graph.initializer[:]
    model.graph.initializer.extend([numpy_helper.from_array(w, "w"), numpy_helper.from_array(k, "k")])
    x = np.array([[4, -1, 0, 0, 0], [4, 1, 0, 0, 0], [0.5, 1, 1, 0, 0], [0, 0, 0, 0, 0]], np.float16)
    a = x.astype(np.float32) @ w.astype(np.float32)
    rounded = a.astype(np.float16).astype(np.float32)
    # 4 - 2^-12 is 4 in float16, whose floor is 4; the product is not.
    expected = rounded - np.floor(rounded) + a * np.float32(60000)
    (found,) = compile_native(model).run(None, {"x": x})
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(np.asarray(found), expected.astype(np.float16))


def test_intermediate_results_of_float16_do_not_overflow() -> None:
    """As in onnxruntime: 4 x 60000 / 8 fits, the product alone does not; but Clip bounds by the type."""
    model = model_of("a = MatMul(x, w) b = Mul(a, k) c = Div(b, l) d = Relu(c) e = Mul(d, k) y = Clip(e, z)")
    arrays = {"w": np.eye(5), "k": np.array(60000), "l": np.array(8), "z": np.array(1)}
    del model.graph.initializer[:]
    for key, each in arrays.items():
        model.graph.initializer.append(numpy_helper.from_array(each.astype(np.float16), key))
    x = np.array([[4, -4, 1e-6, 3e-5, 1e-7]], np.float16)
    (found,) = compile_native(model).run(None, {"x": x})
    expected = np.clip(x.astype(np.float32) * 60000 / 8 * 60000, 1, np.float32(65504))
    np.testing.assert_array_equal(np.asarray(found), expected.astype(np.float16))


def test_sums_of_float16_overflow_once() -> None:
    """Sums that leave float16 on the way do not overflow if the result fits; results that do not fit do."""
    model = model_of("y = MatMul(x, w)")
    w = np.array([[60000], [60000], [-60000], [0], [0]], np.float16) * np.ones((1, 5), np.float16)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(w, "w"))
    x = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, np.inf, 1], [0, -1, 1, 0, 0]], np.float16)
    (found,) = compile_native(model).run(None, {"x": x})
    np.testing.assert_array_equal(
        np.asarray(found)[:, 0], np.array([60000, np.inf, np.nan, -np.inf], np.float16)
    )


QUANTIZED = """
<ir_version: 10, opset_import: ["": 21]>
quantized (TYPE[1, 4, h, 8] x) => (TYPE[1, 16, h, 8] y)
{
    q = QuantizeLinear(x, s, z)
    d = DequantizeLinear(q, s, z)
    w = DequantizeLinear<axis = 0>(v, r, zr)
    a = Conv<pads = [1, 1, 1, 1]>(d, w)
    b = Relu(a)
    c = QuantizeLinear(b, t, z)
    y = DequantizeLinear(c, t, z)
}
"""


def test_quantized_networks_of_float16_stay_in_integers() -> None:
    """Scales of float16 are no reason to compute in floats: results are those of scales in float32."""
    integers = {
        "z": np.array(128, np.uint8),
        "v": RANDOM.integers(-128, 128, (16, 4, 3, 3)).astype(np.int8),
        "zr": np.zeros(16, np.int8),
    }
    rows = RANDOM.uniform(0.001, 0.02, 16).astype(np.float16)
    scales = {"s": np.array(0.0625), "r": rows, "t": np.array(0.25)}
    found: list[npt.NDArray[np.float32]] = []
    x = RANDOM.normal(size=(1, 4, 5, 8)).astype(np.float16)
    for name, dtype in (("float16", np.float16), ("float", np.float32)):
        model = onnx_parser.parse_model(QUANTIZED.replace("TYPE", name))
        for key, each in {**integers, **{key: scale.astype(dtype) for key, scale in scales.items()}}.items():
            model.graph.initializer.append(numpy_helper.from_array(each, key))
        session = compile_native(model)
        found.append(np.asarray(session.run(None, {"x": x.astype(dtype)})[0], np.float32))
        assert any("int8" in line.what for line in session.report())
    np.testing.assert_array_equal(found[0], found[1])


def test_weights_of_4_bits_with_scales_of_float16_stay_packed() -> None:
    """A scale for each block of rows, as exporters of language models write it."""
    model = onnx_parser.parse_model("""
        <ir_version: 10, opset_import: ["": 21]>
        g (float16[m, 64] x) => (float16[m, 32] y) <int4[64, 32] w, float16[2, 32] s>
        { d = DequantizeLinear<axis = 0, block_size = 32>(w, s) y = MatMul(x, d) }""")
    weights = RANDOM.integers(-8, 8, (64, 32)).astype(ml_dtypes.int4)
    scales = RANDOM.uniform(0.1, 1, (2, 32)).astype(np.float16)
    model.graph.initializer.extend(
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(scales, "s")]
    )
    session = compile_native(model)
    wide = weights.astype(np.float32) * np.repeat(scales.astype(np.float32), 32, 0)
    for rows in (1, 30):
        x = float16s(HALF, rows, 64)
        assert_rounded(session.run(None, {"x": x})[0], x.astype(np.float32) @ wide)
    assert any("dequantize_gemm" in line.what for line in session.report())
