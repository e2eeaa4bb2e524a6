"""Discrete Fourier transforms (DFT, STFT) by their definition, in O(N²), and determinants."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.checks import check_numbers
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.math.matmul_accumulation import round_result
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.rewriting.patterns import Array


@lowers(onnx.DFTOp, onnx.DFTV17Op)
def fourier(op: onnx.DFTOp | onnx.DFTV17Op, builder: LoweringBuilder) -> str | None:
    """
    Sum of `x e^(∓2πi k t / N)` along an axis; the inverse is divided by N.

    The last axis holds real, or real and imaginary parts. A one-sided inverse is real; its input is the first
    half of a conjugate-symmetric spectrum, so all but the first and middle terms count twice.
    """
    element, shape, out = builder.element(op.input), builder.shape(op.input), builder.shape(op.output)
    axis = _integer(op.axis, builder) if isinstance(op, onnx.DFTOp) else op.axis.value.data
    length = _integer(op.dft_length, builder)
    if isinstance(op, onnx.DFTOp) and op.axis.type == NONE:
        axis = -2
    if element not in (f32, f64) or axis is None or (length is None and op.dft_length.type != NONE):
        return "not of f32 or f64, or an axis or dft_length that is not a constant"
    axis %= len(shape)
    inverse, onesided = bool(op.inverse.value.data), bool(op.onesided.value.data)
    if length is None:
        length = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    is_mirrored = inverse and onesided
    terms = min(shape[axis], length // 2 + 1 if is_mirrored else length)
    sizes = [prod(shape[:axis]), shape[axis], prod(shape[axis + 1 : -1]), shape[-1]]
    made = [sizes[0], out[axis], sizes[2], out[-1]]
    weights = np.full(terms, (2.0 if is_mirrored else 1.0) / (length if inverse else 1))
    if is_mirrored:
        # Term 0, and N/2 of an even N, are their own conjugates: they count once.
        weights[0] /= 2
        if length % 2 == 0 and terms == length // 2 + 1:
            weights[-1] /= 2
    waves = _twiddles(length, 1.0 if inverse else -1.0, element)
    inputs = [(op.input, sizes), waves, weights.astype(waves.dtype)]
    kernel = Kernel(builder, "dft", [(op.output, made)], inputs)
    target, source, wave, weight = kernel.buffers
    zero = kernel.constant(0.0, element)
    with kernel.loops(made[:3]) as (before, index, after):
        with kernel.reducing([terms], [zero, zero]) as ((term,), sums, results):
            share = weight[term]
            parts = [source[before, term, after, part] * share for part in range(shape[-1])]
            results += _rotated(parts, (index * term) % length, wave, sums)
        for part in range(out[-1]):
            target[before, index, after, part] = results[part]
    kernel.call()
    return None


def _integer(value: SSAValue, builder: LoweringBuilder) -> int | None:
    if value.type == NONE:
        return None
    known = builder.constant(value)
    return None if known is None else int(np.asarray(known, np.int64).reshape(-1)[0])


def _twiddles(length: int, sign: float, element: Attribute) -> Array:
    """Return a table of the twiddle factors `e^(±2πi t / N)`, [length, 2]."""
    angles = sign * 2 * pi * np.arange(length) / length
    numbers = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return numbers.astype(np.float32 if element == f32 else np.float64)


def _rotated(number: Sequence[Scalar], angle: Scalar, wave: Buffer, sums: Sequence[Scalar]) -> list[Scalar]:
    """Add a real or complex number times a twiddle factor to a complex sum."""
    cosine, sine = wave[angle, 0], wave[angle, 1]
    real, *imaginary = number
    parts = [real * cosine, real * sine]
    for each in imaginary:
        parts = [parts[0] - each * sine, parts[1] + each * cosine]
    return [before + part for before, part in zip(sums, parts, strict=True)]


@lowers(onnx.STFTOp)
def short_time_fourier(op: onnx.STFTOp, builder: LoweringBuilder) -> str | None:
    """DFT of windows of a signal, `frame_step` apart."""
    element, shape, out = builder.element(op.signal), builder.shape(op.signal), builder.shape(op.output)
    has_window = op.window.type != NONE
    length = builder.shape(op.window)[0] if has_window else _integer(op.frame_length, builder)
    if (
        element not in (f32, f64)
        or length is None
        or len(shape) != 3
        or builder.element(op.frame_step) != i64
    ):
        return "not of f32 or f64, or a frame length that is not a constant"
    check_numbers(op, op.frame_step, 1, shape[1], "frame_step is", builder)
    inputs = [op.signal, _twiddles(length, -1.0, element), (op.frame_step, [1])]
    kernel = Kernel(builder, "stft", [op.output], [*inputs, *([op.window] if has_window else [])])
    target, source, wave, step, *window = kernel.buffers
    zero = kernel.constant(0.0, element)
    stride = step[0].to(INDEX)
    with kernel.loops(out[:3]) as (image, frame, index):
        with kernel.reducing([length], [zero, zero]) as ((term,), sums, results):
            at = (frame * stride + term).clamp(0, shape[1] - 1)
            parts = [source[image, at, part] for part in range(shape[2])]
            if window:
                factor = window[0][term]
                parts = [part * factor for part in parts]
            results += _rotated(parts, (index * term) % length, wave, sums)
        for part in range(2):
            target[image, frame, index, part] = results[part]
    kernel.call()
    return None


@lowers(onnx.DetOp)
def determinant(op: onnx.DetOp, builder: LoweringBuilder) -> str | None:
    """
    Gaussian elimination with partial pivoting: the product of the pivots, negated for each row exchange.
    """
    given, shape = builder.element(op.X), builder.shape(op.X)
    # f16 and bf16 are eliminated in f32 and rounded once.
    element = compute_type(given)
    if element not in (f32, f64):
        return "not of floats"
    size, count = shape[-1], prod(shape[:-2])
    matrix_shape = [count, size, size]
    scratch = [builder.allocate(matrix_shape, element), builder.allocate([count, size], element)]
    is_direct = element == given
    result = builder.result(op.Y) if is_direct else builder.allocate([count], element)
    outputs = [(result, [count]), *scratch]
    kernel = Kernel(builder, "det", outputs, [(op.X, matrix_shape)])
    out, rows, factors, source = kernel.buffers
    zero = kernel.constant(0.0, element)
    with kernel.loops([count]) as (matrix,):
        with kernel.loops([size, size]) as (row, column):
            rows[matrix, row, column] = source[matrix, row, column]
        out[matrix] = 1.0
        with kernel.loops([size]) as (column,):
            start = [kernel.constant(-1.0, element), column]
            with kernel.reducing([size], start) as ((row,), (largest, chosen), results):
                length = rows[matrix, row, column].abs()
                is_larger = (row >= column) & (length > largest)
                results += [is_larger.select(length, largest), is_larger.select(row, chosen)]
            chosen = results[1]
            with kernel.loops([size]) as (index,):
                first, second = rows[matrix, column, index], rows[matrix, chosen, index]
                rows[matrix, column, index] = second
                rows[matrix, chosen, index] = first
            pivot = rows[matrix, column, column]
            is_transposed = chosen.differs(column)
            out[matrix] = out[matrix] * is_transposed.select(-pivot, pivot)
            with kernel.loops([size]) as (row,):
                share = rows[matrix, row, column] / pivot
                is_below = (row > column) & pivot.differs(0.0)
                factors[matrix, row] = is_below.select(share, zero)
            with kernel.loops([size, size]) as (row, index):
                taken = factors[matrix, row] * rows[matrix, column, index]
                rows[matrix, row, index] = rows[matrix, row, index] - taken
    kernel.call()
    if not is_direct:
        round_result(op.Y, result, [count], builder)
    return None
