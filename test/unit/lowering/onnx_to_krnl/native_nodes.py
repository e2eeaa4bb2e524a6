"""Compare single nodes in native code with the reference evaluator of the onnx package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import chain, islice
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue
from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor
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
        return self.named_feeds("")

    def named_feeds(self, prefix: str) -> dict[str, Array]:
        """Return arrays to feed, by the names of inputs in a model of several nodes."""
        return {
            f"{prefix}x{index}": each
            for index, each in enumerate(self.inputs)
            if each is not None and index not in self.constant
        }

    @property
    def may_determine_shapes(self) -> bool:
        """Whether integers known only at run time, such as axes, may determine shapes."""
        fed = [each for index, each in enumerate(self.inputs) if index and index not in self.constant]
        return any(each is not None and each.dtype == np.int64 and each.ndim < 2 for each in fed)

    def wanted(self) -> Sequence[Array]:
        """Return the expected outputs, by default those of the reference evaluator."""
        return self._wanted

    @cached_property
    def _wanted(self) -> Sequence[Array]:
        if self.expected is not None:
            return self.expected() if callable(self.expected) else self.expected
        node = self.proto("")
        everything = {f"x{index}": each for index, each in enumerate(self.inputs) if each is not None}
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        model = self.wrapped(helper.make_graph([node], "node", _ports(everything), outputs))
        reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in reference.run(None, everything)]

    def model(self) -> onnx.ModelProto:
        """Return a model of the node, with output types as the reference computes them."""
        return _model_of({"": self})

    def constants(self, prefix: str) -> list[onnx.TensorProto]:
        """Return the initializers, of which each name begins with a prefix."""
        return [
            helper.make_tensor(
                f"{prefix}x{index}",
                helper.np_dtype_to_tensor_dtype(each.dtype),
                each.shape,
                each.tobytes(),
                raw=True,
            )
            for index, each in enumerate(self.inputs)
            if each is not None and index in self.constant
        ]

    def proto(self, prefix: str) -> onnx.NodeProto:
        """Return the node, of which each name begins with a prefix."""
        names = ["" if each is None else f"{prefix}x{index}" for index, each in enumerate(self.inputs)]
        outputs = [f"{prefix}y{index}" for index in range(self.outputs)]
        node = helper.make_node(self.operator, names, outputs, name=f"{prefix}it", domain=self.domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in self.attributes.items())
        return node

    def wrapped(self, graph: onnx.GraphProto) -> onnx.ModelProto:
        """Return a model of a graph, with the opsets of this node."""
        imports = [helper.make_opsetid("", self.opset)]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, self.domain_opset))
        return helper.make_model(graph, opset_imports=imports, ir_version=11)


def _ports(arrays: Mapping[str, Array]) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in arrays.items()
    ]


def _model_of(nodes: Mapping[str, Node]) -> onnx.ModelProto:
    """Return a model of nodes of the same opsets, by the prefix of their names."""
    protos = {prefix: node.proto(prefix) for prefix, node in nodes.items()}
    made = {
        name: each
        for prefix, node in nodes.items()
        for name, each in zip(protos[prefix].output, node.wanted(), strict=True)
    }
    fed = {name: each for prefix, node in nodes.items() for name, each in node.named_feeds(prefix).items()}
    constants = [each for prefix, node in nodes.items() for each in node.constants(prefix)]
    graph = helper.make_graph(list(protos.values()), "nodes", _ports(fed), _ports(made), constants)
    return next(iter(nodes.values())).wrapped(graph)


def is_here(target: str) -> bool:
    """Whether this processor is of a kind."""
    try:
        resolve_processor(target)
    except XonncError:
        return False
    return True


def opened(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model with dynamic dimensions in all output shapes."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for port in found.graph.output:
        for size in port.type.tensor_type.shape.dim:
            size.Clear()
    return found


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
    _compare(node, given)
    return session


@dataclass(frozen=True)
class Batch:
    """
    Nodes that share nothing, in one model.

    They are lowered and compiled as they would be alone, in less than half the time.
    """

    nodes: Sequence[Node]

    def __str__(self) -> str:
        return "-".join(dict.fromkeys(node.operator for node in self.nodes))

    def named(self) -> dict[str, Node]:
        """Return the nodes by the prefixes of their names."""
        return {f"n{index}_": node for index, node in enumerate(self.nodes)}


def batches(nodes: Iterable[Node], size: int = 24) -> list[Batch]:
    """
    Return batches of nodes of the same opsets, each operator next to itself.

    A run compiles a model again for values that determine shapes: nodes that have some are apart.
    """
    groups: dict[tuple[int, str, int, bool], dict[str, list[Node]]] = {}
    for node in nodes:
        key = node.opset, node.domain, node.domain_opset, node.may_determine_shapes
        group = groups.setdefault(key, {})
        group.setdefault(node.operator, []).append(node)
    chained = [list(chain.from_iterable(group.values())) for group in groups.values()]
    return [Batch(each[start : start + size]) for each in chained for start in range(0, len(each), size)]


def check_batch(batch: Batch, with_open_shapes: bool = False) -> Session:
    """
    Compare the nodes of a batch as `check` does one.

    Output shapes are those of the reference, or unknown if `with_open_shapes`.
    """
    named = batch.named()
    model = _model_of(named)
    session = compile_native(opened(model) if with_open_shapes else model)
    feeds = {name: each for prefix, node in named.items() for name, each in node.named_feeds(prefix).items()}
    given = iter(session.run(None, feeds))
    assert session.host_calls() == []
    for node in batch.nodes:
        _compare(node, list(islice(given, node.outputs)))
    return session


def check_all(nodes: Iterable[Node]) -> None:
    """Compare nodes as `check` does one, in batches."""
    for batch in batches(nodes):
        check_batch(batch)


def _compare(node: Node, given: Sequence[RuntimeValue]) -> None:
    for one, other in zip(given, node.wanted(), strict=True):
        assert isinstance(one, np.ndarray)
        assert (one.dtype, one.shape) == (other.dtype, other.shape), node
        if one.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other, str(node))
        else:
            kind = np.complex128 if one.dtype.kind == "c" else np.float64
            numbers = np.asarray(one, kind), np.asarray(other, kind)
            np.testing.assert_allclose(*numbers, rtol=node.rtol, atol=node.rtol / 10, err_msg=str(node))
