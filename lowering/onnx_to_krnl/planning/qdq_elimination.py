"""Removal of QDQ pairs around operators that only move elements or take maxima."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.onnx.ops import nn, tensor
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import dequantized_source, quantization_params

MOVES_FIRST_OPERAND: tuple[type[Operation], ...] = (
    MaxPoolSingleOutOp,
    nn.MaxPoolOp,
    tensor.DepthToSpaceOp,
    nn.FlattenOp,
    tensor.ReshapeOp,
    tensor.SliceOp,
    tensor.SpaceToDepthOp,
    tensor.SqueezeOp,
    tensor.TransposeOp,
    tensor.UnsqueezeOp,
)
"""Operators that move their first operand."""


def eliminate_qdq(block: Block) -> None:
    """
    Rewrite `QuantizeLinear(move(DequantizeLinear(x)))` with equal parameters as `move(x)`, bit for bit the
    same.

    This holds for MaxPool too, since quantization is monotonic.
    """
    for op in list(block.ops):
        if isinstance(op, QuantizeLinearOp):
            _eliminate(op)


def _eliminate(quantize: QuantizeLinearOp) -> None:
    quantization, move = quantization_params(quantize), quantize.x.owner
    if quantization is None or not isinstance(move, Operation):
        return
    if isinstance(move, DequantizeLinearOp):
        operands: list[SSAValue] = [quantize.x]
    elif isinstance(move, tensor.ConcatOp):
        operands = list(move.inputs)
    elif isinstance(move, MOVES_FIRST_OPERAND) and not _has_places(move):
        operands = [move.operands[0]]
    else:
        return
    sources = [dequantized_source(operand) for operand in operands]
    found = [each[0] for each in sources if each is not None and each[1] == quantization]
    same = [each for each in found if element_type(each.type) == element_type(quantize.y.type)]
    if len(same) != len(operands) or move.parent is not quantize.parent:
        return
    if isinstance(move, DequantizeLinearOp):
        quantize.y.replace_all_uses_with(same[0])
    else:
        made = type(move).create(
            operands=[*same, *move.operands[len(same) :]],
            result_types=[quantize.y.type, *(result.type for result in move.results[1:])],
            properties=dict(move.properties),
        )
        made.location = quantize.location
        assert quantize.parent is not None
        quantize.parent.insert_op_before(made, quantize)
        quantize.y.replace_all_uses_with(made.results[0])
    quantize.detach()
    quantize.erase()
    _drop(move)


def _has_places(move: Operation) -> bool:
    return isinstance(move, nn.MaxPoolOp) and move.Indices.type != NONE


def _drop(op: Operation) -> None:
    """Erase an op without readers, and its DequantizeLinear operands without other readers."""
    if any(result.uses.get_length() for result in op.results):
        return
    owners = [operand.owner for operand in op.operands]
    op.detach()
    op.erase()
    for owner in owners:
        if isinstance(owner, DequantizeLinearOp) and owner.parent is not None:
            _drop(owner)
