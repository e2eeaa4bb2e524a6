"""Purity of nodes: whether they may be moved, merged or computed early."""

from __future__ import annotations

from xonnc.compat.onnxoptimizer.nodes import Node, attribute

_RANDOM = (
    *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
)
_CONTROL_FLOW = ("If", "Loop", "Scan")


def is_pure(node: Node) -> bool:
    """Whether a node is an operator of ONNX whose results depend on nothing but its inputs."""
    if node.domain not in ("", "ai.onnx") or node.op_type in (*_RANDOM, *_CONTROL_FLOW):
        return False
    if node.op_type == "Dropout":
        # Trains if its third input says so.
        return len(node.input) < 3
    return not (node.op_type == "BatchNormalization" and attribute(node, "training_mode", 0))
