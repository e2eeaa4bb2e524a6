"""Merge parallel convolutions of one tensor into one (docs/internals/onnx-rules.md §6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.ops.nn.convolution import ConvOp
from xonnc.dialects.onnx.ops.tensor.shape import ConcatOp
from xonnc.dialects.onnx.types import element_type, static_shape, tensor_type
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.editing import erase, replace_uses
from xonnc.rewriting.onnx import Concat, Conv, Split
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import is_absent
from xonnc.transforms.rules.op_builder import OpBuilder

ALIKE = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
"""Properties that parallel convolutions must share."""

CHANNELS = 1
"""Channel axis."""


@dataclass(frozen=True)
class Parallel:
    """Convolutions of one tensor, in textual order."""

    convs: Sequence[ConvOp]
    readers: Sequence[Operation]
    """Ops between the first and the last convolution that depend on one of them."""


def convolutions_of(x: SSAValue) -> Sequence[ConvOp] | str:
    """
    Return all users of x if they are convolutions that differ in weights and biases only, else the reason.
    """
    readers = list(dict.fromkeys(use.operation for use in x.uses))
    convs = [reader for reader in readers if isinstance(reader, ConvOp) and reader.X is x]
    if len(convs) < 2 or len(convs) < len(readers):
        return "x is read by other ops than several convolutions"
    first = convs[0]
    if decode(first.group) != 1:
        return "the groups would take their channels from others"
    for conv in convs:
        if any(static_shape(each.type) is None for each in (conv.W, conv.Y)):
            return "a shape is not known"
        if any(is_absent(each) for each in (conv.B,)) != is_absent(first.B):
            return "not all have a bias"
        if conv.parent is not first.parent or properties(conv) != properties(first):
            return "they stand in different blocks or have different properties"
        if shapes(conv) != shapes(first):
            return "their weights have different shapes"
    return convs


def properties(conv: ConvOp) -> list[Attribute | None]:
    """Return the properties that must be equal."""
    return [conv.properties.get(name) for name in ALIKE]


def shapes(conv: ConvOp) -> list[tuple[int, ...] | None]:
    """Return the shapes that must be equal."""
    return [static_shape(each.type) for each in (conv.W, conv.B)]


def between(root: ConvOp, convs: Sequence[ConvOp]) -> Parallel | str:
    """Return the convolutions in order and their users before `root`, the last one, else the reason."""
    waiting = set[Operation](convs) - {root}
    passed: list[Operation] = []
    each = root.prev_op
    while each is not None and waiting:
        waiting.discard(each)
        passed.append(each)
        each = each.prev_op
    if waiting:
        return "it is not the last of them"
    ordered = [op for op in reversed(passed) if isinstance(op, ConvOp) and op in set(convs)]
    made: set[SSAValue] = set()
    readers: list[Operation] = []
    for op in (*reversed(passed), root):
        reads = any(operand in made for inner in op.walk() for operand in inner.operands)
        is_one = op is root or op in ordered
        if reads and is_one:
            return "one reads what another one makes"
        if reads:
            readers.append(op)
        if reads or is_one:
            made.update(op.results)
    return Parallel([*ordered, root], readers)


def joined(convs: Sequence[ConvOp]) -> ConcatOp | None:
    """Return the Concat of all results along the channels, if it is their only user, or `None`."""
    readers = {use.operation for conv in convs for use in conv.Y.uses}
    only = next(iter(readers)) if len(readers) == 1 else None
    if not isinstance(only, ConcatOp) or decode(only.axis) != CHANNELS:
        return None
    makers = [operand.owner for operand in only.operands]
    return only if len(makers) == len(convs) == len(set(makers)) else None


@rule(Conv(value.x, value.w, value.b))
def combine(root: Operation, x: SSAValue) -> RewriteResult:
    """
    Parallel convolutions of x are one convolution with concatenated weights

    Its channels are split into the results, or replace their Concat along the channels. Only for
    `group` 1, which onnx-mlir does not check: concatenated filters would read channels of another group.
    """
    convs = convolutions_of(x) if static_shape(x.type) is not None else "the shape of x is not known"
    parallel = between(root, convs) if isinstance(root, ConvOp) and not isinstance(convs, str) else convs
    if not isinstance(parallel, Parallel):
        return MatchFailure(parallel if isinstance(parallel, str) else "it is no convolution")
    joined_conv = joined(parallel.convs)
    if joined_conv is None:
        return ImperativeRewrite(lambda last: split(last, parallel))
    return ImperativeRewrite(lambda last: in_place_of(last, parallel, joined_conv))


def one_convolution(builder: OpBuilder, convs: Sequence[ConvOp]) -> SSAValue:
    """Create the convolution with the concatenated weights."""
    first = convs[0]
    weights = concatenated(builder, [conv.W for conv in convs])
    bias = first.B if is_absent(first.B) else concatenated(builder, [conv.B for conv in convs])
    shape = static_shape(first.Y.type)
    assert shape is not None
    channels = sum(channels_of(conv) for conv in convs)
    type_ = with_size(first.Y.type, CHANNELS, channels)
    return builder.all(Conv, first.X, weights, bias, types=[type_], **first.properties)[0]


def concatenated(builder: OpBuilder, parts: Sequence[SSAValue]) -> SSAValue:
    """Concatenate tensors along the first axis."""
    shape = static_shape(parts[0].type)
    assert shape is not None
    type_ = with_size(parts[0].type, 0, shape[0] * len(parts))
    return builder.all(Concat, *parts, types=[type_], axis=0)[0]


def with_size(type_: Attribute, axis: int, size: int) -> Attribute:
    """Return a tensor type with another dimension along an axis."""
    shape, element = static_shape(type_), element_type(type_)
    assert shape is not None
    assert element is not None
    return tensor_type((*shape[:axis], size, *shape[axis + 1 :]), element)


def channels_of(conv: ConvOp) -> int:
    """Return the number of output channels."""
    shape = static_shape(conv.W.type)
    assert shape is not None
    return shape[0]


def split(last: Operation, parallel: Parallel) -> Sequence[SSAValue]:
    """Create the convolution and the Split of its channels, the last convolution first as in onnx-mlir."""
    to, convs = OpBuilder(last), list(reversed(parallel.convs))
    made = one_convolution(to, convs)
    sizes = to.ints(*(channels_of(conv) for conv in convs))
    parts = to.all(Split, made, sizes, types=[conv.Y.type for conv in convs], axis=CHANNELS)
    for conv, part in zip(convs, parts, strict=True):
        if conv is not last:
            replace_uses(conv.Y, part)
    move_behind(last, parallel.readers)
    return parts[:1]


def in_place_of(last: Operation, parallel: Parallel, joined_conv: ConcatOp) -> Sequence[SSAValue]:
    """Create the convolution that replaces the Concat, with its order of channels."""
    convs = [operand.owner for operand in joined_conv.operands]
    made = one_convolution(OpBuilder(last), [conv for conv in convs if isinstance(conv, ConvOp)])
    replace_uses(joined_conv.results[0], made)
    erase(joined_conv)
    return [made]


def move_behind(last: Operation, readers: Sequence[Operation]) -> None:
    """Move ops after the last convolution, so that the operands they get dominate them."""
    block = last.parent
    assert block is not None
    for reader in reversed(readers):
        reader.detach()
        block.insert_op_after(reader, last)


RULES = rules(CombineParallelConv2DPattern=combine)
