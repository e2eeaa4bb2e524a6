"""
Decoders of language models as onnxruntime-genai writes them: like Llama, with a key-value cache and 4-bit
weights.

Inputs are `input_ids` (batch, sequence), `attention_mask` (batch, all tokens) and, for each layer, the cache:
`past_key_values.0.key` (batch, key-value heads, past, head size). Outputs are `logits` and `present.0.key`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]

OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]


@dataclass(frozen=True)
class DecoderSize:
    """The sizes of a decoder."""

    layers: int = 2
    hidden: int = 64
    heads: int = 4
    key_heads: int = 2
    inner: int = 160
    """Width of the gated feed-forward network."""
    vocabulary: int = 97
    positions: int = 64
    """Rows of the tables of cosines and sines."""
    bits: int = 4
    block: int = 32
    accuracy_level: int = 0
    """As in MatMulNBits: 4 lets onnxruntime quantize activations to 8 bits."""

    @property
    def head(self) -> int:
        """Size of a head."""
        return self.hidden // self.heads


@dataclass
class _Decoder:
    """A model under construction."""

    size: DecoderSize
    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    weights: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])

    def node(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """Add a node of ONNX and return its first result."""
        outputs = attributes.pop("outputs", [f"{name}/output_0"])
        domain = attributes.pop("domain", "")
        self.nodes.append(helper.make_node(operator, inputs, outputs, name, domain=domain, **attributes))
        return outputs[0]

    def weight(self, name: str, array: Array) -> str:
        """Add a constant."""
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def linear(self, x: str, name: str, k: int, n: int) -> str:
        """Add a product with quantized weights."""
        size, blocks = self.size, k // self.size.block
        # Dequantized weights have about the variance 1 / k, so that activations neither grow nor vanish.
        scale = np.float32(np.sqrt(12 / k) / 2**size.bits)
        scales = self.rng.uniform(0.5, 1.5, n * blocks).astype(np.float32) * scale
        shape = n, blocks, size.block * size.bits // 8
        inputs = [
            x,
            self.weight(f"{name}.weight", self.rng.integers(0, 256, shape, np.uint8)),
            self.weight(f"{name}.scales", scales),
        ]
        given = {"K": k, "N": n, "bits": size.bits, "block_size": size.block}
        return self.node(
            "MatMulNBits",
            inputs,
            f"{name}/MatMulNBits",
            domain="com.microsoft",
            accuracy_level=size.accuracy_level,
            **given,
        )

    def norm(self, name: str) -> str:
        """Add the factors of a normalization."""
        return self.weight(name, self.rng.uniform(0.5, 1.5, self.size.hidden).astype(np.float32))

    def skip_norm(self, x: str, added: str, name: str) -> tuple[str, str]:
        """Add a residual and a normalization; return the normalized sum, and the sum."""
        total = f"{name}/sum"
        y = self.node(
            "SkipSimplifiedLayerNormalization",
            [x, added, self.norm(f"{name}.weight")],
            name,
            domain="com.microsoft",
            outputs=[f"{name}/output_0", "", "", total],
            epsilon=1e-5,
        )
        return y, total

    def attention(self, x: str, layer: int, numbers: list[str]) -> str:
        """Add the attention of a layer and its projections."""
        size, name = self.size, f"/model/layers.{layer}/attn"
        widths = [each * size.head for each in (size.heads, size.key_heads, size.key_heads)]
        parts = [
            self.linear(x, f"{name}/{kind}_proj", size.hidden, width)
            for kind, width in zip("qkv", widths, strict=True)
        ]
        cache = [f"past_key_values.{layer}.{kind}" for kind in ("key", "value")]
        y = self.node(
            "GroupQueryAttention",
            [*parts, *cache, *numbers],
            f"{name}/GroupQueryAttention",
            domain="com.microsoft",
            num_heads=size.heads,
            kv_num_heads=size.key_heads,
            do_rotary=1,
            scale=float(size.head**-0.5),
            outputs=[f"{name}/output_0", f"present.{layer}.key", f"present.{layer}.value"],
        )
        return self.linear(y, f"{name}/o_proj", widths[0], size.hidden)

    def feed_forward(self, x: str, layer: int) -> str:
        """Add the gated feed-forward network of a layer."""
        size, name = self.size, f"/model/layers.{layer}/mlp"
        gate, up = (self.linear(x, f"{name}/{each}_proj", size.hidden, size.inner) for each in ("gate", "up"))
        active = self.node("Mul", [gate, self.node("Sigmoid", [gate], f"{name}/Sigmoid")], f"{name}/act")
        return self.linear(
            self.node("Mul", [active, up], f"{name}/Mul"), f"{name}/down_proj", size.inner, size.hidden
        )

    def numbers(self) -> list[str]:
        """Add what attention needs besides the cache: lengths, and tables of cosines and sines."""
        one, name = self.weight("one", np.array([1], np.int64)), "/model/attn_mask"
        lengths = self.node("ReduceSum", ["attention_mask", one], f"{name}/ReduceSum", keepdims=0)
        lengths = self.node("Sub", [lengths, one], f"{name}/Sub")
        lengths = self.node("Cast", [lengths], f"{name}/lengths", to=TensorProto.INT32)
        axis = self.weight("axis", np.array(1, np.int64))
        total = self.node("Shape", ["attention_mask"], f"{name}/Shape")
        total = self.node("Gather", [total, axis], f"{name}/Gather")
        total = self.node("Cast", [total], f"{name}/total", to=TensorProto.INT32)
        frequencies = 10000.0 ** (-np.arange(0, self.size.head, 2) / self.size.head)
        angles = np.outer(np.arange(self.size.positions), frequencies)
        tables = [
            self.weight(f"{kind}_cache", wave(angles).astype(np.float32))
            for kind, wave in (("cos", np.cos), ("sin", np.sin))
        ]
        return [lengths, total, *tables]


def decoder(size: DecoderSize, seed: int = 0) -> onnx.ModelProto:
    """Return a decoder with random weights."""
    model = _Decoder(size, np.random.default_rng(seed))
    table = model.rng.normal(size=(size.vocabulary, size.hidden)).astype(np.float32)
    numbers = model.numbers()
    total = model.node("Gather", [model.weight("embed_tokens.weight", table), "input_ids"], "/model/embed")
    x = model.node(
        "SimplifiedLayerNormalization",
        [total, model.norm("input_layernorm.weight")],
        "/model/layers.0/input_layernorm",
        axis=-1,
        epsilon=1e-5,
        stash_type=1,
    )
    for layer in range(size.layers):
        name = f"/model/layers.{layer}"
        x, total = model.skip_norm(total, model.attention(x, layer, numbers), f"{name}/post_layernorm")
        x, total = model.skip_norm(total, model.feed_forward(x, layer), f"{name}/next_layernorm")
    logits = model.linear(x, "/lm_head", size.hidden, size.vocabulary)
    model.node("Identity", [logits], "logits", outputs=["logits"])
    return helper.make_model(_graph(model), opset_imports=OPSETS, ir_version=10)


def linear_model(size: DecoderSize, columns: int, seed: int = 0) -> onnx.ModelProto:
    """Return a product of `x`, rows of `hidden` elements, with quantized weights of so many columns."""
    model, info = _Decoder(size, np.random.default_rng(seed)), helper.make_tensor_value_info
    y = model.linear("x", "linear", size.hidden, columns)
    graph = helper.make_graph(
        model.nodes,
        "linear",
        [info("x", TensorProto.FLOAT, ["rows", size.hidden])],
        [info(y, TensorProto.FLOAT, ["rows", columns])],
        model.weights,
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10)


def _graph(model: _Decoder) -> onnx.GraphProto:
    size, info = model.size, helper.make_tensor_value_info
    kinds = [(layer, kind) for layer in range(size.layers) for kind in ("key", "value")]

    def cache(name: str, length: str) -> list[onnx.ValueInfoProto]:
        shape = ["batch_size", size.key_heads, length, size.head]
        return [info(f"{name}.{layer}.{kind}", TensorProto.FLOAT, shape) for layer, kind in kinds]

    inputs = [
        info("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"]),
        info("attention_mask", TensorProto.INT64, ["batch_size", "total_sequence_length"]),
        *cache("past_key_values", "past_sequence_length"),
    ]
    shape = ["batch_size", "sequence_length", size.vocabulary]
    outputs = [info("logits", TensorProto.FLOAT, shape), *cache("present", "total_sequence_length")]
    return helper.make_graph(model.nodes, "decoder", inputs, outputs, model.weights)


def prompt_feeds(size: DecoderSize, tokens: Array, past: int = 0) -> dict[str, Array]:
    """Return the inputs for first tokens, (batch, sequence); the empty cache holds up to `past` tokens."""
    batch = tokens.shape[0]
    empty = np.zeros((batch, size.key_heads, past, size.head), np.float32)
    feeds: dict[str, Array] = {"input_ids": tokens, "attention_mask": np.ones(tokens.shape, np.int64)}
    for layer in range(size.layers):
        feeds |= {f"past_key_values.{layer}.{kind}": empty for kind in ("key", "value")}
    return feeds


def next_feeds(size: DecoderSize, tokens: Array, length: int, presents: list[Array]) -> dict[str, Array]:
    """Return the inputs for further tokens after `length` ones, whose cache is `presents`."""
    mask = np.ones((tokens.shape[0], length + tokens.shape[1]), np.int64)
    names = [f"past_key_values.{layer}.{kind}" for layer in range(size.layers) for kind in ("key", "value")]
    return {"input_ids": tokens, "attention_mask": mask, **dict(zip(names, presents, strict=True))}
