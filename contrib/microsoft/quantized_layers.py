"""Quantized layers of language models: attention, embeddings and LSTM."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.attention import (
    MASKED,
    attend,
    causal,
    causal_of,
    heads,
    mask_bias,
    mask_bias_of,
    merge_heads,
    merged,
    require_plain_mask,
    scale_of,
    scores_of,
    split_heads,
)
from xonnc.contrib.microsoft.common import (
    BYTES,
    Array,
    Samples,
    allowed,
    contrib,
    dequantize,
    normal,
    quantized,
    real,
    scalar,
    sigmoid,
)
from xonnc.contrib.microsoft.matmul import exact_product, integer_product
from xonnc.contrib.microsoft.normalization import embedding_types, normalized
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

FLOAT = np.float32


@contrib("QAttention")
class QAttention:
    """Multi-head self-attention with a quantized QKV projection and an optional key-value cache."""

    inputs = (
        one("T1", name="x"),
        one("T2", name="weights"),
        one("T3", name="bias"),
        one("T3", name="x_scale"),
        one("T3", name="w_scale"),
        optional(np.int32, name="mask"),
        optional("T1", name="x_zero"),
        optional("T2", name="w_zero"),
        optional("T3", name="past"),
    )
    outputs = (one("T3", name="output"), optional("T3", name="present"))
    types = allowed(T1=BYTES, T2=BYTES, T3=(FLOAT,))
    do_rotary = attribute(int, default=0, choices=(0,))
    mask_filter_value = attribute(float, default=MASKED)
    num_heads = attribute(int)
    past_present_share_buffer = attribute(int, default=0, choices=(0,))
    scale = attribute(float, default=None)
    unidirectional = attribute(int, default=0)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        unknown = op.bias.with_shape(None)
        if op.x.shape is None or op.weights.shape is None:
            return [unknown, unknown]
        (batch, length), width = op.x.shape[:2], op.weights.shape[1] // 3
        past = 0 if op.past is None else None if op.past.shape is None else op.past.shape[3]
        present = unknown
        if past is not None:
            present = unknown.with_shape((2, batch, op.num_heads, past + length, width // op.num_heads))
        return [unknown.with_shape((batch, length, width)), present]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        x, weights, bias, x_scale, w_scale, mask, x_zero, w_zero, past = operands
        absent: Any = None
        product = exact_product(x, weights, x_zero, w_zero).astype(FLOAT)
        q, k, v = (
            heads(part, op.num_heads) for part in np.split(product * (x_scale * w_scale) + bias, 3, -1)
        )
        if past is not absent:
            k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
        length, total = q.shape[2], k.shape[2]
        terms: Any = np.zeros((1, 1, 1, 1), FLOAT)
        terms = terms if mask is absent else terms + mask_bias(mask, op.mask_filter_value, total)
        if op.unidirectional:
            terms = terms + np.where(causal(length, total), 0, np.finfo(FLOAT).min).astype(FLOAT)
        y = merged(attend(q, k, v, scale_of(op, q.shape[-1]), terms))
        return [y.astype(FLOAT), np.stack([k, v]).astype(FLOAT)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        require_plain_mask(op, op.mask, None if op.x.shape is None else op.x.shape[0])
        width = None if op.weights.shape is None else op.weights.shape[1]
        if not isinstance(width, int):
            raise op.fail("the shape of the weights is not known")
        product = integer_product(op, b, op.x, op.weights, op.x_zero, op.w_zero)
        scale = b.Mul(scalar(b, op.x_scale), scalar(b, op.w_scale))
        projected = b.Add(b.Mul(product, scale), op.bias)
        parts = b.Split(projected, [width // 3] * 3, axis=-1, outputs=3)
        q, k, v = (split_heads(b, part, op.num_heads) for part in parts)
        if op.past is not None:
            held_k, held_v = b.Split(op.past, None, axis=0, num_outputs=2, outputs=2)
            k = b.Concat(b.Squeeze(held_k, [0]), k, axis=2)
            v = b.Concat(b.Squeeze(held_v, [0]), v, axis=2)
        biases: list[Value] = []
        if op.mask is not None:
            biases.append(mask_bias_of(op, b, op.mask, k, op.mask_filter_value))
        if op.unidirectional:
            biases.append(causal_of(b, q, k, float(np.finfo(FLOAT).min)))
        scores = scores_of(b, q, k, scale_of(op, width // 3 // op.num_heads), biases)
        y = merge_heads(b, b.MatMul(b.Softmax(scores, axis=-1), v))
        if op.outputs[1] is None:
            return [y, None]
        return [y, b.Concat(b.Unsqueeze(k, [0]), b.Unsqueeze(v, [0]), axis=0)]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for mask_rank, is_causal, has_past, dtype in ((0, 0, 0, 0), (1, 0, 0, 1), (2, 0, 1, 0), (0, 1, 1, 1)):
            batch, length, count, size = 2, int(rng.integers(1, 6)), int(rng.integers(1, 4)), 8
            past = int(rng.integers(1, 4)) if has_past else 0
            width, total = count * size, past + length
            x, x_scale, x_zero = quantized(rng, (batch, length, 12), np.uint8)
            weights, w_scale, w_zero = quantized(rng, (12, 3 * width), BYTES[dtype])
            if is_causal:
                w_scale = rng.uniform(0.005, 0.01, 3 * width).astype(FLOAT)
                w_zero = np.zeros(3 * width, BYTES[dtype])
            lengths = rng.integers(1, total + 1, batch).astype(np.int32)
            keys = (np.arange(total)[None] < lengths[:, None]).astype(np.int32)
            state = normal(rng, 2, batch, count, past, size) if has_past else None
            operands: list[Array | None] = [
                x,
                weights,
                normal(rng, 3 * width),
                np.asarray(x_scale * np.float32(0.1)),
            ]
            operands += [w_scale, (None, lengths, keys)[mask_rank], x_zero, w_zero, state]
            yield operands, {"num_heads": count, "unidirectional": is_causal}


@contrib("QEmbedLayerNormalization")
class QEmbedLayerNormalization:
    """Layer normalization of the sum of quantized word, position and segment embeddings."""

    inputs = (
        one(np.int32, name="input_ids"),
        optional(np.int32, name="segment_ids"),
        one("T2", name="words"),
        one("T2", name="positions"),
        optional("T2", name="segments"),
        one("T2", name="gamma"),
        one("T2", name="beta"),
        optional(np.int32, name="mask"),
        one(FLOAT, name="words_scale"),
        one(FLOAT, name="positions_scale"),
        optional(FLOAT, name="segments_scale"),
        one(FLOAT, name="gamma_scale"),
        one(FLOAT, name="beta_scale"),
        one("T2", name="words_zero"),
        one("T2", name="positions_zero"),
        optional("T2", name="segments_zero"),
        one("T2", name="gamma_zero"),
        one("T2", name="beta_zero"),
    )
    outputs = (one(FLOAT, name="output"), one(np.int32, name="mask_index"))
    types = allowed(T2=BYTES)
    epsilon = attribute(float, default=1e-12)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        return embedding_types(op, op.words.with_dtype(FLOAT))[:2]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        ids, segment_ids = operands[:2]
        mask = operands[7]
        absent: Any = None
        tables = [
            None if table is absent else dequantize(table, scale, zero)
            for table, scale, zero in zip(operands[2:7], operands[8:13], operands[13:], strict=True)
        ]
        words, positions, segments, gamma, beta = tables
        assert words is not None
        assert positions is not None
        assert gamma is not None
        total = words[ids] + positions[: ids.shape[1]]
        total = total if segments is None else total + segments[segment_ids]
        counts = np.zeros(len(ids), np.int32) if mask is absent else mask.sum(1, dtype=np.int32)
        return [normalized(total, gamma, beta, op.epsilon)[0].astype(FLOAT), counts]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        positions = b.Slice(op.positions, [0], b.Shape(op.input_ids, start=1), [0])
        total = b.Add(
            real(b, b.Gather(op.words, op.input_ids), op.words_scale, op.words_zero),
            real(b, positions, op.positions_scale, op.positions_zero),
        )
        if op.segment_ids is not None:
            segments = b.Gather(op.segments, op.segment_ids)
            total = b.Add(total, real(b, segments, op.segments_scale, op.segments_zero))
        gamma = real(b, op.gamma, op.gamma_scale, op.gamma_zero)
        beta = real(b, op.beta, op.beta_scale, op.beta_zero)
        y = b.LayerNormalization(total, gamma, beta, axis=-1, epsilon=op.epsilon)[0]
        if op.mask is None:
            return [y, b.Expand(np.zeros((), np.int32), b.Shape(op.input_ids, start=0, end=1))]
        return [y, b.ReduceSum(op.mask, [1], keepdims=0)]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_segments, has_mask, dtype in ((1, 1, np.uint8), (1, 0, np.int8), (0, 1, np.uint8)):
            batch, length, size = int(rng.integers(1, 4)), int(rng.integers(1, 6)), 8
            shapes = ((10, size), (7, size), (2, size), (size,), (size,))
            tables = [quantized(rng, shape, dtype) for shape in shapes]
            ids, segment_ids = (rng.integers(0, count, (batch, length)).astype(np.int32) for count in (10, 2))
            mask = (np.arange(length)[None] < rng.integers(1, length + 1, (batch, 1))).astype(np.int32)

            def held(part: int, drawn: Any = tables, has: int = has_segments) -> list[Array | None]:
                return [None if at == 2 and not has else each[part] for at, each in enumerate(drawn)]

            operands: list[Array | None] = [ids, segment_ids if has_segments else None, *held(0)]
            operands += [mask if has_mask else None, *held(1), *held(2)]
            yield operands, {"epsilon": 1e-5}


def gates(x: Array) -> list[Array]:
    """Split the gates of an LSTM: input, output, forget, cell."""
    return np.split(x, 4, -1)


@contrib("DynamicQuantizeLSTM")
class DynamicQuantizeLSTM:
    """LSTM with quantized weights and a dynamically quantized input; the recurrent state is not quantized."""

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
    def weights(w: Array, scale: Array, zero: Array) -> Array:
        """Dequantize the weights (directions, inputs, gates); scales are per direction or per column."""
        shape = (len(w), 1, 1) if scale.size == len(w) else (len(w), 1, -1)
        values = w.astype(np.int32) - zero.astype(np.int32).reshape(shape)
        return np.asarray(values.astype(FLOAT) * scale.reshape(shape))

    @staticmethod
    def one_direction(op: Any, x: Array, w: Array, r: Array, bias: Array, h: Array, c: Array) -> list[Array]:
        """Run one direction: the states of all steps, and the last two states."""
        found: list[Array] = []
        for step in x:
            i, o, f, g = gates(step @ w + h @ r + bias)
            if op.clip:
                i, o, f, g = (np.clip(each, -op.clip, op.clip) for each in (i, o, f, g))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            found.append(h)
        return [np.stack(found), h, c]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        x, w, r, bias, lengths, h, c, peepholes, w_scale, w_zero, r_scale, r_zero = operands
        absent: Any = None
        if lengths is not absent or peepholes is not absent or op.input_forget or op.activations:
            raise op.fail("sequence lengths, peepholes, input_forget and activations have no reference")
        low, high = min(0.0, float(x.min())), max(0.0, float(x.max()))
        scale = FLOAT((high - low) / 255) or FLOAT(1)
        zero = np.clip(np.rint(-FLOAT(low) / scale), 0, 255)
        held = (np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * scale
        inputs = DynamicQuantizeLSTM.weights(w, w_scale, w_zero)
        recurrent = DynamicQuantizeLSTM.weights(r, r_scale, r_zero)
        results: list[list[Array]] = []
        for index in range(len(w)):
            steps = held[::-1] if op.direction == "reverse" or index else held
            state = (x.shape[1], op.hidden_size)
            first = np.zeros(state, FLOAT) if h is absent else h[index]
            cell = np.zeros(state, FLOAT) if c is absent else c[index]
            offset = FLOAT(0) if bias is absent else np.add(*np.split(bias[index], 2))
            given = inputs[index], recurrent[index], np.asarray(offset)
            y, *last = DynamicQuantizeLSTM.one_direction(op, steps, *given, first, cell)
            results.append([y[::-1] if op.direction == "reverse" or index else y, *last])
        y = np.stack([each[0] for each in results], 1)
        return [y.astype(FLOAT), *(np.stack([each[at] for each in results]).astype(FLOAT) for at in (1, 2))]

    @staticmethod
    def weights_of(op: Any, b: Builder, w: Value, scale: Value, zero: Value) -> Value:
        """Build the dequantized weights, transposed as ONNX's LSTM takes them."""
        if w.shape is None or scale.shape is None:
            raise op.fail("the shape of the weights or of their scales is not known")
        is_whole = len(scale.shape) == 1
        columns = (b.Unsqueeze(each, [1, 2] if is_whole else [1]) for each in (scale, zero))
        factor, offset = columns
        values = b.Sub(b.Cast(w, to=FLOAT), b.Cast(offset, to=FLOAT))
        return b.Transpose(b.Mul(values, factor), perm=[0, 2, 1])

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        held, scale, zero = b.DynamicQuantizeLinear(op.x)
        weights = (
            DynamicQuantizeLSTM.weights_of(op, b, op.w, op.w_scale, op.w_zero),
            DynamicQuantizeLSTM.weights_of(op, b, op.r, op.r_scale, op.r_zero),
        )
        names = ("activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size")
        given = {name: getattr(op, name) for name in (*names, "input_forget")}
        x = b.DequantizeLinear(held, scale, zero)
        others = op.bias, op.lengths, op.initial_h, op.initial_c, op.peepholes
        return list(b.LSTM(x, *weights, *others, **given))

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
