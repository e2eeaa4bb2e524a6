"""`post_transform` of ai.onnx.ml models (softmax, logistic, probit), and the class of the highest score."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar

ZERO_SCORE = 1e-7
"""SOFTMAX_ZERO: scores below this count as 0."""

WINITZKI = 0.147
"""Constant of Winitzki's approximation of the inverse error function, as in the reference evaluator."""


def apply_post_transform(
    kernel: KernelBuilder, scores: SSAValue, row: SSAValue, count: int, how: str
) -> None:
    """Apply `post_transform` to a row of scores, in place."""
    match how:
        case "LOGISTIC":
            _each(kernel, scores, row, count, _logistic)
        case "PROBIT":
            _each(kernel, scores, row, count, _probit)
        case "SOFTMAX" | "SOFTMAX_ZERO":
            _softmax(kernel, scores, row, count, how == "SOFTMAX_ZERO")
        case _:
            pass


def _each(
    kernel: KernelBuilder, scores: SSAValue, row: SSAValue, count: int, function: Callable[[Scalar], Scalar]
) -> None:
    with kernel.loops([count]) as (column,):
        x = Scalar(kernel, kernel.load(scores, [row, column]))
        kernel.store(function(x).value, scores, [row, column])


def _logistic(x: Scalar) -> Scalar:
    share = 1.0 / (1.0 + (-x.abs()).exp())
    return (x < 0.0).select(1.0 - share, share)


def _probit(x: Scalar) -> Scalar:
    """`√2 erf⁻¹(2 x - 1)`, by Winitzki's approximation, which loses half of the digits near 0."""
    kind = x.type
    x = x.to(f64) * 2.0 - 1.0
    rest = (1.0 - x) * (1.0 + x)
    log = rest.log()
    v = log * 0.5 + 2.0 / (pi * WINITZKI)
    size = ((v * v - log / WINITZKI).sqrt() - v).sqrt()
    made = (x < 0.0).select(-size, size)
    return rest.equals(0.0).select(0.0, made * 1.41421356).to(kind)


def _softmax(kernel: KernelBuilder, scores: SSAValue, row: SSAValue, count: int, keeps_none: bool) -> None:
    """
    Softmax; with `keeps_none` (SOFTMAX_ZERO), a score `x` near 0 contributes `x e^-max` instead of `e^(x -
    max)`.
    """
    with kernel.reducing([count], [kernel.load(scores, [row, kernel.index(0)])]) as (
        (column,),
        accumulators,
        tops,
    ):
        tops.append(
            Scalar(kernel, accumulators[0]).maximum(Scalar(kernel, kernel.load(scores, [row, column]))).value
        )
    top = Scalar(kernel, tops[0])
    with kernel.reducing([count], [top.like(0.0).value]) as ((column,), accumulators, totals):
        x = Scalar(kernel, kernel.load(scores, [row, column]))
        share = (x - top).exp()
        if keeps_none:
            share = (x.abs() > ZERO_SCORE).select(share, x * (-top).exp())
        kernel.store(share.value, scores, [row, column])
        totals.append((Scalar(kernel, accumulators[0]) + share).value)
    total = Scalar(kernel, totals[0])
    with kernel.loops([count]) as (column,):
        share = Scalar(kernel, kernel.load(scores, [row, column])) / total
        if keeps_none:
            share = total.equals(0.0).select(0.5, share)
        kernel.store(share.value, scores, [row, column])


def argmax_score(kernel: KernelBuilder, scores: SSAValue, row: SSAValue, count: int) -> SSAValue:
    """Return the index of the highest score of a row, the first of equal ones."""
    first = kernel.load(scores, [row, kernel.index(0)])
    with kernel.reducing([count], [first, kernel.constant(0, i64)]) as ((column,), accumulators, results):
        best, index = (Scalar(kernel, each) for each in accumulators)
        x = Scalar(kernel, kernel.load(scores, [row, column]))
        is_higher = x > best
        results.append(is_higher.select(x, best).value)
        results.append(is_higher.select(Scalar(kernel, column).to(i64), index).value)
    return Scalar(kernel, results[1]).to(INDEX).value
