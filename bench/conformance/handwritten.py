"""
Handwritten models: in the style of old exporters (`exporter_styles.py`), and in forms that are valid but
unusual.

They need only onnx and NumPy, so that the tests of the compiler use them too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from bench.conformance.exporter_styles import (
    darknet_opset8,
    keras_opset7,
    mxnet_opset8,
    paddle_classifier,
    paddle_resize,
    tf_convolution,
    tf_detection_tail,
    tf_loop_of_vectors,
    tf_lstm,
    torch_opset9,
)
from bench.conformance.graph_builder import GraphBuilder, normal
from bench.conformance.model_specs import Built, Feeds, ModelSpec


def resize_opset10() -> Built:
    """Resize of opset 10 and the Upsample of opset 9's successor: no modes of coordinates."""
    s = GraphBuilder(10)
    s.input("x", [1, 3, 9, 11])
    s.weight("twice", [1.0, 1.0, 2.0, 2.0])
    s.weight("third", [1.0, 1.0, 0.34, 0.4])
    s.node("Resize", ["x", "twice"], "larger", mode="nearest")
    s.node("Resize", ["x", "third"], "smaller", mode="nearest")
    s.node("Resize", ["x", "twice"], "smooth", mode="linear")
    s.output("larger", [1, 3, 18, 22])
    s.output("smaller", [1, 3, 3, 4])
    s.output("smooth", [1, 3, 18, 22])
    return s.model(10, ir_version=5), {"x": normal(1, 3, 9, 11)}


def duplicate_names() -> Built:
    """Nodes named as values of others, as weights and inputs, or not at all."""
    s = GraphBuilder(11)
    s.input("x", [2, 4])
    s.weight("w", normal(4, 4))
    s.node("MatMul", ["x", "w"], "layer", "layer_1")
    s.node("Relu", ["layer"], "layer_1", "layer")
    s.node("MatMul", ["layer_1", "w"], "layer_2")
    s.node("Add", ["layer_2", "x"], "layer_3", "w")
    s.node("Relu", ["layer_3"], "y", "x")
    s.output("y", [2, 4])
    return s.model(12), {"x": normal(2, 4)}


def unsorted_nodes() -> Built:
    """Nodes before those that they read from; onnxruntime sorts them."""
    model, feeds = duplicate_names()
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))
    return model, feeds


def wrong_declarations() -> Built:
    """Shapes within the graph and of the output that are not what the operators make."""
    s = GraphBuilder(12)
    s.input("x", ["N", 6])
    s.random_weight("w", 6, 8)
    s.node("MatMul", ["x", "w"], "h")
    s.declare("h", ["N", 6])
    s.node("Relu", ["h"], "r")
    s.declare("r", [1, 8])
    s.weight("axes", [1], "int64")
    s.node("ReduceSum", ["r", "axes"], "y", keepdims=1)
    s.output("y", ["N", 1])
    return s.model(13), {"x": normal(3, 6)}


def unknown_dimensions() -> Built:
    """`?`, empty strings and -1 for sizes, each of its own."""
    s = GraphBuilder(13)
    s.input("a", ["?", 4])
    s.input("b", ["", "?"])
    s.node("Transpose", ["b"], "t", perm=[1, 0])
    s.node("MatMul", ["a", "t"], "y")
    s.output("y", ["?", "?"])
    return s.model(12), {"a": normal(3, 4), "b": normal(5, 4, seed=6)}


def overridable_weights() -> Built:
    """Initializers that are inputs too, which a caller may give."""
    s = GraphBuilder(14)
    s.input("x", [2, 4])
    s.random_weight("w", 4, 3)
    s.node("MatMul", ["x", "w"], "y")
    s.output("y", [2, 3])
    return s.model(9, ir_version=5, weights_are_inputs=True), {"x": normal(2, 4)}


def layer_norm_in_pieces() -> Built:
    """Layer normalisation and GELU of opset 11, node by node, with an axis of -1."""
    s = GraphBuilder(15)
    s.input("x", ["batch", "seq", 16])
    s.node("ReduceMean", ["x"], "mean", axes=[-1])
    s.node("Sub", ["x", "mean"], "centred")
    s.weight("two", 2.0)
    s.node("Pow", ["centred", "two"], "square")
    s.node("ReduceMean", ["square"], "variance", axes=[-1])
    s.weight("epsilon", 1e-5)
    s.node("Add", ["variance", "epsilon"], "shifted")
    s.node("Sqrt", ["shifted"], "spread")
    s.node("Div", ["centred", "spread"], "scaled")
    s.weight("gamma", normal(16))
    s.weight("beta", normal(16, seed=6))
    s.node("Mul", ["scaled", "gamma"], "g")
    s.node("Add", ["g", "beta"], "n")
    s.weight("root", float(np.sqrt(2)))
    s.node("Div", ["n", "root"], "d")
    s.node("Erf", ["d"], "e")
    s.weight("one", 1.0)
    s.node("Add", ["e", "one"], "e1")
    s.node("Mul", ["n", "e1"], "m")
    s.weight("half", 0.5)
    s.node("Mul", ["m", "half"], "y")
    s.output("y", ["batch", "seq", 16])
    return s.model(11, producer="pytorch", ir_version=6), {"x": normal(2, 3, 16)}


def branch_with_network() -> Built:
    """An If whose branches hold networks of different sizes, as voice models choose by sample rate."""
    branches: list[onnx.GraphProto] = []
    for index, width in enumerate((8, 12)):
        b = GraphBuilder(20 + index)
        b.random_weight(f"branch_{index}.w", width, 1, 4, gain=1.5)
        b.node("Conv", ["signal", f"branch_{index}.w"], f"branch_{index}.conv", strides=[2], kernel_shape=[4])
        b.node("Relu", [f"branch_{index}.conv"], f"branch_{index}.relu")
        b.node("ReduceMean", [f"branch_{index}.relu"], f"branch_{index}.out", axes=[1, 2], keepdims=0)
        b.output(f"branch_{index}.out", None)
        branches.append(b.graph(f"branch_{index}"))
    s = GraphBuilder()
    s.input("signal", ["batch", 1, "samples"])
    s.input("sr", [], "int64")
    s.weight("rate", 16000, "int64")
    s.node("Equal", ["sr", "rate"], "is_wide")
    s.node("If", ["is_wide"], "output", then_branch=branches[0], else_branch=branches[1])
    s.output("output", ["batch"])
    return s.model(16, producer="spox"), {"signal": normal(2, 1, 40), "sr": np.array(16000, np.int64)}


def custom_operators() -> Built:
    """An operator of onnxruntime's own domain with an omitted output, between ordinary ones."""
    s = GraphBuilder(16)
    s.input("x", ["N", 8])
    s.weight("gamma", normal(8))
    s.weight("beta", normal(8, seed=6))
    s.node("Relu", ["x"], "r")
    s.node(
        "SkipLayerNormalization",
        ["r", "x", "gamma", "beta"],
        ["n", "", "", "sum"],
        "SkipLayerNorm_0",
        "com.microsoft",
        epsilon=1e-5,
    )
    s.node("Add", ["n", "sum"], "y")
    s.output("y", ["N", 8])
    return s.model(14, producer="onnxruntime.transformers", domains={"com.microsoft": 1}), {"x": normal(3, 8)}


def sparse_weights() -> Built:
    """A sparse constant node, as pruning tools write."""
    values = helper.make_tensor("values", onnx.TensorProto.FLOAT, [4], [1.0, -2.0, 3.0, 0.5])
    indices = helper.make_tensor("indices", onnx.TensorProto.INT64, [4], [0, 5, 9, 14])
    s = GraphBuilder(17)
    s.input("x", [2, 4])
    s.node("Constant", [], "w", sparse_value=helper.make_sparse_tensor(values, indices, [4, 4]))
    s.node("MatMul", ["x", "w"], "y")
    s.output("y", [2, 4])
    return s.model(13), {"x": normal(2, 4)}


def strings() -> Built:
    """Labels looked up and put together: a model of strings alone."""
    s = GraphBuilder(18)
    s.input("words", ["N"], "str")
    s.node(
        "LabelEncoder",
        ["words"],
        "numbers",
        "encode",
        "ai.onnx.ml",
        keys_strings=["cat", "dog", "fish"],
        values_int64s=[0, 1, 2],
        default_int64=-1,
    )
    s.node("Cast", ["numbers"], "floats", to=int(onnx.TensorProto.FLOAT))
    s.node("Identity", ["words"], "same")
    s.output("floats", ["N"])
    s.output("same", ["N"], "str")
    model = s.model(13, producer="skl2onnx", domains={"ai.onnx.ml": 2})
    return model, {"words": np.array(["dog", "owl", "cat"], object)}


def random_dropout() -> Built:
    """A model that is random in itself: noise is added to what comes in."""
    s = GraphBuilder(19)
    s.input("x", [2, 6])
    s.node("RandomNormalLike", ["x"], "noise", scale=0.5)
    s.node("Add", ["x", "noise"], "y")
    s.output("y", [2, 6])
    return s.model(13), {"x": normal(2, 6)}


def embedding_lookup() -> Built:
    """Indices that must be within a table, and a mask of 0 and 1: most integers are out of range."""
    s = GraphBuilder(21)
    s.input("input_ids", ["batch", "sequence"], "int64")
    s.input("attention_mask", ["batch", "sequence"], "int64")
    s.random_weight("word_embeddings.weight", 11, 8, gain=2.0)
    s.node("Gather", ["word_embeddings.weight", "input_ids"], "x")
    s.node("Cast", ["attention_mask"], "m", to=int(onnx.TensorProto.FLOAT))
    s.weight("last", [-1], "int64")
    s.node("Unsqueeze", ["m", "last"], "u")
    s.node("Mul", ["x", "u"], "k")
    s.weight("middle", [1], "int64")
    s.node("ReduceSum", ["k", "middle"], "t", keepdims=0)
    s.node("ReduceSum", ["u", "middle"], "c", keepdims=0)
    s.node("Div", ["t", "c"], "y")
    s.output("y", ["batch", 8])
    feeds = {
        "input_ids": np.array([[1, 4, 10], [0, 2, 3]], np.int64),
        "attention_mask": np.array([[1, 1, 0], [1, 1, 1]], np.int64),
    }
    return s.model(13, producer="pytorch"), feeds


STYLES: dict[str, tuple[str, bool, Callable[[], Built]]] = {
    "tf_convolution": ("tf2onnx style", True, tf_convolution),
    "tf_loop_of_vectors": ("tf2onnx style", False, tf_loop_of_vectors),
    "tf_lstm": ("tf2onnx style", False, tf_lstm),
    "tf_detection_tail": ("tf2onnx style", False, tf_detection_tail),
    "paddle_classifier": ("Paddle2ONNX style", True, paddle_classifier),
    "paddle_resize": ("Paddle2ONNX style", True, paddle_resize),
    "keras_opset7": ("keras2onnx style", True, keras_opset7),
    "darknet_opset8": ("Darknet style", True, darknet_opset8),
    "mxnet_opset8": ("MXNet style", True, mxnet_opset8),
    "torch_opset9": ("torch 1.2 style", True, torch_opset9),
    "resize_opset10": ("torch 1.3 style", False, resize_opset10),
    "duplicate_names": ("by hand", False, duplicate_names),
    "unsorted_nodes": ("by hand", False, unsorted_nodes),
    "wrong_declarations": ("by hand", False, wrong_declarations),
    "unknown_dimensions": ("Paddle2ONNX style", False, unknown_dimensions),
    "overridable_weights": ("by hand", False, overridable_weights),
    "layer_norm_in_pieces": ("torch 1.7 style", False, layer_norm_in_pieces),
    "branch_with_network": ("spox style", False, branch_with_network),
    "custom_operators": ("onnxruntime style", False, custom_operators),
    "sparse_weights": ("by hand", False, sparse_weights),
    "strings": ("skl2onnx style", False, strings),
    "random_dropout": ("by hand", False, random_dropout),
    "embedding_lookup": ("torch style", False, embedding_lookup),
}
"""By model: exporter style, whether it is a convolutional network, and its builder."""


def _model_spec(name: str) -> ModelSpec:
    source, is_convolutional, build = STYLES[name]

    def make(path: Path) -> Feeds:
        model, feeds = build()
        path.write_bytes(model.SerializeToString())
        return feeds

    return ModelSpec(f"hand_{name}", source, make, is_convolutional)


MODEL_SPECS: list[ModelSpec] = [_model_spec(name) for name in STYLES]
