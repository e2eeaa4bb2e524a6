"""Functions of one int8 tensor as tables of 256 results, and what else is computed or moved in bytes."""

from __future__ import annotations

import numpy as np
import pytest
from int8_models import RANDOM, TARGETS, Array, Step, model_of, quantized, reference, references, run

from xonnc.native import compile_native


@pytest.mark.parametrize("target", TARGETS)
def test_functions_of_bytes_are_tables(target: str):
    """All bytes, at the end of a vector too; a scalar that is computed; a small tensor needs no table."""
    constants = {**Step(0.04, -3, "int8").constants("a"), **Step(0.02, 3).constants("b")}
    nodes = "d = DequantizeLinear(x, a_scale, a_zero) s = Sigmoid(d) " + quantized("t", "s", "b")
    nodes += "m = Mul(t, d) n = Mul(m, k) y = QuantizeLinear(n, b_scale, b_zero)"
    bytes_ = np.arange(2999).astype(np.int8)
    for count, name in (
        (2999, ["cast_fused_table", "cast_fused"]),
        (300, ["cast_fused"]),
    ):
        model = model_of(nodes, f"int8[{count}] x, float[1] k", constants)
        feeds = {"x": bytes_[:count], "k": np.array([1.5], np.float32)}
        given, kernels = run(model, feeds, target)
        assert kernels == name
        np.testing.assert_array_equal(given, reference(model, feeds))


@pytest.mark.parametrize(
    ("count", "function", "outputs", "tables"),
    [
        (2999, "v = Mul(d, t)", "y", 1),
        (2999, "v = Mul(d, t)", "y d_q", 1),  # the bytes are a result too
        (2999, "v = Mul(d, t) u = Neg(d)", "y u", 0),  # others read the floats too
        (2999, "v = Mul(z, t)", "y", 0),  # a function of two tensors
        (300, "v = Mul(d, t)", "y", 0),
    ],
)
def test_functions_of_bytes_that_a_sum_makes_are_tables(count: int, function: str, outputs: str, tables: int):
    constants = {**Step(0.04, 7).constants("a"), **Step(0.02, 3).constants("b")}
    nodes = "e = DequantizeLinear(x, a_scale, a_zero) c = Add(e, z) " + quantized("d", "c", "b")
    nodes += "s = Sigmoid(d) " + quantized("t", "s", "a") + function
    nodes += " y = QuantizeLinear(v, a_scale, a_zero)"
    model = model_of(nodes, f"uint8[{count}] x, float[{count}] z", constants, outputs)
    z = RANDOM.normal(size=count).astype(np.float32)
    z[:5] = [100, -100, -0.0, 0.03, 1e-30]
    feeds = {"x": np.arange(count).astype(np.uint8), "z": z}
    session = compile_native(model, cache=False)
    for one, other in zip(session.run(None, feeds), references(model, feeds), strict=True):
        np.testing.assert_array_equal(one, other)
    assert sum("_table" in line.what for line in session.report()) == tables


def test_bytes_of_unknown_sizes_need_no_table():
    """Whether sizes of 1 grow to those of the constant is known when the model runs."""
    constants = {"c": np.array([[[0, 1], [2, 3]]], np.uint8)}
    model = model_of('y = BitShift<direction="RIGHT">(x, c)', "uint8[2, m, n] x", constants)
    session = compile_native(model, cache=False)
    for x in (np.arange(8, dtype=np.uint8).reshape(2, 2, 2), np.array([[[7]], [[255]]], np.uint8)):
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], x >> constants["c"])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_functions_of_products_with_pairs_inside_are_tables(dtype: str, target: str):
    """
    Expanded GELU, quantized after each operator, and a quantized bias before it, as onnxruntime's tools do.
    """
    zero = 0 if dtype == "int8" else 128
    constants: dict[str, Array] = {
        **Step(0.031, zero + 3, dtype).constants("a"),
        **Step(0.0078, zero, dtype).constants("b"),
        **Step(0.0141, zero - 99, dtype).constants("c"),
        "w": RANDOM.integers(-127, 128, (9, 24)).astype(np.int8),
        "k": np.array(0.01, np.float32),
        "bias": RANDOM.integers(-127, 128, 24).astype(np.int8),
        "root": np.array(2**0.5, np.float32),
        "one": np.array(1, np.float32),
        "half": np.array([0.5], np.float32),
    }
    nodes = quantized("d", "x", "a") + "wd = DequantizeLinear(w, k) wb = DequantizeLinear(bias, k) "
    nodes += "m = MatMul(d, wd) " + quantized("e", "m", "a") + "f = Add(wb, e) " + quantized("g", "f", "a")
    gelu = "h = Div(g, root) i = Erf(h) " + quantized("j", "i", "b") + "l = Add(j, one) "
    gelu += quantized("n", "l", "c") + "o = Mul(g, n) " + quantized("p", "o", "c") + "q = Mul(p, half) "
    gelu += "y = QuantizeLinear(q, c_scale, c_zero)"
    for rows, names in ((90, ["int8_elementwise_table", "int8_elementwise"]), (4, ["int8_elementwise"])):
        x = RANDOM.normal(size=(rows, 9)).astype(np.float32) * 2
        model = model_of(nodes + gelu, f"float[{rows}, 9] x", constants, "y g_q")
        session = compile_native(model, target, cache=False)
        y, g = session.run(None, {"x": x})
        made = [name.rpartition("_")[0] for line in session.report() for name in line.what.split()]
        kept = [name for name in made if name != "int8_to_row_major"]
        assert kept == ["quantizelinear", "int8_gemm", *names]
        alone = "g = DequantizeLinear(g_q, a_scale, a_zero) " + gelu
        function = model_of(alone, f"{dtype}[{rows}, 24] g_q", constants)
        np.testing.assert_array_equal(y, reference(function, {"g_q": np.asarray(g)}))


@pytest.mark.parametrize(
    ("inside", "outputs", "tables"),
    [
        ("t = Neg(s) ", "y", 1),
        ("t = Neg(s) ", "y s_q", 2),
        ("t = DequantizeLinear(s_q, a_scale, a_zero) ", "y", 2),
        ("t = Add(s, z) ", "y", 1),
    ],
)
def test_functions_of_products_end_at_what_others_read(inside: str, outputs: str, tables: int):
    """Bytes that are an output, that are read in another scale, and a sum with other bytes."""
    constants: dict[str, Array] = {
        **Step(0.031, 128).constants("a"),
        **Step(0.0078, 3).constants("b"),
        "w": RANDOM.integers(-127, 128, (9, 24)).astype(np.int8),
        "k": np.array(0.01, np.float32),
    }
    nodes = quantized("d", "x", "a") + "wd = DequantizeLinear(w, k) m = MatMul(d, wd) "
    nodes += quantized("e", "m", "a") + "r = Mul(e, e) " + quantized("s", "r", "b")
    nodes += quantized("z", "v", "a") + inside + "u = Neg(t) y = QuantizeLinear(u, a_scale, a_zero)"
    feeds = {"x": RANDOM.normal(size=(90, 9)).astype(np.float32) * 2}
    feeds["v"] = RANDOM.normal(size=(90, 24)).astype(np.float32)
    model = model_of(nodes, "float[90, 9] x, float[90, 24] v", constants, outputs)
    given, kernels = run(model, feeds)
    assert kernels.count("int8_elementwise_table") == tables
    far = np.abs(given.astype(np.int64) - reference(model, feeds).astype(np.int64))
    assert (far > 1).mean() < 0.02


def test_images_are_repeated_and_joined_as_bytes():
    """Nearest elements move as they are; an image of another scale is quantized before it is joined."""
    constants = {**Step(0.04, 120).constants("a"), **Step(0.03, 9).constants("b")}
    constants |= {
        "roi": np.array([0] * 4 + [1] * 4, np.float32),
        "scales": np.array([1, 1, 2, 2], np.float32),
    }
    nodes = "d = DequantizeLinear(x, a_scale, a_zero) e = DequantizeLinear(z, b_scale, b_zero) "
    nodes += 'r = Resize<mode="{}", coordinate_transformation_mode="{}">(d, roi, scales) '
    nodes += quantized("q", "r", "a") + "c = Concat<axis=1>(q, e) y = QuantizeLinear(c, a_scale, a_zero)"
    x, z = (RANDOM.integers(0, 256, shape).astype(np.uint8) for shape in ((1, 2, 3, 4), (1, 3, 6, 8)))
    for mode, coordinates, is_computed in (
        ("nearest", "asymmetric", False),
        ("linear", "asymmetric", True),
        ("nearest", "tf_crop_and_resize", True),
    ):
        model = model_of(
            nodes.format(mode, coordinates), "uint8[1, 2, 3, 4] x, uint8[1, 3, 6, 8] z", constants
        )
        feeds = {"x": x, "z": z}
        given, found = run(model, feeds)
        far = np.abs(given.astype(np.int64) - reference(model, feeds).astype(np.int64))
        # Interpolated numbers are halfway between two integers here and there.
        assert far.max() <= (mode == "linear")
        assert ("dequantizelinear" in found) == is_computed


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("step", [Step(0.0107, -3, "int8"), Step(3402.8, 5), Step(1e-31, 9)])
def test_quotients_are_those_of_a_division(step: Step, target: str):
    """Also between two integers, beyond both ends, and of NaN, by the reciprocal or not."""
    scale, ends = np.float32(step.scale), np.iinfo(step.dtype)
    between = np.arange(ends.min - step.zero - 2, ends.max - step.zero + 3, 0.5).astype(np.float32) * scale
    near = [np.nextafter(between, np.float32(end)) for end in (-np.inf, np.inf)]
    special = np.array([np.inf, -np.inf, np.nan, -0.0, 1e-45], np.float32)
    x = np.concatenate([between, *near, special]).astype(np.float32)
    nodes = "h = Mul(x, one) q = QuantizeLinear(h, a_scale, a_zero) d = DequantizeLinear(q, a_scale, a_zero) "
    model = model_of(nodes + "y = Mul(d, one)", f"float[{x.size}] x, float[1] one", step.constants("a"))
    given, _ = run(model, {"x": x, "one": np.ones(1, np.float32)}, target)
    wanted = step.reals(step.rounded(np.nan_to_num(x / scale, nan=-np.inf, posinf=np.inf, neginf=-np.inf)))
    np.testing.assert_array_equal(given, wanted)
    assert not np.signbit(given[given == 0]).any()
    bytes_, _ = run(
        model_of(
            "h = Mul(x, one) y = QuantizeLinear(h, a_scale, a_zero)",
            f"float[{x.size}] x, float[1] one",
            step.constants("a"),
        ),
        {"x": x, "one": np.ones(1, np.float32)},
        target,
    )
    np.testing.assert_array_equal(step.reals(bytes_.astype(np.int64)), wanted)


def test_batch_normalizations_of_quantized_parameters_are_computed_in_bytes():
    """As onnxruntime's static quantization leaves them where a model was not simplified before."""
    model = model_of(
        "q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) w = DequantizeLinear(v, s, i) "
        "a = Conv<pads = [1, 1, 1, 1]>(d, w) b = QuantizeLinear(a, t, z) c = DequantizeLinear(b, t, z) "
        "g = DequantizeLinear(k, s, i) h = DequantizeLinear(l, s, i) "
        "n = BatchNormalization(c, g, h, m, p) o = QuantizeLinear(n, t, z) e = DequantizeLinear(o, t, z) "
        "r = Relu(e) y = QuantizeLinear(r, t, z)",
        "float[1, 4, 6, 5] x",
        {
            "s": np.array(0.03125, np.float32),
            "t": np.array(0.0625, np.float32),
            "z": np.array(128, np.uint8),
            "i": np.array(0, np.int8),
            "v": RANDOM.integers(-60, 60, (16, 4, 3, 3)).astype(np.int8),
            "k": RANDOM.integers(20, 60, 16).astype(np.int8),
            "l": RANDOM.integers(-60, 60, 16).astype(np.int8),
            "m": RANDOM.normal(size=16).astype(np.float32),
            "p": RANDOM.uniform(1, 2, 16).astype(np.float32),
        },
    )
    feeds = {"x": RANDOM.normal(size=(1, 4, 6, 5)).astype(np.float32)}
    found, kernels = run(model, feeds)
    assert abs(found.astype(int) - reference(model, feeds).astype(int)).max() <= 1
    assert not any(name.startswith(("batchnormalization", "dequantizelinear")) for name in kernels)
