"""C source gives what the session gives, of vectors of any length and number by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from platform import machine

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from c_programs import Array, outputs_of

from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor

FLOATS = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[3, 37] x, float[3, 37] y) => (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v) {
  a = Abs(x)
  b = Neg(x)
  c = Floor(x)
  d = Ceil(x)
  e = Round(x)
  f = Exp(x)
  g = Erf(x)
  h = Tanh(x)
  i = Sigmoid(x)
  j = Max(x, y)
  k = Min(x, y)
  l = Sqrt(a)
  m = Sign(x)
  n = Mod<fmod = 1>(x, y)
  o = ReduceMax<keepdims = 0>(x)
  p = ReduceMin<keepdims = 0>(y)
  q = Softmax(y)
  twice = Cast<to = 11>(x)
  other = Cast<to = 11>(y)
  r = Max(twice, other)
  s = Min(twice, other)
  t = Exp(other)
  small = Cast<to = 10>(y)
  u = Add(small, small)
  odd = Cast<to = 16>(y)
  v = Cast<to = 1>(odd)
}
"""

TRUTHS = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[3, 37] x, float[3, 37] y) => (a, b, c, d, e, f, g, h, i, j, k, l, m, n) {
  less = Less(x, y)
  whole = Cast<to = 7>(y)
  wide = Cast<to = 11>(y)
  zero = Constant<value = int64[1] {0}>()
  nothing = Constant<value = double[1] {0.0}>()
  more = Greater(whole, zero)
  same = LessOrEqual(wide, nothing)
  a = And(less, more)
  b = Or(more, same)
  c = Xor(less, same)
  d = Not(less)
  e = Where(more, x, y)
  f = Where(less, whole, zero)
  g = Where(same, wide, nothing)
  h = Where(a, b, c)
  i = Cast<to = 1>(less)
  j = Cast<to = 6>(more)
  k = Cast<to = 9>(x)
  l = Equal(less, more)
  m = IsNaN(x)
  n = Where(less, more, same)
}
"""

INTEGERS = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[3, 37] x, float[3, 37] y) => (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r) {
  i8 = Cast<to = 3>(y)
  u8 = Cast<to = 2>(y)
  i16 = Cast<to = 5>(y)
  u16 = Cast<to = 4>(y)
  i32 = Cast<to = 6>(y)
  i64 = Cast<to = 7>(y)
  three = Constant<value = int32[1] {3}>()
  five = Constant<value = uint8[1] {5}>()
  a = Add(i8, i8)
  b = Mul(u8, u8)
  c = Sub(i16, i16)
  d = Mul(u16, u16)
  e = Div(i32, three)
  f = Mod(i32, three)
  g = Abs(i16)
  h = Max(i8, a)
  i = Min(u8, b)
  j = BitShift<direction = "LEFT">(u8, five)
  k = BitShift<direction = "RIGHT">(u8, five)
  l = BitwiseXor(i32, three)
  m = Cast<to = 1>(i16)
  n = Cast<to = 11>(u8)
  o = Cast<to = 3>(i64)
  p = ReduceSum<keepdims = 0>(i32)
  q = Neg(i64)
  r = Mul(i64, i64)
}
"""

PLACES = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[3, 37] x, float[3, 37] y) => (a, b, c, d, e, f, g, h) {
  a = Transpose<perm = [1, 0]>(x)
  byte = Cast<to = 3>(y)
  b = Transpose<perm = [1, 0]>(byte)
  start = Constant<value = int64[1] {1}>()
  end = Constant<value = int64[1] {36}>()
  one = Constant<value = int64[1] {1}>()
  two = Constant<value = int64[1] {2}>()
  three = Constant<value = int64[1] {3}>()
  even = Slice(x, start, end, one, two)
  third = Slice(y, start, end, one, three)
  c = Exp(even)
  d = Neg(third)
  e = MatMul(x, a)
  f = MatMul(a, x)
  scale = Constant<value = float {0.05}>()
  zero = Constant<value = uint8 {9}>()
  g = QuantizeLinear(y, scale, zero)
  h = DequantizeLinear(g, scale, zero)
}
"""

EXTREMES = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[3, 37] x, float[3, 37] y) => (a, b, c, d, e) {
  last = Constant<value = int64[1] {1}>()
  first = Constant<value = int64[1] {0}>()
  a = ReduceMax(x, last)
  b = ReduceMin(x, last)
  c = ReduceMax(x, first)
  half = Cast<to = 10>(y)
  wide = Cast<to = 11>(y)
  d = ReduceMin(half, first)
  e = ReduceMax(wide, last)
}
"""


def quantized() -> str:
    """A convolution of bytes."""
    weights = ", ".join(str(number % 23 - 11) for number in range(20 * 3 * 3 * 3))
    return f"""
<ir_version: 8, opset_import: ["" : 18]>
net (float[1, 3, 9, 9] x) => (y) {{
  scale = Constant<value = float {{0.05}}>()
  zero = Constant<value = uint8 {{128}}>()
  even = Constant<value = int8 {{0}}>()
  w = Constant<value = int8[20, 3, 3, 3] {{{weights}}}>()
  bytes = QuantizeLinear(x, scale, zero)
  number = DequantizeLinear(bytes, scale, zero)
  weight = DequantizeLinear(w, scale, even)
  found = Conv<pads = [1, 1, 1, 1]>(number, weight)
  kept = Relu(found)
  made = QuantizeLinear(kept, scale, zero)
  y = DequantizeLinear(made, scale, zero)
}}
"""


def inputs(model: onnx.ModelProto) -> list[npt.NDArray[np.float32]]:
    """Numbers of many sizes, of which some are none."""
    random = np.random.default_rng(5)
    arrays = [
        (20 * random.normal(size=[size.dim_value for size in value.type.tensor_type.shape.dim])).astype(
            np.float32
        )
        for value in model.graph.input
    ]
    if len(arrays) == 2:
        arrays[0].flat[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, 2.5, np.nan]
        arrays[1].flat[40:44] = [np.nan, -3e9, 2**31, -(2**31)]
        arrays[1].flat[1:9] = [1.0, 2.0, -0.0, 0.0, -1.5, 300.0, -300.0, 3e9]
    return arrays


def widths() -> list[int]:
    """Bytes of the vectors that this processor has, and 0."""
    most = resolve_processor("cpu").vector_bytes
    return [0, *(size for size in (16, 32, 64) if size <= most)]


def built_and_run(
    folder: Path, text: str, target: str, flags: Sequence[str], lacking: Sequence[str] = ()
) -> None:
    """Compares what a C program gives with what the session gives; conditions that are `lacking` are 0."""
    model = onnx.parser.parse_model(text)
    arrays = inputs(model)
    outputs = answers_of(text)
    given_all = outputs_of(folder, model, arrays, list(outputs.values()), target, flags, lacking)
    for (name, expected), given in zip(outputs.items(), given_all, strict=True):
        numbers = given.astype(np.float64)
        close = np.allclose(numbers, expected.astype(np.float64), 1e-5, 1e-6, equal_nan=True)
        assert close, (name, given, expected)
        if expected.dtype.kind == "f":
            assert np.array_equal(np.signbit(given[given == 0]), np.signbit(expected[expected == 0])), name


@cache
def answers_of(text: str) -> Mapping[str, Array]:
    """Return the outputs of the session of a model, by name."""
    model = onnx.parser.parse_model(text)
    session = compile_native(model)
    feeds = dict(zip((port.name for port in session.inputs), inputs(model), strict=True))
    names = [port.name for port in session.outputs]
    return dict(zip(names, map(np.asarray, session.run(None, feeds)), strict=True))


MODELS = {
    "extremes": EXTREMES,
    "floats": FLOATS,
    "truths": TRUTHS,
    "integers": INTEGERS,
    "places": PLACES,
    "quantized": quantized(),
}


@pytest.mark.parametrize("vector_bytes", widths())
@pytest.mark.parametrize("model", list(MODELS))
def test_any_length_of_vectors(tmp_path: Path, model: str, vector_bytes: int) -> None:
    target = "avx512" if vector_bytes else "portable"
    built_and_run(tmp_path, MODELS[model], target, [f"-DXONNC_VECTOR_BYTES={vector_bytes}"])


@pytest.mark.parametrize(
    ("model", "target", "flags"),
    [
        ("floats", "avx2", []),
        ("floats", "portable", ["-O0", "-march=x86-64"] if machine() == "x86_64" else ["-O0"]),
        ("truths", "avx512", ["-DXONNC_VECTOR_BYTES=0"]),
    ],
)
def test_any_target(tmp_path: Path, model: str, target: str, flags: Sequence[str]) -> None:
    built_and_run(tmp_path, MODELS[model], target, flags)


WITHOUT = ("-mno-avx512vnni", "-mno-avxvnni", "-mno-avx512bw", "-mno-avx512f", "-mno-avx2", "-mno-sse4.2")


@pytest.mark.skipif(machine() != "x86_64", reason="these are instructions of x86")
@pytest.mark.parametrize("count", range(2, len(WITHOUT) + 1))
def test_bytes_on_processors_that_lack_instructions(tmp_path: Path, count: int) -> None:
    built_and_run(tmp_path, MODELS["quantized"], "avx512", WITHOUT[:count])


def test_bytes_without_instructions_for_them(tmp_path: Path) -> None:
    lacking = ("defined(XONNC_X86)",)
    built_and_run(tmp_path, MODELS["quantized"], "cpu", [], lacking)


def test_compilers_that_do_not_shuffle_or_convert(tmp_path: Path) -> None:
    lacking = ("__has_builtin(__builtin_convertvector)", "__has_builtin(__builtin_shufflevector)")
    for model in ("truths", "places"):
        built_and_run(tmp_path, MODELS[model], "avx512", [], lacking)
