"""Weights of 4 and 8 bits with scales of blocks, for models of tests."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper

from xonnc.runtime.native.session import Session

Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(21)
KINDS = {
    "uint4": (onnx.TensorProto.UINT4, ml_dtypes.uint4, 0, 16),
    "int4": (onnx.TensorProto.INT4, ml_dtypes.int4, -8, 8),
    "uint8": (onnx.TensorProto.UINT8, np.uint8, 0, 256),
    "int8": (onnx.TensorProto.INT8, np.int8, -128, 128),
}


def tensor(name: str, kind: int, array: Array) -> onnx.TensorProto:
    return onnx.helper.make_tensor(name, kind, array.shape, array.reshape(-1).tolist())


def random_weights(
    name: str, k: int, n: int, block: int, zero: str
) -> tuple[str, Array, Array, Array | None]:
    _, _, low, high = KINDS[name]
    shape = k // block, n
    values = RANDOM.integers(low, high, (k, n))
    zeros = None if zero == "none" else np.full(shape, high - 1)
    zeros = RANDOM.integers(low, high, shape) if zero == "varied" else zeros
    return name, values, RANDOM.uniform(0.01, 0.1, shape).astype(np.float32), zeros


def product(x: Array, integers: tuple[str, Array, Array, Array | None]) -> Array:
    _, values, scales, zeros = integers
    block = values.shape[0] // scales.shape[0]
    offsets = np.zeros_like(scales) if zeros is None else zeros
    real = (values - np.repeat(offsets, block, 0)) * np.repeat(scales.astype(np.float64), block, 0)
    return np.asarray(x.astype(np.float64) @ real)


def kernels(session: Session) -> list[str]:
    return [name for line in session.report() for name in line.what.split()]
