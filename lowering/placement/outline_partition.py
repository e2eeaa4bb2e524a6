"""Outlining of a partition of a network as a module of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.ops.builtin import EntryPointOp, ReturnOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
from xonnc.lowering.onnx_to_dla.builders.batch import copy_batch
from xonnc.lowering.onnx_to_dla.builders.image_inputs import IMAGE_ATTRIBUTE
from xonnc.lowering.placement.boundary_pairs import (
    Pairs,
    insert_pairs,
    pairs_at_inputs,
    pairs_at_outputs,
    parameters,
)
from xonnc.lowering.placement.dataflow_graph import DataflowGraph

MAIN = "main_graph"
"""The symbol of a model's function in imported models."""

ABOUT_THE_MODEL = ("onnx.opset_imports", "onnx.ir_version", "onnx.functions")
"""Attributes of the model that each partition inherits."""


@dataclass(frozen=True)
class Partition:
    """
    Nodes that run together, in order, the values that they take from elsewhere, and those read elsewhere.

    A DequantizeLinear may be a node of several partitions (`partitions_of`).
    """

    is_dla: bool
    nodes: tuple[int, ...]
    inputs: tuple[SSAValue, ...]
    outputs: tuple[SSAValue, ...]


@dataclass(frozen=True)
class OutlinedPartition:
    """The module of a partition, and the node that each of its operations is a copy of."""

    module: ModuleOp
    nodes: Mapping[Operation, int]
    readers: Mapping[SSAValue, Sequence[int]]
    """The partition's nodes that read each of its inputs."""

    def concerned(self, about: object) -> Sequence[int]:
        """Return the nodes that an operation or input of the module stands for."""
        if isinstance(about, Operation):
            return [self.nodes[about]] if about in self.nodes else []
        return next((nodes for value, nodes in self.readers.items() if value is about), ())


def partitions_of(
    graph: DataflowGraph,
    parts: Sequence[Sequence[int]],
    on_dla: AbstractSet[int],
    reads_floats: bool = False,
    refused: AbstractSet[int] = frozenset(),
) -> list[Partition]:
    """
    Return the partitions of nodes, given in the order in which they run.

    A partition on the DLA that reads a dequantized value of another one gets a copy of the DequantizeLinear,
    unless the DLA `refused` that, so that integers are transferred: the DLA reads floats only to quantize
    them, unless it `reads_floats`.
    """
    copied = [
        _dequantized_elsewhere(graph, nodes) - refused
        if nodes[0] in on_dla and not reads_floats
        else set[int]()
        for nodes in parts
    ]
    read = [
        {value for node in (*nodes, *copies) for value in graph.needed(graph.nodes[node])}
        - {result for node in (*nodes, *copies) for result in graph.nodes[node].results}
        for nodes, copies in zip(parts, copied, strict=True)
    ]
    read_elsewhere = set[SSAValue]().union(*read)
    return [
        _partition(graph, nodes, copies, nodes[0] in on_dla, read_elsewhere)
        for nodes, copies in zip(parts, copied, strict=True)
    ]


def _dequantized_elsewhere(graph: DataflowGraph, nodes: Sequence[int]) -> set[int]:
    """Return the nodes that dequantize, outside a partition, values that it reads."""
    producers = {
        graph.node_ids[value.owner]
        for node in nodes
        for value in graph.needed(graph.nodes[node])
        if isinstance(value.owner, DequantizeLinearOp) and value.owner in graph.node_ids
    }
    return producers - set(nodes)


def _partition(
    graph: DataflowGraph,
    own: Sequence[int],
    copies: AbstractSet[int],
    is_dla: bool,
    read_elsewhere: AbstractSet[SSAValue],
) -> Partition:
    """
    Return the partition of `own` nodes, whose results other partitions may read, and copies of others.

    Inputs and outputs of the network come first, in its order; a partition of all nodes takes all inputs.
    """
    nodes = sorted((*own, *copies))
    made = [result for node in own for result in graph.nodes[node].results]
    available = {result for node in nodes for result in graph.nodes[node].results}
    taken = dict.fromkeys(value for node in nodes for value in graph.needed(graph.nodes[node]))
    arguments = graph.function.body.block.args
    is_all = len(nodes) == len(graph.nodes)
    inputs = [argument for argument in arguments if argument in taken or is_all]
    inputs += [
        value
        for value in taken
        if value not in available and value.owner not in graph.constants and value not in arguments
    ]
    outputs = dict.fromkeys(value for value in graph.results if value in set(made))
    outputs |= dict.fromkeys(value for value in made if value in read_elsewhere)
    return Partition(is_dla, tuple(nodes), tuple(inputs), tuple(outputs))


def outline(
    partition: Partition,
    graph: DataflowGraph,
    names: Mapping[SSAValue, str],
    inserts_pairs: bool = False,
) -> OutlinedPartition:
    """
    Return a copy of a partition as a model; inputs and outputs are named by `names`, constants are shared.

    With `inserts_pairs` floats at its boundaries are quantized as the network does it elsewhere.
    """
    source = graph.function.parent_op()
    assert isinstance(source, ModuleOp)
    function = FuncOp(
        MAIN, ([value.type for value in partition.inputs], [value.type for value in partition.outputs])
    )
    if partition.is_dla:
        copy_batch(graph.function, function)
    block = function.body.block
    arguments: dict[SSAValue, SSAValue] = dict(zip(partition.inputs, block.args, strict=True))
    copies = dict(arguments)
    builder = Builder(InsertPoint.at_end(block))
    taken: Pairs = pairs_at_inputs(partition.inputs, partition.nodes, graph) if inserts_pairs else {}
    given: Pairs = pairs_at_outputs(partition.outputs, graph) if inserts_pairs else {}
    needed = [value for node in partition.nodes for value in graph.needed(graph.nodes[node])] + [
        *partition.outputs,
        *parameters(taken),
        *parameters(given),
    ]
    constants = _constants_for(needed, graph)
    for op in graph.function.body.block.ops:
        if op in constants:
            builder.insert(op.clone(copies))
    read_first = insert_pairs(taken, copies, builder)
    nodes: dict[Operation, int] = {}
    readers: dict[SSAValue, list[int]] = {argument: [] for argument in block.args}
    for node in partition.nodes:
        op = graph.nodes[node]
        copy = builder.insert(op.clone(copies))
        nodes[copy] = node
        for value in graph.needed(op):
            if value in arguments:
                readers[arguments[value]].append(node)
    rounded_last = insert_pairs(given, copies, builder)
    # Nodes have the engines of their own operations, which come first.
    by_result: dict[SSAValue, int] = {
        result: node for node in partition.nodes for result in graph.nodes[node].results
    }
    nodes |= {made: by_result[value] for made, value in rounded_last.items()}
    nodes |= {made: readers[arguments[value]][0] for made, value in read_first.items()}
    builder.insert(ReturnOp(*(copies[value] for value in partition.outputs)))
    function.arg_attrs = _with_images(_named(partition.inputs, names), partition, graph)
    function.res_attrs = _named(partition.outputs, names)
    module = ModuleOp([function, EntryPointOp.create(properties={"func": SymbolRefAttr(MAIN)})])
    for key in ABOUT_THE_MODEL:
        if key in source.attributes:
            module.attributes[key] = source.attributes[key]
    return OutlinedPartition(module, nodes, readers)


def _with_images(
    attributes: ArrayAttr[DictionaryAttr], partition: Partition, graph: DataflowGraph
) -> ArrayAttr[DictionaryAttr]:
    """Copy the image attributes of network inputs to a partition on the DLA."""
    given = graph.function.arg_attrs
    if given is None or not partition.is_dla:
        return attributes
    entries = list(attributes)
    for index, value in enumerate(partition.inputs):
        if (
            isinstance(value, BlockArgument)
            and value.index < len(given)
            and IMAGE_ATTRIBUTE in given.data[value.index].data
        ):
            image = given.data[value.index].data[IMAGE_ATTRIBUTE]
            entries[index] = DictionaryAttr({**entries[index].data, IMAGE_ATTRIBUTE: image})
    return ArrayAttr(entries)


def _constants_for(values: Sequence[SSAValue], graph: DataflowGraph) -> set[Operation]:
    """Return the constant ops that `values` depend on."""
    result: set[Operation] = set()
    worklist = [value.owner for value in values]
    while worklist:
        op = worklist.pop()
        if isinstance(op, Operation) and op in graph.constants and op not in result:
            result.add(op)
            worklist += [value.owner for value in op.operands]
    return result


def _named(values: Sequence[SSAValue], names: Mapping[SSAValue, str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"onnx.name": StringAttr(names[value])}) for value in values])
