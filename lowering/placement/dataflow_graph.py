"""The dataflow graph of the network in a module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.errors import XonncError
from xonnc.lowering.placement.dataflow import Dataflow, DataflowValue


@dataclass(frozen=True)
class DataflowGraph:
    """
    The nodes of a function in order.

    `constants` are ops of constants only, which are copied into every partition that reads them: constants,
    and their QuantizeLinear and DequantizeLinear.
    """

    function: FuncOp
    nodes: Sequence[Operation]
    constants: frozenset[Operation]
    results: Sequence[SSAValue]
    """The results of the network."""
    flow: Dataflow
    node_ids: dict[Operation, int] = field(repr=False)

    def needed(self, op: Operation) -> list[SSAValue]:
        """Return the values that `op` and its regions take from outside, each once."""
        return list(dict.fromkeys(_taken(op)))


def graph_of(module: ModuleOp) -> DataflowGraph:
    """Return the graph of the only function of `module`, in the onnx dialect; else raise `XonncError`."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    if len(functions) != 1 or not isinstance(end := functions[0].body.block.last_op, ReturnOp):
        raise XonncError("placing takes one function that ends in onnx.Return")
    nodes: list[Operation] = []
    constants: set[Operation] = set()
    for op in functions[0].body.block.ops:
        if op is end:
            continue
        (constants.add if _is_constant(op, constants) else nodes.append)(op)
    node_ids = {op: node_id for node_id, op in enumerate(nodes)}
    graph = DataflowGraph(
        functions[0], nodes, frozenset(constants), tuple(end.operands), Dataflow(0, ()), node_ids
    )
    return DataflowGraph(functions[0], nodes, frozenset(constants), graph.results, _flow(graph), node_ids)


def _is_constant(op: Operation, constants: set[Operation]) -> bool:
    if isinstance(op, ConstantOp | NoValueOp):
        return True
    return isinstance(op, QuantizeLinearOp | DequantizeLinearOp) and all(
        value.owner in constants for value in op.operands
    )


def _flow(graph: DataflowGraph) -> Dataflow:
    readers: dict[SSAValue, list[int]] = {value: [] for value in graph.function.body.block.args}
    for node_id, op in enumerate(graph.nodes):
        for value in graph.needed(op):
            if value in readers:
                readers[value].append(node_id)
        readers |= {result: [] for result in op.results}
    returned = set(graph.results)
    return Dataflow(
        len(graph.nodes),
        [
            DataflowValue(
                graph.node_ids[value.owner] if isinstance(value.owner, Operation) else None,
                tuple(node_ids),
                value in returned,
            )
            for value, node_ids in readers.items()
        ],
    )


def _taken(op: Operation) -> Iterator[SSAValue]:
    """Yield operands of `op`, and those of ops in its regions that are defined outside."""
    if not op.regions:
        yield from op.operands
        return
    inside: set[SSAValue] = set()
    for inner in op.walk():
        inside.update(inner.results)
        for block in (block for region in inner.regions for block in region.blocks):
            inside.update(block.args)
    for inner in op.walk():
        yield from (value for value in inner.operands if value not in inside)
