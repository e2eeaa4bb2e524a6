"""
Operators that the runtime executes itself: control flow, sequences, optionals, strings and maps.

See `runtime/native/session_steps.py`.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, TypeAttribute

from xonnc.dialects.krnl.fusion import FusedOp
from xonnc.dialects.krnl.strip_mining import StripMinedLoopOp
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import controlflow, ml, optional, sequence
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.dialects.onnx.types import ELEMENT_DTYPES, StringType, element_type
from xonnc.formats.native.program import AttributeValue

CONTROL = (controlflow.IfOp, controlflow.LoopOp, controlflow.ScanOp)
"""Control flow: ops with bodies."""

SESSION_OPS: tuple[type[Operation], ...] = (
    *CONTROL,
    StripMinedLoopOp,
    ml.CastMapOp,
    ml.DictVectorizerOp,
    ml.ZipMapOp,
    optional.OptionalGetElementOp,
    optional.OptionalHasElementOp,
    optional.OptionalOp,
    sequence.ConcatFromSequenceOp,
    sequence.SequenceAtOp,
    sequence.SequenceConstructOp,
    sequence.SequenceEmptyOp,
    sequence.SequenceEraseOp,
    sequence.SequenceInsertOp,
    sequence.SequenceLengthOp,
    sequence.SplitToSequenceOp,
)


OF_STRINGS = frozenset(
    "ArrayFeatureExtractor Cast CastLike CategoryMapper Compress Concat Equal Expand Flatten Gather "
    "GatherElements GatherND Identity LabelEncoder OneHotEncoder Pad RegexFullMatch Reshape ReverseSequence "
    "ScatterElements ScatterND Shape Size Slice Split Squeeze StringConcat StringNormalizer StringSplit "
    "TfIdfVectorizer Tile Transpose Unique Unsqueeze Where".split()
)
"""Operators that the runtime executes for string tensors."""

TOKENIZER = ("com.microsoft", "Tokenizer")
"""Domain and name of the tokenizer that skl2onnx exports text pipelines with."""


def is_session_op(op: Operation) -> bool:
    """Whether the runtime executes an op itself."""
    if type(op) in SESSION_OPS:
        return True
    if isinstance(op, CustomOp):
        return (op.domain, op.function_name.data) == TOKENIZER
    if isinstance(op, FusedOp):
        return op.is_of_strings
    return isinstance(op, OnnxOp) and op.OP_TYPE in OF_STRINGS and _has_strings(op)


def _has_strings(op: Operation) -> bool:
    values = (*op.operands, *op.results)
    return any(isinstance(element_type(value.type), StringType) for value in values)


def operator_of(op: Operation) -> str:
    """Return the operator's name in the runtime."""
    if isinstance(op, FusedOp):
        return "CountTokens"
    if isinstance(op, CustomOp):
        return op.function_name.data
    if isinstance(op, OnnxOp) and op.OP_TYPE in OF_STRINGS:
        return op.OP_TYPE
    if isinstance(op, StripMinedLoopOp):
        return "StripMinedLoop"
    return op.name.removeprefix("onnx.")


def attributes_of(op: Operation) -> dict[str, AttributeValue]:
    """
    Return the attributes of an op as plain values; `to` is the element type of its result.

    A group has those of all its members, whose names differ.
    """
    if isinstance(op, FusedOp):
        return {name: value for member in op.members for name, value in attributes_of(member).items()}
    attributes = op.attributes if isinstance(op, CustomOp) else op.properties
    found: dict[str, AttributeValue] = {}
    for name, value in attributes.items():
        setting = _attribute(value)
        if setting is not None:
            found[name] = setting
    element = element_type(op.results[0].type) if op.results else None
    if is_session_op(op) and type(op) not in CONTROL and element in ELEMENT_DTYPES:
        found["to"] = ELEMENT_DTYPES[element].name
    return found


def _attribute(value: Attribute) -> AttributeValue:
    match value:
        case IntegerAttr() | FloatAttr():
            return value.value.data
        case StringAttr():
            return value.data
        case ArrayAttr():
            items = [_attribute(each) for each in value]
            return [each for each in items if isinstance(each, int | float | str)]
        case _:
            array = None if isinstance(value, TypeAttribute) else elements_array(value)
            return None if array is None else [_plain(each) for each in np.ravel(array).tolist()]


def _plain(item: object) -> int | float | str:
    if isinstance(item, bytes):
        return item.decode()
    return item if isinstance(item, int | float | str) else str(item)
