"""
QDQ pairs at boundaries of partitions on the DLA, for floats that the network quantizes elsewhere.

The engines store integers. Values that a concatenation or a clamp reads have no pair of their own: in one
partition the operator before them is rounded only after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import element_type, is_ranked, tensor_type
from xonnc.lowering.onnx_to_dla.builders.dla_builder import FLOATS
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import PASS_THROUGH, pair_of
from xonnc.lowering.placement.dataflow_graph import DataflowGraph

Pairs: TypeAlias = Mapping[SSAValue, QuantizeLinearOp | DequantizeLinearOp]
"""Values at a boundary, and the operator of the network with whose parameters they are quantized."""


def pairs_at_outputs(outputs: Sequence[SSAValue], graph: DataflowGraph) -> Pairs:
    """
    Return outputs of a partition that a concatenation elsewhere reads before they are quantized, with the
    QuantizeLinear after that: it rounds elements alike before and after they are concatenated.
    """
    found: dict[SSAValue, QuantizeLinearOp | DequantizeLinearOp] = {}
    for value in outputs:
        if not value.has_one_use() or value.owner not in graph.node_ids or value in graph.results:
            continue
        reader = next(iter(value.uses)).operation
        if not isinstance(reader, ConcatOp) or isinstance(value.owner, DequantizeLinearOp):
            continue
        after = [use.operation for use in reader.concat_result.uses]
        if len(after) == 1 and isinstance(after[0], QuantizeLinearOp) and pair_of(after[0]) is not None:
            found[value] = after[0]
    return found


def pairs_at_inputs(inputs: Sequence[SSAValue], nodes: Sequence[int], graph: DataflowGraph) -> Pairs:
    """
    Return inputs of a partition of `nodes` that none of them quantizes, and that consist of elements of a
    dequantized value, with its DequantizeLinear: those are integers of its parameters still.
    """
    found: dict[SSAValue, QuantizeLinearOp | DequantizeLinearOp] = {}
    read = {graph.nodes[node] for node in nodes}
    for value in inputs:
        readers = [use.operation for use in value.uses if use.operation in read]
        if element_type(value.type) not in FLOATS or isinstance(value.owner, DequantizeLinearOp):
            continue
        source = value.owner
        while isinstance(source, PASS_THROUGH):
            source = source.operands[0].owner
        is_quantized = any(isinstance(reader, QuantizeLinearOp) for reader in readers)
        if isinstance(source, DequantizeLinearOp) and not is_quantized and pair_of(source) is not None:
            found[value] = source
    return found


def parameters(pairs: Pairs) -> list[SSAValue]:
    """Return the scales and zero points of pairs."""
    return [value for like in pairs.values() for value in like.operands[1:]]


def insert_pairs(
    pairs: Pairs, copies: dict[SSAValue, SSAValue], builder: Builder
) -> dict[Operation, SSAValue]:
    """
    Insert pairs after the `copies` of values, which become the dequantized ones; return what was inserted,
    with the value.
    """
    inserted: dict[Operation, SSAValue] = {}
    for value, like in pairs.items():
        operands = [copies.get(each, each) for each in like.operands[1:]]
        integer = element_type(like.y.type if isinstance(like, QuantizeLinearOp) else like.x.type)
        assert is_ranked(value.type), "what is quantized has a shape"
        assert integer is not None, "integers have a type"
        quantize = QuantizeLinearOp.create(
            operands=[copies[value], *operands],
            result_types=[tensor_type(value.type.get_shape(), integer)],
            attributes=like.attributes,
            location=like.location,
        )
        read = DequantizeLinearOp.create(
            operands=[quantize.y, *operands], result_types=[value.type], location=like.location
        )
        inserted |= dict.fromkeys((builder.insert(quantize), builder.insert(read)), value)
        copies[value] = read.y
    return inserted
