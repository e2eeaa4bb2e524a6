"""The node explanations of every target: which engine or kernel each node of a model is part of, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.locations import describe, node_name, renamed
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.formats.onnx.op_versions import identity_of

if TYPE_CHECKING:
    from xonnc.lowering.dla.buffer_strategies import BufferStrategy

WEIGHTED = frozenset("BatchNormalization Conv ConvTranspose Gemm MatMul".split())
"""Operators that the convolution core executes, or that are folded into its weights."""


@dataclass(frozen=True)
class NodeExplanation:
    """
    The engine of one node, its hardware layers, and the other nodes in those layers.

    `engine` is `CONV`, `SDP`, `PDP`, `CDP` or `EMU`; `view` for a node that moves no data; `removed` for a
    node that was simplified away; `refused` with the `reason`; `undecided` if it depends on a refused
    neighbour; `CPU` with the reason in a package. A node that was merged into another has that node's engine.
    `precision` is the one that the DLA computes it in: `int8` or `fp16`.
    """

    node: str
    operator: str
    engine: str
    layers: tuple[int, ...] = ()
    with_nodes: tuple[str, ...] = ()
    reason: str | None = None
    precision: str | None = None


@dataclass(frozen=True)
class PackagePartExplanation:
    """One part of a package, `dla` or `cpu`: its nodes, inputs, outputs and hardware layers."""

    kind: str
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    layers: tuple[int, ...]


@dataclass(frozen=True)
class Explanation:
    """
    All nodes of a model in order, the engines of each hardware layer, and all refusals.

    `convolutions` tell how each convolution uses the convolution buffer, in execution order. If nodes are
    refused, only the `parts` of a package have layers, since the compiler stops early.
    """

    target: str
    nodes: tuple[NodeExplanation, ...]
    layers: tuple[tuple[str, ...], ...]
    refusals: tuple[str, ...]
    parts: tuple[PackagePartExplanation, ...] = ()
    convolutions: tuple[BufferStrategy, ...] = ()


def name_nodes(module: ModuleOp) -> list[tuple[str, str]]:
    """
    Name each node without a name after its first result; return the names and operators of all nodes.

    Parameters:
        module: an imported module.
    """
    found: list[tuple[str, str]] = []
    for op in named_operators(module):
        if not node_name(op):
            op.location = renamed(op, describe(op))
        identity = identity_of(op)
        found.append((node_name(op), op.name if identity is None else identity.op_type))
    return found


def named_operators(module: ModuleOp) -> Iterable[OnnxOp]:
    """
    Yield the compute operators of a network.

    Parameters:
        module: the network.
    """
    for op in module.walk():
        if isinstance(op, OnnxOp) and not isinstance(op, ConstantOp | NoValueOp | ReturnOp | EntryPointOp):
            yield op


def with_shared_layers(nodes: Sequence[NodeExplanation]) -> Iterable[NodeExplanation]:
    """
    Yield the nodes with the names of the other nodes in the same hardware layers or kernels.

    Parameters:
        nodes: the nodes and their layers.
    """
    members: dict[int, list[NodeExplanation]] = {}
    for node in nodes:
        for layer in node.layers:
            members.setdefault(layer, []).append(node)
    for node in nodes:
        others = [other for layer in node.layers for other in members[layer] if other.node != node.node]
        names = tuple(dict.fromkeys(other.node for other in others))
        yield replace(node, with_nodes=names, engine=_own_engine(node, others))


def _own_engine(node: NodeExplanation, others: Sequence[NodeExplanation]) -> str:
    """
    Attribute an activation or requantization after a convolution to the SDP, though the layer starts in CONV.
    """
    follows = node.operator not in WEIGHTED and any(other.operator in WEIGHTED for other in others)
    return "SDP" if node.engine == "CONV" and follows else node.engine
