"""
Random operators: RandomUniform, RandomNormal, Bernoulli, Multinomial, Dropout.

The generator is the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded as numpy's
`RandomState`, so that a seed gives the uniform numbers of the reference evaluator. Without a seed the runtime
supplies a new one for each run.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi, prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation

from xonnc.dialects.krnl.memory import SeedOp
from xonnc.dialects.onnx.ops.generator import (
    BernoulliOp,
    MultinomialOp,
    RandomNormalLikeOp,
    RandomNormalOp,
    RandomUniformLikeOp,
    RandomUniformOp,
)
from xonnc.dialects.onnx.ops.nn import DropoutOp, DropoutV1Op, DropoutV6Op, DropoutV7Op, DropoutV10Op
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel, Operand, Value
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type

Dropouts: TypeAlias = DropoutOp | DropoutV10Op | DropoutV7Op | DropoutV6Op | DropoutV1Op

WORDS, APART = 624, 397
"""MT19937: words of state, and the distance between the two that a new word is made of."""

Use: TypeAlias = Callable[[list[Scalar], Scalar], None]
"""Consumes uniform numbers (f64 in [0, 1)) for the element at an index."""


def _seed_of(seed: Attribute | None, builder: LoweringBuilder) -> Operand:
    """Return one i64 seed, of which the lower 32 bits are used."""
    match seed:
        case FloatAttr() | IntegerAttr():
            number = int(seed.value.data) & 0xFFFFFFFF
            return np.array([number], np.int64)
        case _:
            return builder.insert(SeedOp())


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


class _MersenneTwister:
    """MT19937 in a kernel, its state in a buffer of 624 i32."""

    def __init__(self, kernel: Kernel, state: Buffer, seed: Buffer) -> None:
        self.kernel, self.state = kernel, state
        with kernel.reducing([WORDS], [seed[0].to(i32)]) as ((index,), (word,), results):
            state[index] = word
            results.append((word ^ word.shift_right(30)) * 1812433253 + index.to(i32) + 1)

    def draw(self, count: int, each: int, use: Use) -> None:
        """Draw `each` uniform numbers for each of `count` elements, a block of state at a time."""
        kernel = self.kernel
        # 624 words divide evenly for one and for two numbers per element: no word is skipped, which keeps the
        # sequence that of NumPy.
        capacity = WORDS // (2 * each)
        with kernel.loops([-(-count // capacity)]) as (block,):
            self._twist()
            begin = block * capacity
            with kernel.loops([(begin.like(count) - begin).minimum(capacity)]) as (iteration,):
                words = [
                    self._tempered((iteration * (2 * each)).offset_by(number)) for number in range(2 * each)
                ]
                numbers = [self._uniform(*pair) for pair in zip(words[::2], words[1::2], strict=True)]
                use(numbers, begin + iteration)

    def _twist(self) -> None:
        """Generate the next 624 words of state."""
        # Word i is made of words i, i + 1 and i + 397 modulo 624. Two loops and a last word avoid the modulo;
        # the second reads words that the first has renewed, as the generator is defined.
        for first, count, moved in (
            (0, WORDS - APART, APART),
            (WORDS - APART, APART - 1, APART - WORDS),
        ):
            with self.kernel.loops([count]) as (iteration,):
                self._renew(*(iteration.offset_by(first + step) for step in (0, 1, moved)))
        self._renew(*(self.kernel.index(index) for index in (WORDS - 1, 0, APART - 1)))

    def _renew(self, here: Scalar, after: Scalar, other: Scalar) -> None:
        a, b, c = (self.state[index] for index in (here, after, other))
        mixed = (a & a.like(_signed(0x80000000))) | (b & b.like(0x7FFFFFFF))
        # The lowest bit of the mixed word is that of b; the product avoids a branch.
        odd = (b & b.like(1)) * _signed(0x9908B0DF)
        self.state[here] = c ^ mixed.shift_right(1) ^ odd

    def _tempered(self, index: Scalar) -> Scalar:
        word = self.state[index]
        word = word ^ word.shift_right(11)
        word = word ^ (word.shift_left(7) & word.like(_signed(0x9D2C5680)))
        word = word ^ (word.shift_left(15) & word.like(_signed(0xEFC60000)))
        return word ^ word.shift_right(18)

    def _uniform(self, high: Scalar, low: Scalar) -> Scalar:
        """Combine 27 bits of one word and 26 of another to an f64 in [0, 1)."""
        # 27 + 26 bits fill the 53-bit significand of an f64, as in NumPy's legacy generator.
        upper, lower = high.shift_right(5).to(f64), low.shift_right(6).to(f64)
        return (upper * float(1 << 26) + lower) / float(1 << 53)


@lowers(RandomUniformOp, RandomUniformLikeOp)
def random_uniform(op: RandomUniformOp | RandomUniformLikeOp, builder: LoweringBuilder) -> str | None:
    """Uniform numbers in [low, high); with a seed, those of the reference evaluator."""
    low, high = op.low.value.data, op.high.value.data

    def made(numbers: list[Scalar], kind: Attribute) -> Scalar:
        return numbers[0].to(kind) * (high - low) + low

    return _filled(op, op.seed, 1, made, builder)


@lowers(RandomNormalOp, RandomNormalLikeOp)
def random_normal(op: RandomNormalOp | RandomNormalLikeOp, builder: LoweringBuilder) -> str | None:
    """Box-Muller transform: `mean + scale sqrt(-2 log(1 - u)) cos(2π v)` of uniform u and v."""
    mean, scale = op.mean.value.data, op.scale.value.data

    def made(numbers: list[Scalar], kind: Attribute) -> Scalar:
        u, v = numbers
        normal = ((1.0 - u).log() * -2.0).sqrt() * (v * (2.0 * pi)).cos()
        return (normal * scale + mean).to(kind)

    return _filled(op, op.seed, 2, made, builder)


def _filled(
    op: Operation,
    seed: Attribute | None,
    each: int,
    made: Callable[[list[Scalar], Attribute], Scalar],
    builder: LoweringBuilder,
) -> None:
    """Fill the result of an op from `each` uniform numbers per element."""
    (result,) = op.results
    count, element = prod(builder.shape(result)), builder.element(result)
    state_buffer, start_buffer = builder.allocate([WORDS], i32), _seed_of(seed, builder)
    kernel = Kernel(builder, "random", [(result, [count]), state_buffer], [start_buffer])
    out, state, start = kernel.buffers

    def use(numbers: list[Scalar], index: Scalar) -> None:
        out[index] = made(numbers, compute_type(element))

    _MersenneTwister(kernel, state, start).draw(count, each, use)
    kernel.call()


@lowers(BernoulliOp)
def bernoulli(op: BernoulliOp, builder: LoweringBuilder) -> str | None:
    """1 with the probability given by the input; with a seed, the draws of the reference evaluator."""
    count = prod(builder.shape(op.input))
    outputs: list[Operand] = [(op.output, [count]), builder.allocate([WORDS], i32)]
    inputs = [(op.input, [count]), _seed_of(op.seed, builder)]
    kernel = Kernel(builder, "bernoulli", outputs, inputs)
    out, state, probabilities, start = kernel.buffers

    def use(numbers: list[Scalar], index: Scalar) -> None:
        share = probabilities.read_as(f64, index)
        # numpy's binomial(1, p) draws by inversion of the less likely outcome.
        out[index] = (share > 0.5).select(numbers[0] <= share, numbers[0] > 1.0 - share)

    _MersenneTwister(kernel, state, start).draw(count, 1, use)
    kernel.call()
    return None


@lowers(MultinomialOp)
def multinomial(op: MultinomialOp, builder: LoweringBuilder) -> str | None:
    """Classes drawn with probabilities `softmax(input)`, by the inverse cumulative distribution."""
    (batch, classes), (_, count) = builder.shape(op.input), builder.shape(op.output)
    scratch = [builder.allocate([batch, classes], f64), builder.allocate([WORDS], i32)]
    inputs = [op.input, _seed_of(op.seed, builder)]
    kernel = Kernel(builder, "multinomial", [op.output, *scratch], inputs)
    out, sums, state, logits, start = kernel.buffers
    with kernel.loops([batch]) as (row,):
        top = kernel.reduce(
            classes,
            kernel.constant(-inf, f64),
            lambda most, index: most.maximum(logits.read_as(f64, row, index)),
        )
        with kernel.reducing([classes], [kernel.constant(0.0, f64)]) as ((index,), (before,), totals):
            # Less the maximum, so that no exponential overflows.
            total = before + (logits.read_as(f64, row, index) - top).exp()
            sums[row, index] = total
            totals.append(total)

    def use(numbers: list[Scalar], position: Scalar) -> None:
        number = position.to(i64)
        row, column = (each.to(INDEX) for each in (number // count, number % count))
        share = numbers[0] * sums[row, classes - 1]
        # Class: the number of partial sums up to the draw. Without the last sum it is a valid class even
        # if rounding lifts the draw to the total.
        out[row, column] = kernel.reduce(
            classes - 1,
            kernel.constant(0, i64),
            lambda found, index: found + (sums[row, index] <= share).to(i64),
        )

    _MersenneTwister(kernel, state, start).draw(batch * count, 1, use)
    kernel.call()
    return None


@lowers(DropoutOp)
def dropout(op: DropoutOp, builder: LoweringBuilder) -> str | None:
    """
    In training, zero a fraction `ratio` of the elements and divide the others by `1 - ratio`; else copy.
    """
    training = None if op.training_mode.type == NONE else op.training_mode
    _drop(op, np.array(0.5, np.float32) if op.ratio.type == NONE else op.ratio, training, op.seed, builder)
    return None


@lowers(DropoutV10Op, DropoutV7Op, DropoutV6Op, DropoutV1Op)
def older_dropout(
    op: DropoutV10Op | DropoutV7Op | DropoutV6Op | DropoutV1Op, builder: LoweringBuilder
) -> str | None:
    """Dropout before opset 12: before opset 7 in training unless `is_test`, later never."""
    is_training = isinstance(op, DropoutV6Op | DropoutV1Op) and not op.is_test.value.data
    ratio = np.array(op.ratio.value.data, np.float32)
    _drop(op, ratio, np.array(True) if is_training else None, None, builder)
    return None


def _drop(
    op: Dropouts, ratio: Value, training: Value | None, seed: Attribute | None, builder: LoweringBuilder
) -> None:
    """Copy the data or, if `training` holds, apply dropout; and write the mask."""
    count = prod(builder.shape(op.data))
    outputs: list[Operand] = [(value, [count]) for value in (op.output, op.mask) if value.type != NONE]
    drawing: list[Operand] = []
    if training is not None:
        drawing = [_seed_of(seed, builder), (ratio, []), (training, [])]
        outputs.append(builder.allocate([WORDS], i32))
    kernel = Kernel(builder, "dropout", outputs, [(op.data, [count]), *drawing])
    out, *masks = kernel.buffers[: len(outputs) - len(drawing[:1])]
    source = kernel.buffers[len(outputs)]

    def keep(index: Scalar, x: Scalar, is_kept: Scalar) -> None:
        out[index] = x
        for mask in masks:
            mask[index] = is_kept

    def copy() -> None:
        with kernel.loops([count]) as (index,):
            keep(index, source[index], kernel.constant(1, i1))

    if training is None:
        copy()
    else:
        state, (start, own_ratio, own_training) = kernel.buffers[len(outputs) - 1], kernel.buffers[-3:]
        is_training = own_training[()]
        with kernel.when(is_training):
            share = own_ratio.read_as(f64)
            scale = (1.0 / (1.0 - share)).to(compute_type(source.element))

            def use(numbers: list[Scalar], index: Scalar) -> None:
                is_kept = numbers[0] >= share
                keep(index, is_kept.select(source[index] * scale, 0.0), is_kept)

            _MersenneTwister(kernel, state, start).draw(count, 1, use)
        with kernel.when(~is_training):
            copy()
    kernel.call()
