"""Operators that the reference evaluator of the onnx package computes wrongly, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias, cast

import numpy as np

from xonnc.formats.onnx.reference_convolution import convolution, transposed_convolution
from xonnc.formats.onnx.reference_resize import resize
from xonnc.formats.onnx.tensors import AnyArray

Operands: TypeAlias = Sequence[AnyArray | None]
Compute: TypeAlias = Callable[[Operands, dict[str, object], int], Sequence[AnyArray]]
"""From operands, attributes and the number of outputs to the outputs."""

FLATTENING = range(1, 13)
"""Opsets in which softmaxes take all axes from one on as a single one."""

ALL = range(1, 1000)


def _local_response(operands: Operands, attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    """The evaluator's own leaves channels out of the sums."""
    x = np.asarray(operands[0])
    size = cast("int", attributes["size"])
    alpha, beta, bias = (
        cast("float", attributes.get(name, default))
        for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    before = (size - 1) // 2
    pads = [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)]
    squares = np.pad(np.square(_widened(x)), pads)
    sums = np.lib.stride_tricks.sliding_window_view(squares, size, axis=1).sum(axis=-1)
    return [(x / np.power(bias + alpha / size * sums, beta)).astype(x.dtype)]


def _global_max_pool(operands: Operands, _attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    """The evaluator's own takes the maximum over two axes, however many there are."""
    x = np.asarray(operands[0])
    return [x.max(axis=tuple(range(2, x.ndim)), keepdims=True)]


def _log_softmax(operands: Operands, attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    """The evaluator's own takes logarithms of shares that are too small to be exact."""
    x = np.asarray(operands[0])
    return [_log_shares(x, cast("int", attributes.get("axis", -1)))]


def _old_softmax(operands: Operands, attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    x = np.asarray(operands[0])
    rows = _widened(_rows(x, attributes))
    parts = np.exp(rows - rows.max(axis=1, keepdims=True, initial=-np.inf))
    return [(parts / parts.sum(axis=1, keepdims=True)).astype(x.dtype).reshape(x.shape)]


def _old_log_softmax(operands: Operands, attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    x = np.asarray(operands[0])
    return [_log_shares(_rows(x, attributes), 1).reshape(x.shape)]


def _old_hardmax(operands: Operands, attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    x = np.asarray(operands[0])
    rows = _rows(x, attributes)
    found = np.zeros_like(rows)
    if rows.size:
        np.put_along_axis(found, rows.argmax(axis=1, keepdims=True), 1, axis=1)
    return [found.reshape(x.shape)]


def _global_lp_pool(operands: Operands, attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    """The evaluator has none."""
    x, p = np.asarray(operands[0]), cast("float", attributes.get("p", 2))
    sums = np.sum(np.abs(_widened(x)) ** p, axis=tuple(range(2, x.ndim)), keepdims=True)
    return [(sums ** (1 / p)).astype(x.dtype)]


def _power(operands: Operands, _attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    """The evaluator's own takes no negative integers as exponents; as in native code, 0 has the power 0."""
    x, exponent = (np.asarray(each) for each in operands)
    if x.dtype.kind not in "iu" or exponent.dtype.kind != "i":
        return [np.power(x, exponent).astype(x.dtype)]
    positive = np.power(x, np.maximum(exponent, 0)).astype(x.dtype)
    inverse = np.where(np.isin(x, [1, -1]), np.where(exponent % 2 == 1, x, 1), 0)
    return [np.where(exponent < 0, inverse, positive).astype(x.dtype)]


def _reduction(reduce: Callable[[AnyArray, tuple[int, ...]], AnyArray]) -> Compute:
    """Return a reduction in floats of 32 bits or more; `reduce` keeps reduced axes."""

    def compute(operands: Operands, attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
        x, given = np.asarray(operands[0]), operands[1] if len(operands) > 1 else None
        axes = cast("list[int]", attributes.get("axes") or []) if given is None else given.tolist()
        if not axes and not attributes.get("noop_with_empty_axes"):
            axes = list(range(x.ndim))
        found = reduce(x, tuple(axes)).astype(x.dtype)
        return [found if attributes.get("keepdims", 1) else np.squeeze(found, tuple(axes))]

    return compute


def _sum_of_squares(x: AnyArray, axes: tuple[int, ...]) -> AnyArray:
    """The evaluator's own has integers of 64 bits."""
    return np.sum(np.square(x if x.dtype.kind in "iu" else _widened(x)), axis=axes, keepdims=True)


def _log_sum(x: AnyArray, axes: tuple[int, ...]) -> AnyArray:
    """The evaluator's own takes no integers."""
    return np.log(np.sum(_widened(x), axis=axes, keepdims=True))


def _log_sum_of_powers(x: AnyArray, axes: tuple[int, ...]) -> AnyArray:
    """The evaluator's own takes no integers."""
    wide = _widened(x)
    greatest = wide.max(axis=axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(greatest), greatest, 0)
    return np.log(np.sum(np.exp(wide - shift), axis=axes, keepdims=True)) + shift


def _log_shares(x: AnyArray, axis: int) -> AnyArray:
    wide = _widened(x)
    shifted = wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)
    return (shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))).astype(x.dtype)


def _rows(x: AnyArray, attributes: Mapping[str, object]) -> AnyArray:
    """Return the matrix of all axes before `axis` by all from it on."""
    axis = cast("int", attributes.get("axis", 1))
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def _widened(x: AnyArray) -> AnyArray:
    """Return 16 bits as 32, integers as 64."""
    return x.astype(np.result_type(x, np.float32))


def _gather_elements(operands: Operands, attributes: Mapping[str, object], _outputs: int) -> list[AnyArray]:
    """The evaluator's own fails for a single row, and along axes of more than 64 elements."""
    data, indices = (np.asarray(each) for each in operands)
    axis = cast("int", attributes.get("axis", 0)) % max(data.ndim, 1)
    positions = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    positions[axis] = indices
    return [data[tuple(positions)]]


CORRECTED: Sequence[tuple[str, range, Compute]] = (
    ("Conv", ALL, convolution),
    ("ConvTranspose", ALL, transposed_convolution),
    ("GatherElements", ALL, _gather_elements),
    ("GlobalLpPool", ALL, _global_lp_pool),
    ("GlobalMaxPool", ALL, _global_max_pool),
    ("Hardmax", FLATTENING, _old_hardmax),
    ("LRN", ALL, _local_response),
    ("LogSoftmax", FLATTENING, _old_log_softmax),
    ("LogSoftmax", range(13, 1000), _log_softmax),
    ("Pow", ALL, _power),
    ("ReduceLogSum", ALL, _reduction(_log_sum)),
    ("ReduceLogSumExp", ALL, _reduction(_log_sum_of_powers)),
    ("ReduceSumSquare", ALL, _reduction(_sum_of_squares)),
    ("Resize", range(11, 1000), resize),
    ("Softmax", FLATTENING, _old_softmax),
)
"""Operators by name, the opsets in which they are computed here, and how."""
