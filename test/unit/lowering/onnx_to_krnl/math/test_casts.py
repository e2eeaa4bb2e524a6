"""Casts between all element types give the bits that the reference gives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Node, check, check_all, is_here
from onnx import TensorProto, helper, parser

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

SMALL: Sequence[np.dtype[np.generic]] = [
    np.dtype(each)
    for each in (
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float4_e2m1fn,
    )
]
FLOATS: Sequence[np.dtype[np.generic]] = [np.dtype(each) for each in (np.float16, np.float32, np.float64)]
INTEGERS: Sequence[np.dtype[np.generic]] = [
    np.dtype(f"{sign}{width}") for sign in ("int", "uint") for width in (8, 16, 32, 64)
]
SUB_BYTE_WIDTHS: Sequence[np.dtype[np.generic]] = [
    np.dtype(each) for each in (ml_dtypes.int4, ml_dtypes.uint4)
]


def cast(x: Array, to: np.dtype[np.generic], saturate: int = 1) -> Node:
    code = helper.np_dtype_to_tensor_dtype(to)
    return Node("Cast", [x], {"to": code, "saturate": saturate}, opset=25)


def tricky(dtype: np.dtype[np.generic]) -> Array:
    """Ties, neighbours of ties, both zeros, the smallest and largest, infinities and NaN."""
    steps = np.arange(-40, 41, dtype=np.float64) / 16
    powers = 2.0 ** np.arange(-30, 20, dtype=np.float64)
    edges = [448.0, 464.0, 464.1, 240.0, 248.0, 57344.0, 61440.0, 65520.0, 65519.9, 3e38, 1e300]
    odd = [-0.0, np.inf, -np.inf, np.nan, 1 + 2**-9 + 2**-40, 1 + 2**-8 - 2**-40, 1 + 2**-11 + 2**-40]
    with np.errstate(over="ignore"):
        return np.concatenate([steps, powers, powers * 1.5, -powers * 1.25, edges, odd]).astype(dtype)


@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_floats_are_rounded_once(source: np.dtype[np.generic]):
    x = tricky(source)
    numbers = x[~np.isnan(x.astype(np.float64))]
    types = [*SMALL, *FLOATS]
    check_all(
        cast(numbers if to == ml_dtypes.float4_e2m1fn else x, to, saturate)
        for to, saturate in product(types, [0, 1])
    )


@pytest.mark.parametrize("source", SMALL, ids=str)
def test_all_bits_of_small_floats_are_read(source: np.dtype[np.generic]):
    count = 1 << (16 if source.itemsize == 2 else 4 if source == ml_dtypes.float4_e2m1fn else 8)
    bits = np.arange(count, dtype=np.uint16 if source.itemsize == 2 else np.uint8)
    check(cast(bits.view(source), np.dtype(np.float32)))
    check(cast(bits.view(source), np.dtype(np.float16)))


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_powers_of_two_are_rounded_as_is_said(saturate: int, mode: str):
    x = np.abs(tricky(np.dtype(np.float32)))
    code = helper.np_dtype_to_tensor_dtype(np.dtype(ml_dtypes.float8_e8m0fnu))
    small = np.array([0, 1e-45, 2**-127, 3e-39, 1.2e-38, 3.3e38], np.float32)
    attributes = {"to": code, "saturate": saturate, "round_mode": mode}
    check(Node("Cast", [np.concatenate([x, small])], attributes, opset=25))


@pytest.mark.parametrize("source", [*INTEGERS, np.dtype(np.bool_)], ids=str)
def test_integers_wrap_and_are_rounded(source: np.dtype[np.generic]):
    numbers = [
        0,
        1,
        -1,
        2,
        7,
        8,
        -8,
        -9,
        127,
        128,
        255,
        256,
        65535,
        16777217,
        2**31,
        2**53 + 1,
        2**62 + 12345,
    ]
    x = np.array(numbers, np.int64).astype(source)
    types = [*INTEGERS, *SUB_BYTE_WIDTHS, *FLOATS, np.dtype(np.bool_)]
    check_all(cast(np.concatenate([x, x[::-1], x]), to) for to in types)


@pytest.mark.parametrize("source", SUB_BYTE_WIDTHS, ids=str)
def test_integers_of_four_bits_are_read(source: np.dtype[np.generic]):
    low = -8 if source == ml_dtypes.int4 else 0
    x = np.arange(low, low + 16).astype(source)
    check_all(cast(x, np.dtype(to)) for to in (np.int8, np.uint8, np.float32))


@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_floats_go_towards_zero(source: np.dtype[np.generic]):
    x = np.array([0, -0.0, 0.9, 1.5, 2.5, 99.9, 100, 127, 3, 5, 7, 11, 13, 17, 19, 23, 29.99])
    signed = np.concatenate([x, -x])
    check_all(cast((x if to.kind == "u" else signed).astype(source), to) for to in INTEGERS)


@pytest.mark.parametrize("target", [name for name in ("cpu", "avx2", "portable") if is_here(name)])
def test_floats_out_of_range_saturate(target: str):
    """Whole vectors, and a remainder; ends of ranges are neighbours of floats."""
    ends = [
        sign * 2.0**bits + step
        for sign in (1, -1)
        for bits in (7, 8, 15, 16, 24, 31, 32, 62, 63, 64)
        for step in (-1, 0, 1)
    ]
    x = np.array(
        [*ends, np.nan, np.inf, -np.inf, -0.0, -0.9, 8388609.0, 65536.5, -70000.75, 3e9, 1e38], np.float32
    )
    x = np.concatenate([x, np.nextafter(x, np.float32(0)), x[:1]])
    types = {"i8": 3, "u8": 2, "i16": 5, "u16": 4, "i32": 6, "u32": 12, "i64": 7}
    nodes = " ".join(f"{name} = Cast<to={code}>(x)" for name, code in types.items())
    kinds = {name: np.dtype(name.replace("i", "int").replace("u", "uint")) for name in types}
    outputs = ", ".join(f"{kind}[n] {name}" for name, kind in kinds.items())
    text = f'<ir_version: 10, opset_import: ["": 21]> g (float[n] x) => ({outputs}) {{ {nodes} }}'
    given = compile_native(parser.parse_model(text), target, cache=False).run(None, {"x": x})
    whole = [int(each) for each in np.clip(np.nan_to_num(x), -(2.0**70), 2.0**70)]
    for (name, kind), found in zip(kinds.items(), given, strict=True):
        known = np.iinfo(kind)
        np.testing.assert_array_equal(
            found, np.array([min(max(each, known.min), known.max) for each in whole], kind), name
        )


def test_truth_is_what_is_not_zero():
    x = np.array([0.0, -0.0, 0.25, np.nan, np.inf, -3], np.float32)
    check(cast(x, np.dtype(np.bool_)))


def test_a_cast_in_a_chain_rounds():
    x = np.array([1 + 2**-9, 1 + 3 * 2**-9, 300.7], np.float32)
    node = cast(x, np.dtype(ml_dtypes.bfloat16))
    model = node.model()
    model.graph.node.append(helper.make_node("Cast", ["y0"], ["z"], to=1))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", 1, [3]))
    given = np.asarray(compile_native(model).run(None, {"x0": x})[0], np.float32)
    np.testing.assert_array_equal(given, x.astype(ml_dtypes.bfloat16).astype(np.float32))


@pytest.mark.parametrize("to", [np.dtype(np.float16), np.dtype(np.int8)], ids=str)
def test_cast_like_reads_only_a_type(to: np.dtype[np.generic]):
    check(Node("CastLike", [np.arange(6, dtype=np.float32), np.zeros((2, 3, 4), to)]))


def test_the_shape_of_what_a_cast_is_like_does_not_matter():
    text = "g (float[a, b] x, float16[c] z) => (float16[a, b] y) { y = CastLike(x, z) }"
    session = compile_native(parser.parse_model(f'<ir_version: 8, opset_import: ["": 22]> {text}'))
    for shape in ((2, 3), (4, 1), (0, 2)):
        x = np.linspace(-9, 9, shape[0] * shape[1], dtype=np.float32).reshape(shape)
        found = session.run(None, {"x": x, "z": np.zeros(5, np.float16)})[0]
        np.testing.assert_array_equal(np.asarray(found), x.astype(np.float16))
    assert session.compiled == 1


@pytest.mark.parametrize("to", [np.dtype(np.float32), np.dtype(np.float64)], ids=str)
@pytest.mark.parametrize("code", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_what_is_cast_has_the_bits_of_its_type(code: int, to: np.dtype[np.generic]):
    """A sum of small floats that the kernel of the cast computes itself is rounded before it is cast."""
    nodes = [
        helper.make_node("Add", ["x", "x1"], ["t"]),
        helper.make_node("Cast", ["t"], ["y"], to=helper.np_dtype_to_tensor_dtype(to)),
    ]
    ports = [helper.make_tensor_value_info(name, code, [3]) for name in ("x", "x1")]
    result = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(to), [3])
    graph = helper.make_graph(nodes, "model", ports, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    small = helper.tensor_dtype_to_np_dtype(code)
    x, more = np.array([2, 2, -4], small), np.array([0.0123, 1.5, 2**-9], small)
    (found,) = compile_native(model).run(None, {"x": x, "x1": more})
    np.testing.assert_array_equal(
        found, (x.astype(np.float32) + more.astype(np.float32)).astype(small).astype(to)
    )
