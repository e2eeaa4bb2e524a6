"""
Mixtures of experts: each token goes through the best few of many feed-forward networks.

All experts compute all tokens; a sum of a token's results leaves out the experts that it is not routed to.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, sigmoid, softmax, wide
from xonnc.contrib.microsoft.weights import unpacked
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16, ml_dtypes.bfloat16)

ACTIVATIONS = ("relu", "gelu", "silu", "swiglu", "identity")


def mixing_weights(op: Any, router: Array, is_normalized: bool, weights: Array | None = None) -> Array:
    """Compute how much each expert counts for each token: (tokens, experts), zeros for most."""
    scores = softmax(wide(router))
    best = np.argsort(-scores, 1, kind="stable")[:, : op.k]
    chosen = np.take_along_axis(scores if weights is None else wide(weights), best, 1)
    if is_normalized:
        chosen = chosen / chosen.sum(1, keepdims=True)
    found: Array = np.zeros(scores.shape, scores.dtype)
    np.put_along_axis(found, best, chosen, 1)
    return found


def build_mixing_weights(
    op: Any, b: Builder, router: Value, is_normalized: bool, weights: Value | None = None
) -> Value:
    """Build `mixing_weights` from ONNX operators."""
    scores = b.Softmax(b.Cast(router, to=np.float32), axis=-1)
    chosen, best = b.TopK(scores, [op.k], axis=-1)
    if weights is not None:
        chosen = b.GatherElements(b.Cast(weights, to=np.float32), best, axis=1)
    if is_normalized:
        chosen = b.Div(chosen, b.ReduceSum(chosen, [1], keepdims=1))
    return b.ScatterElements(b.ConstantOfShape(b.Shape(scores)), best, chosen, axis=1)


def activated(op: Any, x: Array) -> Array:
    """Compute the activation; SwiGLU's has pairs of a gate and a linear part along the last axis."""
    if op.activation_type == "swiglu":
        gate, linear = x[..., ::2], x[..., 1::2]
        if op.swiglu_limit is not None:
            gate = np.minimum(gate, op.swiglu_limit)
            linear = np.clip(linear, -op.swiglu_limit, op.swiglu_limit)
        return (
            gate * sigmoid(np.float32(op.activation_alpha) * gate) * (linear + np.float32(op.activation_beta))
        )
    if op.activation_type == "gelu":
        inner = np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x * x * x)
        return np.float32(0.5) * x * (1 + np.tanh(inner))
    if op.activation_type == "relu":
        return np.maximum(x, 0)
    return x * sigmoid(x) if op.activation_type == "silu" else x


def build_activated(op: Any, b: Builder, x: Value, size: int) -> Value:
    """Build `activated` of `size` elements along the last axis from ONNX operators."""
    kind = op.activation_type
    if kind == "swiglu":
        pairs = b.Reshape(x, [*[0] * (len(x.shape or ()) - 1), size // 2, 2])
        gate, linear = (b.Gather(pairs, np.int64(part), axis=-1) for part in (0, 1))
        if op.swiglu_limit is not None:
            limit = np.float32(op.swiglu_limit)
            gate, linear = b.Min(gate, limit), b.Clip(linear, -limit, limit)
        sigmoids = b.Sigmoid(b.Mul(gate, np.float32(op.activation_alpha)))
        return b.Mul(b.Mul(gate, sigmoids), b.Add(linear, np.float32(op.activation_beta)))
    if kind == "gelu":
        return b.Gelu(x, approximate="tanh")
    if kind == "relu":
        return b.Relu(x)
    return b.Mul(x, b.Sigmoid(x)) if kind == "silu" else x


def combined(x: Array, outputs: Array, mixing: Array) -> Array:
    """Sum the outputs of experts, (experts, tokens, size), that count for a token, in the shape of `x`."""
    shares = mixing.T[:, :, None]
    y = np.where(shares != 0, outputs, 0) * shares
    return y.sum(0).reshape(x.shape).astype(x.dtype)


def build_share(b: Builder, output: Value, share: Value) -> Value:
    """Build the part of an expert's output that counts; what does not may be infinite or NaN."""
    is_chosen = b.Not(b.Equal(share, np.float32(0)))
    return b.Mul(b.Where(is_chosen, output, np.float32(0)), share)


def rows_of(b: Builder, x: Value) -> Value:
    """Build the tokens as rows of a float32 matrix."""
    x = x if x.dtype == np.float32 else b.Cast(x, to=np.float32)
    return x if len(x.shape or ()) == 2 else b.Reshape(x, b.Concat([-1], b.Shape(x, start=-1), axis=0))


def require_supported(op: Any, third: Value | None) -> None:
    """Raise `XonncError` for what onnxruntime computes on GPUs alone."""
    if third is not None or (op.activation_type == "swiglu") != (op.swiglu_fusion == 1):
        raise op.fail(
            "a gate in weights of its own (fc3), or before the linear part (swiglu_fusion 2), is not "
            "supported; export with swiglu_fusion=1"
        )


@contrib("MoE")
class MoE:
    """Mixture of experts: the weighted sum of the best `k` of many feed-forward networks, for each token."""

    inputs = (
        one("T", name="x"),
        one("T", name="router"),
        one("T", name="fc1"),
        optional("T", name="fc1_bias"),
        one("T", name="fc2"),
        optional("T", name="fc2_bias"),
        optional("T", name="fc3"),
        optional("T", name="fc3_bias"),
    )
    outputs = one("T")
    types = allowed(T=REAL)
    activation_alpha = attribute(float, default=1.0)
    activation_beta = attribute(float, default=0.0)
    activation_type = attribute(str, default="relu", choices=ACTIVATIONS)
    k = attribute(int, default=1)
    normalize_routing_weights = attribute(int, default=0)
    swiglu_fusion = attribute(int, default=0)
    swiglu_limit = attribute(float, default=None)
    swiglu_limit_after_activation = attribute(int, default=0, choices=(0,))
    use_sparse_mixer = attribute(int, default=0, choices=(0,))

    @staticmethod
    def infer(op: Any) -> TensorType:
        require_supported(op, op.fc3)
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, router: Array, *weights: Array | None) -> Array:
        require_supported(op, op.fc3)
        fc1, fc1_bias, fc2, fc2_bias, *_ = weights
        return experts(
            op,
            x,
            mixing_weights(op, router, bool(op.normalize_routing_weights)),
            [fc1, fc1_bias, fc2, fc2_bias],
        )

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        require_supported(op, op.fc3)
        size = None if op.fc1.shape is None else op.fc1.shape[1]
        if not isinstance(size, int):
            raise op.fail("the width of fc1_experts_weights is not known")
        hidden = MoE.layer(b, b.Unsqueeze(rows_of(b, op.x), [0]), op.fc1, op.fc1_bias)
        y = MoE.layer(b, build_activated(op, b, hidden, size), op.fc2, op.fc2_bias)
        mixing = build_mixing_weights(op, b, op.router, bool(op.normalize_routing_weights))
        shares = b.Unsqueeze(b.Transpose(mixing, perm=[1, 0]), [2])
        y = b.Reshape(b.ReduceSum(build_share(b, y, shares), [0], keepdims=0), b.Shape(op.x))
        return b.CastLike(y, op.x)

    @staticmethod
    def layer(b: Builder, x: Value, weights: Value, bias: Value | None) -> Value:
        """Build the products of all experts, (experts, tokens, size), with their biases."""
        y = b.MatMul(x, b.Transpose(b.Cast(weights, to=np.float32), perm=[0, 2, 1]))
        return y if bias is None else b.Add(y, b.Unsqueeze(b.Cast(bias, to=np.float32), [1]))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for activation, has_bias, rank, given in sample_options():
            x, router, sizes = sample_tokens(rng, rank)
            fc1, fc2 = sample_weights(rng, sizes, activation)
            biases = [normal(rng, *each.shape[:2]) if has_bias else None for each in (fc1, fc2)]
            yield [x, router, fc1, biases[0], fc2, biases[1]], {"activation_type": activation, **given}


def experts(op: Any, x: Array, mixing: Array, weights: list[Array | None]) -> Array:
    """Compute all experts and combine them; `weights` are matrices and biases of both layers."""
    hidden = wide(x).reshape((1, -1, x.shape[-1]))
    for index in (0, 2):
        matrix, bias = weights[index], weights[index + 1]
        assert matrix is not None
        hidden = hidden @ wide(matrix).swapaxes(1, 2)
        hidden = hidden if bias is None else hidden + wide(bias)[:, None]
        hidden = activated(op, hidden) if index == 0 else hidden
    return combined(x, hidden, mixing)


def sample_options() -> list[tuple[str, int, int, dict[str, Any]]]:
    """Activation, whether there are biases, rank of the tokens and attributes of samples."""
    swiglu = {"swiglu_fusion": 1, "activation_alpha": 1.7, "activation_beta": 1.0}
    return [
        ("relu", 1, 2, {"k": 1}),
        ("gelu", 1, 3, {"k": 2, "normalize_routing_weights": 1}),
        ("silu", 0, 3, {"k": 2}),
        ("swiglu", 1, 3, {"k": 3, "normalize_routing_weights": 1, **swiglu}),
        ("swiglu", 0, 2, {"k": 2, "swiglu_limit": 0.8, **swiglu}),
        ("identity", 1, 2, {"k": 4, "normalize_routing_weights": 1}),
    ]


def sample_tokens(rng: np.random.Generator, rank: int) -> tuple[Array, Array, tuple[int, int, int]]:
    """Return tokens, their scores of experts, and the numbers of experts, inputs and hidden elements."""
    count, size, inner = 4, 16 * int(rng.integers(1, 4)), 16 * int(rng.integers(1, 3))
    shape = (int(rng.integers(1, 3)), int(rng.integers(1, 5)), size)[3 - rank :]
    router = normal(rng, int(np.prod(shape[:-1])), count)
    return normal(rng, *shape), router, (count, size, inner)


def sample_weights(
    rng: np.random.Generator, sizes: tuple[int, int, int], activation: str
) -> tuple[Array, Array]:
    """Return the weights of both layers."""
    count, size, inner = sizes
    width = inner * (2 if activation == "swiglu" else 1)
    return normal(rng, count, width, size) * np.float32(0.2), normal(rng, count, size, inner) * np.float32(
        0.2
    )


@contrib("QMoE")
class QMoE:
    """Mixture of experts with weights of 4 or 8 bits, with a scale for each row or for blocks of it."""

    inputs = (
        one("T", name="x"),
        one("T", name="router"),
        one(np.uint8, name="fc1"),
        one("S", name="fc1_scales"),
        optional("T", name="fc1_bias"),
        one(np.uint8, name="fc2"),
        one("S", name="fc2_scales"),
        optional("T", name="fc2_bias"),
        optional(np.uint8, name="fc3"),
        optional("S", name="fc3_scales"),
        optional("T", name="fc3_bias"),
        optional(np.uint8, name="fc1_zeros"),
        optional(np.uint8, name="fc2_zeros"),
        optional(np.uint8, name="fc3_zeros"),
        optional("T", name="router_weights"),
    )
    outputs = one("T")
    types = allowed(T=REAL, S=REAL)
    accuracy_level = attribute(int, default=0)
    activation_alpha = attribute(float, default=1.0)
    activation_beta = attribute(float, default=0.0)
    activation_type = attribute(str, default="relu", choices=ACTIVATIONS)
    block_size = attribute(int, default=0)
    expert_weight_bits = attribute(int, default=4, choices=(4, 8))
    fc1_expert_weight_bits = attribute(int, default=None, choices=(4, 8))
    fc2_expert_weight_bits = attribute(int, default=None, choices=(4, 8))
    k = attribute(int, default=1)
    normalize_routing_weights = attribute(int, default=0)
    quant_type = attribute(str, default="int", choices=("int",))
    swiglu_fusion = attribute(int, default=0)
    swiglu_limit = attribute(float, default=None)
    swiglu_limit_after_activation = attribute(int, default=0, choices=(0,))
    use_sparse_mixer = attribute(int, default=0, choices=(0,))
    weights_prepacked = attribute(int, default=-1, choices=(-1, 0))

    @staticmethod
    def infer(op: Any) -> TensorType:
        require_supported(op, op.fc3)
        return op.x

    @staticmethod
    def is_normalized(op: Any) -> bool:
        """Whether what the chosen experts count adds up to 1: a softmax over these alone, as on CPUs."""
        return bool(op.normalize_routing_weights) or op.router_weights is None

    @staticmethod
    def bits(op: Any) -> tuple[int, int]:
        """Return the bits of weights of both layers."""
        own = (op.fc1_expert_weight_bits, op.fc2_expert_weight_bits)
        first, second = (each or op.expert_weight_bits for each in own)
        return first, second

    @staticmethod
    def reference(op: Any, x: Array, router: Array, *others: Array | None) -> Array:
        require_supported(op, op.fc3)
        fc1, fc1_scales, fc1_bias, fc2, fc2_scales, fc2_bias, _, _, _, *zeros, weights = others
        assert fc1 is not None
        assert fc1_scales is not None
        assert fc2 is not None
        assert fc2_scales is not None
        bits = QMoE.bits(op)
        first = dequantized(fc1, fc1_scales, zeros[0], bits[0])
        second = dequantized(fc2, fc2_scales, zeros[1], bits[1])
        mixing = mixing_weights(op, router, QMoE.is_normalized(op), weights)
        return experts(op, x, mixing, [first, fc1_bias, second, fc2_bias])

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        require_supported(op, op.fc3)
        shapes = op.fc1.shape, op.fc2.shape
        if any(shape is None or not all(isinstance(each, int) for each in shape) for shape in shapes):
            raise op.fail("the shapes of the experts' weights are not known")
        count, width, _ = shapes[0]
        rows, bits = rows_of(b, op.x), QMoE.bits(op)
        mixing = build_mixing_weights(op, b, op.router, QMoE.is_normalized(op), op.router_weights)
        y: Value | None = None
        for expert in range(count):
            hidden = QMoE.layer(op, b, rows, (2, 11, bits[0]), expert)
            hidden = build_activated(op, b, hidden, width)
            output = QMoE.layer(op, b, hidden, (5, 12, bits[1]), expert)
            part = build_share(b, output, b.Slice(mixing, [expert], [expert + 1], [1]))
            y = part if y is None else b.Add(y, part)
        assert y is not None
        return b.CastLike(b.Reshape(y, b.Shape(op.x)), op.x)

    @staticmethod
    def layer(op: Any, b: Builder, x: Value, operands: tuple[int, int, int], expert: int) -> Value:
        """Build the product of an expert with its bias; `operands`: indices of weights and zeros, bits."""
        first, zeros_index, bits = operands
        _, width, packed = op.inputs[first].shape
        size = packed * 8 // bits
        block = op.block_size or size
        blocks = QMoE.part(op, b, first, expert, (width, size // block, block * bits // 8))
        scales = QMoE.part(op, b, first + 1, expert, (width, size // block))
        zeros, bias = op.inputs[zeros_index], op.inputs[first + 2]
        if zeros is not None and not op.block_size and bits < 8:
            # One zero point for each row is packed along the rows; here each row has a byte of its own.
            if (constant := op.constant(zeros_index)) is None:
                raise op.fail("zero points of rows have to be constant")
            zeros = b.constant(unpacked(constant[expert], bits)[:width])
        elif zeros is not None:
            zeros = QMoE.part(op, b, zeros_index, expert, (width, -(-(size // block) * bits // 8)))
        if bias is not None:
            bias = b.Cast(QMoE.part(op, b, first + 2, expert, (width,)), to=np.float32)
        given = {
            "K": size,
            "N": width,
            "bits": bits,
            "block_size": block,
            "accuracy_level": op.accuracy_level,
        }
        given_operands = [x, blocks, b.Cast(scales, to=np.float32), zeros, None, bias]
        return b.call("com.microsoft", "MatMulNBits", given_operands, given)

    @staticmethod
    def part(op: Any, b: Builder, index: int, expert: int, shape: tuple[int, ...]) -> Value:
        """Build what an operand has for an expert."""
        if (constant := op.constant(index)) is not None:
            return b.constant(constant[expert].reshape(shape))
        return b.Reshape(b.Gather(op.inputs[index], np.int64(expert), axis=0), shape)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for number, (activation, has_bias, rank, given) in enumerate(sample_options()):
            x, router, sizes = sample_tokens(rng, rank)
            bits, block = (4, 8)[number % 2], (0, 16)[number // 2 % 2]
            operands: list[Array | None] = [x, router]
            zeros: list[Array | None] = []
            for weights in sample_weights(rng, sizes, activation):
                packed, scales, zero = sample_quantized(rng, weights, bits, block)
                operands += [packed, scales, normal(rng, *weights.shape[:2]) if has_bias else None]
                zeros.append(zero if number % 3 == 2 else None)
            options = {"activation_type": activation, "expert_weight_bits": bits, **given}
            yield (
                [*operands, None, None, None, *zeros],
                {**options, **({"block_size": block} if block else {})},
            )


def dequantized(packed: Array, scales: Array, zeros: Array | None, bits: int) -> Array:
    """Return weights of experts, (experts, rows, K), of integers with scales for rows or blocks of them."""
    count, width, _ = packed.shape
    scale = wide(scales).reshape((count, width, -1, 1))
    values = unpacked(packed, bits).reshape((count, width, scale.shape[2], -1)).astype(np.float32)
    offset: Any = np.float32(1 << (bits - 1))
    if zeros is not None:
        # Zero points are packed along the last axis: the rows, or the blocks of a row.
        last = width if zeros.ndim == 2 else scale.shape[2]
        offset = unpacked(zeros, bits)[..., :last].reshape(scale.shape).astype(np.float32)
    return ((values - offset) * scale).reshape((count, width, -1))


def sample_quantized(rng: np.random.Generator, weights: Array, bits: int, block: int) -> list[Array]:
    """Return integers, scales and zero points in the shapes of weights; without `block` one of each row."""
    count, width, size = weights.shape
    blocks = size // block if block else 1
    packed = rng.integers(0, 256, (count, width, size * bits // 8)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.05, (count, width, blocks)).astype(np.float32)
    shape = (count, width, -(-blocks * bits // 8)) if block else (count, width * bits // 8)
    zeros = rng.integers(0, 256, shape).astype(np.uint8)
    return [packed, scales if block else scales[:, :, 0], zeros]
