"""
Encoders of strings as look-ups of whole tensors, so that what follows them has kernels.

    OneHotEncoder(x) = OneHot(LabelEncoder(x))
    LabelEncoder(Gather(x, i)) = Gather(LabelEncoder(x), i)

The session looks strings up in Python; kernels do the rest on numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.ml import ArrayFeatureExtractorOp, LabelEncoderOp
from xonnc.dialects.onnx.ops.nn import FlattenOp
from xonnc.dialects.onnx.ops.tensor import GatherOp, ReshapeOp, SqueezeOp, TransposeOp, UnsqueezeOp
from xonnc.dialects.onnx.types import StringType, element_type, static_shape, tensor_type
from xonnc.rewriting.editing import insert_before
from xonnc.rewriting.onnx import LabelEncoder, OneHot, OneHotEncoder
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, attr, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.op_builder import OpBuilder

MOVEMENT = (ArrayFeatureExtractorOp, FlattenOp, GatherOp, ReshapeOp, SqueezeOp, TransposeOp, UnsqueezeOp)
"""Operators that move the elements of their first operand."""


@rule(OneHotEncoder(value.x, cats_strings=attr.categories, zeros=attr.zeros))
def one_hot(x: SSAValue, categories: Sequence[str] | None, zeros: int) -> RewriteResult:
    """A one-hot encoding of strings is that of their numbers; of an unknown one it is zeros"""
    if not categories:
        return MatchFailure("its categories are no strings")
    if not zeros:
        return MatchFailure("unknown strings are an error")
    count, names = len(categories), tuple(categories)

    def write(root: Operation) -> Sequence[SSAValue]:
        build = OpBuilder(root)
        found = build(
            LabelEncoder, x, keys_strings=names, values_int64s=tuple(range(count)), default_int64=count
        )
        depth, values = (
            build.constant(np.array(count, np.int64)),
            build.constant(np.array([0, 1], np.float32)),
        )
        return build.last(OneHot, found, depth, values)

    return ImperativeRewrite(write)


@rule(LabelEncoder(value.moved))
def before_movement(root: Operation, moved: SSAValue) -> RewriteResult:
    """Strings are looked up before they are moved, if these are no more look-ups"""
    movement = moved.owner
    element = element_type(root.results[0].type)
    if not isinstance(movement, MOVEMENT) or element is None or isinstance(element, StringType):
        return MatchFailure("its operand is not moved, or its results are strings")
    source = movement.operands[0]
    shape = static_shape(source.type)
    if shape is None or not isinstance(element_type(source.type), StringType):
        return MatchFailure("what is moved has no static shape, or other elements than strings")
    equal = [each for each in _encoders_of(source) if each.properties == root.properties]
    shared = next((each for each in equal if each.operands[0] is source and _is_before(each, root)), None)
    if shared is None and sum(_size(each.operands[0]) for each in equal) < prod(shape):
        return MatchFailure("elements of the tensor are not looked up, or by other tables")

    def write(op: Operation) -> Sequence[SSAValue]:
        found = shared
        if found is None:
            found = LabelEncoderOp.create(
                operands=[source],
                result_types=[tensor_type(shape, element)],
                properties=op.properties,
                attributes=op.attributes,
                location=op.location,
            )
            insert_before(op, [found])
        after = type(movement).create(
            operands=[found.results[0], *movement.operands[1:]],
            result_types=op.result_types,
            properties=movement.properties,
            attributes=movement.attributes,
            location=movement.location,
        )
        insert_before(op, [after])
        return after.results

    return ImperativeRewrite(write)


def _encoders_of(source: SSAValue) -> Iterator[LabelEncoderOp]:
    """Yield the LabelEncoders of a tensor, and those of it moved."""
    for reader in {use.operation: None for use in source.uses}:
        if isinstance(reader, LabelEncoderOp):
            yield reader
        elif isinstance(reader, MOVEMENT) and reader.operands[0] is source:
            users = (use.operation for use in reader.results[0].uses)
            yield from (user for user in users if isinstance(user, LabelEncoderOp))


def _size(tensor: SSAValue) -> int:
    """Return the number of elements; 0 if it is dynamic."""
    shape = static_shape(tensor.type)
    return 0 if shape is None else prod(shape)


def _is_before(op: Operation, other: Operation) -> bool:
    block = op.parent
    if block is None or block is not other.parent:
        return False
    return block.get_operation_index(op) < block.get_operation_index(other)


RULES = rules(LabelEncoderOfMovedStrings=before_movement, OneHotEncoderOfStrings=one_hot)
