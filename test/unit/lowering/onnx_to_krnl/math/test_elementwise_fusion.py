"""Operators that are functions of numbers give what the reference gives, for all their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Batch, Node, batches, check_batch

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
REALS = ("float16", "float32", "float64")
RANDOM = np.random.default_rng(11)


def integers(dtype: str, *shape: int) -> Array:
    """Small and large ones, 0 and -1 among them."""
    made = RANDOM.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]
    small = RANDOM.integers(-3, 12, shape).astype(np.int64).astype(dtype)
    return np.where(RANDOM.random(shape) < 0.5, made, small)


def reals(dtype: str, *shape: int) -> Array:
    """Ordinary ones, both zeros, infinities and NaN."""
    made = RANDOM.normal(size=shape) * 3
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5])
    return np.where(RANDOM.random(shape) < 0.3, RANDOM.choice(special, shape), made).astype(dtype)


def truth(*shape: int) -> Array:
    return RANDOM.random(shape) < 0.5


def rtol(dtype: str) -> float:
    return {"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-13}.get(dtype, 1e-5)


def long() -> Iterator[Node]:
    """Parallel loops, and one with a prime number of iterations."""
    for size in (8192, 12_000, 8209, 16 * 521):
        a, b = reals("float32", size), reals("float32", size)
        yield Node("Add", [a, b])
        yield Node("Max", [a, b[:1]])
        yield Node("Less", [a.reshape(1, size), b.reshape(1, size)])


def arithmetic() -> Iterator[Node]:
    for dtype in (*SIGNED, *UNSIGNED):
        a, b = integers(dtype, 3, 37), integers(dtype, 37)
        for operator in ("Add", "Sub", "Mul", "Max", "Min", "Equal", "Less", "GreaterOrEqual"):
            yield Node(operator, [a, b])
        shifts = np.abs(integers("int8", 37).astype(np.int64)).astype(dtype) % np.dtype(dtype).type(70)
        for direction in ("LEFT", "RIGHT"):
            pairs = zip(a.reshape(-1).tolist(), np.tile(shifts, 3).tolist(), strict=True)
            known = np.array([_shifted(x, s, direction, dtype) for x, s in pairs], np.object_)
            requested = known.astype(dtype).reshape(a.shape)
            yield Node("BitShift", [a, shifts], {"direction": direction}, expected=[requested])
        yield Node("Abs", [a])
        yield Node("Sign", [a])
        yield Node("BitwiseNot", [a])
        yield Node("BitwiseXor", [a, b])
        yield Node("Clip", [a, b[:1].reshape(()), b[1:2].reshape(())], opset=13)
    for dtype in REALS:
        a, b = reals(dtype, 3, 37), reals(dtype, 37)
        for operator in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less"):
            yield Node(operator, [a, b], rtol=rtol(dtype))
        for operator in ("Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "IsNaN", "IsInf", "Reciprocal"):
            yield Node(operator, [a], rtol=rtol(dtype))
        yield Node("Mean", [a, b, a], rtol=rtol(dtype))
        yield Node("Sum", [a, b, a], rtol=rtol(dtype))


def _shifted(x: int, count: int, direction: str, dtype: str) -> int:
    """The low bits of a shift of Python integers."""
    bits = np.dtype(dtype).itemsize * 8
    runtime_zero_point = x << count if direction == "LEFT" else x >> count
    low = runtime_zero_point & ((1 << bits) - 1)
    return low - (1 << bits) if np.dtype(dtype).kind == "i" and low >> (bits - 1) else low


def _truncated(a: int, b: int) -> int:
    return 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def divisions() -> Iterator[Node]:
    """Against Python integers: numpy floors, and the reference relies on it."""
    for dtype in (*SIGNED, *UNSIGNED):
        a, b = integers(dtype, 150), integers(dtype, 150)
        if np.dtype(dtype).kind == "i":
            a[:2], b[:2] = np.iinfo(dtype).min, [-1, 0]
        # Quotients that are integers, and the nearest ones below and above.
        b[20:80], a[20:80] = 7, np.arange(60) // 3 * 7 + np.arange(60) % 3
        a[80:86] = np.iinfo(dtype).max - np.arange(6).astype(dtype)
        pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        quotients = np.array([_truncated(*pair) for pair in pairs], np.object_)
        wrapped = np.array([int(q) & ((1 << 64) - 1) for q in quotients], np.uint64).astype(dtype)
        yield Node("Div", [a, b], expected=[wrapped])
        left = [0 if y == 0 else x - _truncated(x, y) * y for x, y in pairs]
        yield Node("Mod", [a, b], {"fmod": 1}, expected=[np.array(left, np.object_).astype(dtype)])
        floored = [0 if y == 0 else x % y for x, y in pairs]
        known = np.array(floored, np.object_).astype(dtype)
        # By 0 a remainder is left to be what it is: the reference divides by it as numpy does.
        yield Node("Mod", [a[b != 0], b[b != 0]], expected=[known[b != 0]])
    for dtype in REALS:
        a, b = reals(dtype, 64), reals(dtype, 64)
        yield Node("Mod", [a, b], {"fmod": 1}, rtol=rtol(dtype))


def powers() -> Iterator[Node]:
    base, exponent = integers("int32", 64), np.abs(integers("int32", 64)) % 40
    for kind in ("int32", "int64"):
        known = [pow(int(x), int(y)) & ((1 << 64) - 1) for x, y in zip(base, exponent, strict=True)]
        x = base.astype(kind)
        yield Node("Pow", [x, exponent.astype("int64")], expected=[np.array(known, np.uint64).astype(kind)])
    x, far = np.array([3, -3, 2, 1], np.int32), 2**40 + 5
    known = [pow(int(each), far, 2**32) for each in x]
    yield Node("Pow", [x, np.full(4, far)], expected=[np.array(known, np.uint32).astype(np.int32)])
    for constant in (2, 3):
        x = np.array([-3, 2**31 - 1, 0, 5], np.int32)
        known = np.array([pow(int(each), constant, 2**32) for each in x], np.uint32)
        given = [x, np.array(constant, np.int32)]
        yield Node("Pow", given, constant=(1,), expected=[known.astype(np.int32)])
    x = np.array([1, -1, -1, 2, 0], np.int32)
    inverse = np.array([1, -1, 1, 0, 0], np.int32)
    yield Node("Pow", [x, np.array([-3, -3, -2, -1, -1], np.int64)], expected=[inverse])
    yield Node("Pow", [np.array([1, 2, 3], np.int64), np.array([0.5, 2, 3], np.float32)])
    yield Node("Pow", [np.array([1, 2, 3.5], np.float32), np.array([0, 2, -3], np.int32)])
    yield Node("Pow", [np.array([4, 9, 2], np.float16), np.array([0.5, 0.5, -1], np.float32)], rtol=1e-3)


def hyperbolic() -> Iterator[Node]:
    near = np.array([1e-30, 1e-8, 1e-4, 0.3, 0.999, 5.0, 1e3, 1e12, 3e38, np.inf, np.nan, 0.0])
    for dtype in REALS:
        with np.errstate(over="ignore"):
            x = np.concatenate([near, -near]).astype(dtype)
        yield Node("Asinh", [x], rtol=rtol(dtype))
        yield Node("Acosh", [x], rtol=rtol(dtype))
        yield Node("Acosh", [(1 + np.abs(x[:5])).astype(dtype)], rtol=rtol(dtype))
        yield Node("Atanh", [x], rtol=rtol(dtype))


def small() -> Iterator[Node]:
    """bf16 is computed in f32 and rounded once after a chain."""
    a, b = (reals("float32", 5, 19).astype(ml_dtypes.bfloat16) for _ in range(2))
    for operator in ("Add", "Mul", "Div", "Max"):
        yield Node(operator, [a, b], rtol=rtol("bfloat16"))
    for operator in ("Exp", "Tanh", "Sigmoid", "Sqrt", "Relu"):
        yield Node(operator, [a], rtol=rtol("bfloat16"), opset=23)
    yield Node("Where", [truth(5, 19), a, b])


def truths() -> Iterator[Node]:
    a, b = truth(4, 9), truth(9)
    for operator in ("And", "Or", "Xor", "Equal"):
        yield Node(operator, [a, b])
    yield Node("Not", [a])


def empty() -> Iterator[Node]:
    none = np.zeros((2, 0, 3), np.float32)
    yield Node("Add", [none, np.ones((3,), np.float32)])
    yield Node("Sqrt", [none])
    yield Node("Cast", [none], {"to": 7})


NODES: Sequence[Node] = [
    *arithmetic(),
    *long(),
    *divisions(),
    *powers(),
    *hyperbolic(),
    *small(),
    *truths(),
    *empty(),
]


@pytest.mark.parametrize("batch", batches(NODES), ids=str)
def test_native_nodes_give_what_the_reference_gives(batch: Batch):
    check_batch(batch)


@pytest.mark.parametrize("alpha", [0.0, -0.5, 2.0])
def test_celu_is_the_formula_of_onnx(alpha: float):
    x = np.array([-np.inf, -2, -0.0, 0, 3.25, 200, np.inf, np.nan], np.float32)
    node = Node("Celu", [x], {"alpha": alpha}, opset=12)
    (found,) = compile_native(node.model()).run(None, node.feeds)
    with np.errstate(all="ignore"):
        below = np.minimum(0, np.float32(alpha) * (np.exp(x / np.float32(alpha)) - 1))
        np.testing.assert_allclose(np.asarray(found, np.float32), np.maximum(x, 0) + below, rtol=1e-6)
