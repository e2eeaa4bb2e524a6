"""The network in a module as a dataflow: which ops are nodes, which values go between them."""

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
from xonnc.lowering.placement.dataflow import Dataflow, Value


@dataclass(frozen=True)
class Graph:
    """
    The nodes of a function in order.

    `fixed` are ops of constants only, which every part that reads them has for itself: constants, and
    integers that stand for weights.
    """

    function: FuncOp
    nodes: Sequence[Operation]
    fixed: frozenset[Operation]
    results: Sequence[SSAValue]
    """What the network returns."""
    flow: Dataflow
    numbers: dict[Operation, int] = field(repr=False)

    def needed(self, op: Operation) -> list[SSAValue]:
        """The values that `op` and the bodies inside it take from outside of them, each once."""
        return list(dict.fromkeys(_taken(op)))


def graph_of(module: ModuleOp) -> Graph:
    """The graph of the one function of `module`, which is of the onnx dialect; else an `XonncError`."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    if len(functions) != 1 or not isinstance(end := functions[0].body.block.last_op, ReturnOp):
        raise XonncError("placing takes one function that ends in onnx.Return")
    nodes: list[Operation] = []
    fixed: set[Operation] = set()
    for op in functions[0].body.block.ops:
        if op is end:
            continue
        (fixed.add if _is_fixed(op, fixed) else nodes.append)(op)
    numbers = {op: number for number, op in enumerate(nodes)}
    graph = Graph(functions[0], nodes, frozenset(fixed), tuple(end.operands), Dataflow(0, ()), numbers)
    return Graph(functions[0], nodes, frozenset(fixed), graph.results, _flow(graph), numbers)


def _is_fixed(op: Operation, fixed: set[Operation]) -> bool:
    if isinstance(op, ConstantOp | NoValueOp):
        return True
    return isinstance(op, QuantizeLinearOp | DequantizeLinearOp) and all(
        value.owner in fixed for value in op.operands
    )


def _flow(graph: Graph) -> Dataflow:
    readers: dict[SSAValue, list[int]] = {value: [] for value in graph.function.body.block.args}
    for number, op in enumerate(graph.nodes):
        for value in graph.needed(op):
            if value in readers:
                readers[value].append(number)
        readers |= {result: [] for result in op.results}
    returned = set(graph.results)
    return Dataflow(
        len(graph.nodes),
        [
            Value(
                graph.numbers[value.owner] if isinstance(value.owner, Operation) else None,
                tuple(numbers),
                value in returned,
            )
            for value, numbers in readers.items()
        ],
    )


def _taken(op: Operation) -> Iterator[SSAValue]:
    """Operands of `op`, and those of ops inside it that come from around it."""
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
