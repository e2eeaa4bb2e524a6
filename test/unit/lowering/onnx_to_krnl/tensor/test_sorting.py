"""TopK of few of many: the keys of a row are selected among candidates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest

from xonnc.native import compile_native

RANDOM = np.random.default_rng(9)


def rows(kind: str, dtype: str, shape: tuple[int, ...], axis: int) -> npt.NDArray[np.generic]:
    found = RANDOM.standard_normal(shape) * 100
    if kind == "equal":
        found = np.full(shape, 7.0)
    elif kind == "ties":
        found = RANDOM.integers(-1, 2, shape).astype(np.float64)
    elif kind in ("ascending", "descending"):
        found = np.sort(found, axis)
    elif kind == "infinite":
        found.reshape(-1)[RANDOM.integers(0, found.size, 40)] = -np.inf
        found.reshape(-1)[:6] = np.inf, -0.0, 0.0, -0.0, 0.0, -np.inf
    found = np.flip(found, axis).copy() if kind == "descending" else found
    return (np.clip(found, -1e9, 1e9) if dtype == "int32" else found).astype(dtype)


@pytest.mark.parametrize(
    ("shape", "axis", "dtype", "is_largest"),
    [
        ((3, 700), 1, "float32", 1),
        ((2, 643, 2), 1, "float32", 0),
        ((700, 2), 0, "int32", 1),
        ((1, 40 * 32), 1, "int32", 0),
    ],
)
def test_few_of_many(shape: tuple[int, ...], axis: int, dtype: str, is_largest: int):
    kind, axes = "float" if dtype == "float32" else "int32", ",".join("abc"[: len(shape)])
    session = compile_native(
        onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
            m ({kind}[{",".join(map(str, shape))}] x) => ({kind}[{axes}] v, int64[{axes}] i)
            <int64[1] k = {{20}}> {{ v, i = TopK<axis={axis}, largest={is_largest}>(x, k) }}""")
    )
    for case in ("random", "equal", "ties", "ascending", "descending", "infinite"):
        x = rows(case, dtype, shape, axis)
        keys = x.astype(np.float64) * (-1 if is_largest else 1)
        expected = np.argsort(keys, axis=axis, kind="stable").take(range(20), axis)
        values, indices = map(np.asarray, session.run(None, {"x": x}))
        np.testing.assert_array_equal(indices, expected, err_msg=case)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, axis), err_msg=case)


def test_nan_is_the_largest():
    session = compile_native(
        onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
            m (float[800] x) => (float[a] v, int64[a] i) <int64[1] k = {9}> { v, i = TopK(x, k) }""")
    )
    x = RANDOM.standard_normal(800).astype(np.float32)
    x[[700, 3, 90]] = np.nan
    values, indices = map(np.asarray, session.run(None, {"x": x}))
    assert list(indices[:3]) == [3, 90, 700]
    np.testing.assert_array_equal(values, x[indices])
    assert set(indices[3:]) == set(np.argsort(-np.nan_to_num(x, nan=-9), kind="stable")[:6])
