"""
Random operators: RandomUniform, RandomNormal, Bernoulli, Multinomial, Dropout.

The generator is the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded as numpy's
`RandomState`, so that a seed gives the uniform numbers of the reference evaluator. Without a seed the runtime
supplies a new one for each run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, pi, prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

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
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar

Dropouts: TypeAlias = DropoutOp | DropoutV10Op | DropoutV7Op | DropoutV6Op | DropoutV1Op

WORDS, APART = 624, 397
"""MT19937: words of state, and the distance between the two that a new word is made of."""

Use: TypeAlias = Callable[[list[Scalar], Scalar], None]
"""Consumes uniform numbers (f64 in [0, 1)) for the element at an index."""


def _seed_of(seed: Attribute | None, builder: LoweringBuilder) -> SSAValue:
    """Return a buffer of one i64 seed, of which the lower 32 bits are used."""
    match seed:
        case FloatAttr() | IntegerAttr():
            number = int(seed.value.data) & 0xFFFFFFFF
            return builder.constant_buffer(np.array([number], np.int64))
        case _:
            return builder.insert(SeedOp())


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


class _MersenneTwister:
    """MT19937 in a kernel, its state in a buffer of 624 i32."""

    def __init__(self, kernel: KernelBuilder, state: SSAValue, seed: SSAValue) -> None:
        self.kernel, self.state = kernel, state
        first = Scalar(kernel, kernel.load(seed, [kernel.index(0)])).to(i32)
        with kernel.reducing([WORDS], [first.value]) as ((index,), accumulators, results):
            word = Scalar(kernel, accumulators[0])
            kernel.store(word.value, state, [index])
            grown = self._xor(word, self._right(word, 30)) * 1812433253
            results.append((grown + Scalar(kernel, index).to(i32) + 1).value)

    def draw(self, count: int, each: int, use: Use) -> None:
        """Draw `each` uniform numbers for each of `count` elements, a block of state at a time."""
        kernel = self.kernel
        # 624 words divide evenly for one and for two numbers per element: no word is skipped, which keeps the
        # sequence that of NumPy.
        capacity = WORDS // (2 * each)
        with kernel.loops([-(-count // capacity)]) as (block,):
            self._twist()
            begin = Scalar(kernel, block) * capacity
            left = (begin.like(count) - begin).minimum(capacity)
            with kernel.loops([left.value]) as (iteration,):
                words = [
                    self._tempered(kernel.affine(iteration, 2 * each, number)) for number in range(2 * each)
                ]
                numbers = [self._uniform(*pair) for pair in zip(words[::2], words[1::2], strict=True)]
                use(numbers, begin + Scalar(kernel, iteration))

    def _twist(self) -> None:
        """Generate the next 624 words of state."""
        # Word i is made of words i, i + 1 and i + 397 modulo 624. Two loops and a last word avoid the modulo;
        # the second reads words that the first has renewed, as the generator is defined.
        for first, count, moved in (
            (0, WORDS - APART, APART),
            (WORDS - APART, APART - 1, APART - WORDS),
        ):
            with self.kernel.loops([count]) as (iteration,):
                here, after, other = (
                    self.kernel.affine(iteration, 1, first + step) for step in (0, 1, moved)
                )
                self._renew(here, after, other)
        self._renew(*(self.kernel.index(index) for index in (WORDS - 1, 0, APART - 1)))

    def _renew(self, here: SSAValue, after: SSAValue, other: SSAValue) -> None:
        kernel = self.kernel
        a, b, c = (Scalar(kernel, kernel.load(self.state, [index])) for index in (here, after, other))
        mixed = (a & a.like(_signed(0x80000000))) | (b & b.like(0x7FFFFFFF))
        # The lowest bit of the mixed word is that of b; the product avoids a branch.
        odd = (b & b.like(1)) * _signed(0x9908B0DF)
        kernel.store(self._xor(self._xor(c, self._right(mixed, 1)), odd).value, self.state, [here])

    def _tempered(self, index: SSAValue) -> Scalar:
        word = Scalar(self.kernel, self.kernel.load(self.state, [index]))
        word = self._xor(word, self._right(word, 11))
        word = self._xor(word, self._left(word, 7) & word.like(_signed(0x9D2C5680)))
        word = self._xor(word, self._left(word, 15) & word.like(_signed(0xEFC60000)))
        return self._xor(word, self._right(word, 18))

    def _uniform(self, high: Scalar, low: Scalar) -> Scalar:
        """Combine 27 bits of one word and 26 of another to an f64 in [0, 1)."""
        # 27 + 26 bits fill the 53-bit significand of an f64, as in NumPy's legacy generator.
        upper, lower = self._right(high, 5).to(f64), self._right(low, 6).to(f64)
        return (upper * float(1 << 26) + lower) / float(1 << 53)

    def _xor(self, a: Scalar, b: Scalar) -> Scalar:
        return Scalar(self.kernel, self.kernel.add(arith.XOrIOp(a.value, b.value)))

    def _right(self, word: Scalar, bits: int) -> Scalar:
        return Scalar(self.kernel, self.kernel.add(arith.ShRUIOp(word.value, word.like(bits).value)))

    def _left(self, word: Scalar, bits: int) -> Scalar:
        return Scalar(self.kernel, self.kernel.add(arith.ShLIOp(word.value, word.like(bits).value)))


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
    kernel = KernelBuilder([buffer_type([count], element), buffer_type([WORDS], i32), buffer_type([1], i64)])
    out, state, start = kernel.buffers

    def use(numbers: list[Scalar], index: Scalar) -> None:
        kernel.write(made(numbers, compute_type(element)).value, out, [index.value], element)

    _MersenneTwister(kernel, state, start).draw(count, each, use)
    builder.call(
        "random", kernel, [builder.result(result), builder.allocate([WORDS], i32)], [_seed_of(seed, builder)]
    )


@lowers(BernoulliOp)
def bernoulli(op: BernoulliOp, builder: LoweringBuilder) -> str | None:
    """1 with the probability given by the input; with a seed, the draws of the reference evaluator."""
    count, element, input_type = (
        prod(builder.shape(op.input)),
        builder.element(op.output),
        builder.element(op.input),
    )
    types = [buffer_type([count], element), buffer_type([WORDS], i32)]
    kernel = KernelBuilder([*types, buffer_type([count], input_type), buffer_type([1], i64)])
    out, state, probabilities, start = kernel.buffers

    def use(numbers: list[Scalar], index: Scalar) -> None:
        share = read_as(kernel, probabilities, [index.value], input_type, f64)
        # numpy's binomial(1, p) draws by inversion of the less likely outcome.
        is_one = (share > 0.5).select(numbers[0] <= share, numbers[0] > 1.0 - share)
        kernel.write(is_one.to(compute_type(element)).value, out, [index.value], element)

    _MersenneTwister(kernel, state, start).draw(count, 1, use)
    made = [builder.result(op.output), builder.allocate([WORDS], i32)]
    builder.call("bernoulli", kernel, made, [builder.buffer(op.input), _seed_of(op.seed, builder)])
    return None


@lowers(MultinomialOp)
def multinomial(op: MultinomialOp, builder: LoweringBuilder) -> str | None:
    """Classes drawn with probabilities `softmax(input)`, by the inverse cumulative distribution."""
    (batch, classes), (_, count) = builder.shape(op.input), builder.shape(op.output)
    element, kind = builder.element(op.input), builder.element(op.output)
    kernel = KernelBuilder(
        [
            buffer_type([batch, count], kind),
            buffer_type([batch, classes], f64),
            buffer_type([WORDS], i32),
            buffer_type([batch, classes], element),
            buffer_type([1], i64),
        ]
    )
    out, sums, state, logits, start = kernel.buffers
    with kernel.loops([batch]) as (row,):
        with kernel.reducing([classes], [kernel.constant(-inf, f64)]) as ((position,), accumulators, tops):
            x = read_as(kernel, logits, [row, position], element, f64)
            tops.append(Scalar(kernel, accumulators[0]).maximum(x).value)
        with kernel.reducing([classes], [kernel.constant(0.0, f64)]) as ((position,), accumulators, totals):
            x = read_as(kernel, logits, [row, position], element, f64)
            # Less the maximum, so that no exponential overflows.
            total = Scalar(kernel, accumulators[0]) + (x - Scalar(kernel, tops[0])).exp()
            kernel.store(total.value, sums, [row, position])
            totals.append(total.value)

    def use(numbers: list[Scalar], position: Scalar) -> None:
        number = position.to(i64)
        row, column = (each.to(INDEX).value for each in (number // count, number % count))
        top = kernel.load(sums, [row, kernel.index(classes - 1)])
        share = numbers[0] * Scalar(kernel, top)
        # Class: the number of partial sums up to the draw. Without the last sum it is a valid class even
        # if rounding lifts the draw to the total.
        with kernel.reducing([classes - 1], [kernel.constant(0, i64)]) as ((index,), accumulators, results):
            is_beyond = Scalar(kernel, kernel.load(sums, [row, index])) <= share
            results.append((Scalar(kernel, accumulators[0]) + is_beyond.to(i64)).value)
        kernel.store(Scalar(kernel, results[0]).to(kind).value, out, [row, column])

    _MersenneTwister(kernel, state, start).draw(batch * count, 1, use)
    scratch = [builder.allocate([batch, classes], f64), builder.allocate([WORDS], i32)]
    builder.call(
        "multinomial",
        kernel,
        [builder.result(op.output), *scratch],
        [builder.buffer(op.input), _seed_of(op.seed, builder)],
    )
    return None


@lowers(DropoutOp)
def dropout(op: DropoutOp, builder: LoweringBuilder) -> str | None:
    """
    In training, zero a fraction `ratio` of the elements and divide the others by `1 - ratio`; else copy.
    """
    training = None if op.training_mode.type == NONE else builder.buffer(op.training_mode)
    if op.ratio.type == NONE:
        ratio = _Ratio(builder.constant_buffer(np.array(0.5, np.float32)), f32)
    else:
        ratio = _Ratio(builder.buffer(op.ratio), builder.element(op.ratio))
    _drop(op, ratio, training, op.seed, builder)
    return None


@lowers(DropoutV10Op, DropoutV7Op, DropoutV6Op, DropoutV1Op)
def older_dropout(
    op: DropoutV10Op | DropoutV7Op | DropoutV6Op | DropoutV1Op, builder: LoweringBuilder
) -> str | None:
    """Dropout before opset 12: before opset 7 in training unless `is_test`, later never."""
    is_training = isinstance(op, DropoutV6Op | DropoutV1Op) and not op.is_test.value.data
    ratio = _Ratio(builder.constant_buffer(np.array(op.ratio.value.data, np.float32)), f32)
    _drop(op, ratio, builder.constant_buffer(np.array(True)) if is_training else None, None, builder)
    return None


@dataclass(frozen=True)
class _Ratio:
    """The fraction of elements that are dropped: a buffer of one scalar."""

    buffer: SSAValue
    element: Attribute


def _drop(
    op: Dropouts, ratio: _Ratio, training: SSAValue | None, seed: Attribute | None, builder: LoweringBuilder
) -> None:
    """Copy the data or, if `training` holds, apply dropout; and write the mask."""
    count, element = prod(builder.shape(op.data)), builder.element(op.data)
    kind = compute_type(element)
    buffers = [builder.buffer(op.data)]
    outputs, made = [buffer_type([count], element)], [builder.result(op.output)]
    if op.mask.type != NONE:
        outputs.append(buffer_type([count], builder.element(op.mask)))
        made.append(builder.result(op.mask))
    drawing: list[MemRefType] = []
    if training is not None:
        outputs.append(buffer_type([WORDS], i32))
        made.append(builder.allocate([WORDS], i32))
        drawing = [buffer_type([1], i64), buffer_type([], ratio.element), buffer_type([], i1)]
        buffers += [_seed_of(seed, builder), ratio.buffer, training]
    kernel = KernelBuilder([*outputs, buffer_type([count], element), *drawing])
    out, *masks = kernel.buffers[: len(outputs) - len(drawing[:1])]
    source = kernel.buffers[len(outputs)]

    def keep(index: SSAValue, x: Scalar, is_kept: Scalar) -> None:
        kernel.write(x.value, out, [index], element)
        for mask in masks:
            mask_type = builder.element(op.mask)
            kernel.write(is_kept.to(compute_type(mask_type)).value, mask, [index], mask_type)

    def copy() -> None:
        with kernel.loops([count]) as (index,):
            x = Scalar(kernel, kernel.read(source, [index], element))
            keep(index, x, Scalar(kernel, kernel.constant(1, i1)))

    if training is None:
        copy()
    else:
        state, (start, held_ratio, held_training) = kernel.buffers[len(outputs) - 1], kernel.buffers[-3:]
        is_training = Scalar(kernel, kernel.load(held_training, []))
        with kernel.when(is_training.value):
            share = read_as(kernel, held_ratio, [], ratio.element, f64)
            scale = (1.0 / (1.0 - share)).to(kind)

            def use(numbers: list[Scalar], index: Scalar) -> None:
                is_kept = numbers[0] >= share
                x = Scalar(kernel, kernel.read(source, [index.value], element))
                keep(index.value, is_kept.select(x * scale, 0.0), is_kept)

            _MersenneTwister(kernel, state, start).draw(count, 1, use)
        with kernel.when((~is_training).value):
            copy()
    builder.call("dropout", kernel, made, buffers)
