"""SparseAttention of com.microsoft: against onnxruntime, which updates caches in place, and refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import xonnc
from xonnc.contrib.microsoft.common import Array
from xonnc.contrib.microsoft.sparse_attention import csr
from xonnc.errors import XonncError

NAMES = ("q", "k", "v", "past_key", "past_value", "rows", "columns", "total", "lengths", "cos", "sin")
SHAPES: Mapping[str, Sequence[Any]] = {
    "q": ("batch", "length", 64),
    "k": ("batch", "length", 32),
    "v": ("batch", "length", 32),
    "past_key": ("batch", 2, 64, 16),
    "past_value": ("batch", 2, 64, 16),
    "rows": (2, 5),
    "columns": (2, 9),
    "total": (),
    "lengths": ("batch",),
    "cos": (64, 8),
    "sin": (64, 8),
}


def model(
    shapes: Mapping[str, Sequence[Any]], held: Mapping[str, Array] | None = None, **attributes: Any
) -> onnx.ModelProto:
    """A model of one node, whose operands are inputs of the model, or held by it."""
    names = [name if name in shapes else "" for name in NAMES]
    given: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2, "sparse_block_size": 16, **attributes}
    outputs = ["y", "present_key", "present_value"]
    node = helper.make_node("SparseAttention", names, outputs, "n", domain="com.microsoft", **given)
    kinds = {name: TensorProto.INT32 for name in ("rows", "columns", "total", "lengths")}
    inputs, results = (
        [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), shape) for name, shape in of]
        for of in (
            [(name, shape) for name, shape in shapes.items() if held is None or name not in held],
            [("y", None), *((name, SHAPES["past_key"]) for name in outputs[1:])],
        )
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    tensors = [numpy_helper.from_array(array, name) for name, array in (held or {}).items()]
    graph = helper.make_graph([node], "g", inputs, results, tensors)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def expected(made: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The results of onnxruntime, whose outputs of caches are the buffers of the inputs."""
    onnxruntime: Any = import_module("onnxruntime")
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    copies = {name: each.copy() for name, each in feeds.items()}  # the values have the memory of these
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(each) for name, each in copies.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y")
    for part in ("key", "value"):
        binding.bind_ortvalue_output(f"present_{part}", values[f"past_{part}"])
    session.run_with_iobinding(binding)
    return [each.numpy().copy() for each in binding.get_outputs()]


def test_against_onnxruntime():
    """
    Prompts and next tokens, for layouts that heads have in turn.

    onnxruntime's kernel gives other results in sequences that are shorter than the longest of the batch.
    """
    rng = np.random.default_rng(0)
    mask = np.tril(np.ones((2, 4, 4), np.bool_))
    mask[0, 1:, 0] = mask[1, 2, 1] = mask[1, 3, :2] = False
    rows, columns = csr(mask)
    held = {"rows": rows, "columns": columns}
    made = model({**SHAPES, "columns": columns.shape}, held, do_rotary=1)
    session = xonnc.compile(made, "cpu", cache=False)
    for length, total, lengths in ((37, 37, [37, 37]), (1, 56, [56, 56])):
        shapes: dict[str, list[Any]] = {
            name: [{"batch": 2, "length": length}.get(size, size) for size in shape]
            for name, shape in SHAPES.items()
            if name not in held
        }
        feeds: dict[str, Array] = {
            name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()
        }
        feeds |= {"total": np.asarray(total, np.int32), "lengths": np.asarray(lengths, np.int32)}
        found = [np.asarray(each) for each in session.run(None, feeds)]
        for given, wanted in zip(found, expected(made, feeds), strict=True):
            np.testing.assert_allclose(given, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (model({name: shape for name, shape in SHAPES.items() if name != "v"}), "keys and values are needed"),
        (
            model({**SHAPES, "rows": (3, 5), "columns": (3, 9)}),
            "4 heads are no multiple of 3 layouts of blocks",
        ),
        (model({**SHAPES, "rows": ("layouts", 5)}), "the number of layouts of blocks is not known"),
    ],
)
def test_operands_that_do_not_fit(made: onnx.ModelProto, message: str):
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(made, "cpu")
