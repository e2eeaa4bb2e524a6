"""Removal of QDQ pairs around operators that only move elements or take maxima."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops import nn, tensor
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, with_element
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import (
    QuantizationParams,
    dequantized_source,
    quantization_params,
)

RESIZES = (
    tensor.ResizeOp,
    tensor.ResizeV10Op,
    tensor.ResizeV11Op,
    tensor.ResizeV13Op,
    tensor.ResizeV18Op,
    tensor.UpsampleOp,
)

MOVES_FIRST_OPERAND: tuple[type[Operation], ...] = (
    MaxPoolSingleOutOp,
    nn.MaxPoolOp,
    tensor.DepthToSpaceOp,
    nn.FlattenOp,
    tensor.GatherOp,
    tensor.ReshapeOp,
    *RESIZES,
    tensor.SliceOp,
    tensor.SpaceToDepthOp,
    tensor.SqueezeOp,
    tensor.TileOp,
    tensor.TransposeOp,
    tensor.UnsqueezeOp,
)
"""Operators that move elements of their first operand, as long as they do not interpolate."""

SPLITS = (tensor.SplitOp, tensor.SplitV11Op, tensor.SplitV13Op)


def eliminate_qdq(block: Block) -> None:
    """
    Rewrite `QuantizeLinear(move(DequantizeLinear(x)))` with equal parameters as `move(x)`, bit for bit the
    same.

    This holds for MaxPool too, since quantization is monotonic. Operands of Concat with other parameters are
    quantized before it, and parts of Split are dequantized after it.
    """
    for op in list(block.ops):
        if isinstance(op, SPLITS):
            _split_integers(op)
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
    elif isinstance(move, MOVES_FIRST_OPERAND) and not _computes(move):
        operands = [move.operands[0]]
    else:
        return
    if move.parent is not quantize.parent:
        return
    found = [_quantized(operand, quantize, quantization) for operand in operands]
    same = [each for each in found if each is not None]
    if len(same) == len(operands):
        pass
    elif len(operands) > 1 and all(dequantized_source(operand) is not None for operand in operands):
        same = [
            _requantized(operand, quantize, move) if each is None else each
            for operand, each in zip(operands, found, strict=True)
        ]
    else:
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


def _split_integers(split: tensor.SplitOp | tensor.SplitV11Op | tensor.SplitV13Op) -> None:
    """Split the integers that an operand is dequantized from, if some of the parts are quantized again."""
    dequantize, source = split.input.owner, dequantized_source(split.input)
    if (
        not isinstance(dequantize, DequantizeLinearOp)
        or source is None
        or dequantize.parent is not split.parent
    ):
        return
    readers = [use.operation for part in split.outputs for use in part.uses]
    if not any(isinstance(op, QuantizeLinearOp) and quantization_params(op) == source[1] for op in readers):
        return
    integers, element = source[0], element_type(source[0].type)
    assert element is not None
    assert split.parent is not None
    made = type(split).create(
        operands=[integers, *split.operands[1:]],
        result_types=[with_element(part.type, element) for part in split.outputs],
        properties=dict(split.properties),
    )
    after = [
        DequantizeLinearOp.create(
            operands=[part, *dequantize.operands[1:]],
            result_types=[old.type],
            properties=dict(dequantize.properties),
        )
        for part, old in zip(made.results, split.outputs, strict=True)
    ]
    for op in (made, *after):
        op.location = split.location
    split.parent.insert_ops_before([made, *after], split)
    for old, op in zip(split.outputs, after, strict=True):
        old.replace_all_uses_with(op.y)
    _drop(split)


def _quantized(value: SSAValue, quantize: QuantizeLinearOp, params: QuantizationParams) -> SSAValue | None:
    """Return the integers that a value is dequantized from, if they are those that it would become."""
    source = dequantized_source(value)
    if source is None or source[1] != params:
        return None
    return source[0] if element_type(source[0].type) == element_type(quantize.y.type) else None


def _requantized(value: SSAValue, quantize: QuantizeLinearOp, reader: Operation) -> SSAValue:
    """Quantize a value before an op that reads it."""
    element, block = element_type(quantize.y.type), reader.parent
    assert element is not None
    assert block is not None
    own = QuantizeLinearOp.create(
        operands=[value, *quantize.operands[1:]],
        result_types=[with_element(value.type, element)],
        properties=dict(quantize.properties),
    )
    own.location = derived(quantize.location)
    block.insert_op_before(own, reader)
    return own.y


def _computes(move: Operation) -> bool:
    """Whether an op has results that are not elements of its operand, or their positions."""
    if isinstance(move, RESIZES):
        outside = getattr(move, "coordinate_transformation_mode", None)
        return move.mode.data != "nearest" or (outside is not None and outside.data == "tf_crop_and_resize")
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
