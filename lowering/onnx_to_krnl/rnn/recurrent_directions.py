"""Directions of recurrent networks, and their activation functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xonnc.dialects.onnx.ops import rnn
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar

Recurrent = rnn.LSTMOp | rnn.GRUOp | rnn.RNNOp
Activation = Callable[[Scalar], Scalar]

DEFAULT_ALPHA = {
    "LeakyRelu": 0.01,
    "ThresholdedRelu": 1.0,
    "ScaledTanh": 1.0,
    "HardSigmoid": 0.2,
    "Elu": 1.0,
    "Affine": 1.0,
}
"""Defaults of `activation_alpha`, from the ONNX operator RNN."""

DEFAULT_BETA = {"ScaledTanh": 1.0, "HardSigmoid": 0.5, "Affine": 0.0}


@dataclass(frozen=True)
class Direction:
    """One direction: whether it is reversed, its activations and its clip threshold."""

    number: int
    is_reversed: bool
    functions: Sequence[Activation]
    clip: float | None

    def clipped(self, x: Scalar) -> Scalar:
        """Clamp a sum of a gate to ±`clip`."""
        return x if self.clip is None else x.clamp(-self.clip, self.clip)


def directions_of(op: Recurrent) -> Sequence[Direction] | None:
    """Return the directions of a network, or `None` if ONNX does not define an activation."""
    count = 2 if op.direction.data == "bidirectional" else 1
    found = [_direction(op, number, count) for number in range(count)]
    known = [each for each in found if each is not None]
    return known if len(known) == count else None


def _direction(op: Recurrent, number: int, directions: int) -> Direction | None:
    if isinstance(op, rnn.LSTMOp):
        default = ["Sigmoid", "Tanh", "Tanh"]
    else:
        default = ["Sigmoid", "Tanh"] if isinstance(op, rnn.GRUOp) else ["Tanh"]
    count = len(default)
    names = [] if op.activations is None else [name.data for name in op.activations]
    # RNN's declared default lists two activations for any direction: use the default per direction.
    if len(names) < count * directions:
        names = default * directions
    alphas = iter([] if op.activation_alpha is None else [each.value.data for each in op.activation_alpha])
    betas = iter([] if op.activation_beta is None else [each.value.data for each in op.activation_beta])
    found: list[Activation] = []
    for index, given in enumerate(names[: count * directions]):
        name = next((each for each in NAMES if each.lower() == given.lower()), None)
        if name is None:
            return None
        alpha = next(alphas, DEFAULT_ALPHA[name]) if name in DEFAULT_ALPHA else 0.0
        beta = next(betas, DEFAULT_BETA[name]) if name in DEFAULT_BETA else 0.0
        if index // count == number:
            found.append(_activation(name, alpha, beta))
    is_reversed = op.direction.data == "reverse" or number == 1
    return Direction(number, is_reversed, found, None if op.clip is None else op.clip.value.data)


NAMES = (
    "Affine",
    "Elu",
    "HardSigmoid",
    "LeakyRelu",
    "Relu",
    "ScaledTanh",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Tanh",
    "ThresholdedRelu",
)


def _activation(name: str, alpha: float, beta: float) -> Activation:
    def function(x: Scalar) -> Scalar:
        match name:
            case "Affine":
                return x * alpha + beta
            case "Elu":
                return (x < 0.0).select((x.exp() - 1.0) * alpha, x)
            case "HardSigmoid":
                return (x * alpha + beta).clamp(0.0, 1.0)
            case "LeakyRelu":
                return (x < 0.0).select(x * alpha, x)
            case "Relu":
                return x.maximum(0.0)
            case "ScaledTanh":
                return (x * beta).tanh() * alpha
            case "Sigmoid":
                return 1.0 / ((-x).exp() + 1.0)
            case "Softplus":
                return x.maximum(0.0) + ((-x.abs()).exp() + 1.0).log()
            case "Softsign":
                return x / (x.abs() + 1.0)
            case "Tanh":
                return x.tanh()
            case _:
                return (x >= alpha).select(x, 0.0)

    return function
