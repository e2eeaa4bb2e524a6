"""
Fourier transforms (DFT, STFT) as MatMul and Conv, which run near the processor's peak.

A transform of length N is a product with the matrix `e^(∓2πi k n / N)`. Up to `DIRECT` that is faster than
the few operations of a fast transform; longer ones are two rounds of shorter ones (the factorisation of
Cooley and Tukey, as in Bailey's "four-step" transform). Like `legalize_early_opsets`, these rules
are for native code alone: an exported model keeps its DFT and STFT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, numpy_dtype
from xonnc.rewriting.onnx import (
    DFT,
    DFTV17,
    STFT,
    Add,
    Cast,
    Concat,
    Conv,
    MatMul,
    Mul,
    Pad,
    Reshape,
    Slice,
    Sub,
    Transpose,
)
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    RewriteResult,
    attr,
    const,
    maybe,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.op_builder import OpBuilder

DIRECT = 1024
"""
Longest transform as one matrix product.

At this length the float32 matrix takes 8 MB (real to complex), and a transform N² multiply-adds per part.
"""

Matrix = npt.NDArray[np.float64]

x, signal, window = value.x, value.signal, value.window


def roots(length: int, exponents: npt.NDArray[np.int64], inverse: bool) -> tuple[Matrix, Matrix]:
    """Return real and imaginary parts of e^(∓2πi m / N) for all exponents m, exact at multiples of π/2."""
    # Reduce exponents modulo N, so that angles are below 2π: the cosine of a large angle is less accurate.
    eighths = np.arange(length) * 8 / length
    angles = eighths * np.pi / 4
    is_quarter = eighths % 2 == 0
    cosine = np.where(is_quarter, np.round(np.cos(angles)), np.cos(angles))
    sine = np.where(is_quarter, np.round(np.sin(angles)), np.sin(angles))
    indices = exponents % length
    return cosine[indices], (sine if inverse else -sine)[indices]


@dataclass(frozen=True)
class Transform:
    """A transform of `terms` elements, zero-padded to `length`, of which the first `results` are computed."""

    length: int
    terms: int
    results: int
    inverse: bool
    mirrored: bool = False
    """Whether the input is the first half of a conjugate-symmetric spectrum: results are real."""

    @property
    def result_parts(self) -> int:
        """Return 1 for real results, 2 for complex ones."""
        return 1 if self.mirrored else 2

    def waves(self) -> tuple[Matrix, Matrix]:
        """Return real and imaginary parts of the weights: [terms, results]."""
        exponents = np.outer(np.arange(self.terms), np.arange(self.results))
        cosine, sine = roots(self.length, exponents, self.inverse)
        weights = np.full((self.terms, 1), 1.0 / self.length if self.inverse else 1.0)
        if self.mirrored:
            # Each term stands for itself and its conjugate, so it counts twice. Exceptions are term 0 and,
            # for an even length, the Nyquist term N / 2: they are their own conjugates.
            weights *= 2
            weights[0] /= 2
            if self.length % 2 == 0 and self.terms == self.length // 2 + 1:
                weights[-1] /= 2
        return weights * cosine, weights * sine

    def matrix(self, parts: int) -> Matrix:
        """Return the matrix for rows of `terms` elements of 1 or 2 parts each, the parts interleaved."""
        real, imaginary = self.waves()
        # (a + b i)(c + d i) = (a c - b d) + (a d + b c) i, one row per part of the input.
        rows = [[real, imaginary], [-imaginary, real]]
        chosen = [row[: self.result_parts] for row in rows[:parts]]
        blocks = np.array(chosen).transpose(2, 0, 3, 1)
        return blocks.reshape(self.terms * parts, self.results * self.result_parts)


@dataclass(frozen=True)
class ComplexSignal:
    """A tensor whose last two axes are the axis to transform and the real and imaginary parts."""

    builder: OpBuilder
    value: SSAValue
    leading: int
    """Axes before these two; their sizes may be dynamic."""
    size: int
    parts: int
    dtype: np.dtype[np.generic]

    def transformed(self, transform: Transform) -> ComplexSignal:
        """Return the transform along the axis, as one matrix product."""
        matrix = self.builder.constant(transform.matrix(self.parts).astype(self.dtype))
        flat = self._reshaped(self.value, self.size * self.parts)
        made = self.builder(MatMul, flat, matrix)
        parts = transform.result_parts
        shaped = self._reshaped(made, transform.results, parts)
        return ComplexSignal(self.builder, shaped, self.leading, transform.results, parts, self.dtype)

    def transformed_in_two(self, transform: Transform, first: int) -> ComplexSignal:
        """
        Return the transform of N = N₁ N₂ elements, as transforms of N₁ and of N₂ (Cooley and Tukey).

        With n = N₂ n₁ + n₂ and k = k₁ + N₁ k₂:
        X[k] = Σ_n₂ e^(n₂ k₂ / N₂) e^(n₂ k₁ / N) Σ_n₁ x[n] e^(n₁ k₁ / N₁), where e^t is e^(∓2πi t)
        """
        second = transform.length // first
        padded = self._padded(transform.length)
        split = self._reshaped(padded, first, second, self.parts)
        rows = ComplexSignal(
            self.builder, self._swapped(split), self.leading + 1, first, self.parts, self.dtype
        )
        sums = rows.transformed(Transform(first, first, first, transform.inverse))
        twiddled = ComplexSignal(
            self.builder,
            self._swapped(self._twiddled(sums, transform, second)),
            self.leading + 1,
            second,
            2,
            self.dtype,
        )
        transformed = twiddled.transformed(Transform(second, second, second, transform.inverse))
        spectrum = self._reshaped(self._swapped(transformed.value), transform.length, 2)
        return ComplexSignal(self.builder, spectrum, self.leading, transform.length, 2, self.dtype)

    def _twiddled(self, sums: ComplexSignal, transform: Transform, second: int) -> SSAValue:
        """Multiply by the twiddle factors e^(n₂ k₁ / N)."""
        exponents = np.outer(np.arange(second), np.arange(sums.size))
        factors = roots(transform.length, exponents, transform.inverse)
        cosine, sine = (self.builder.constant(factor[..., None].astype(self.dtype)) for factor in factors)
        real, imaginary = (self._sliced(sums.value, self.leading + 2, part, part + 1) for part in range(2))
        builder = self.builder
        parts = [
            builder(Sub, builder(Mul, real, cosine), builder(Mul, imaginary, sine)),
            builder(Add, builder(Mul, real, sine), builder(Mul, imaginary, cosine)),
        ]
        return builder(Concat, *parts, axis=-1)

    def first(self, size: int) -> ComplexSignal:
        """Return the first elements along the axis."""
        if size >= self.size:
            return self
        cut = self._sliced(self.value, self.leading, 0, size)
        return ComplexSignal(self.builder, cut, self.leading, size, self.parts, self.dtype)

    def _padded(self, size: int) -> SSAValue:
        if size == self.size:
            return self.value
        pads_after = [0] * self.leading + [size - self.size, 0]
        pads = self.builder.ints(*[0] * len(pads_after), *pads_after)
        return self.builder(Pad, self.value, pads, self.builder.none(), self.builder.none(), mode="constant")

    def _reshaped(self, given: SSAValue, *sizes: int) -> SSAValue:
        """Reshape the axes after the leading ones, whose dimensions are copied by 0."""
        return self.builder(Reshape, given, self.builder.ints(*[0] * self.leading, *sizes), allowzero=0)

    def _swapped(self, given: SSAValue) -> SSAValue:
        """Swap the two axes after the leading ones."""
        perm = [*range(self.leading), self.leading + 1, self.leading, self.leading + 2]
        return self.builder(Transpose, given, perm=perm)

    def _sliced(self, given: SSAValue, axis: int, start: int, end: int) -> SSAValue:
        ints = self.builder.ints
        return self.builder(Slice, given, ints(start), ints(end), ints(axis), ints(1))


def factor(length: int) -> int | None:
    """Return the largest factor up to the square root, or `None` if its cofactor exceeds `DIRECT`."""
    for first in range(int(length**0.5), 0, -1):
        if length % first == 0:
            return first if length // first <= DIRECT else None
    return None


def computed_as(element: Attribute | None) -> Attribute | None:
    """Return the element type in which a transform is computed, or `None` if it is not floating-point."""
    if isinstance(element, Float32Type | Float64Type):
        return element
    return f32 if isinstance(element, Float16Type | BFloat16Type) else None


def shape_of(given: SSAValue) -> Sequence[int]:
    """Return the shape of a tensor, `DYNAMIC_INDEX` for dynamic dimensions; empty if unranked."""
    return given.type.get_shape() if is_ranked(given.type) else ()


def dft(root: Operation, x: SSAValue, length: int | None, axis: int) -> RewriteResult:
    """Rewrite a discrete Fourier transform along an axis as one or two matrix products."""
    shape, element = shape_of(x), computed_as(element_type(x.type))
    if element is None or len(shape) < 2 or not -len(shape) <= axis < len(shape):
        return MatchFailure("not floats of known rank")
    axis %= len(shape)
    size, parts = shape[axis], shape[-1]
    if axis == len(shape) - 1 or size < 1 or parts not in (1, 2):
        return MatchFailure("the size of the axis is dynamic, or no axis has real and imaginary parts")
    inverse, onesided = (_flag(root, name) for name in ("inverse", "onesided"))
    if length is None:
        length = 2 * (size - 1) if inverse and onesided else size
    if length < 1:
        return MatchFailure("an empty transform")
    mirrored = inverse and onesided
    results = length // 2 + 1 if onesided and not inverse else length
    terms = min(size, length // 2 + 1 if mirrored else length)
    transform = Transform(length, terms, results, inverse, mirrored)
    first = None if length <= DIRECT else factor(length)
    if length > DIRECT and (first is None or mirrored):
        return MatchFailure("the length has no factorization that saves work")

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        moved = list(range(len(shape)))
        moved.insert(len(shape) - 2, moved.pop(axis))
        given = _cast(builder, x, element)
        if axis != len(shape) - 2:
            given = builder(Transpose, given, perm=moved)
        signal = ComplexSignal(builder, given, len(shape) - 2, size, parts, numpy_dtype(element)).first(terms)
        if first is None:
            made = signal.transformed(transform)
        else:
            made = signal.transformed_in_two(transform, first).first(results)
        back = [moved.index(index) for index in range(len(shape))]
        last = made.value if axis == len(shape) - 2 else builder(Transpose, made.value, perm=back)
        return _finished(op, _cast(builder, last, element_type(x.type)))

    return ImperativeRewrite(write)


def stft(
    root: Operation, signal: SSAValue, step: Constant, window: SSAValue, length: Constant | None
) -> RewriteResult:
    """STFT is a convolution with stride `step`, whose filters are the windowed DFT basis functions"""
    shape, element = shape_of(signal), computed_as(element_type(signal.type))
    stride, size = _number(step), None if length is None else _number(length)
    if window.type != NONE:
        size = next(iter(shape_of(window)), None)
    if element is None or len(shape) not in (2, 3) or shape[2:] not in ((), (1,), (2,)):
        return MatchFailure("not floats of known rank, or the number of their parts is dynamic")
    if size is None or stride is None or not 1 <= size <= DIRECT * DIRECT or stride < 1:
        return MatchFailure("the length of windows or their distance is dynamic")
    if 0 <= shape[1] < size:
        return MatchFailure("the signal is shorter than a window")
    parts = 2 if shape[2:] == (2,) else 1
    results = size // 2 + 1 if _flag(root, "onesided") else size
    transform = Transform(size, size, results, inverse=False)

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        # [terms, parts, results, parts] of the matrix become the filters [results and parts, parts, terms].
        matrix = transform.matrix(parts).reshape(size, parts, -1).transpose(2, 1, 0)
        weights = builder.constant(np.ascontiguousarray(matrix, numpy_dtype(element)))
        if window.type != NONE:
            weights = builder(Mul, weights, _cast(builder, window, element))
        given = _cast(builder, signal, element)
        if parts == 2:
            channels = builder(Transpose, given, perm=[0, 2, 1])
        else:
            channels = builder(Reshape, given, builder.ints(0, 1, -1), allowzero=0)
        sums = builder(Conv, channels, weights, builder.none(), auto_pad="NOTSET", group=1, strides=[stride])
        frames = builder(Transpose, sums, perm=[0, 2, 1])
        spectrum = builder(Reshape, frames, builder.ints(0, 0, results, 2), allowzero=0)
        return _finished(op, _cast(builder, spectrum, element_type(signal.type)))

    return ImperativeRewrite(write)


def _finished(op: Operation, made: SSAValue) -> Sequence[SSAValue]:
    """Return the value that replaces the result of an op, its defining op moved to that op's location."""
    if isinstance(made.owner, Operation):
        made.owner.location = op.location
    return [made]


def _flag(root: Operation, name: str) -> bool:
    given = root.properties.get(name)
    return isinstance(given, IntegerAttr) and given.value.data != 0


def _number(given: Constant) -> int | None:
    """Return the value of a one-element constant, or `None`."""
    return int(given.array.reshape(-1)[0]) if given.array.size == 1 else None


def _cast(builder: OpBuilder, given: SSAValue, element: Attribute | None) -> SSAValue:
    return given if element_type(given.type) == element else builder(Cast, given, saturate=1, to=element)


@rule(DFT(x, maybe.length, maybe.along))
def dft_20(root: Operation, x: SSAValue, length: Constant | None, along: Constant | None) -> RewriteResult:
    """dft(x) along an axis = x W, W[n, k] = e^(∓2πi k n / N)"""
    axis = -2 if along is None else _number(along)
    if axis is None or (length is not None and _number(length) is None):
        return MatchFailure("the axis or the length is not a scalar constant")
    return dft(root, x, None if length is None else _number(length), axis)


@rule(DFTV17(x, maybe.length, axis=attr.axis))
def dft_17(root: Operation, x: SSAValue, length: Constant | None, axis: int) -> RewriteResult:
    """dft(x) along an axis = x W, W[n, k] = e^(∓2πi k n / N)"""
    if length is not None and _number(length) is None:
        return MatchFailure("the length is not a scalar constant")
    return dft(root, x, None if length is None else _number(length), axis)


RULES = rules(
    DFT=dft_20,
    DFTV17=dft_17,
    STFT=rule(STFT(signal, const.step, window, maybe.length))(stft),
)
