"""`post_transform` of ai.onnx.ml models (softmax, logistic, probit), and the class of the highest score."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar

ZERO_SCORE = 1e-7
"""SOFTMAX_ZERO: scores below this count as 0."""

WINITZKI = 0.147
"""Constant of Winitzki's approximation of the inverse error function, as in the reference evaluator."""


def write_transformed(
    result: SSAValue, sums: SSAValue, sizes: tuple[int, int], how: str, builder: LoweringBuilder
) -> None:
    """Apply `post_transform` to rows of scores, in place, and write them."""
    rows, count = sizes
    kernel = Kernel(builder, "post_transform", [(result, sizes), sums], [])
    out, scores = kernel.buffers
    with kernel.loops([rows]) as (row,):
        apply_post_transform(kernel, scores, row, count, how)
        with kernel.loops([count]) as (column,):
            out[row, column] = scores[row, column]
    kernel.call()


def apply_post_transform(kernel: Kernel, scores: Buffer, row: Scalar, count: int, how: str) -> None:
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
    kernel: Kernel, scores: Buffer, row: Scalar, count: int, function: Callable[[Scalar], Scalar]
) -> None:
    with kernel.loops([count]) as (column,):
        scores[row, column] = function(scores[row, column])


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


def _softmax(kernel: Kernel, scores: Buffer, row: Scalar, count: int, keeps_none: bool) -> None:
    """
    Softmax; with `keeps_none` (SOFTMAX_ZERO), a score `x` near 0 contributes `x e^-max` instead of `e^(x -
    max)`.
    """
    top = kernel.reduce(count, scores[row, 0], lambda most, column: most.maximum(scores[row, column]))
    with kernel.reducing([count], [top.like(0.0)]) as ((column,), (total,), totals):
        x = scores[row, column]
        share = (x - top).exp()
        if keeps_none:
            share = (x.abs() > ZERO_SCORE).select(share, x * (-top).exp())
        scores[row, column] = share
        totals.append(total + share)
    with kernel.loops([count]) as (column,):
        share = scores[row, column] / totals[0]
        if keeps_none:
            share = totals[0].equals(0.0).select(0.5, share)
        scores[row, column] = share


def argmax_score(kernel: Kernel, scores: Buffer, row: Scalar, count: int) -> Scalar:
    """Return the index of the highest score of a row, the first of equal ones."""
    start = [scores[row, 0], kernel.constant(0, i64)]
    with kernel.reducing([count], start) as ((column,), (best, index), results):
        x = scores[row, column]
        is_higher = x > best
        results += [is_higher.select(x, best), is_higher.select(column.to(i64), index)]
    return results[1]
