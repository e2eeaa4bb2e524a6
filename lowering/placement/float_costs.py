"""What it costs to keep nodes of an INT8 network in float: on the DLA in FP16, else on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.locations import node_name
from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops
from xonnc.lowering.placement.dataflow_graph import graph_of
from xonnc.lowering.placement.node_costs import (
    conversion_milliseconds,
    cpu_milliseconds,
    dla_milliseconds,
    is_faster_on_cpu,
    transfer_milliseconds,
)
from xonnc.lowering.placement.place_nodes import place_nodes
from xonnc.targets import NvdlaTarget, load_target

Engine: TypeAlias = Literal["int8", "fp16", "cpu"]


class FloatCosts:
    """
    The milliseconds that a float network takes with some of its nodes in float and the others in INT8.

    Nodes take what the cycle model says of their layers, or the time of the CPU; tensors between them are
    transferred or converted. That is what the placement of nodes compares.
    """

    def __init__(
        self, module: ModuleOp, target: str, ctx: Context, quantize: Callable[[ModuleOp], object] | None
    ):
        """
        `quantize` quantizes a copy of the module. With `None` the target takes no part: another runtime
        computes in INT8, whose time is not counted.
        """
        self._module, self._name, self._ctx, self._quantize = module, target, ctx, quantize
        self._target: NvdlaTarget = load_target(target)
        self._ops = computing_ops(module)

    def __call__(self, kept: Collection[Operation]) -> float:
        """Return the milliseconds with the operators `kept` in float."""
        inside = set(kept)
        where: dict[Operation, Engine] = {op: self._where(op, op in inside) for op in self._ops}
        total = sum(self._milliseconds(op, engine) for op, engine in where.items())
        return total + sum(self._moves(value, where) for op in self._ops for value in op.results)

    @cached_property
    def _int8(self) -> _PlacedNodes:
        if self._quantize is None:
            return _PlacedNodes({}, frozenset())
        twin = self._module.clone()
        self._quantize(twin)
        return _placed(twin, self._name, self._ctx)

    @cached_property
    def _fp16(self) -> _PlacedNodes:
        if "fp16" not in self._target.precisions or self._quantize is None:
            return _PlacedNodes({}, frozenset(map(node_name, self._ops)))
        return _placed(self._module.clone(), self._name, self._ctx)

    def _where(self, op: Operation, is_kept: bool) -> Engine:
        nodes = self._fp16 if is_kept else self._int8
        name = node_name(op)
        if name in nodes.on_cpu or (is_kept and is_faster_on_cpu(op, nodes.milliseconds.get(name, 0.0))):
            return "cpu"
        return "fp16" if is_kept else "int8"

    def _milliseconds(self, op: Operation, engine: Engine) -> float:
        if engine == "cpu":
            return cpu_milliseconds(op)
        return (self._fp16 if engine == "fp16" else self._int8).milliseconds.get(node_name(op), 0.0)

    def _moves(self, value: SSAValue, where: dict[Operation, Engine]) -> float:
        """Return the time of the copies of a tensor that others read elsewhere than it was made."""
        assert isinstance(value.owner, Operation)
        begin = where[value.owner]
        ends = {where[use.operation] for use in value.uses if use.operation in where} - {begin}
        if "cpu" in (begin, *ends):
            return transfer_milliseconds(value) * bool(ends)
        return conversion_milliseconds(value, self._target) * bool(ends)


def network_milliseconds(module: ModuleOp, target: str, ctx: Context) -> float:
    """Return the time of a quantized network, which is not used again: on the DLA, and on the CPU."""
    ops = {node_name(op): cpu_milliseconds(op) for op in computing_ops(module)}
    found = _placed(module, target, ctx)
    return sum(found.milliseconds.values()) + sum(ops.get(name, 0.0) for name in found.on_cpu)


@dataclass(frozen=True)
class _PlacedNodes:
    """The time of each node on the DLA by name, and the names of those on the CPU."""

    milliseconds: Mapping[str, float]
    on_cpu: frozenset[str]


def _placed(module: ModuleOp, target: str, ctx: Context) -> _PlacedNodes:
    """Place the nodes of a module, which is not used again."""
    graph = graph_of(module)
    values = [*graph.function.body.block.args, *(result for op in graph.nodes for result in op.results)]
    values += [result for op in graph.constants for result in op.results]
    names: dict[SSAValue, str] = {value: f"value_{index}" for index, value in enumerate(values)}
    try:
        placement = place_nodes(module, target, ctx, names)
    except XonncError:
        return _PlacedNodes({}, frozenset(node_name(op) for op in graph.nodes))
    compiled = [placed.compiled for placed in placement.partitions if placed.compiled is not None]
    on_cpu = frozenset(node_name(graph.nodes[node]) for node in placement.on_cpu)
    return _PlacedNodes(dla_milliseconds(compiled, load_target(target)), on_cpu)
