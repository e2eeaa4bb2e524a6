"""Elements and lengths of sequences and optionals that the graph itself makes."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.dialects.onnx.ops.optional import OptionalOp
from xonnc.dialects.onnx.ops.sequence import (
    SequenceConstructOp,
    SequenceEmptyOp,
    SequenceEraseOp,
    SequenceInsertOp,
)
from xonnc.dialects.onnx.types import is_tensor
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    ONNX,
    Concat,
    ConcatFromSequence,
    Optional,
    OptionalGetElement,
    OptionalHasElement,
    SequenceAt,
    SequenceLength,
)
from xonnc.rewriting.patterns import MatchFailure, RewriteResult, attr, const, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import is_absent

x, sequence, optional = value.x, value.sequence, value.optional

UNKNOWN = MatchFailure("the elements of the sequence are not known")


def elements_of(found: SSAValue) -> list[SSAValue] | None:
    """Return the elements of a sequence that is constructed, inserted to and erased from, or `None`."""
    edits: list[SequenceInsertOp | SequenceEraseOp] = []
    while isinstance(op := found.owner, SequenceInsertOp | SequenceEraseOp):
        edits.append(op)
        found = op.input_sequence
    if isinstance(op, SequenceConstructOp):
        elements = list(op.inputs)
    elif isinstance(op, SequenceEmptyOp):
        elements: list[SSAValue] = []
    else:
        return None
    for edit in reversed(edits):
        is_insert = isinstance(edit, SequenceInsertOp)
        # An insertion may be behind the last element, which is the default too.
        limit = len(elements) + is_insert
        index = limit - 1 if is_absent(edit.position) else index_in(edit.position, len(elements), limit)
        if index is None or index < 0:
            return None
        if isinstance(edit, SequenceInsertOp):
            elements.insert(index, edit.tensor)
        else:
            del elements[index]
    return elements


def index_in(position: SSAValue, count: int, limit: int) -> int | None:
    """Return a constant position in a sequence of `count` elements, counted from the front, or `None`."""
    constant = constant_of(ONNX, position)
    if constant is None or constant.array.size != 1:
        return None
    index = int(constant.array.reshape(()))
    return index + count if -count <= index < 0 else index if 0 <= index < limit else None


@rule(SequenceAt(sequence, const.position))
def element(root: Operation, sequence: SSAValue) -> RewriteResult:
    """sequence_at([a, b, c], 1) = b"""
    elements = elements_of(sequence)
    if elements is None:
        return UNKNOWN
    index = index_in(root.operands[1], len(elements), len(elements))
    return MatchFailure("the position is outside of the sequence") if index is None else elements[index]


@rule(SequenceLength(sequence))
def length(sequence: SSAValue) -> RewriteResult:
    """sequence_length([a, b, c]) = 3"""
    elements = elements_of(sequence)
    return UNKNOWN if elements is None else (np.array(len(elements), np.int64),)


@rule(ConcatFromSequence(sequence, axis=attr.axis, new_axis=attr.new_axis))
def concatenation(sequence: SSAValue, axis: int, new_axis: int | None) -> RewriteResult:
    """concat_from_sequence([a, b, c]) = concat(a, b, c), along an axis that they have"""
    elements = elements_of(sequence)
    if new_axis or not elements:
        return UNKNOWN if elements is None else MatchFailure("the axis is new, or there is no element")
    return Concat(*elements, axis=axis)


def has_element(optional: SSAValue) -> bool | None:
    """Return whether an optional has an element, or `None` if it comes from elsewhere."""
    op = optional.owner
    if isinstance(op, OptionalOp):
        return not is_absent(op.input)
    if isinstance(op, NoValueOp):
        return False
    # From opset 18 on, operators on optionals take tensors and sequences too.
    return True if is_tensor(optional.type) else None


def presence(optional: SSAValue) -> RewriteResult:
    """optional_has_element(optional(x)) is true, and false where nothing is given"""
    known = has_element(optional)
    return MatchFailure("the optional comes from elsewhere") if known is None else (np.array(known),)


def is_present(x: SSAValue) -> str | None:
    """The optional is made of a value."""
    return "the optional is empty" if is_absent(x) else None


def is_no_optional(root: Operation, x: SSAValue) -> str | None:
    """The operand is the element itself."""
    return None if is_tensor(x.type) else "the operand may be an optional"


RULES = rules(
    SequenceAtOfElementsPattern=element,
    SequenceLengthOfElementsPattern=length,
    ConcatFromElementsPattern=concatenation,
    OptionalHasElementPattern=rule(OptionalHasElement(optional))(presence),
    # optional_get_element(optional(x)) = x
    OptionalGetElementPattern=rule(OptionalGetElement(Optional(x)), x, where=is_present),
    # optional_get_element(x) = x
    OptionalGetTensorPattern=rule(OptionalGetElement(x), x, where=is_no_optional),
)
