"""
`split-softmax-onnx`: a softmax over few entries as sigmoids of their differences, for NVDLA.

```mlir
%y = "onnx.Softmax"(%x) <{axis = 1 : si64}> : (tensor<1x2x16x1xf32>) -> tensor<1x2x16x1xf32>
```
weighs two branches of a network (SKNet, ResNeSt). The CPU emulator takes the channels of a single position
only; lookup tables compute functions of one tensor: of entries `a` and `b` the first has the weight
`sigmoid(a - b)`. With more entries each half is a sum of exponentials, `log(e^a + e^b) = b + softplus(a -
b)`, and the weights within a half are multiplied by that of the half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.ops.math import AddOp, MulOp, SigmoidOp, SoftmaxOp, SoftplusOp, SubOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import (
    ConcatOp,
    GatherOp,
    ReshapeOp,
    SliceOp,
    SplitOp,
    SplitV11Op,
    SplitV13Op,
)
from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape
from xonnc.lowering.onnx_to_dla.builders.op_inserter import OpInserter
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import PASS_THROUGH, elements, is_quantized
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import LOWERINGS_BY_PRECISION
from xonnc.lowering.onnx_to_dla.quantization.softmax_logits import VIEWS

MAX_ENTRIES = 4
"""Entries of a softmax up to which passes of the SDP and lookups cost less than transfers to the CPU."""

Shape = tuple[int, ...]

MOVES = (*PASS_THROUGH, ConcatOp, DequantizeLinearOp, QuantizeLinearOp)
"""Operators whose results are elements of their operands, quantized or not."""


@dataclass(frozen=True)
class SplitSoftmax(ModulePass):
    """
    Rewrite each Softmax over two to four entries, at several positions, to sigmoids of differences.

    Only what the network computes with is rewritten: probabilities that are outputs stay exact, on the CPU.
    In a quantized network the operand and the result have to be quantized, so that ranges in between follow.
    """

    name = "split-softmax-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split_softmax(op, DisposablePool.of(ctx))


def split_softmax(module: ModuleOp, pool: DisposablePool) -> bool:
    """Rewrite the softmaxes of `module` that the pass is about; return whether there were any."""
    found = [op for op in module.walk() if isinstance(op, SoftmaxOp) and _is_split(op)]
    if is_quantized(module):
        found = [op for op in found if _is_between_pairs(op)]
    for op in found:
        _split(op, pool)
    return bool(found)


def _is_split(op: SoftmaxOp) -> bool:
    shape = static_shape(op.input.type)
    if shape is None:
        return False
    entries = shape[op.axis.value.data]
    return 2 <= entries <= MAX_ENTRIES and prod(shape) > entries and _is_computed_with(op.output)


def _is_between_pairs(op: SoftmaxOp) -> bool:
    """Whether the operand is a view of dequantized integers, and the result is quantized."""
    readers = [use.operation for use in op.output.uses]
    is_dequantized = any(isinstance(view.owner, DequantizeLinearOp) for view in _views(op.input))
    return is_dequantized and all(isinstance(reader, QuantizeLinearOp) for reader in readers)


def _views(value: SSAValue) -> Iterator[SSAValue]:
    """Yield a value and what it is a view of."""
    yield value
    while isinstance(value.owner, VIEWS):
        value = value.owner.operands[0]
        yield value


def _is_computed_with(value: SSAValue) -> bool:
    """Whether the DLA computes with elements of a value."""
    for use in value.uses:
        reader = use.operation
        if isinstance(reader, MOVES):
            if any(map(_is_computed_with, reader.results)):
                return True
        elif any(type(reader) in known for known in LOWERINGS_BY_PRECISION.values()):
            return True
    return False


def _split(op: SoftmaxOp, pool: DisposablePool) -> None:
    shape, builder = static_shape(op.input.type), OpInserter(op, pool)
    assert shape is not None, "the softmax has a static shape"
    axis = op.axis.value.data % len(shape)
    weights, _ = _weights(_entries(op.input, shape, axis, builder), builder)
    parts = [_reshaped(weight, (*shape[:axis], 1, *shape[axis + 1 :]), builder) for weight in weights]
    for use in list(op.output.uses):
        _connect(use.operation, parts, axis, pool)
    joined = ConcatOp.create(
        operands=parts,
        result_types=[op.output.type],
        properties={"axis": int_attr(axis)},
        location=op.location,
    )
    drop_attributes(op)
    Rewriter.replace_op(op, joined)


def _entries(value: SSAValue, shape: Shape, axis: int, builder: OpInserter) -> list[SSAValue]:
    """
    Return the entries of a value along an axis: slices of what it is a view of, if they are slices of the
    first dimension there, the channels.
    """
    entries, sizes = shape[axis], shape
    if prod(shape[:axis]) == 1:
        for source in _views(value):
            given = static_shape(source.type)
            if given is None:
                break
            first = next((index for index, size in enumerate(given) if size > 1), 0)
            if given[first] % entries == 0:
                value, sizes, axis = source, given, first
    step = sizes[axis] // entries
    part = (*sizes[:axis], step, *sizes[axis + 1 :])
    ends = [(index * step, (index + 1) * step, axis, 1) for index in range(entries)]
    return [builder.op(SliceOp, (value, *(_integers(builder, each) for each in end)), part) for end in ends]


def _integers(builder: OpInserter, *numbers: int) -> SSAValue:
    """Insert a vector of integers."""
    return builder.constant(np.array(numbers, np.int64))


def _reshaped(value: SSAValue, shape: Shape, builder: OpInserter) -> SSAValue:
    if static_shape(value.type) == shape:
        return value
    return builder.op(ReshapeOp, (value, _integers(builder, *shape)), shape, allowzero=int_attr(0))


def _weights(
    entries: Sequence[SSAValue], builder: OpInserter, is_part: bool = False
) -> tuple[list[SSAValue], SSAValue | None]:
    """
    Return the softmax of entries as tensors of their own; of a part of all entries also the logarithm of the
    sum of their exponentials.
    """
    if len(entries) == 1:
        return [], entries[0]
    middle = (len(entries) + 1) // 2
    pairs = [_weights(each, builder, True) for each in (entries[:middle], entries[middle:])]
    (_, first), (_, second) = pairs
    assert first is not None, "parts have sums"
    assert second is not None, "parts have sums"
    shape = static_shape(first.type) or ()
    difference = builder.op(SubOp, (first, second), shape)
    share = builder.op(SigmoidOp, (difference,), shape)
    rest = builder.op(SubOp, (_one(builder), share), shape)
    weights: list[SSAValue] = []
    for (inner, _), own in zip(pairs, (share, rest), strict=True):
        weights += [builder.op(MulOp, (one, own), shape) for one in inner] or [own]
    if not is_part:
        return weights, None
    excess = builder.op(SoftplusOp, (difference,), shape)
    return weights, builder.op(AddOp, (second, excess), shape)


def _one(builder: OpInserter) -> SSAValue:
    element = element_type(builder.root.results[0].type)
    assert element is not None, "a softmax has numbers"
    return builder.constant(np.ones((), numpy_dtype(element)))


def _connect(reader: Operation, parts: Sequence[SSAValue], axis: int, pool: DisposablePool) -> None:
    """Let what selects one of the entries read it alone."""
    if isinstance(reader, SplitOp | SplitV11Op | SplitV13Op):
        if [result.type for result in reader.results] == [part.type for part in parts]:
            Rewriter.replace_op(reader, [], parts)
    elif isinstance(reader, GatherOp):
        indices, shape = elements(reader.indices), static_shape(reader.output.type)
        own = static_shape(parts[0].type)
        if indices is None or indices.size != 1 or shape is None or own is None:
            return
        if reader.axis.value.data % len(own) == axis:
            part = _reshaped(parts[int(indices.reshape(()))], shape, OpInserter(reader, pool))
            Rewriter.replace_op(reader, [], [part])
