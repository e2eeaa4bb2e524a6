"""
Decompose sequence construction, and concatenations with Shape and Transpose uses
(docs/internals/onnx-rules.md §5.2 to §5.4).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import (
    ELEMENT_TYPES_BY_CODE,
    element_type,
    static_shape,
    tensor_type,
)
from xonnc.rewriting.editing import erase, replace_uses
from xonnc.rewriting.onnx import (
    Concat,
    ConcatShapeTranspose,
    SequenceAt,
    SequenceConstruct,
    SequenceEmpty,
    SequenceInsert,
    Shape,
    Split,
    SplitToSequence,
    Squeeze,
)
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    RewriteResult,
    attr,
    const,
    rest,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import result_is_static
from xonnc.transforms.rules.op_builder import OpBuilder


@rule(SequenceConstruct(rest.parts))
def insert_one_by_one(root: Operation, parts: Sequence[SSAValue]) -> RewriteResult:
    """sequence(a, b) = insert(insert(empty, a), b)"""
    type_ = root.results[0].type
    codes = {element: code for code, element in ELEMENT_TYPES_BY_CODE.items()}
    code = codes.get(element_type(parts[0].type) or type_)
    if code is None:
        return MatchFailure("the element type is not known")

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        sequence, end = builder(SequenceEmpty, types=[type_], dtype=code), builder.none()
        for part in parts[:-1]:
            sequence = builder(SequenceInsert, sequence, part, end, types=[type_])
        return builder.last(SequenceInsert, sequence, parts[-1], end)

    return ImperativeRewrite(write)


SPLIT = SplitToSequence(value.x, const.split, axis=attr.axis, keepdims=attr.keepdims)


@rule(SequenceAt(SPLIT, const.position), where=result_is_static)
def part_of_split(
    root: Operation, x: SSAValue, split: Constant, position: Constant, axis: int, keepdims: int
) -> RewriteResult:
    """
    sequence_at(split_to_sequence(x), i) = split(x)[i] for equal parts

    The part is squeezed if the result lacks the split axis. Negative positions count from the back. A split
    into unequal parts is not rewritten. onnx-mlir does not support negative positions, and drops the
    remainder of an axis that the part size does not divide.
    """
    shape, element, result = static_shape(x.type), element_type(x.type), static_shape(root.results[0].type)
    if shape is None or element is None or split.array.size != 1 or position.array.size != 1:
        return MatchFailure("the parts are not of one known size")
    size, split_axis = int(split.array.reshape(())), axis % len(shape)
    if size < 1 or shape[split_axis] % size or (split.array.ndim and size != shape[split_axis]):
        return MatchFailure("the parts are not all of the same size")
    count, part_index = shape[split_axis] // size, int(position.array.reshape(()))
    if not -count <= part_index < count:
        return MatchFailure(f"there is no part {part_index}")
    before, after = shape[:split_axis], shape[split_axis + 1 :]
    squeezed = size == 1 and result == (*before, *after)
    if not squeezed and result != (*before, size, *after):
        return MatchFailure("the result has another shape than the parts")

    def write(op: Operation) -> Sequence[SSAValue]:
        to, part = OpBuilder(op), tensor_type((*before, size, *after), element)
        parts = to.all(Split, x, to.ints(*(size,) * count), types=[part] * count, axis=axis)
        return to.last(Squeeze, parts[part_index], to.ints(axis)) if squeezed else [parts[part_index]]

    return ImperativeRewrite(write)


def readers(value: SSAValue) -> dict[str, Operation] | None:
    """Return the users of a value by name, or `None` if two have the same name."""
    found: dict[str, Operation] = {}
    for use in value.uses:
        if found.setdefault(use.operation.name, use.operation) is not use.operation:
            return None
    return found


@rule(Shape(Concat(rest.parts, axis=attr.axis).named("inner")).named("shape"))
def shape_and_transpose(
    root: Operation, inner: Operation, parts: Sequence[SSAValue], axis: int
) -> RewriteResult:
    """Fuse Concat with its only users, one Shape and one Transpose, to ConcatShapeTranspose"""
    found = readers(inner.results[0])
    if found is None or found.keys() != {"onnx.Shape", "onnx.Transpose"}:
        return MatchFailure("the concatenation has users besides one Shape and one Transpose")
    transpose = found["onnx.Transpose"]

    def write(op: Operation) -> Sequence[SSAValue]:
        shape, transposed = OpBuilder(inner).all(
            ConcatShapeTranspose,
            *parts,
            types=[op.results[0].type, transpose.results[0].type],
            axis=axis,
            end=op.properties.get("end"),
            perm=transpose.properties.get("perm"),
            start=op.properties.get("start"),
        )
        replace_uses(transpose.results[0], transposed)
        erase(transpose)
        replace_uses(op.results[0], shape)
        op.operands = [transposed]
        erase(inner)
        return [shape]

    return ImperativeRewrite(write)


RULES = rules(
    ConcatFuse=shape_and_transpose,
    ReplaceSequenceAt=part_of_split,
    SequenceConstruct=insert_one_by_one,
)
