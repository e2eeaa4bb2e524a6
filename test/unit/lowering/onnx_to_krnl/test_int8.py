"""int8 networks: equal to exact integers, and within one unit of the scale of the ONNX reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from int8_models import (
    RANDOM,
    TARGETS,
    Array,
    Integers,
    Step,
    model_of,
    quantized,
    reference,
    references,
    run,
)

from xonnc.native import compile_native


def exact_conv(
    x: Integers, w: Integers, pads: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Integers:
    """The sums of a convolution of integers."""
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    rows, columns = (
        (padded.shape[2 + axis] - (w.shape[2 + axis] - 1) * dilations[axis] - 1) // strides[axis] + 1
        for axis in range(2)
    )
    total = np.zeros((x.shape[0], w.shape[0], rows, columns), np.int64)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            part = padded[:, :, i * dilations[0] :, j * dilations[1] :]
            part = part[:, :, : rows * strides[0] : strides[0], : columns * strides[1] : strides[1]]
            total += np.einsum("nchw,oc->nohw", part, w[:, :, i, j])
    return total


SHAPES: dict[str, tuple[int, int, int, str]] = {
    "one pixel": (16, 32, 1, ""),
    "few channels": (3, 17, 3, "pads=[1,1,1,1], strides=[2,2]"),
    "odd channels": (21, 40, 3, "pads=[0,1,2,1], dilations=[2,1]"),
    "gaps": (8, 16, 3, "pads=[1,2,1,2], dilations=[1,2]"),
    "strides": (37, 16, 1, "strides=[2,3]"),
    "narrow": (5, 1, 2, ""),
}


def attribute(text: str, name: str, default: Sequence[int]) -> Sequence[int]:
    _, found, rest = text.partition(f"{name}=[")
    return [int(number) for number in rest.partition("]")[0].split(",")] if found else default


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "uint8")])
@pytest.mark.parametrize("case", SHAPES)
def test_convolutions_are_those_of_exact_integers(case: str, dtypes: tuple[str, str], target: str):
    channels, filters, size, attributes = SHAPES[case]
    is_signed = dtypes[0] == "int8"
    steps = Step(0.04, -20 if is_signed else 110, dtypes[0]), Step(0.11, 131 if is_signed else 3, dtypes[1])
    w = RANDOM.integers(-128, 128, (filters, channels, size, size)).astype(np.int8)
    scales = RANDOM.uniform(0.001, 0.004, filters).astype(np.float32)
    b = RANDOM.integers(-4000, 4000, filters).astype(np.int32)
    constants: dict[str, Array] = {**steps[0].constants("a"), **steps[1].constants("c"), "w": w, "b": b}
    constants |= {"scales": scales, "b_scales": scales * np.float32(0.04)}
    constants |= {"zeros": np.zeros(filters, np.int8), "b_zeros": np.zeros(filters, np.int32)}
    said = f"<{attributes}>" if attributes else ""
    nodes = quantized("d", "x", "a") + (
        "wd = DequantizeLinear<axis=0>(w, scales, zeros) bd = DequantizeLinear<axis=0>(b, b_scales, b_zeros) "
        f"s = Conv{said}(d, wd, bd) y = QuantizeLinear(s, c_scale, c_zero)"
    )
    x = RANDOM.normal(size=(2, channels, 9, 11)).astype(np.float32) * 2
    model = model_of(nodes, f"float[{', '.join(map(str, x.shape))}] x", constants)
    given, kernels = run(model, {"x": x}, target)
    assert "int8_conv" in kernels or "int8_gemm" in kernels
    bytes_ = steps[0].rounded(x / np.float32(0.04))
    pads, strides, dilations = (
        attribute(attributes, name, default)
        for name, default in (("pads", [0] * 4), ("strides", [1, 1]), ("dilations", [1, 1]))
    )
    sums = exact_conv(bytes_ - steps[0].zero, w.astype(np.int64), pads, strides, dilations)
    axes = (-1, 1, 1)
    reals = sums.astype(np.float32) * (np.float32(0.04) * scales).reshape(axes)
    reals = reals + (b.astype(np.float32) * constants["b_scales"].astype(np.float32)).reshape(axes)
    np.testing.assert_array_equal(given, steps[1].bytes_of(reals.astype(np.float32)).astype(dtypes[1]))
    expected = reference(model, {"x": x}).astype(np.int64)
    assert np.abs(given.astype(np.int64) - expected).max() <= 1


@pytest.mark.parametrize("target", TARGETS)
def test_what_follows_a_convolution_belongs_to_it(target: str):
    """Two convolutions whose rounded sums are added and bounded, then a pool: nothing leaves the bytes."""
    constants: dict[str, Array] = {
        **Step(0.05, 128).constants("a"),
        **Step(0.5, 120).constants("s"),
        **Step(0.25, 3).constants("c"),
        "w": RANDOM.integers(-127, 128, (32, 16, 3, 3)).astype(np.int8),
        "v": RANDOM.integers(-127, 128, (32, 32, 1, 1)).astype(np.int8),
        "u": RANDOM.integers(-127, 128, (32, 16, 1, 1)).astype(np.int8),
        "k": np.array(0.01037, np.float32),
    }
    nodes = quantized("d", "x", "a") + "".join(f"{n}d = DequantizeLinear({n}, k) " for n in "wvu")
    nodes += "e = Conv<pads=[1,1,1,1]>(d, wd) f = Relu(e) " + quantized("g", "f", "c")
    nodes += "h = Conv(g, vd) " + quantized("i", "h", "s") + "j = Conv(d, ud) " + quantized("l", "j", "s")
    nodes += "m = Add(l, i) n = Relu(m) " + quantized("o", "n", "c")
    nodes += "p = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>(o) "
    nodes += "y = QuantizeLinear(p, c_scale, c_zero)"
    x = RANDOM.normal(size=(1, 16, 7, 9)).astype(np.float32)
    model = model_of(nodes, "float[1, 16, 7, 9] x", constants)
    given, kernels = run(model, {"x": x}, target)
    kept = [name for name, _ in groupby(name for name in kernels if name != "halo")]
    assert kept == ["quantizelinear", "int8_conv", "int8_gemm", "maxpool", "int8_to_row_major"]
    expected = reference(model, {"x": x}).astype(np.int64)
    far = np.abs(given.astype(np.int64) - expected)
    # Where a sum is rounded first, it is worth two steps of the result.
    assert far.max() <= 2
    assert (far > 0).mean() < 0.01


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 64, 50), (7, 20, 16), (33, 17, 100)])
def test_products_of_matrices(rows: int, depth: int, columns: int, target: str):
    w = RANDOM.integers(-127, 128, (depth, columns)).astype(np.int8)
    scales = RANDOM.uniform(0.001, 0.004, columns).astype(np.float32)
    bias = RANDOM.normal(size=columns).astype(np.float32)
    steps = Step(0.03, 100), Step(0.02, -5, "int8")
    constants: dict[str, Array] = {**steps[0].constants("a"), **steps[1].constants("c"), "w": w}
    constants |= {"wt": np.ascontiguousarray(w.T), "scales": scales, "bias": bias}
    x = RANDOM.normal(size=(rows, depth)).astype(np.float32)
    for nodes, size in (
        ("wd = DequantizeLinear<axis=1>(w, scales) s = MatMul(d, wd) ", 0.0),
        ("wd = DequantizeLinear<axis=0>(wt, scales) s = Gemm<transB=1>(d, wd, bias) ", 1.0),
    ):
        whole = quantized("d", "x", "a") + nodes + "y = QuantizeLinear(s, c_scale, c_zero)"
        model = model_of(whole, f"float[{rows}, {depth}] x", constants)
        given, kernels = run(model, {"x": x}, target)
        assert "int8_gemm" in kernels
        centred = steps[0].rounded(x / np.float32(0.03)) - 100
        reals = (centred @ w.astype(np.int64)).astype(np.float32) * (np.float32(0.03) * scales)
        reals = reals + np.float32(size) * bias if size else reals
        np.testing.assert_array_equal(given, steps[1].bytes_of(reals.astype(np.float32)).astype(np.int8))
        expected = reference(model, {"x": x}).astype(np.int64)
        assert np.abs(given.astype(np.int64) - expected).max() <= 1


@pytest.mark.parametrize("target", TARGETS)
def test_the_ends_of_all_ranges(target: str):
    """Sums of the largest products wrap nowhere on the way."""
    x, w = np.full((4, 64), 255, np.uint8), np.full((64, 16), -128, np.int8)
    w[:, 8:] = 127
    constants: dict[str, Array] = {"w": w, "z": np.array(0, np.uint8)}
    model = model_of("y = MatMulInteger(x, w, z)", "uint8[4, 64] x", constants)
    given, kernels = run(model, {"x": x}, target)
    assert "int8_gemm" in kernels
    np.testing.assert_array_equal(given, x.astype(np.int32) @ w.astype(np.int32))


@pytest.mark.parametrize("target", TARGETS)
def test_sums_that_are_results(target: str):
    x = RANDOM.integers(0, 256, (2, 5, 6, 7)).astype(np.uint8)
    w = RANDOM.integers(0, 256, (9, 5, 3, 3)).astype(np.uint8)
    w = np.clip(w, 40, 250)
    constants: dict[str, Array] = {"w": w, "z": np.array(77, np.uint8), "v": np.array(130, np.uint8)}
    model = model_of("y = ConvInteger<pads=[1,1,1,1]>(x, w, z, v)", "uint8[2, 5, 6, 7] x", constants)
    given, kernels = run(model, {"x": x}, target)
    assert "int8_conv" in kernels
    sums = exact_conv(x.astype(np.int64) - 77, w.astype(np.int64) - 130, [1] * 4, [1, 1], [1, 1])
    np.testing.assert_array_equal(given, sums)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_zero_points_that_the_run_alone_knows(dtype: str, target: str):
    ends = np.iinfo(dtype)
    x = RANDOM.integers(ends.min, ends.max + 1, (7, 40)).astype(dtype)
    w = RANDOM.integers(-128, 128, (40, 19)).astype(np.int8)
    model = model_of("y = MatMulInteger(x, w, z)", f"{dtype}[7, 40] x, {dtype} z", {"w": w})
    for zero in (ends.min, 3, ends.max):
        feeds: dict[str, Array] = {"x": x, "z": np.array(zero, dtype)}
        given, kernels = run(model, feeds, target)
        assert "int8_gemm" in kernels
        np.testing.assert_array_equal(given, (x.astype(np.int64) - int(zero)) @ w.astype(np.int64))


def test_scales_that_the_run_alone_knows():
    constants: dict[str, Array] = {"w": RANDOM.integers(-128, 128, (40, 19)).astype(np.int8)}
    nodes = "q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z) f = Cast<to=1>(i) y = Mul(f, s)"
    x = RANDOM.normal(size=(6, 40)).astype(np.float32)
    model = model_of(nodes, "float[6, 40] x", constants)
    given, kernels = run(model, {"x": x})
    assert "int8_gemm" in kernels
    expected = reference(model, {"x": x}).astype(np.float32)
    np.testing.assert_allclose(given.astype(np.float32), expected, rtol=1e-5, atol=1e-4)


def test_weights_far_from_their_zero_point_have_an_offset():
    x, w = RANDOM.integers(0, 256, (3, 8)).astype(np.uint8), RANDOM.integers(0, 256, (8, 4)).astype(np.uint8)
    w[0, 0] = 255
    constants: dict[str, Array] = {"w": w, "z": np.array(0, np.uint8)}
    given, kernels = run(model_of("y = MatMulInteger(x, w, z)", "uint8[3, 8] x", constants), {"x": x})
    assert {"int8_gemm", "weight_offsets"} <= set(kernels)
    np.testing.assert_array_equal(given, x.astype(np.int64) @ w.astype(np.int64))


WIDE = Step(0.003, 151)
"""Weights of 8 bits with a zero point that takes them beyond 8 bits."""


def wide_weights(*shape: int) -> npt.NDArray[np.uint8]:
    """Weights over the whole range of bytes."""
    w = RANDOM.integers(0, 256, shape).astype(np.uint8)
    w.reshape(shape[0], -1)[:, :2] = 0, 255
    return w


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("case", "dtype"), list(zip(SHAPES, ["uint8", "int8"] * 3, strict=True)))
def test_rescaled_convolutions_of_wide_weights(case: str, dtype: str, target: str):
    channels, filters, size, attributes = SHAPES[case]
    steps = Step(0.07, 99 if dtype == "uint8" else -20, dtype), Step(0.9, 5, "int8")
    w, b = wide_weights(filters, channels, size, size), RANDOM.integers(-9000, 9000, filters).astype(np.int32)
    constants: dict[str, Array] = {**steps[0].constants("a"), **WIDE.constants("w"), "w": w, "b": b}
    constants |= steps[1].constants("c")
    limits = np.iinfo(dtype)
    x = RANDOM.integers(limits.min, limits.max + 1, (2, channels, 9, 11)).astype(dtype)
    said = f"<{attributes}>" if attributes else ""
    nodes = f"y = QLinearConv{said}(x, a_scale, a_zero, w, w_scale, w_zero, c_scale, c_zero, b)"
    model = model_of(nodes, f"{dtype}[{', '.join(map(str, x.shape))}] x", constants)
    given, kernels = run(model, {"x": x}, target)
    assert {"int8_conv", "int8_gemm"} & set(kernels)
    assert "weight_offsets" in kernels
    pads, strides, dilations = (
        attribute(attributes, name, default)
        for name, default in (("pads", [0] * 4), ("strides", [1, 1]), ("dilations", [1, 1]))
    )
    centred = x.astype(np.int64) - steps[0].zero, w.astype(np.int64) - WIDE.zero
    sums = exact_conv(*centred, pads, strides, dilations) + b.astype(np.int64).reshape(-1, 1, 1)
    factor = np.float32(0.07) * np.float32(WIDE.scale) / np.float32(0.9)
    np.testing.assert_array_equal(given, steps[1].rounded(sums.astype(np.float32) * factor).astype(np.int8))


@pytest.mark.parametrize("target", TARGETS)
def test_rescaled_products_of_wide_weights(target: str):
    w, x = wide_weights(30, 20), RANDOM.integers(0, 256, (2, 5, 30)).astype(np.uint8)
    constants: dict[str, Array] = {**Step(0.07, 99).constants("a"), **WIDE.constants("w"), "w": w}
    constants |= Step(0.9, 5).constants("c")
    nodes = "y = QLinearMatMul(x, a_scale, a_zero, w, w_scale, w_zero, c_scale, c_zero)"
    given, kernels = run(model_of(nodes, "uint8[2, 5, 30] x", constants), {"x": x}, target)
    assert {"int8_gemm", "weight_offsets"} <= set(kernels)
    sums = (x.astype(np.int64) - 99) @ (w.astype(np.int64) - WIDE.zero)
    factor = np.float32(0.07) * np.float32(WIDE.scale) / np.float32(0.9)
    expected = Step(0.9, 5).rounded(sums.astype(np.float32) * factor)
    np.testing.assert_array_equal(given, expected.astype(np.uint8))


@pytest.mark.parametrize("target", TARGETS)
def test_what_follows_wide_weights_belongs_to_them(target: str):
    """A product whose sums are corrected, a factor for each channel, an image that is added, and a bound."""
    constants: dict[str, Array] = {
        **Step(0.05, 128).constants("a"),
        **Step(0.25, 3).constants("c"),
        **WIDE.constants("w"),
        "w": wide_weights(16, 16, 3, 3),
        "b": RANDOM.normal(size=16).astype(np.float32),
        "many": RANDOM.normal(size=(16, 1, 1)).astype(np.float32),
    }
    nodes = quantized("d", "x", "a") + "e = DequantizeLinear(w, w_scale, w_zero) "
    nodes += "f = Conv<pads=[1,1,1,1]>(d, e, b) g = Mul(f, many) h = Add(g, d) i = Relu(h) "
    nodes += "y = QuantizeLinear(i, c_scale, c_zero)"
    x = RANDOM.normal(size=(1, 16, 7, 9)).astype(np.float32)
    model = model_of(nodes, "float[1, 16, 7, 9] x", constants)
    given, kernels = run(model, {"x": x}, target)
    kept = [name for name in kernels if not name.startswith(("halo", "int8_to", "quantize"))]
    assert sorted(kept) == ["channel_sums", "int8_conv", "weight_offsets", "window_sums"]
    far = np.abs(given.astype(np.int64) - reference(model, {"x": x}).astype(np.int64))
    assert far.max() <= 1
    assert (far > 0).mean() < 0.01


@pytest.mark.parametrize("target", TARGETS)
def test_wide_weights_of_channels_by_themselves(target: str):
    constants: dict[str, Array] = {
        **Step(0.05, 120).constants("a"),
        **Step(0.25, 3).constants("c"),
        **WIDE.constants("w"),
        "w": wide_weights(5, 1, 3, 3),
    }
    nodes = quantized("d", "x", "a") + "e = DequantizeLinear(w, w_scale, w_zero) "
    nodes += "f = Conv<group=5, pads=[1,1,1,1]>(d, e) y = QuantizeLinear(f, c_scale, c_zero)"
    x = RANDOM.normal(size=(2, 5, 9, 11)).astype(np.float32)
    model = model_of(nodes, "float[2, 5, 9, 11] x", constants)
    given, kernels = run(model, {"x": x}, target)
    assert "int8_depthwise" in kernels
    assert np.abs(given.astype(np.int64) - reference(model, {"x": x}).astype(np.int64)).max() <= 1


def test_sums_that_could_leave_32_bits_are_left_to_other_kernels():
    depth = 2**17
    w = np.full((depth, 16), 127, np.int8)
    x = np.full((1, depth), 1, np.uint8)
    given, kernels = run(model_of("y = MatMulInteger(x, w)", f"uint8[1, {depth}] x", {"w": w}), {"x": x})
    assert "int8_gemm" not in kernels
    np.testing.assert_array_equal(given, np.full((1, 16), 127 * depth))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("other", ["z = Sin(d)", "z = ReduceMean(d)", "z = Conv<pads=[1,1,1,1]>(d, f)"])
def test_bytes_that_are_fed_and_read_in_float_too_have_a_halo(other: str, target: str):
    """Only integers have the zero points around the image that windows over its edges read."""
    constants: dict[str, Array] = {
        **Step(0.05, 90).constants("a"),
        "w": RANDOM.integers(-127, 128, (16, 16, 3, 3)).astype(np.int8),
        "k": np.array(0.001, np.float32),
        "f": RANDOM.normal(size=(8, 16, 3, 3)).astype(np.float32),
    }
    constants = {name: array for name, array in constants.items() if name != "f" or "f)" in other}
    nodes = "d = DequantizeLinear(x, a_scale, a_zero) wd = DequantizeLinear(w, k) "
    nodes += "e = Conv<pads=[1,1,1,1]>(d, wd) "
    nodes += f"y = QuantizeLinear(e, a_scale, a_zero) {other}"
    model = model_of(nodes, "uint8[1, 16, 5, 7] x", constants, "y z")
    x = RANDOM.integers(0, 256, (1, 16, 5, 7)).astype(np.uint8)
    found, kernels = run(model, {"x": x}, target)
    assert "int8_conv" in kernels
    assert np.abs(found.astype(int) - reference(model, {"x": x})).max() <= 1


def test_bytes_that_others_read_too_lie_in_rows_as_well():
    constants: dict[str, Array] = {
        **Step(0.05, -3, "int8").constants("a"),
        "w": RANDOM.integers(-127, 128, (16, 3, 3, 3)).astype(np.int8),
        "k": np.array(0.01037, np.float32),
    }
    nodes = quantized("d", "x", "a") + "wd = DequantizeLinear(w, k) e = Conv<pads=[1,1,1,1]>(d, wd) "
    nodes += quantized("f", "e", "a") + "y = Sin(f) z = Sin(d)"
    model = model_of(nodes, "float[1, 3, 8, 8] x", constants, "y z")
    x = RANDOM.normal(size=(1, 3, 8, 8)).astype(np.float32)
    session = compile_native(model)
    for one, other in zip(session.run(None, {"x": x}), references(model, {"x": x}), strict=True):
        # One step at most, where a sum lies in the middle of two.
        far = np.abs(np.asarray(one, np.float32) - np.asarray(other, np.float32))
        assert far.max() < 0.051
        assert (far > 1e-5).mean() < 0.01


@pytest.mark.parametrize(
    "move", ["Transpose<perm=[0,2,3,1]>(d)", "Concat<axis=2>(d, d)", "Reshape(d, shape)"]
)
def test_what_moves_bytes_leaves_them_as_they_are(move: str):
    constants: dict[str, Array] = {**Step(0.05, 7).constants("a"), "shape": np.array([6, 20], np.int64)}
    nodes = "d = DequantizeLinear(x, a_scale, a_zero) " + f"m = {move} y = QuantizeLinear(m, a_scale, a_zero)"
    model = model_of(nodes, "uint8[1, 6, 4, 5] x", constants)
    x = RANDOM.integers(0, 256, (1, 6, 4, 5)).astype(np.uint8)
    given, kernels = run(model, {"x": x})
    assert not {"dequantizelinear", "quantizelinear", "mul_fused"} & set(kernels)
    np.testing.assert_array_equal(given, reference(model, {"x": x}))


def test_bytes_are_split_where_a_part_is_quantized_again():
    """Parts in the same scale stay as they are; another scale and floats are those of dequantized parts."""
    constants = {**Step(0.05, 7).constants("a"), **Step(0.06, 7).constants("b")}
    nodes = "d = DequantizeLinear(x, a_scale, a_zero) m, n, o = Split<axis=1, num_outputs=3>(d) u = Neg(o) "
    nodes += "y = QuantizeLinear(m, {0}_scale, {0}_zero) z = QuantizeLinear(n, b_scale, b_zero)"
    x = RANDOM.integers(0, 256, (2, 8, 5)).astype(np.uint8)
    for step, kernels in (("a", 5), ("b", 7)):
        model = model_of(nodes.format(step), "uint8[2, 8, 5] x", constants, "y z u")
        session = compile_native(model, cache=False)
        for one, other in zip(session.run(None, {"x": x}), references(model, {"x": x}), strict=True):
            np.testing.assert_array_equal(one, other)
        made = [name for line in session.report() for name in line.what.split()]
        assert len(made) == kernels, made


def test_a_move_between_two_scales_is_rounded():
    constants: dict[str, Array] = {**Step(0.05, 7).constants("a"), **Step(0.06, 7).constants("b")}
    nodes = "d = DequantizeLinear(x, a_scale, a_zero) m = Transpose(d) y = QuantizeLinear(m, b_scale, b_zero)"
    x = np.arange(250, dtype=np.uint8).reshape(5, 50)
    model = model_of(nodes, "uint8[5, 50] x", constants)
    np.testing.assert_array_equal(run(model, {"x": x})[0], reference(model, {"x": x}))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("channels", "attributes"), [(5, "pads=[1,1,1,1]"), (48, "strides=[2,2], pads=[0,1,1,0]")]
)
def test_channels_by_themselves(channels: int, attributes: str, target: str):
    steps = Step(0.04, 110), Step(0.02, 3, "int8")
    w = RANDOM.integers(-127, 128, (channels, 1, 3, 3)).astype(np.int8)
    scales = RANDOM.uniform(0.001, 0.004, channels).astype(np.float32)
    bias = RANDOM.normal(size=channels).astype(np.float32)
    constants: dict[str, Array] = {**steps[0].constants("a"), **steps[1].constants("c"), "w": w}
    constants |= {"scales": scales, "bias": bias, "zeros": np.zeros(channels, np.int8)}
    nodes = quantized("d", "x", "a") + "wd = DequantizeLinear<axis=0>(w, scales, zeros) "
    nodes += f"s = Conv<group={channels}, {attributes}>(d, wd, bias) y = QuantizeLinear(s, c_scale, c_zero)"
    x = RANDOM.normal(size=(2, channels, 9, 11)).astype(np.float32)
    model = model_of(nodes, f"float[2, {channels}, 9, 11] x", constants)
    given, kernels = run(model, {"x": x}, target)
    assert "int8_depthwise" in kernels
    centred = steps[0].rounded(x / np.float32(0.04)) - 110
    pads, strides = attribute(attributes, "pads", [0] * 4), attribute(attributes, "strides", [1, 1])
    sums = np.concatenate(
        [
            exact_conv(centred[:, [each]], w[[each]].astype(np.int64), pads, strides, [1, 1])
            for each in range(channels)
        ],
        axis=1,
    )
    reals = sums.astype(np.float32) * (np.float32(0.04) * scales).reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)
    np.testing.assert_array_equal(given, steps[1].bytes_of(reals.astype(np.float32)).astype(np.int8))
    expected = reference(model, {"x": x}).astype(np.int64)
    assert np.abs(given.astype(np.int64) - expected).max() <= 1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_functions_between_products_stay_in_bytes(dtype: str):
    """A product read twice, numbers for each channel, and a product of two images."""
    zero = 0 if dtype == "int8" else 128
    constants: dict[str, Array] = {
        **Step(0.031, zero, dtype).constants("a"),
        **Step(0.017, zero, dtype).constants("b"),
        "w": RANDOM.integers(-127, 128, (24, 6, 1, 1)).astype(np.int8),
        "v": RANDOM.integers(-127, 128, (16, 24, 3, 3)).astype(np.int8),
        "k": np.array(0.00437, np.float32),
        "many": RANDOM.normal(size=(24, 1, 1)).astype(np.float32),
        "more": RANDOM.normal(size=(1, 24, 1, 1)).astype(np.float32),
    }
    nodes = quantized("d", "x", "a") + "wd = DequantizeLinear(w, k) vd = DequantizeLinear(v, k) "
    nodes += "c = Conv(d, wd) e = Mul(c, many) f = Add(e, more) " + quantized("g", "f", "a")
    nodes += "h = Sigmoid(g) " + quantized("i", "h", "b") + "j = Mul(g, i) l = Mul(j, many) "
    nodes += (
        quantized("m", "l", "a") + "n = Conv<pads=[1,1,1,1]>(m, vd) y = QuantizeLinear(n, b_scale, b_zero)"
    )
    x = RANDOM.normal(size=(2, 6, 6, 7)).astype(np.float32)
    model = model_of(nodes, "float[2, 6, 6, 7] x", constants)
    given, kernels = run(model, {"x": x})
    kept = [name for name, _ in groupby(name for name in kernels if name != "halo")]
    functions = ["int8_elementwise_table", "int8_elementwise"]
    assert kept == ["quantizelinear", "int8_gemm", *functions, "int8_conv", "int8_to_row_major"]
    far = np.abs(given.astype(np.int64) - reference(model, {"x": x}).astype(np.int64))
    assert (far > 1).mean() < 0.02


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_int8_of_channel_blocked_float_images(dtype: str):
    constants: dict[str, Array] = {
        **Step(0.1, 0 if dtype == "int8" else 120, dtype).constants("a"),
        "u": RANDOM.normal(size=(20, 16, 3, 3)).astype(np.float32),
        "w": RANDOM.integers(-127, 128, (16, 20, 3, 3)).astype(np.int8),
        "k": np.array(0.00437, np.float32),
    }
    nodes = "c = Conv<pads=[1,1,1,1]>(x, u) " + quantized("d", "c", "a")
    nodes += (
        "wd = DequantizeLinear(w, k) e = Conv<pads=[1,1,1,1]>(d, wd) y = QuantizeLinear(e, a_scale, a_zero)"
    )
    x = RANDOM.normal(size=(1, 16, 6, 7)).astype(np.float32)
    model = model_of(nodes, "float[1, 16, 6, 7] x", constants)
    given, kernels = run(model, {"x": x})
    assert {"conv", "quantizelinear", "int8_conv"} <= set(kernels)
    assert "unblock" not in kernels
    far = np.abs(given.astype(np.int64) - reference(model, {"x": x}).astype(np.int64))
    assert (far > 1).mean() < 0.02


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("per_filter", [False, True])
def test_rescaled_convolutions_and_products(per_filter: bool, target: str):
    x = RANDOM.integers(0, 256, (1, 10, 6, 7)).astype(np.uint8)
    w = RANDOM.integers(-127, 128, (18, 10, 3, 3)).astype(np.int8)
    scales = RANDOM.uniform(0.001, 0.002, 18 if per_filter else ()).astype(np.float32)
    constants: dict[str, Array] = {
        **Step(0.07, 99).constants("a"),
        **Step(0.9, 5, "int8").constants("c"),
        "w": w,
    }
    constants |= {"s": scales, "z": np.zeros(scales.shape, np.int8)}
    constants |= {"b": RANDOM.integers(-9000, 9000, 18).astype(np.int32)}
    nodes = "y = QLinearConv<pads=[1,1,1,1]>(x, a_scale, a_zero, w, s, z, c_scale, c_zero, b)"
    given, kernels = run(model_of(nodes, "uint8[1, 10, 6, 7] x", constants), {"x": x}, target)
    assert "int8_conv" in kernels
    sums = exact_conv(x.astype(np.int64) - 99, w.astype(np.int64), [1] * 4, [1, 1], [1, 1])
    sums = sums + constants["b"].astype(np.int64).reshape(-1, 1, 1)
    factors = (np.float32(0.07) * scales / np.float32(0.9)).astype(np.float32)
    expected = np.clip(np.rint(sums.astype(np.float32) * factors.reshape(-1, 1, 1)), -133, 122) + 5
    np.testing.assert_array_equal(given, expected.astype(np.int8))
    matrix = constants | {"w": w.reshape(18, 90).T.copy()}
    rows = RANDOM.integers(0, 256, (5, 90)).astype(np.uint8)
    nodes = "y = QLinearMatMul(x, a_scale, a_zero, w, s, z, c_scale, c_zero)"
    given, kernels = run(model_of(nodes, "uint8[5, 90] x", matrix), {"x": rows}, target)
    assert "int8_gemm" in kernels
    sums = (rows.astype(np.int64) - 99) @ matrix["w"].astype(np.int64)
    expected = np.clip(np.rint(sums.astype(np.float32) * factors), -133, 122) + 5
    np.testing.assert_array_equal(given, expected.astype(np.int8))


GROUPS: dict[str, tuple[int, int, int]] = {
    "whole vectors": (2, 96, 1),
    "panels narrower than a group": (3, 240, 3),
    "merged to vectors": (24, 96, 3),
    "several filters for each channel": (48, 96, 3),
    "merged to one": (3, 30, 3),
}
"""Groups, filters, and the window."""


@pytest.mark.parametrize("target", TARGETS)
def test_convolutions_in_groups(target: str):
    x = RANDOM.integers(0, 256, (2, 48, 5, 7)).astype(np.uint8)
    constants: dict[str, Array] = {
        **Step(0.07, 99).constants("a"),
        **Step(0.9, 5, "int8").constants("c"),
        "s": np.array(0.0015, np.float32),
        "z": np.array(0, np.int8),
    }
    nodes, expected = "", list[Array]()
    factor = np.float32(0.07) * np.float32(0.0015) / np.float32(0.9)
    for number, (groups, filters, size) in enumerate(GROUPS.values()):
        w = RANDOM.integers(-127, 128, (filters, 48 // groups, size, size)).astype(np.int8)
        constants[f"w{number}"] = w
        nodes += f"y{number} = QLinearConv<group={groups}, pads=[1,1,1,1], dilations=[1,{size}]>"
        nodes += f"(x, a_scale, a_zero, w{number}, s, z, c_scale, c_zero) "
        parts = zip(np.split(x.astype(np.int64) - 99, groups, 1), np.split(w, groups), strict=True)
        sums = [exact_conv(part, own.astype(np.int64), [1] * 4, [1, 1], [1, size]) for part, own in parts]
        scaled = np.concatenate(sums, 1).astype(np.float32) * factor
        expected.append((np.clip(np.rint(scaled), -133, 122) + 5).astype(np.int8).ravel())
    flat = "".join(f"r{number} = Reshape(y{number}, flat) " for number in range(len(GROUPS)))
    joined = ", ".join(f"r{number}" for number in range(len(GROUPS)))
    model = model_of(
        f"{nodes} {flat} y = Concat<axis=0>({joined})",
        "uint8[2, 48, 5, 7] x",
        constants | {"flat": np.array([-1])},
    )
    given, kernels = run(model, {"x": x}, target)
    assert sum(name in ("int8_conv", "int8_gemm") for name in kernels) == len(GROUPS)
    np.testing.assert_array_equal(given, np.concatenate(expected))


def test_too_many_groups_are_left_to_other_kernels():
    w, x = RANDOM.integers(-9, 9, (34, 1, 1, 1)).astype(np.int8), np.ones((1, 17, 2, 2), np.uint8)
    given, kernels = run(
        model_of("y = ConvInteger<group=17>(x, w)", "uint8[1, 17, 2, 2] x", {"w": w}), {"x": x}
    )
    assert "int8_gemm" not in kernels
    np.testing.assert_array_equal(
        given, np.broadcast_to(w.astype(np.int32).reshape(1, 34, 1, 1), (1, 34, 2, 2))
    )


def opened(nodes: str, shape: str, constants: Mapping[str, Array]) -> onnx.ModelProto:
    """A model whose input has dynamic dimensions, and whose results have what follows from them."""
    model = model_of(nodes, f"float[{shape}] x", constants)
    for port in model.graph.output:
        port.type.tensor_type.elem_type = onnx.TensorProto.UINT8
    return model


BATCHES: dict[str, tuple[str, str, Sequence[int]]] = {
    "convolutions": (
        "c = Conv<pads=[1,1,1,1]>(d, wd, bias) r = Relu(c) "
        + quantized("e", "r", "c")
        + "p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(e) "
        + quantized("f", "p", "c")
        + "g = Conv<pads=[1,1,1,1], group=16>(f, vd) "
        + quantized("h", "g", "a")
        + "i = Add(h, f) y = QuantizeLinear(i, c_scale, c_zero)",
        "{0}, 16, 6, 7",
        (16, 6, 7),
    ),
    "products of rows": ("c = MatMul(d, md) y = QuantizeLinear(c, c_scale, c_zero)", "{0}, 16", (16,)),
    "products of tokens": (
        "c = MatMul(d, md) f = Add(c, bias) y = QuantizeLinear(f, c_scale, c_zero)",
        "{0}, 3, 16",
        (3, 16),
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", BATCHES)
def test_a_dynamic_batch_is_computed_in_bytes(case: str, target: str):
    """One program for any batch, which gives what those for known ones do."""
    nodes, shape, sizes = BATCHES[case]
    constants: dict[str, Array] = {
        **Step(0.031, 120).constants("a"),
        **Step(0.017, 7).constants("c"),
        "w": RANDOM.integers(-127, 128, (16, 16, 3, 3)).astype(np.int8),
        "v": RANDOM.integers(-127, 128, (16, 1, 3, 3)).astype(np.int8),
        "m": RANDOM.integers(-127, 128, (16, 16)).astype(np.int8),
        "k": np.array(0.00437, np.float32),
        "bias": RANDOM.normal(size=16).astype(np.float32),
    }
    nodes = quantized("d", "x", "a") + nodes
    for name in "wvm":
        if f"{name}d" in nodes:
            nodes = f"{name}d = DequantizeLinear({name}, k) {nodes}"
    session = compile_native(opened(nodes, shape.format("N"), constants), target, cache=False, profile=True)
    for batch in (5, 1, 23, 0):
        x = RANDOM.normal(size=(batch, *sizes)).astype(np.float32)
        given = session.run(None, {"x": x})[0]
        assert isinstance(given, np.ndarray)
        assert given.shape[0] == batch
        if batch:
            fixed = model_of(nodes, f"float[{shape.format(batch)}] x", constants)
            np.testing.assert_array_equal(given, run(fixed, {"x": x}, target)[0])
        kernels = {line.kernel for line in session.profile()}
        assert kernels & {"int8_conv", "int8_gemm"}
        assert not kernels & {"conv", "gemm", "dequantizelinear"}
    assert session.compiled == 1


def test_a_sum_with_a_batch_of_another_size_is_no_part_of_a_chain():
    """Two dynamic dimensions may differ: one of them is broadcast."""
    constants: dict[str, Array] = {
        **Step(0.031, 120).constants("a"),
        "m": RANDOM.integers(-127, 128, (16, 16)).astype(np.int8),
        "k": np.array(0.00437, np.float32),
    }
    nodes = quantized("d", "x", "a") + quantized("e", "z", "a")
    nodes += (
        "md = DequantizeLinear(m, k) c = MatMul(d, md) f = Add(c, e) y = QuantizeLinear(f, a_scale, a_zero)"
    )
    model = model_of(nodes, "float[N, 16] x, float[M, 16] z", constants)
    session = compile_native(model, cache=False)
    x, z = (RANDOM.normal(size=(rows, 16)).astype(np.float32) for rows in (5, 1))
    given = np.asarray(session.run(None, {"x": x, "z": z})[0]).astype(np.int64)
    assert np.abs(given - reference(model, {"x": x, "z": z}).astype(np.int64)).max() <= 1
