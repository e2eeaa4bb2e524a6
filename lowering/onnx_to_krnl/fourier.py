"""Discrete Fourier transforms (DFT, STFT) by their definition, in O(N²), and determinants."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.checks import check_numbers
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.matmul_accumulation import round_result
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar


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
    waves = _twiddles(length, 1.0 if inverse else -1.0, element, builder)
    weights = np.full(terms, (2.0 if is_mirrored else 1.0) / (length if inverse else 1))
    if is_mirrored:
        # Term 0, and N/2 of an even N, are their own conjugates: they count once.
        weights[0] /= 2
        if length % 2 == 0 and terms == length // 2 + 1:
            weights[-1] /= 2
    dtype = np.float32 if element == f32 else np.float64
    types = [buffer_type(made, element), buffer_type(sizes, element), buffer_type([length, 2], element)]
    kernel = KernelBuilder([*types, buffer_type([terms], element)])
    target, source, wave, weight = kernel.buffers
    zero = kernel.constant(0.0, element)
    with kernel.loops(made[:3]) as (before, index, after):
        with kernel.reducing([terms], [zero, zero]) as (inner, accumulators, results):
            at = [before, inner[0], after]
            share = Scalar(kernel, kernel.load(weight, inner))
            real = Scalar(kernel, kernel.load(source, [*at, kernel.index(0)])) * share
            imaginary = None
            if shape[-1] == 2:
                imaginary = Scalar(kernel, kernel.load(source, [*at, kernel.index(1)])) * share
            results += _rotated(kernel, (real, imaginary), index, inner[0], (wave, length), accumulators)
        for part in range(out[-1]):
            kernel.store(results[part], target, [before, index, after, kernel.index(part)])
    buffers = [builder.buffer(op.input), waves, builder.constant_buffer(weights.astype(dtype))]
    builder.call("dft", kernel, [builder.result(op.output)], buffers)
    return None


def _integer(value: SSAValue, builder: LoweringBuilder) -> int | None:
    if value.type == NONE:
        return None
    known = builder.constant(value)
    return None if known is None else int(np.asarray(known, np.int64).reshape(-1)[0])


def _twiddles(length: int, sign: float, element: Attribute, builder: LoweringBuilder) -> SSAValue:
    """Return a table of the twiddle factors `e^(±2πi t / N)`, [length, 2]."""
    angles = sign * 2 * pi * np.arange(length) / length
    numbers = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return builder.constant_buffer(numbers.astype(np.float32 if element == f32 else np.float64))


def _rotated(
    kernel: KernelBuilder,
    number: tuple[Scalar, Scalar | None],
    index: SSAValue,
    term: SSAValue,
    waves: tuple[SSAValue, int],
    accumulators: Sequence[SSAValue],
) -> list[SSAValue]:
    """Add a complex number times the twiddle factor of `place · term` to a complex accumulator."""
    wave, length = waves
    angle = (Scalar(kernel, index) * Scalar(kernel, term)) % length
    cosine, sine = (Scalar(kernel, kernel.load(wave, [angle.value, kernel.index(part)])) for part in range(2))
    real, imaginary = number
    sums = [real * cosine, real * sine]
    if imaginary is not None:
        sums = [sums[0] - imaginary * sine, sums[1] + imaginary * cosine]
    return [(Scalar(kernel, before) + part).value for before, part in zip(accumulators, sums, strict=True)]


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
    types = [buffer_type(out, element), buffer_type(shape, element), buffer_type([length, 2], element)]
    types.append(buffer_type([1], i64))
    if has_window:
        types.append(buffer_type([length], element))
    kernel = KernelBuilder(types)
    target, source, wave, step, *window = kernel.buffers
    zero = kernel.constant(0.0, element)
    stride = Scalar(kernel, kernel.load(step, [kernel.index(0)])).to(INDEX)
    with kernel.loops(out[:3]) as (image, frame, index):
        with kernel.reducing([length], [zero, zero]) as (inner, accumulators, results):
            at = (Scalar(kernel, frame) * stride + Scalar(kernel, inner[0])).clamp(0, shape[1] - 1)
            parts = [
                Scalar(kernel, kernel.load(source, [image, at.value, kernel.index(part)]))
                for part in range(shape[2])
            ]
            if window:
                factor = Scalar(kernel, kernel.load(window[0], inner))
                parts = [part * factor for part in parts]
            number = parts[0], parts[1] if len(parts) == 2 else None
            results += _rotated(kernel, number, index, inner[0], (wave, length), accumulators)
        for part in range(2):
            kernel.store(results[part], target, [image, frame, index, kernel.index(part)])
    buffers = [
        builder.buffer(op.signal),
        _twiddles(length, -1.0, element, builder),
        builder.buffer(op.frame_step),
    ]
    buffers += [builder.buffer(op.window)] if has_window else []
    builder.call("stft", kernel, [builder.result(op.output)], buffers)
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
    types = [
        buffer_type([count], element),
        buffer_type(matrix_shape, element),
        buffer_type([count, size], element),
    ]
    kernel = KernelBuilder([*types, buffer_type(matrix_shape, given)])
    out, rows, factors, source = kernel.buffers
    zero = kernel.constant(0.0, element)
    with kernel.loops([count]) as (matrix,):
        with kernel.loops([size, size]) as indices:
            x = read_as(kernel, source, [matrix, *indices], given, element)
            kernel.store(x.value, rows, [matrix, *indices])
        kernel.store(kernel.constant(1.0, element), out, [matrix])
        with kernel.loops([size]) as (column,):
            starts = [kernel.constant(-1.0, element), column]
            with kernel.reducing([size], starts) as (inner, accumulators, results):
                length = read_as(kernel, rows, [matrix, inner[0], column], element, element).abs()
                is_larger = (Scalar(kernel, inner[0]) >= Scalar(kernel, column)) & (
                    length > Scalar(kernel, accumulators[0])
                )
                results.append(is_larger.select(length, Scalar(kernel, accumulators[0])).value)
                results.append(
                    is_larger.select(Scalar(kernel, inner[0]), Scalar(kernel, accumulators[1])).value
                )
            chosen = results[1]
            with kernel.loops([size]) as (index,):
                current_row, pivot_row = [matrix, column, index], [matrix, chosen, index]
                first, second = kernel.load(rows, current_row), kernel.load(rows, pivot_row)
                kernel.store(second, rows, current_row)
                kernel.store(first, rows, pivot_row)
            pivot = Scalar(kernel, kernel.load(rows, [matrix, column, column]))
            is_transposed = Scalar(kernel, chosen).differs(Scalar(kernel, column))
            before = Scalar(kernel, kernel.load(out, [matrix]))
            kernel.store((before * is_transposed.select(-pivot, pivot)).value, out, [matrix])
            with kernel.loops([size]) as (row,):
                share = Scalar(kernel, kernel.load(rows, [matrix, row, column])) / pivot
                is_below = (Scalar(kernel, row) > Scalar(kernel, column)) & pivot.differs(0.0)
                factor = is_below.select(share, Scalar(kernel, zero))
                kernel.store(factor.value, factors, [matrix, row])
            with kernel.loops([size, size]) as (row, index):
                share = Scalar(kernel, kernel.load(factors, [matrix, row]))
                taken = share * Scalar(kernel, kernel.load(rows, [matrix, column, index]))
                x = Scalar(kernel, kernel.load(rows, [matrix, row, index]))
                kernel.store((x - taken).value, rows, [matrix, row, index])
    scratch = [builder.allocate(matrix_shape, element), builder.allocate([count, size], element)]
    is_direct = element == given
    result = builder.result(op.Y) if is_direct else builder.allocate([count], element)
    builder.call("det", kernel, [result, *scratch], [builder.buffer(op.X)])
    if not is_direct:
        round_result(op.Y, result, [count], element, builder)
    return None
