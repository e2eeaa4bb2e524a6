"""Compare single nodes in native code with the reference evaluator of the onnx package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from xonnc.errors import XonncError
from xonnc.native import compile_native, resolve_processor
from xonnc.runtime.native.session import Session

Array = npt.NDArray[np.generic]


class Reference(Protocol):
    """Interface of the reference evaluator, which has no type annotations."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


@dataclass(frozen=True)
class Node:
    """
    A node with its inputs.

    Inputs whose indices are in `constant` are initializers, the others are fed. `None` is an omitted input.
    """

    operator: str
    inputs: Sequence[Array | None]
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    constant: Sequence[int] = ()
    opset: int = 23
    outputs: int = 1
    rtol: float = 2e-5
    expected: Sequence[Array] | Callable[[], Sequence[Array]] | None = None
    """Expected outputs, where the reference is wrong or does not have the operator."""
    domain: str = ""
    domain_opset: int = 5

    def __str__(self) -> str:
        shapes = "-".join(
            "none" if each is None else f"{each.dtype}{list(each.shape)}" for each in self.inputs
        )
        said = "-".join(f"{name}={value}" for name, value in self.attributes.items() if name != "value")
        return f"{self.operator}-{shapes}-{said}"

    @property
    def feeds(self) -> dict[str, Array]:
        """Arrays to feed, by input name."""
        return {
            f"x{index}": each
            for index, each in enumerate(self.inputs)
            if each is not None and index not in self.constant
        }

    def wanted(self) -> Sequence[Array]:
        """Return the expected outputs, by default those of the reference evaluator."""
        return self._wanted

    @cached_property
    def _wanted(self) -> Sequence[Array]:
        if self.expected is not None:
            return self.expected() if callable(self.expected) else self.expected
        node = self._node()
        everything = {f"x{index}": each for index, each in enumerate(self.inputs) if each is not None}
        ports = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
            for name, each in everything.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        model = self._model(helper.make_graph([node], "node", ports, outputs))
        reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in reference.run(None, everything)]

    def model(self) -> onnx.ModelProto:
        """Return a model of the node, with output types as the reference computes them."""
        node = self._node()
        ports = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
            for name, each in self.feeds.items()
        ]
        made = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
            for name, each in zip(node.output, self.wanted(), strict=True)
        ]
        constants = [
            helper.make_tensor(
                f"x{index}", helper.np_dtype_to_tensor_dtype(each.dtype), each.shape, each.tobytes(), raw=True
            )
            for index, each in enumerate(self.inputs)
            if each is not None and index in self.constant
        ]
        return self._model(helper.make_graph([node], "node", ports, made, constants))

    def _node(self) -> onnx.NodeProto:
        names = ["" if each is None else f"x{index}" for index, each in enumerate(self.inputs)]
        outputs = [f"y{index}" for index in range(self.outputs)]
        node = helper.make_node(self.operator, names, outputs, name="it", domain=self.domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in self.attributes.items())
        return node

    def _model(self, graph: onnx.GraphProto) -> onnx.ModelProto:
        imports = [helper.make_opsetid("", self.opset)]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, self.domain_opset))
        return helper.make_model(graph, opset_imports=imports, ir_version=11)


def is_here(target: str) -> bool:
    """Whether this processor is of a kind."""
    try:
        resolve_processor(target)
    except XonncError:
        return False
    return True


def opened(node: Node) -> onnx.ModelProto:
    """Return the node's model with dynamic dimensions in all output shapes."""
    model = node.model()
    for port in model.graph.output:
        for size in port.type.tensor_type.shape.dim:
            size.Clear()
    return model


def session_of(model: onnx.ModelProto, threads: int = 1) -> Session:
    """Return a session of a model: the same one for equal models, where only what is fed differs."""
    return _session_of(model.SerializeToString(), threads)


@lru_cache(16)
def _session_of(model: bytes, threads: int) -> Session:
    return compile_native(onnx.load_model_from_string(model), threads=threads)


def check(node: Node, model: onnx.ModelProto | None = None) -> Session:
    """
    Compare the native result of a node with the reference, and assert that no operator ran on the host.

    `model` is compiled in place of the node's own model.
    """
    session = compile_native(node.model() if model is None else model)
    given = session.run(None, node.feeds)
    assert session.host_calls() == []
    for one, other in zip(given, node.wanted(), strict=True):
        assert isinstance(one, np.ndarray)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other)
        else:
            kind = np.complex128 if one.dtype.kind == "c" else np.float64
            numbers = np.asarray(one, kind), np.asarray(other, kind)
            np.testing.assert_allclose(*numbers, rtol=node.rtol, atol=node.rtol / 10)
    return session
