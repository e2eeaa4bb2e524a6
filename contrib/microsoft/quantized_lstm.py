"""LSTM with quantized weights, as onnxruntime's dynamic quantizer writes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import (
    BYTES,
    Array,
    Samples,
    allowed,
    contrib,
    normal,
    quantize,
    quantized,
    shaped,
    sigmoid,
    sized,
)
from xonnc.contrib.microsoft.matmul import exact_product, integer_product
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

FLOAT = np.float32


def dynamic_product(x: Array, w: Array, w_scale: Array, w_zero: Array) -> Array:
    """Multiply a float matrix, quantized dynamically to uint8, with a quantized one."""
    low, high = min(0.0, float(x.min())), max(0.0, float(x.max()))
    scale = np.asarray(FLOAT((FLOAT(high) - FLOAT(low)) / FLOAT(255)) or FLOAT(1))
    zero = np.asarray(np.clip(np.rint(-FLOAT(low) / scale), 0, 255), np.uint8)
    quantized = quantize(x, scale, zero, np.uint8)
    return exact_product(quantized, w, zero, w_zero).astype(FLOAT) * (scale * w_scale)


def dynamic_product_of(op: Any, b: Builder, x: Value, w: Value, w_scale: Value, w_zero: Value) -> Value:
    """Build `dynamic_product` from ONNX operators."""
    quantized, scale, zero = b.DynamicQuantizeLinear(x)
    return b.Mul(integer_product(op, b, quantized, w, zero, w_zero), b.Mul(scale, w_scale))


def backwards(b: Builder, x: Value) -> Value:
    """Build the reversal of the first axis."""
    return b.Slice(x, [-1], [np.iinfo(np.int64).min], [0], [-1])


@contrib("DynamicQuantizeLSTM")
class DynamicQuantizeLSTM:
    """LSTM with quantized weights; the inputs, and the state in each step, are quantized dynamically."""

    inputs = (
        one("T", name="x"),
        one("T2", name="w"),
        one("T2", name="r"),
        optional("T", name="bias"),
        optional(np.int32, name="lengths"),
        optional("T", name="initial_h"),
        optional("T", name="initial_c"),
        optional("T", name="peepholes"),
        one("T", name="w_scale"),
        one("T2", name="w_zero"),
        one("T", name="r_scale"),
        one("T2", name="r_zero"),
    )
    outputs = (optional("T", name="y"), optional("T", name="y_h"), optional("T", name="y_c"))
    types = allowed(T=(FLOAT,), T2=BYTES)
    activation_alpha = attribute(list[float], default=None)
    activation_beta = attribute(list[float], default=None)
    activations = attribute(list[str], default=None)
    clip = attribute(float, default=None)
    direction = attribute(str, default="forward", choices=("forward", "reverse", "bidirectional"))
    hidden_size = attribute(int)
    input_forget = attribute(int, default=0)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        if op.x.shape is None:
            return [op.x] * 3
        (length, batch), count = op.x.shape[:2], 2 if op.direction == "bidirectional" else 1
        last = op.x.with_shape((count, batch, op.hidden_size))
        return [op.x.with_shape((length, count, batch, op.hidden_size)), last, last]

    @staticmethod
    def require_plain(op: Any, lengths: Any, peepholes: Any) -> None:
        """Raise `XonncError` for what onnxruntime's quantizer does not write."""
        plain = ["Sigmoid", "Tanh", "Tanh"] * (2 if op.direction == "bidirectional" else 1)
        given = {
            "sequence lengths": lengths is not None,
            "peepholes": peepholes is not None,
            "input_forget": bool(op.input_forget),
            "clip": bool(op.clip),
            "activations": op.activations is not None and list(op.activations) != plain,
        }
        if found := [name for name, has in given.items() if has]:
            raise op.fail(f"native code has no quantized LSTM with {' and '.join(found)}")

    @staticmethod
    def is_back(op: Any, number: int) -> bool:
        """Whether a direction runs from the last step to the first."""
        return op.direction == "reverse" or number == 1

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        x, w, r, bias, lengths, initial_h, initial_c, peepholes, w_scale, w_zero, r_scale, r_zero = operands
        absent: Any = None
        DynamicQuantizeLSTM.require_plain(op, lengths, peepholes)
        results: list[list[Array]] = []
        for number in range(len(w)):
            projected = dynamic_product(x, w[number], w_scale[number], w_zero[number])
            if bias is not absent:
                projected = projected + np.add(*np.split(bias[number], 2))
            h, c = (
                np.zeros((x.shape[1], op.hidden_size), FLOAT) if each is absent else each[number]
                for each in (initial_h, initial_c)
            )
            steps: list[Array] = []
            is_back = DynamicQuantizeLSTM.is_back(op, number)
            for own in projected[::-1] if is_back else projected:
                sums = own + dynamic_product(h, r[number], r_scale[number], r_zero[number])
                i, o, f, g = np.split(sums, 4, -1)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
                steps.append(h)
            results.append([np.stack(steps[::-1] if is_back else steps), h, c])
        y = np.stack([each[0] for each in results], 1)
        return [y.astype(FLOAT), *(np.stack([each[at] for each in results]).astype(FLOAT) for at in (1, 2))]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        DynamicQuantizeLSTM.require_plain(op, op.lengths, op.peepholes)
        batch = sized(b, op.x, 1)
        results: list[tuple[Value, Value, Value]] = []
        for number in range(2 if op.direction == "bidirectional" else 1):

            def part(value: Value, index: int = number) -> Value:
                return b.Squeeze(b.Slice(value, [index], [index + 1], [0]), [0])

            weights = part(op.w), part(op.w_scale), part(op.w_zero)
            projected = dynamic_product_of(op, b, op.x, *weights)
            if op.bias is not None:
                projected = b.Add(projected, b.Add(*b.Split(part(op.bias), None, num_outputs=2, outputs=2)))
            zeros = shaped(b, batch, op.hidden_size)
            starts = [
                b.Expand(np.zeros((1, 1), FLOAT), zeros) if each is None else part(each)
                for each in (op.initial_h, op.initial_c)
            ]
            recurrence = part(op.r), part(op.r_scale), part(op.r_zero)

            def step(
                b: Builder, states: list[Value], slices: list[Value], recurrence: Any = recurrence
            ) -> tuple[list[Value], list[Value]]:
                sums = b.Add(slices[0], dynamic_product_of(op, b, states[0], *recurrence))
                i, o, f, g = b.Split(sums, None, axis=-1, num_outputs=4, outputs=4)
                cell = b.Add(b.Mul(b.Sigmoid(f), states[1]), b.Mul(b.Sigmoid(i), b.Tanh(g)))
                state = b.Mul(b.Sigmoid(o), b.Tanh(cell))
                return [state, cell], [b.Identity(state)]

            is_back = DynamicQuantizeLSTM.is_back(op, number)
            last, every = b.scan(step, starts, [backwards(b, projected) if is_back else projected])
            y = backwards(b, every[0]) if is_back else every[0]
            results.append((b.Unsqueeze(y, [1]), *(b.Unsqueeze(each, [0]) for each in last)))
        joined = zip(*results, (1, 0, 0), strict=True)
        return [parts[0] if len(results) == 1 else b.Concat(*parts, axis=axis) for *parts, axis in joined]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for direction, per_column, has_state in (
            ("forward", 0, 0),
            ("reverse", 1, 1),
            ("bidirectional", 0, 1),
            ("forward", 1, 0),
        ):
            length, batch, depth, size = (int(each) for each in rng.integers(1, 6, 4))
            count = 2 if direction == "bidirectional" else 1
            operands: list[Array | None] = [normal(rng, length, batch, depth)]
            scales: list[Array | None] = []
            for rows in (depth, size):
                w, _, _ = quantized(rng, (count, rows, 4 * size), np.int8 if per_column else np.uint8)
                shape = (count, 4 * size) if per_column else (count,)
                operands.append(w)
                zeros = np.zeros(shape, np.int8) if per_column else np.full(shape, 128, np.uint8)
                scales += [rng.uniform(0.002, 0.005, shape).astype(FLOAT), zeros]
            operands += [normal(rng, count, 8 * size), None]
            operands += [normal(rng, count, batch, size) if has_state else None for _ in range(2)]
            yield [*operands, None, *scales], {"direction": direction, "hidden_size": size}
