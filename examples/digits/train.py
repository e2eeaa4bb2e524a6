"""
Train a small convolutional network on scikit-learn's digits: `python train.py`.

It needs scikit-learn for the images only; the training is NumPy, and takes a quarter of a minute. It writes
`digits.onnx`, and `digits.npz` with images for calibration (from the training set) and the held-out ones with
their labels. `xonnc demo digits` uses both.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
from onnx import numpy_helper

Array = npt.NDArray[Any]

OUTPUT = Path(__file__).resolve().parents[2] / "tools" / "demo_data"

HELD_OUT = 500
CALIBRATION = 64
EPOCHS = 40
BATCH = 64
RATE = 2e-3

GRAPH = """<ir_version: 8, opset_import: ["": 17]>
digits (float[1, 1, 8, 8] image) => (float[1, 10] scores) {
    [conv1] c1 = Conv <pads = [1, 1, 1, 1]> (image, conv1_weight, conv1_bias)
    [relu1] r1 = Relu (c1)
    [conv2] c2 = Conv <pads = [1, 1, 1, 1]> (r1, conv2_weight, conv2_bias)
    [relu2] r2 = Relu (c2)
    [pool2] p2 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r2)
    [conv3] c3 = Conv <pads = [1, 1, 1, 1]> (p2, conv3_weight, conv3_bias)
    [relu3] r3 = Relu (c3)
    [flatten] f = Flatten (r3)
    [fc] scores = Gemm <transB = 1> (f, fc_weight, fc_bias)
}"""

SHAPES = {"conv1": (16, 1, 3, 3), "conv2": (24, 16, 3, 3), "conv3": (32, 24, 3, 3), "fc": (10, 32 * 4 * 4)}


@dataclass
class Adam:
    """The Adam optimizer (Kingma and Ba, 2015)."""

    first: dict[str, Array] = field(default_factory=lambda: {})
    second: dict[str, Array] = field(default_factory=lambda: {})
    step: int = 0

    def update(self, weights: dict[str, Array], gradients: dict[str, Array], rate: float) -> None:
        """Move each weight against its gradient."""
        self.step += 1
        for name, gradient in gradients.items():
            first = self.first[name] = 0.9 * self.first.get(name, 0 * gradient) + 0.1 * gradient
            second = self.second.get(name, 0 * gradient)
            second = self.second[name] = 0.999 * second + 0.001 * gradient**2
            unbiased = np.sqrt(second / (1 - 0.999**self.step)) + 1e-8
            weights[name] = weights[name] - rate * first / (1 - 0.9**self.step) / unbiased


def initial_weights(random: np.random.Generator) -> dict[str, Array]:
    """Return random weights, with the variance of He et al. (2015), and zero biases."""
    weights: dict[str, Array] = {}
    for name, shape in SHAPES.items():
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        weights[f"{name}_weight"] = (deviation * random.standard_normal(shape)).astype(np.float32)
        weights[f"{name}_bias"] = np.zeros(shape[0], np.float32)
    return weights


def columns(x: Array) -> Array:
    """Return the 3x3 windows around each pixel of `x` [N,C,H,W], padded by zeros, as [N,H,W,9C]."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(*x.shape[:1], *x.shape[2:], -1)


def image_gradient(gradient: Array, channels: int) -> Array:
    """Return the gradient of `x` from that of `columns(x)`."""
    count, height, width, _ = gradient.shape
    windows = gradient.reshape(count, height, width, channels, 3, 3)
    padded = np.zeros((count, channels, height + 2, width + 2), np.float32)
    for row in range(3):
        for column in range(3):
            here = windows[..., row, column].transpose(0, 3, 1, 2)
            padded[:, :, row : row + height, column : column + width] += here
    return padded[:, :, 1:-1, 1:-1]


@dataclass
class Pass:
    """A forward pass over a batch and what its gradients need."""

    weights: dict[str, Array]
    saved: dict[str, Array] = field(default_factory=lambda: {})

    def conv(self, name: str, x: Array) -> Array:
        """Return the convolution of `x` followed by Relu."""
        windows = self.saved[name] = columns(x)
        weight = self.weights[f"{name}_weight"]
        y = windows @ weight.reshape(len(weight), -1).T + self.weights[f"{name}_bias"]
        y = self.saved[f"{name}_output"] = np.maximum(y, 0).transpose(0, 3, 1, 2)
        return y

    def scores(self, x: Array) -> Array:
        """Return the ten scores of each image of `x` [N,1,8,8]."""
        y = self.conv("conv2", self.conv("conv1", x))
        blocks = y.reshape(*y.shape[:2], 4, 2, 4, 2)
        pooled = blocks.max(axis=(3, 5))
        mask = blocks == pooled[:, :, :, None, :, None]
        self.saved["pool2"] = (mask / mask.sum(axis=(3, 5), keepdims=True)).astype(np.float32)
        flat = self.saved["fc"] = self.conv("conv3", pooled).reshape(len(x), -1)
        return flat @ self.weights["fc_weight"].T + self.weights["fc_bias"]

    def gradients(self, gradient: Array) -> dict[str, Array]:
        """Return the gradients of the weights from that of the scores [N,10]."""
        found = {"fc_weight": gradient.T @ self.saved["fc"], "fc_bias": gradient.sum(axis=0)}
        shape = self.saved["conv3_output"].shape
        gradient = self._conv("conv3", (gradient @ self.weights["fc_weight"]).reshape(shape), found)
        mask = self.saved["pool2"]
        gradient = (mask * gradient[:, :, :, None, :, None]).reshape(self.saved["conv2_output"].shape)
        self._conv("conv1", self._conv("conv2", gradient, found), found)
        return found

    def _conv(self, name: str, gradient: Array, found: dict[str, Array]) -> Array:
        weight = self.weights[f"{name}_weight"]
        rows = (gradient * (self.saved[f"{name}_output"] > 0)).transpose(0, 2, 3, 1)
        flat = rows.reshape(-1, len(weight))
        windows = self.saved[name]
        found[f"{name}_weight"] = (flat.T @ windows.reshape(len(flat), -1)).reshape(weight.shape)
        found[f"{name}_bias"] = flat.sum(axis=0)
        return image_gradient(rows @ weight.reshape(len(weight), -1), weight.shape[1])


def shifted(x: Array, random: np.random.Generator) -> Array:
    """Return the images moved by up to one pixel, a cheap augmentation."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = np.empty_like(x)
    for index, (row, column) in enumerate(random.integers(0, 3, (len(x), 2))):
        moved[index] = padded[index, :, row : row + 8, column : column + 8]
    return moved


def train(x: Array, labels: npt.NDArray[np.int64], random: np.random.Generator) -> dict[str, Array]:
    """Return the weights that minimize the cross-entropy of the labels."""
    weights, optimizer = initial_weights(random), Adam()
    for epoch in range(EPOCHS):
        order, correct = random.permutation(len(x)), 0
        rate = RATE * (1 + np.cos(np.pi * epoch / EPOCHS)) / 2
        for begin in range(0, len(x), BATCH):
            chosen = order[begin : begin + BATCH]
            forward = Pass(weights)
            scores = forward.scores(shifted(x[chosen], random))
            exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
            probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
            correct += int((scores.argmax(axis=1) == labels[chosen]).sum())
            probabilities[np.arange(len(chosen)), labels[chosen]] -= 1
            gradients = forward.gradients(probabilities.astype(np.float32) / len(chosen))
            optimizer.update(weights, gradients, rate)
        print(f"epoch {epoch + 1:2}: {correct / len(x):.1%} of the training set")
    return weights


def main() -> None:
    """Train, test on the held-out images, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder (default: %(default)s)")
    folder: Path = parser.parse_args().output
    datasets: Any = import_module("sklearn.datasets")
    digits = datasets.load_digits()
    random = np.random.default_rng(7)
    order = random.permutation(len(digits.images))
    pixels = np.asarray(digits.images, np.uint8)[order][:, None]
    labels = np.asarray(digits.target, np.int64)[order]
    x = pixels.astype(np.float32) / 16

    weights = train(x[HELD_OUT:], labels[HELD_OUT:], random)
    right = int((Pass(weights).scores(x[:HELD_OUT]).argmax(axis=1) == labels[:HELD_OUT]).sum())
    print(f"held-out: {right} of {HELD_OUT}")

    model = onnx.parser.parse_model(GRAPH)
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "digits.onnx").write_bytes(model.SerializeToString())
    np.savez_compressed(
        folder / "digits.npz",
        calibration=pixels[HELD_OUT : HELD_OUT + CALIBRATION],
        images=pixels[:HELD_OUT],
        labels=labels[:HELD_OUT].astype(np.uint8),
    )


if __name__ == "__main__":
    main()
