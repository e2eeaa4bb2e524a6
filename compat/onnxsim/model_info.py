"""`onnxsim.model_info`: what simplification changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import onnx


class ModelInfo:
    """The operators and the size of a model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.op_nums: Counter[str] = Counter(node.op_type for node in _nodes(model.graph))
        self.model_size: int = model.ByteSize()
        self.initializer_count: int = len(model.graph.initializer)


def print_simplifying_info(model_ori: onnx.ModelProto, model_opt: onnx.ModelProto) -> None:
    """
    Print a table of the operators of two models, nested graphs included, and of their sizes in bytes.

    Parameters:
        model_ori: the original model.
        model_opt: the simplified one.
    """
    before, after = ModelInfo(model_ori), ModelInfo(model_opt)
    names = sorted(before.op_nums | after.op_nums)
    rows = [(name, before.op_nums[name], after.op_nums[name]) for name in names]
    rows += [
        ("Model Size", before.model_size, after.model_size),
        ("Initializers", before.initializer_count, after.initializer_count),
    ]
    width = max(len(name) for name, _, _ in rows)
    print(f"{'':<{width}}  {'original':>12}  {'simplified':>12}")
    for name, first, second in rows:
        print(f"{name:<{width}}  {first:>12,}  {second:>12,}")


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for nested in (attribute.g, *attribute.graphs):
                yield from _nodes(nested)
