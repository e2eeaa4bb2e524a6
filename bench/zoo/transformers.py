"""Transformers, as torch exports them at opset 17: norms and GELU decomposed, shapes computed as it goes."""

from __future__ import annotations

from math import sqrt

import numpy as np
import onnx

from bench.zoo.graph_builder import FLOAT, INT64, GraphBuilder
from bench.zoo.layers import decomposed_norm, dense, erf_gelu, norm, size_of, tanh_gelu, vector


def bert_tiny() -> onnx.ModelProto:
    """BERT of two layers of 128."""
    return bert("bert_tiny", 2, 128, 2)


def bert_base() -> onnx.ModelProto:
    """BERT of twelve layers of 768."""
    return bert("bert_base", 12, 768, 12)


def bert(
    name: str, layers: int, width: int, heads: int, sequence: int = 128, vocabulary: int = 30522
) -> onnx.ModelProto:
    """The encoder with its pooler, of one sequence of known length and a mask."""
    graph = GraphBuilder(name)
    tokens = graph.input("input_ids", (1, sequence), INT64)
    attended = graph.input("attention_mask", (1, sequence), INT64)
    with graph.within("embeddings"):
        words = graph.op("Gather", graph.normal("words", (vocabulary, width), 0.02), tokens, axis=0)
        zeros = graph.filled(graph.op("Shape", tokens), np.asarray([0], np.int64))
        types = graph.op("Gather", graph.normal("types", (2, width), 0.02), zeros, axis=0)
        positions = graph.normal("positions", (1, sequence, width), 0.02)
        value = graph.op("Add", graph.op("Add", words, types), positions)
        value = decomposed_norm(graph, "LayerNorm", value, width)
    mask = graph.op("Cast", graph.op("Unsqueeze", attended, graph.integers(1, 2)), to=FLOAT)
    mask = graph.op("Mul", graph.op("Sub", graph.literal(1.0), mask), graph.literal(-1e4))
    for layer in range(layers):
        with graph.within("encoder", f"layer.{layer}"):
            value = _bert_layer(graph, value, mask, width, heads, sequence)
    with graph.within("pooler"):
        first = graph.op("Gather", value, graph.index(0), axis=1)
        operands = graph.he("weight", (width, width), 1.0), graph.normal("bias", (width,), 0.02)
        pooled = graph.op("Tanh", graph.op("Gemm", first, *operands, transB=1))
    return graph.model(
        {"last_hidden_state": (value, (1, sequence, width)), "pooler_output": (pooled, (1, width))}
    )


def _bert_layer(graph: GraphBuilder, value: str, mask: str, width: int, heads: int, sequence: int) -> str:
    """Attention, then two dense layers about a GELU, each added to its input and normalised: 58 nodes."""
    size = width // heads
    with graph.within("attention"):
        split: list[str] = []
        for name, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3))):
            each = dense(graph, name, value, width, width)
            each = graph.op("Reshape", each, graph.integers(1, sequence, heads, size))
            split.append(graph.op("Transpose", each, perm=order))
        scores = graph.op("Div", graph.op("MatMul", split[0], split[1]), graph.literal(sqrt(size)))
        weights = graph.op("Identity", graph.op("Softmax", graph.op("Add", scores, mask), axis=-1))
        context = graph.op("Transpose", graph.op("MatMul", weights, split[2]), perm=[0, 2, 1, 3])
        sizes = [vector(graph, size_of(graph, context, axis)) for axis in range(2)]
        target = graph.op("Concat", *sizes, graph.integers(width), axis=0)
        output = dense(graph, "output", graph.op("Reshape", context, target), width, width)
        value = decomposed_norm(graph, "LayerNorm", graph.op("Add", output, value), width)
    with graph.within("intermediate"):
        inner = erf_gelu(graph, dense(graph, "dense", value, width, 4 * width))
    with graph.within("output"):
        output = dense(graph, "dense", inner, 4 * width, width)
        return decomposed_norm(graph, "LayerNorm", graph.op("Add", output, value), width)


def gpt2_small() -> onnx.ModelProto:
    """GPT-2 of twelve layers of 768."""
    return gpt2("gpt2_small", 12, 768, 12)


def gpt2(
    name: str, layers: int, width: int, heads: int, context: int = 1024, vocabulary: int = 50257
) -> onnx.ModelProto:
    """The decoder of any batch and sequence, its embedding tied to its head by a Transpose."""
    graph = GraphBuilder(name)
    tokens = graph.input("input_ids", ("batch", "sequence"), INT64)
    with graph.within("transformer"):
        embedding = graph.normal("wte", (vocabulary, width), 0.02)
        length = graph.op("Cast", size_of(graph, tokens, 1), to=INT64)
        position_ids = graph.op(
            "Unsqueeze", graph.op("Range", graph.index(0), length, graph.index(1)), graph.integers(0)
        )
        positions = graph.op("Gather", graph.normal("wpe", (context, width), 0.01), position_ids, axis=0)
        value = graph.op("Add", graph.op("Gather", embedding, tokens, axis=0), positions)
        value = graph.op("Identity", value)
        allowed = graph.weight("causal", np.tril(np.ones((1, 1, context, context), np.bool_)))
        for layer in range(layers):
            with graph.within("h", f"h.{layer}"):
                value = _gpt2_layer(graph, value, allowed, width, heads)
        value = decomposed_norm(graph, "ln_f", value, width)
    logits = graph.op("MatMul", value, graph.op("Transpose", embedding, perm=[1, 0]))
    return graph.model({"logits": (logits, ("batch", "sequence", vocabulary))})


def _gpt2_layer(graph: GraphBuilder, value: str, allowed: str, width: int, heads: int) -> str:
    """Causal attention and two dense layers about a GELU, each of its normalised input: 66 nodes."""
    size = width // heads
    with graph.within("attn"):
        normal = decomposed_norm(graph, "ln_1", value, width)
        split = graph.ops(
            "Split",
            dense(graph, "c_attn", normal, width, 3 * width),
            graph.integers(*[width] * 3),
            count=3,
            axis=-1,
        )
        sizes = [size_of(graph, normal, axis) for axis in range(2)]
        target = graph.op(
            "Concat", *(vector(graph, each) for each in sizes), graph.integers(heads, size), axis=0
        )
        orders = ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))
        query, key, content = (
            graph.op("Transpose", graph.op("Reshape", part, target), perm=order)
            for part, order in zip(split, orders, strict=True)
        )
        scores = graph.op("Div", graph.op("MatMul", query, key), graph.literal(sqrt(size)))
        length = vector(graph, size_of(graph, query, 2))
        rows = graph.op("Slice", allowed, graph.integers(0), length, graph.integers(2), graph.integers(1))
        seen = graph.op("Slice", rows, graph.integers(0), length, graph.integers(3), graph.integers(1))
        scores = graph.op("Where", seen, scores, graph.literal(-1e4))
        weights = graph.op("Identity", graph.op("Softmax", scores, axis=-1))
        context = graph.op("Transpose", graph.op("MatMul", weights, content), perm=[0, 2, 1, 3])
        joined = graph.op("Concat", *(vector(graph, each) for each in sizes), graph.integers(width), axis=0)
        context = graph.op("Reshape", context, joined)
        value = graph.op("Add", dense(graph, "c_proj", context, width, width), value)
    with graph.within("mlp"):
        normal = decomposed_norm(graph, "ln_2", value, width)
        inner = tanh_gelu(graph, dense(graph, "c_fc", normal, width, 4 * width))
        return graph.op("Add", value, dense(graph, "c_proj", inner, 4 * width, width))


def vit_small() -> onnx.ModelProto:
    """ViT-S/16 with layer scale."""
    return vit("vit_small", 12, 384, 6)


def vit(name: str, layers: int, width: int, heads: int, image: int = 224, patch: int = 16) -> onnx.ModelProto:
    """A classifier of images cut into patches."""
    graph = GraphBuilder(name)
    count = (image // patch) ** 2
    value = graph.input("input", (1, 3, image, image))
    with graph.within("patch_embed"):
        operands = graph.he("weight", (width, 3, patch, patch), 1.0), graph.normal("bias", (width,), 0.02)
        value = graph.op("Conv", value, *operands, kernel_shape=[patch] * 2, strides=[patch] * 2)
        value = graph.op("Reshape", value, graph.integers(1, width, count))
        value = graph.op("Transpose", value, perm=[0, 2, 1])
    token = graph.op("Expand", graph.normal("cls_token", (1, 1, width), 0.02), graph.integers(1, 1, 1))
    value = graph.op("Concat", token, value, axis=1)
    value = graph.op("Add", value, graph.normal("pos_embed", (1, count + 1, width), 0.02))
    for layer in range(layers):
        with graph.within("blocks", f"blocks.{layer}"):
            value = _vit_layer(graph, value, width, heads, count + 1)
    value = graph.op("Gather", norm(graph, "norm", value, width), graph.index(0), axis=1)
    with graph.within("head"):
        operands = graph.he("weight", (1000, width), 1.0), graph.normal("bias", (1000,), 0.02)
        logits = graph.op("Gemm", value, *operands, transB=1)
    return graph.model({"output": (logits, (1, 1000))})


def _vit_layer(graph: GraphBuilder, value: str, width: int, heads: int, sequence: int) -> str:
    """Scaled dot-product attention as torch's own function exports it, and two dense layers: 42 nodes."""
    size = width // heads
    with graph.within("attn"):
        joined = dense(graph, "qkv", norm(graph, "norm1", value, width), width, 3 * width)
        joined = graph.op("Reshape", joined, graph.integers(1, sequence, 3, heads, size))
        joined = graph.op("Transpose", joined, perm=[2, 0, 3, 1, 4])
        parts = graph.ops("Split", joined, graph.integers(1, 1, 1), count=3, axis=0)
        query, key, content = (graph.op("Squeeze", part, graph.integers(0)) for part in parts)
        largest = graph.integers(np.iinfo(np.int64).max)
        depth = graph.op("Slice", graph.op("Shape", query), graph.integers(-1), largest)
        root = graph.op("Sqrt", graph.op("Cast", depth, to=FLOAT))
        scale = graph.op("Cast", graph.op("Div", graph.literal([1.0]), root), to=FLOAT)
        key = graph.op("Transpose", key, perm=[0, 1, 3, 2])
        query = graph.op("Mul", query, graph.op("Sqrt", scale))
        key = graph.op("Mul", key, graph.op("Sqrt", scale))
        weights = graph.op("Identity", graph.op("Softmax", graph.op("MatMul", query, key), axis=-1))
        context = graph.op("Transpose", graph.op("MatMul", weights, content), perm=[0, 2, 1, 3])
        context = graph.op("Reshape", context, graph.integers(1, sequence, width))
        value = graph.op("Add", value, _scaled(graph, dense(graph, "proj", context, width, width), width))
    with graph.within("mlp"):
        inner = dense(graph, "fc1", norm(graph, "norm2", value, width), width, 4 * width)
        output = dense(graph, "fc2", erf_gelu(graph, inner), 4 * width, width)
        return graph.op("Add", value, _scaled(graph, output, width))


def _scaled(graph: GraphBuilder, value: str, width: int) -> str:
    return graph.op("Mul", value, graph.normal("gamma", (width,), 0.05, 0.5))
