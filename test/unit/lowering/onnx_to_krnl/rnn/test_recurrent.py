"""LSTM, GRU and RNN against onnxruntime: directions, lengths, activations, layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from native_nodes import Array, Node, check
from onnx import helper

from xonnc.errors import XonncError
from xonnc.native import compile_native

RANDOM = np.random.default_rng(17)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 17


class PeerSession(Protocol):
    """A session of it."""

    def run(self, names: None, feeds: Mapping[str, Array]) -> Sequence[Array]: ...


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32) * np.float32(0.5)


def node_of(operator: str, attributes: Mapping[str, object], parts: Sequence[str]) -> Node:
    """A node with some of its optional inputs."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[operator] * HIDDEN
    state = [directions, BATCH, HIDDEN]
    inputs: list[Array | None] = [
        floats(STEPS, BATCH, INPUTS),
        floats(directions, rows, INPUTS),
        floats(directions, rows, HIDDEN),
        floats(directions, 2 * rows) if "bias" in parts else None,
        np.array([5, 2, 3], np.int32) if "lengths" in parts else None,
        floats(*state) if "state" in parts else None,
    ]
    if operator == "LSTM":
        inputs.append(floats(*state) if "state" in parts else None)
        inputs.append(floats(directions, 3 * HIDDEN) if "peephole" in parts else None)
    outputs = 3 if operator == "LSTM" else 2
    said = {"hidden_size": HIDDEN, **attributes}
    return Node(
        operator,
        inputs,
        said,
        opset=21,
        outputs=outputs,
        rtol=1e-4,
        expected=by_peer(operator, inputs, said, outputs),
    )


def by_peer(
    operator: str, inputs: Sequence[Array | None], attributes: Mapping[str, object], outputs: int
) -> Sequence[Array]:
    """What onnxruntime gives."""
    names = ["" if each is None else f"x{index}" for index, each in enumerate(inputs)]
    node = helper.make_node(operator, names, [f"y{index}" for index in range(outputs)])
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    feeds = {name: each for name, each in zip(names, inputs, strict=True) if each is not None}
    ports = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in feeds.items()
    ]
    made = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in node.output]
    graph = helper.make_graph([node], "node", ports, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    peer: PeerSession = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    return peer.run(None, feeds)


@pytest.mark.covering(2)
@pytest.mark.parametrize("parts", [(), ("bias", "state"), ("bias", "lengths"), ("state", "lengths")])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", GATES)
def test_directions_and_lengths(operator: str, direction: str, parts: Sequence[str]):
    check(node_of(operator, {"direction": direction}, parts))


CASES: Sequence[tuple[str, Mapping[str, object], Sequence[str]]] = (
    ("LSTM", {}, ("bias", "peephole", "state")),
    ("LSTM", {"clip": 0.25}, ("bias",)),
    ("LSTM", {"activations": ["HardSigmoid", "Softsign", "Relu"]}, ("bias",)),
    ("GRU", {"linear_before_reset": 1}, ("bias", "state")),
    ("GRU", {"linear_before_reset": 1, "direction": "bidirectional"}, ("bias", "lengths")),
    (
        "GRU",
        {"activations": ["Sigmoid", "ScaledTanh"], "activation_alpha": [0.5], "activation_beta": [2.0]},
        (),
    ),
    ("RNN", {"activations": ["Relu"]}, ("bias",)),
    ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.25]}, ()),
    ("RNN", {"activations": ["Elu"], "activation_alpha": [0.5]}, ()),
    # Above 88 onnxruntime's softplus overflows.
    ("RNN", {"activations": ["Softplus"], "clip": 80.0}, ("state",)),
    ("RNN", {"activations": ["ThresholdedRelu"], "activation_alpha": [0.125]}, ("state",)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_attributes(case: tuple[str, Mapping[str, object], Sequence[str]]):
    check(node_of(*case))


@pytest.mark.parametrize("operator", GATES)
def test_the_batch_may_come_first(operator: str):
    """Against the same with time first: onnxruntime has no such layout."""
    node = node_of(operator, {}, ("bias",))
    x = node.inputs[0]
    assert x is not None
    y, *states = node.wanted()
    expected = [y.transpose(2, 0, 1, 3), *(state.transpose(1, 0, 2) for state in states)]
    inputs = [np.ascontiguousarray(x.transpose(1, 0, 2)), *node.inputs[1:]]
    attributes = {**node.attributes, "layout": 1}
    check(Node(operator, inputs, attributes, opset=21, outputs=node.outputs, rtol=1e-4, expected=expected))


@pytest.mark.parametrize("length", [100, -3])
def test_lengths_that_are_out_of_range_are_refused(length: int):
    node = node_of("RNN", {}, ("lengths",))
    feeds = dict(node.feeds)
    feeds["x4"] = np.array([1, length, 2], np.int32)
    with pytest.raises(XonncError, match=f"it: sequence_lens has {length}; 0 to 5 are in range"):
        compile_native(node.model()).run(None, feeds)
