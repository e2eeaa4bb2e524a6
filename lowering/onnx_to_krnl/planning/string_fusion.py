"""
Fusion of text vectorizers: a tokenizer whose tokens are only counted.

```mlir
%0 = "onnx.StringNormalizer"(%x) <{case_change_action = "LOWER"}> : … -> tensor<8x!onnx.String>
%1 = "onnx.Custom"(%0) <{function_name = "Tokenizer"}> … : … -> tensor<8x?x!onnx.String>
%y = "onnx.TfIdfVectorizer"(%1) … : … -> tensor<8x15xf32>
```

As a `strings` group, the session does not make the tensor of tokens, whose rows are padded to the longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values, string_values
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.dialects.onnx.ops.nn import FlattenOp, TfIdfVectorizerOp
from xonnc.dialects.onnx.ops.tensor import ReshapeOp
from xonnc.dialects.onnx.ops.text import StringNormalizerOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionGroup, FusionScope
from xonnc.lowering.onnx_to_krnl.planning.session_ops import attributes_of, is_session_op

STRINGS = "strings"
"""The kind of these groups."""


def plan_token_counts(ops: Sequence[Operation], scope: FusionScope) -> Iterator[FusionGroup]:
    """Yield a group for each TfIdfVectorizer of the tokens of one text a row."""
    for op in ops:
        if isinstance(op, TfIdfVectorizerOp) and (members := _members(op, scope)) is not None:
            yield FusionGroup(STRINGS, members)


def _members(op: TfIdfVectorizerOp, scope: FusionScope) -> list[Operation] | None:
    """Return the operators from texts to counts in order, or None if tokens matter beyond their number."""
    words, targets = string_values(op.pool_strings), int_values(op.ngram_indexes)
    counted = static_shape(op.Y.type)
    if not words or not targets or len(words) != len(targets) or not counted or len(counted) != 2:
        return None
    if op.min_gram_length.value.data != 1 or op.max_gram_length.value.data != 1:
        return None
    if min(targets) < 0 or counted[1] != max(targets) + 1:
        return None
    tokenizer = op.X.owner
    if not isinstance(tokenizer, CustomOp) or not is_session_op(tokenizer) or scope.only_user(op.X) is not op:
        return None
    settings = attributes_of(tokenizer)
    # What rows are padded with and marked by would be counted.
    added = {settings.get("pad_value", ""), *("\x02", "\x03") * bool(settings.get("mark"))}
    if added & set(words):
        return None
    texts = tokenizer.inputs[0]
    if static_shape(texts.type) not in ((counted[0],), (counted[0], 1)) or not counted[0]:
        return None
    return [*_before(texts, tokenizer, scope), tokenizer, op]


def _before(texts: SSAValue, reader: Operation, scope: FusionScope) -> list[Operation]:
    """Return the operators that change the case of texts or the shape of their tensor, in order."""
    found: list[Operation] = []
    while isinstance(op := texts.owner, Operation) and scope.only_user(texts) is reader:
        if not (_changes_case(op) or _changes_shape(op)) or (
            _changes_case(op) and any(map(_changes_case, found))
        ):
            break
        found.insert(0, op)
        texts, reader = op.operands[0], op
    return found


def _changes_case(op: Operation) -> bool:
    """Whether an operator changes the case of each text of a vector, and drops none."""
    return (
        isinstance(op, StringNormalizerOp)
        and not string_values(op.stopwords)
        and len(static_shape(op.X.type) or ()) == 1
    )


def _changes_shape(op: Operation) -> bool:
    """Whether an operator gives texts in the same order another static shape."""
    return isinstance(op, ReshapeOp | FlattenOp) and None not in map(
        static_shape, (op.operands[0].type, op.results[0].type)
    )
