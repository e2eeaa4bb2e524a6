"""What is fed is read where it lies, whatever kind of array it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from onnx import parser

from xonnc.aligned_arrays import address_of
from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue, TensorSpec
from xonnc.native import compile_native
from xonnc.runtime.native import session as session_module
from xonnc.runtime.native.feeds import check_feeds


def numbers(held: object) -> npt.NDArray[np.float32]:
    assert isinstance(held, np.ndarray)
    return np.asarray(held, np.float32)


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


OPEN = """<ir_version: 8, opset_import: ["": 17]>
g (float[n, 3] x, float[n, 3] w) => (float[n, 3] y) { s = Sub(x, w) y = Relu(s) }"""


def test_inputs_are_looked_at_in_each_run():
    session = compile_native(parser.parse_model(OPEN))
    x, w = np.full((2, 3), 5, np.float32), np.ones((2, 3), np.float32)
    wrong = [
        ({"x": x, "w": w.astype(np.float64)}, "input 'w': float64 was fed, the model takes float32"),
        ({"x": x, "w": w[:, :2]}, r"input 'w': the shape \[2, 2\] was fed, the model takes \[\?, 3\]"),
        ({"x": x, "v": w}, "no input 'v'"),
        ({"x": x}, "input 'w' is not given; the model takes x, w"),
        ({"x": x, "w": "w"}, "input 'w': a str is not an array"),
    ]
    for feeds, message in wrong:
        # A run that fits, in any order, is what the next is compared with.
        np.testing.assert_array_equal(numbers(session.run(None, {"w": w, "x": x})[0]), x - w)
        with pytest.raises(XonncError, match=message):
            session.run(None, feeds)
    for rows in (2, 2, 4, 0, 1, 2):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        for fed in (x, np.asfortranarray(x), x[::-1]):
            (found,) = session.run(None, {"x": fed, "w": np.ones_like(x)})
            np.testing.assert_array_equal(numbers(found), np.maximum(fed - 1, 0))
    assert session.compiled == 1


STRINGS = """<ir_version: 8, opset_import: ["": 21]> g (string[2, 3] x) => (string[6] y, string[3, 2] z)
<int64[1] flat = {6}, int64[2] turned = {3, 2}> { y = Reshape(x, flat) z = Reshape(x, turned) }"""


def test_results_of_strings_are_arrays_of_their_own():
    session = compile_native(parser.parse_model(STRINGS))
    for kind in (object, object, "U", "U", object):
        x = np.array([["a", "b", "c"], ["d", "e", "f"]], kind)
        y, z = (np.asarray(each) for each in session.run(None, {"x": x}))
        y[0] = "new"
        assert (x[0, 0], z[0, 0]) == ("a", "a")
        with pytest.raises(XonncError, match="input 'x': float32 was fed, the model takes string"):
            session.run(None, {"x": np.ones((2, 3), np.float32)})


@pytest.mark.parametrize(
    ("text", "feeds"),
    [
        (OPEN, {"x": np.ones((2, 3), np.float32), "w": np.ones((2, 3), np.float32)}),
        (STRINGS, {"x": np.array([["a", "b", "c"], ["d", "e", "f"]], np.object_)}),
    ],
)
def test_inputs_like_those_of_the_last_run_are_not_checked_again(
    text: str, feeds: dict[str, npt.NDArray[np.generic]], monkeypatch: pytest.MonkeyPatch
):
    session = compile_native(parser.parse_model(text))
    checked: list[object] = []

    def check(specs: Sequence[TensorSpec], given: Mapping[str, object]) -> list[RuntimeValue]:
        checked.append(given)
        return check_feeds(specs, given)

    monkeypatch.setattr(session_module, "check_feeds", check)
    for _ in range(3):
        session.run(None, feeds)
    assert len(checked) == 1


def test_results_of_runs_are_arrays_of_their_own():
    session = compile_native(parser.parse_model(OPEN))
    w = np.zeros((2, 3), np.float32)
    first, second = (session.run(None, {"x": np.full((2, 3), x, np.float32), "w": w})[0] for x in (1, 2))
    np.testing.assert_array_equal(numbers(first), np.full((2, 3), 1))
    np.testing.assert_array_equal(numbers(second), np.full((2, 3), 2))


def test_an_output_lies_where_a_kernel_writes_it_in_another_shape():
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (int64[n, 2] x) => (uint8[n, 1, 2] y)
        <int64[1] axis = {1}> { n = Neg(x) t = Unsqueeze(n, axis) y = Cast<to = 2>(t) }"""
    session = compile_native(parser.parse_model(text))
    for rows in (1, 3, 3, 2):
        x = -np.arange(rows * 2).reshape(rows, 2)
        (found,) = session.run(None, {"x": x})
        assert isinstance(found, np.ndarray)
        assert (found.dtype, found.shape) == (np.uint8, (rows, 1, 2))
        np.testing.assert_array_equal(found, -x[:, None])


def test_shapes_that_no_program_takes_are_refused_by_node_and_others_still_run():
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[n] x, float[m] w) => (float[k] y) { [sum] s = Add(x, w) y = Relu(s) }"""
    session = compile_native(parser.parse_model(text), cache=False)
    for _ in range(2):
        with pytest.raises(XonncError, match="sum"):
            session.run(None, {"x": np.ones(2, np.float32), "w": np.ones(3, np.float32)})
        for rows in (1, 3):
            fed = {"x": np.ones(rows, np.float32), "w": np.ones(3, np.float32)}
            np.testing.assert_array_equal(numbers(session.run(None, fed)[0]), np.full(3, 2, np.float32))


@pytest.mark.parametrize("rows", ["3", "n"])
def test_arrays_of_the_caller_for_outputs(rows: str):
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[{rows}, 4] x) => (float[{rows}, 4] y, float[{rows}, 4] z) {{ y = Neg(x) z = Mul(x, x) }}"""
    session = compile_native(parser.parse_model(text), cache=False)
    whole = np.zeros((6, 8), np.float32)
    for run in range(3):
        x = np.arange(12, dtype=np.float32).reshape(3, 4) + run
        pairs = [
            (np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32)),
            (np.zeros((4, 3), np.float32).T, whole[::2, ::2]),
            (whole[1::2, 1::2], whole[::2, ::2]),
        ]
        for y, z in pairs:
            results = session.run(None, {"x": x}, out={"y": y, "z": z})
            assert results[0] is y
            assert results[1] is z
            np.testing.assert_array_equal(y, -x)
            np.testing.assert_array_equal(z, x * x)
            # Arrays of a run are not those of the next.
            session.run(None, {"x": x + 100})
            np.testing.assert_array_equal(y, -x)
        in_place = x.copy()
        session.run(None, {"x": in_place}, out={"y": in_place})
        np.testing.assert_array_equal(in_place, -x)
        shifted = np.zeros(16, np.float32)
        source, target = shifted[:12].reshape(3, 4), shifted[4:].reshape(3, 4)
        source[:] = x
        session.run(None, {"x": source}, out={"z": target})
        np.testing.assert_array_equal(target, x * x)
