"""Floats print as MLIR prints them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import AnyFloat, bf16, f4E2M1FN, f8E4M3FN, f8E5M2, f16, f32, f64, f80

from xonnc.dialects.onnx.assembly.numbers import float_format, float_text, float_texts

# docs/internals/onnx-rules.md §4.3
F32 = {
    0.0: "0.000000e+00",
    -0.5: "-5.000000e-01",
    0.1: "1.000000e-01",
    0.01: "0.00999999977",
    0.7: "0.699999988",
    1 / 3: "0.333333343",
    1e-5: "9.99999974E-6",
    3.14: "3.140000e+00",
    123.456: "1.234560e+02",
    12345.678: "12345.6777",
    1e10: "1.000000e+10",
    1234567.0: "0x4996B438",
    16777216.0: "0x4B800000",
    3.4028234663852886e38: "3.40282347E+38",
    float("inf"): "0x7F800000",
    float("-inf"): "0xFF800000",
    1e-45: "1.401300e-45",
}


@pytest.mark.parametrize(("value", "text"), F32.items())
def test_f32(value: float, text: str):
    format_ = float_format(f32)
    assert format_
    assert float_text(format_.round(value), format_) == text


def test_zeros_have_signs():
    format_ = float_format(f32)
    assert format_
    assert float_text(-0.0, format_) == "-0.000000e+00"
    assert float_texts(np.array([-0.0, 0.0], np.float32), format_) == ["-0.000000e+00", "0.000000e+00"]


def test_nan_prints_its_bits():
    format_ = float_format(f32)
    assert format_
    assert float_text(float("nan"), format_) == "0x7FC00000"
    array = np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
    assert float_texts(array, format_) == ["0x7FC00001", "0xFFC00000"]


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (f16, float("inf"), "0x7C00"),
        (bf16, float("inf"), "0x7F80"),
        (f64, float("inf"), "0x7FF0000000000000"),
        (f64, 0.7, "0.69999999999999996"),
        (f16, 0.7, "7.001950e-01"),
        (bf16, 0.7, "6.992180e-01"),
        (f8E5M2, 0.7, "7.500000e-01"),
        (f8E4M3FN, 448.0, "4.480000e+02"),
        (f4E2M1FN, -6.0, "-6.000000e+00"),
    ],
)
def test_other_widths(type_: AnyFloat, value: float, text: str):
    format_ = float_format(type_)
    assert format_
    assert float_text(format_.round(value), format_) == text


def test_a_type_no_tensor_has():
    assert float_format(f80) is None


@pytest.mark.parametrize("type_", [f16, bf16, f32, f64, f8E4M3FN, f8E5M2])
def test_a_batch_prints_as_one_by_one_and_reads_back(type_: AnyFloat):
    format_ = float_format(type_)
    assert format_
    generator = np.random.default_rng(7)
    values = generator.standard_normal(300) * 10.0 ** generator.integers(-6, 7, 300)
    values = np.clip(values, -400, 400).astype(format_.dtype)
    values = values[np.isfinite(values.astype(np.float64))]
    texts = float_texts(values, format_)
    assert texts == [float_text(value, format_) for value in values.astype(np.float64).tolist()]
    read = [
        format_.from_pattern(int(text, 16)) if text.startswith("0x") else format_.round(float(text))
        for text in texts
    ]
    assert np.array(read).astype(format_.dtype).tobytes() == values.tobytes()


def test_every_bfloat16_reads_back():
    format_ = float_format(bf16)
    assert format_
    values = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    texts = float_texts(values, format_)
    for pattern, text in enumerate(texts):
        if text.startswith("0x"):
            assert int(text, 16) == pattern
        else:
            assert format_.pattern(float(text)) == pattern
