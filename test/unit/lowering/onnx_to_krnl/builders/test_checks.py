"""Run-time checks of values: out-of-bounds values end the run with one line that names the node."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from onnx import parser

from xonnc.errors import XonncError
from xonnc.native import compile_native

Array = npt.NDArray[np.generic]


def real(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 9


def indices(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def lengths(number: int) -> Array:
    return np.array([number], np.int32)


RECURRENT = {"x": real(4, 1, 2), "r": real(1, 9, 3), "w": real(1, 9, 2)}

BAD: dict[str, tuple[str, dict[str, Array], str]] = {
    "CumSum": (
        "(float[4,3] x, int64 a) => (float[4,3] y) { [n] y = CumSum (x, a) }",
        {"x": real(4, 3), "a": np.array(5)},
        "n: CumSum: 'axis' value is 5, accepted range is [-2, 1]",
    ),
    "ReverseSequence": (
        "(float[4,3] x, int64[3] l) => (float[4,3] y) { [n] y = ReverseSequence (x, l) }",
        {"x": real(4, 3), "l": indices(1, 2, 99)},
        "n: sequence_lens has 99; 0 to 4 are in range",
    ),
    "sequences in any number": (
        "(float[S,N] x, int64[N] l) => (float[S,N] y) { [n] y = ReverseSequence (x, l) }",
        {"x": real(4, 3), "l": indices(1, 2, 5)},
        "n: sequence_lens has a number out of range",
    ),
    "TensorScatter": (
        "(float[2,4,3] x, float[2,1,3] u, int64[2] w) => (float[2,4,3] y) "
        "{ [n] y = TensorScatter (x, u, w) }",
        {"x": real(2, 4, 3), "u": real(2, 1, 3), "w": indices(0, 4)},
        "n: write_indices has 4; 0 to 3 are in range",
    ),
    "MaxUnpool": (
        "(float[1,1,2,3] x, int64[1,1,2,3] i) => (float[1,1,4,6] y) "
        "{ [n] y = MaxUnpool <kernel_shape = [2,2], strides = [2,2]> (x, i) }",
        {"x": real(1, 1, 2, 3), "i": np.array([[[[0, 1, 2], [3, 4, 24]]]])},
        "n: an index is 24; 0 to 23 are in range",
    ),
    "GRU": (
        "(float[4,1,2] x, float[1,9,2] w, float[1,9,3] r, int32[1] l) => (float[4,1,1,3] y) "
        "{ [n] y = GRU <hidden_size: int = 3> (x, w, r, , l) }",
        {**RECURRENT, "l": lengths(-1)},
        "n: sequence_lens has -1; 0 to 4 are in range",
    ),
    "steps in any number": (
        "(float[T,1,2] x, float[1,9,2] w, float[1,9,3] r, int32[1] l) => (float[T,1,1,3] y) "
        "{ [n] y = GRU <hidden_size: int = 3> (x, w, r, , l) }",
        {**RECURRENT, "l": lengths(5)},
        "n: sequence_lens has 5; 0 to 4 are in range",
    ),
    "STFT": (
        "(float[1,8,1] x, int64 s, float[4] w) => (float[A,B,C,D] y) { [n] y = STFT (x, s, w) }",
        {"x": real(1, 8, 1), "s": np.array(0), "w": real(4)},
        "n: STFT: frame_step has 0; it is at least 1",
    ),
    "Split": (
        "(float[N] x) => (float[A] y, float[B] z) "
        "{ s = Constant <value = int64[2] {2, 2}> ()\n [n] y, z = Split (x, s) }",
        {"x": real(7)},
        "n: Split: axis 0 of 7 does not split into [2, 2] for 2 results",
    ),
    "InstanceNormalization": (
        "(float[1,N,4] x, float[M] s) => (float[1,N,4] y) { [n] y = InstanceNormalization (x, s, s) }",
        {"x": real(1, 3, 4), "s": real(2)},
        "n: InstanceNormalization: Scale should have same dimension as the second dimension of input",
    ),
    "BatchNormalization": (
        "(float[1,N,4] x, float[M] s) => (float[1,N,4] y) { [n] y = BatchNormalization (x, s, s, s, s) }",
        {"x": real(1, 3, 4), "s": real(2)},
        "n: BatchNormalization: Wrong rank for the scale: not one number for each channel",
    ),
    "AffineGrid": (
        "(float[1,2,3] x, int64[4] s) => (float[A,B,C,D] y) { [n] y = AffineGrid (x, s) }",
        {"x": real(1, 2, 3), "s": indices(3, 1, 5, 5)},
        "n: AffineGrid: theta has 1 maps for 3 images",
    ),
    "Tile": (
        "(float[2] x, int64[1] r) => (float[K] y) { [n] y = Tile (x, r) }",
        {"x": real(2), "r": indices(-5)},
        "n: Tile: repeats has -5; it is at least 0",
    ),
    "TopK": (
        "(float[4] x, int64[1] k) => (float[K] y, int64[K] z) { [n] y, z = TopK (x, k) }",
        {"x": real(4), "k": indices(-1)},
        "n: TopK: K has -1; it is at least 0",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_run_ends_where_numbers_are_out_of_bounds(case: str):
    text, feeds, message = BAD[case]
    opset = 24 if case == "TensorScatter" else 21
    session = compile_native(
        parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> g {text}'), cache=False, level=1
    )
    with pytest.raises(XonncError) as caught:
        session.run(None, feeds)
    assert str(caught.value).removeprefix("model: ") == message


DECLARED: dict[str, tuple[str, dict[str, Array], tuple[int, ...]]] = {
    "ConstantOfShape": (
        "(int64[2] s) => (float[2,3] y) { y = ConstantOfShape (s) }",
        {"s": indices(5, 4)},
        (5, 4),
    ),
    "Tile": ("(float[2] x, int64[1] r) => (float[4] y) { y = Tile (x, r) }", {"r": indices(5)}, (10,)),
    "Unsqueeze": (
        "(float[2] x, int64[1] a) => (float[2,1] y) { y = Unsqueeze (x, a) }",
        {"a": indices(0)},
        (1, 2),
    ),
    "Reshape": (
        "(float[2] x, int64[2] s) => (float[2,1] y) { y = Reshape (x, s) }",
        {"s": indices(1, 2)},
        (1, 2),
    ),
    "NonMaxSuppression": (
        "(float[1,6,4] b, float[1,1,6] c, int64 m) => (int64[0,3] y) { y = NonMaxSuppression (b, c, m) }",
        {"b": real(1, 6, 4), "c": real(1, 1, 6), "m": np.array(5)},
        (5, 3),
    ),
}
"""Results of declared shapes that what is fed makes others."""


@pytest.mark.parametrize("case", DECLARED)
def test_a_shape_that_is_only_declared_is_not_believed(case: str):
    text, feeds, shape = DECLARED[case]
    session = compile_native(
        parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> g {text}'), cache=False, level=1
    )
    fed = feeds | ({"x": real(2)} if "float[2] x" in text else {})
    (result,) = session.run(None, fed)
    assert np.asarray(result).shape == shape
