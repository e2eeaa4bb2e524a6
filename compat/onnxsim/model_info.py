"""`onnxsim.model_info`: what simplification changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import onnx

from xonnc.formats.onnx.external_data import parse_external_data
from xonnc.runtime.verification.backward_slice import walk_nodes


class ModelInfo:
    """The operators and the size of a model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.op_nums: Counter[str] = Counter(node.op_type for node in walk_nodes(model))
        self.model_size: int = model.graph.ByteSize() + sum(map(_external_size, _tensors(model)))
        self.initializer_count: int = len(model.graph.initializer)


def print_simplifying_info(model_ori: onnx.ModelProto, model_opt: onnx.ModelProto) -> None:
    """
    Print a table of the operators of two models, nested graphs and functions included, and of their sizes.

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


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    yield from model.graph.initializer
    for node in walk_nodes(model):
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors, *attribute.g.initializer)


def _external_size(tensor: onnx.TensorProto) -> int:
    """Return the number of bytes of a tensor's external data, which are not read."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return 0
    return parse_external_data(tensor.name, tensor.external_data).length or 0
