"""A key-value cache and the attention over it as C source, under sanitizers."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from c_programs import outputs_of
from onnx import helper


def test_a_cache_is_updated_and_attended_to(tmp_path: Path):
    rng, info = np.random.default_rng(0), helper.make_tensor_value_info
    shapes = {"past": (1, 2, 9, 8), "new": (1, 2, 2, 8), "q": (1, 4, 2, 8)}
    feeds: dict[str, npt.NDArray[Any]] = {
        name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()
    }
    ports = [info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    for name, number in (("at", 5), ("n", 7)):
        feeds[name] = np.array([number])
        ports.append(info(name, onnx.TensorProto.INT64, [1]))
    nodes = [
        helper.make_node("TensorScatter", ["past", "new", "at"], ["kv"], axis=2),
        helper.make_node("Attention", ["q", "kv", "kv", "", "", "", "n"], ["y"], is_causal=1),
    ]
    outputs = [
        info(name, onnx.TensorProto.FLOAT, shapes[source]) for name, source in (("kv", "past"), ("y", "q"))
    ]
    graph = helper.make_graph(nodes, "g", ports, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    expected = import_module("onnx.reference").ReferenceEvaluator(model).run(None, feeds)
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    found = outputs_of(tmp_path, model, list(feeds.values()), expected, flags=flags)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
