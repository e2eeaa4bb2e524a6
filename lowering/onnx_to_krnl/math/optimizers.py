"""One training step of Adagrad, Adam and Momentum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import training
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar

Optimizer = training.AdagradOp | training.AdamOp | training.MomentumOp

Rate = tuple[Scalar, Scalar]
"""The learning rate, and the number of updates before."""

Update = Callable[[Rate, Sequence[Scalar]], Sequence[Scalar]]
"""Maps the elements of a parameter, its gradient and its state to their new values, without the gradient."""


@lowers(training.AdagradOp)
def adagrad(op: training.AdagradOp, builder: LoweringBuilder) -> str | None:
    """Adagrad: `x - rate gradient / (sqrt(Σ gradient²) + epsilon)`."""

    def update(rate: Rate, numbers: Sequence[Scalar]) -> Sequence[Scalar]:
        x, gradient, squares = numbers
        step = rate[0] / (rate[1] * op.decay_factor.value.data + 1.0)
        gradient = x * op.norm_coefficient.value.data + gradient
        squares = squares + gradient * gradient
        return x - step * gradient / (squares.sqrt() + op.epsilon.value.data), squares

    return _optimize("adagrad", op, update, 3, builder)


@lowers(training.AdamOp)
def adam(op: training.AdamOp, builder: LoweringBuilder) -> str | None:
    """Adam: exponential moving averages of gradients and their squares, bias-corrected."""
    alpha, beta = op.alpha.value.data, op.beta.value.data

    def update(rate: Rate, numbers: Sequence[Scalar]) -> Sequence[Scalar]:
        x, gradient, mean, squares = numbers
        first, iteration = rate
        gradient = x * op.norm_coefficient.value.data + gradient
        mean = mean * alpha + gradient * (1 - alpha)
        squares = squares * beta + gradient * gradient * (1 - beta)
        grown = (
            first
            * (1.0 - iteration.like(beta).power(iteration)).sqrt()
            / (1.0 - iteration.like(alpha).power(iteration))
        )
        step = (iteration > 0.0).select(grown, first)
        made = x - step * mean / (squares.sqrt() + op.epsilon.value.data)
        return made * (1 - op.norm_coefficient_post.value.data), mean, squares

    return _optimize("adam", op, update, 4, builder)


@lowers(training.MomentumOp)
def momentum(op: training.MomentumOp, builder: LoweringBuilder) -> str | None:
    """Momentum: a decaying sum of gradients, or Nesterov's variant."""
    alpha, beta = op.alpha.value.data, op.beta.value.data

    def update(rate: Rate, numbers: Sequence[Scalar]) -> Sequence[Scalar]:
        x, gradient, speed = numbers
        gradient = x * op.norm_coefficient.value.data + gradient
        share = (rate[1] > 0.0).select(rate[1].like(beta), 1.0)
        speed = speed * alpha + share * gradient
        direction = gradient + speed * alpha if op.mode.data == "nesterov" else speed
        return x - rate[0] * direction, speed

    return _optimize("momentum", op, update, 3, builder)


def _optimize(name: str, op: Optimizer, update: Update, group: int, builder: LoweringBuilder) -> str | None:
    """Emit a kernel for each trained tensor; operands are grouped by kind."""
    count = len(op.inputs) // group
    if any(builder.element(value) not in (f32, f64) for value in op.inputs):
        return "not of f32 or f64"
    for number in range(count):
        tensors = [op.inputs[index * count + number] for index in range(group)]
        results = [op.outputs[index * count + number] for index in range(group - 1)]
        _update(name, op, update, (tensors, results), builder)
    return None


def _update(
    name: str,
    op: Optimizer,
    update: Update,
    values: tuple[Sequence[SSAValue], Sequence[SSAValue]],
    builder: LoweringBuilder,
) -> None:
    tensors, results = values
    size = [prod(builder.shape(tensors[0]))]
    outputs, inputs = ([(value, size) for value in each] for each in (results, tensors))
    kernel = Kernel(builder, name, outputs, [*inputs, (op.R, [1]), (op.T, [1])])
    targets = kernel.buffers[: len(results)]
    *sources, rate, iteration = kernel.buffers[len(results) :]
    kind = sources[0].element
    step = rate.read_as(kind, 0), iteration.read_as(kind, 0)
    with kernel.loops(size) as (index,):
        numbers = [source[index] for source in sources]
        for target, made in zip(targets, update(step, numbers), strict=True):
            target[index] = made
    kernel.call()
