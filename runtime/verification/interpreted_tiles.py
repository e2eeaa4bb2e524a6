"""Products and convolutions in register tiles (`krnl.gemm`, `krnl.conv`), evaluated as whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DenseArrayBase
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import shape_of
from xonnc.dialects.krnl.packing import PackOp
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.runtime.verification.scalar_evaluation import NotInterpretedError

Array: TypeAlias = npt.NDArray[Any]


class PackedWeights(NamedTuple):
    """Weights that a kernel reads in a packed form, as they are before `prepack-weights` orders them."""

    op: PackOp
    weights: Array


def multiply(op: GemmOp, values: Mapping[SSAValue, Any]) -> None:
    """Run all iterations of a product; raise `NotInterpretedError` for a part of them or a dynamic batch."""
    if op.dynamic_batch is not None:
        raise NotInterpretedError("krnl.gemm of a dynamic batch")
    _require_all_iterations(op, values)
    given = iter(op.dynamic_sizes)
    m, n, k = (int(values[next(given)]) if size == DYNAMIC_INDEX else size for size in op.sizes)
    a, c = values[op.a].reshape(-1), values[op.c].reshape(-1)
    starts_a = op.batch_a.get_values() if op.batch_a is not None else (0,)
    starts_b = op.batch_b.get_values() if op.batch_b is not None else (0,)
    for number, (first_a, first_b) in enumerate(zip(starts_a, starts_b, strict=True)):
        rows = a[first_a : first_a + m * k]
        rows = rows.reshape(m, k) if op.transposed_a is None else rows.reshape(k, m).T
        result = rows @ _columns(op, values[op.b], (n, k), first_b)
        if op.bias is not None:
            bias = values[op.bias].reshape(-1)
            result = result + (bias[:m, None] if op.bias_of_rows is not None else bias[:n])
        if op.activation is not None and op.activation.data == "relu":
            # NaN stays NaN, and -0 becomes 0.
            result = np.maximum(result, result.dtype.type(0))
        c[number * m * n : (number + 1) * m * n] = result.reshape(-1)


def _require_all_iterations(op: GemmOp | ConvOp, values: Mapping[SSAValue, Any]) -> None:
    if op.range and [int(values[each]) for each in op.range] != [0, op.iterations]:
        raise NotInterpretedError(f"a part of a {op.name}")


def _columns(op: GemmOp, b: Array | PackedWeights, sizes: tuple[int, int], start: int) -> Array:
    """The matrix B that begins at an offset; `sizes` are N and K."""
    n, k = sizes
    if isinstance(b, PackedWeights):
        if start or b.op.form.data != "gemm_panels":
            raise NotInterpretedError(f"a krnl.gemm of packed weights {b.op.form.data}")
        if op.is_narrow:
            is_bfloat16 = b.weights.dtype == np.int16
            return (b.weights.view(ml_dtypes.bfloat16) if is_bfloat16 else b.weights).astype(np.float32)
        factor = 1.0 if b.op.factor is None else b.op.factor.value.data
        return b.weights * b.weights.dtype.type(factor)
    if op.transposed_b is not None:
        return b.reshape(-1)[start : start + n * k].reshape(n, k).T
    if op.packed is None:
        return b.reshape(-1)[start : start + n * k].reshape(k, n)
    width = int(op.tile.get_values()[1])
    panels = b.reshape(-1)[start : start + -(-n // width) * width * k].reshape(-1, k, width)
    return panels.transpose(1, 0, 2).reshape(k, -1)[:, :n]


def convolve(op: ConvOp, values: Mapping[SSAValue, Any], epilogue: Callable[[Any], Any]) -> None:
    """
    Run all iterations of a convolution; `epilogue` evaluates its region on one element.

    Raises `NotInterpretedError` for a part of them or dynamic sizes.
    """
    if op.dynamic_sizes:
        raise NotInterpretedError("krnl.conv of dynamic sizes")
    _require_all_iterations(op, values)
    y, x = values[op.y], values[op.x]
    images, blocks, _, _, lanes = y.shape
    (rows, columns), depth = _pair(op.out), op.depth.value.data
    filters = _filters(op, values[op.w], blocks, lanes)
    if x.ndim == 5:
        x = x.transpose(0, 1, 4, 2, 3).reshape(len(x), -1, *x.shape[2:4])
    if op.plane_step is not None:
        planes, step = depth // x.shape[1], op.plane_step.value.data
        windows = (x[first : first + planes] for first in range(0, images * step, step))
        x = np.stack([each.reshape(depth, *x.shape[2:]) for each in windows])
    x = x if op.depthwise is not None else x[:, :depth]
    result = np.zeros((images, blocks * lanes, rows, columns), y.dtype)
    (first, left), strides, dilations = _pair(op.start), _pair(op.strides), _pair(op.dilations)
    equation = "ncij,c->ncij" if op.depthwise is not None else "ncij,oc->noij"
    for i, j in product(*map(range, _pair(op.kernel))):
        taken = (
            first + i * dilations[0] + strides[0] * np.arange(rows)[:, None],
            left + j * dilations[1] + strides[1] * np.arange(columns)[None],
        )
        taps = filters[:, 0, i, j] if op.depthwise is not None else filters[:, :, i, j]
        result += np.einsum(equation, x[:, :, *taken], taps)
    blocked = result.reshape(images, blocks, lanes, rows, columns).transpose(0, 1, 3, 4, 2)
    if op.bias is not None:
        blocked = blocked + values[op.bias].reshape(1, blocks, 1, 1, lanes)
    if op.residual is not None and op.residual_start is not None:
        blocked = blocked + values[op.residual][_pixels(op, op.residual_start)]
    if op.low is not None:
        blocked = np.maximum(blocked, y.dtype.type(op.low.value.data))
    if op.high is not None:
        blocked = np.minimum(blocked, y.dtype.type(op.high.value.data))
    if op.epilogue is not None and op.epilogue.blocks:
        blocked = np.array([epilogue(each) for each in blocked.reshape(-1)], y.dtype).reshape(blocked.shape)
    y[_pixels(op, op.out_start)] = blocked


def _pair(values: DenseArrayBase[I64]) -> tuple[int, int]:
    first, second = (int(each) for each in values.get_values())
    return first, second


def _pixels(op: ConvOp, start: DenseArrayBase[I64]) -> tuple[slice, ...]:
    """The computed pixels of an image in NCHWc."""
    ranges = zip(_pair(start), _pair(op.out), _pair(op.out_strides), strict=True)
    return (
        slice(None),
        slice(None),
        *(slice(begin, begin + count * step, step) for begin, count, step in ranges),
    )


def _filters(op: ConvOp, w: Array | PackedWeights, blocks: int, lanes: int) -> Array:
    """Weights as `[output channels][input channels][kernel]`, zero-padded to whole blocks."""
    kernel = _pair(op.kernel)
    depth = 1 if op.depthwise is not None else op.depth.value.data
    found = np.zeros((blocks * lanes, depth, *kernel), np.float32)
    if isinstance(w, PackedWeights):
        factor = 1.0 if w.op.factor is None else w.op.factor.value.data
        found[: len(w.weights)] = w.weights.reshape(len(w.weights), -1, *kernel) * np.float32(factor)
        return found
    if op.depthwise is not None:
        return w.reshape(blocks, *kernel, lanes).transpose(0, 3, 1, 2).reshape(found.shape)
    # Elements of an image that is not channel-blocked are broadcast one by one.
    step = lanes if len(shape_of(op.x)) == 5 else 1
    width, start = int(op.tile.get_values()[1]) * lanes, 0
    for panel in (found[first : first + width] for first in range(0, len(found), width)):
        for channel in range(0, depth, step):
            count = min(step, depth - channel)
            size = len(panel) * count * kernel[0] * kernel[1]
            part = w[start : start + size].reshape(*kernel, count, len(panel))
            panel[:, channel : channel + count] = part.transpose(3, 2, 0, 1)
            start += size
    return found
