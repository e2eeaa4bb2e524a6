"""What is fed is read where it lies, whatever kind of array it is."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import parser

from xonnc.native import compile_native
from xonnc.runtime.native.instance import address_of


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.complex64, ml_dtypes.bfloat16, ml_dtypes.int4])
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)])
@pytest.mark.parametrize("is_fixed", [False, True])
def test_where_arrays_begin(dtype: type[np.generic], shape: tuple[int, ...], is_fixed: bool):
    array = np.zeros(shape, dtype)
    array.flags.writeable = not is_fixed
    assert address_of(array) == array.ctypes.data


def test_arrays_that_differ_from_run_to_run():
    session = compile_native(
        parser.parse_model(
            '<ir_version: 8, opset_import: ["": 17]> g (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }'
        )
    )
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    fixed = plain * 2
    fixed.flags.writeable = False
    for given in (plain, fixed, np.asfortranarray(plain), plain[::-1], [[1.0, 2.0, 3.0]] * 2):
        fed = np.asarray(given, np.float32) if isinstance(given, list) else given
        (result,) = session.run(None, {"x": fed})
        np.testing.assert_array_equal(np.asarray(result), -np.asarray(given, np.float32))


def test_what_lies_where_inputs_and_outputs_do_moves_with_them():
    session = compile_native(
        parser.parse_model("""
            <ir_version: 8, opset_import: ["": 17]>
            g (float[2, 3] x) => (float[6] y, float[2, 3] z, float[3, 2] w)
            <int64[1] flat = {6}, int64[2] back = {2, 3}, int64[2] turned = {3, 2}> {
                r = Reshape(x, flat)
                y = Neg(r)
                z = Reshape(y, back)
                w = Reshape(x, turned)
            }
        """)
    )
    runs = [np.random.default_rng(seed).normal(size=(2, 3)).astype(np.float32) for seed in range(4)]
    results = [session.run(None, {"x": x}) for x in runs]
    for x, (y, z, w) in zip(runs, results, strict=True):
        np.testing.assert_array_equal(np.asarray(y), -x.reshape(6))
        np.testing.assert_array_equal(np.asarray(z), -x)
        np.testing.assert_array_equal(np.asarray(w), x.reshape(3, 2))
        assert not any(
            np.shares_memory(np.asarray(one), np.asarray(other)) for one, other in ((y, z), (w, x))
        )
