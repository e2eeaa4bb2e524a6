"""
Keys and values that an Attention computes from a cache of 4, 8 or 16 bits as it reads them.

Each is an elementwise function of the cache, such as a Cast, or some side by side, as for the nibbles of
bytes. The whole cache in float32 would be written, and read again, for each token.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.types import size_of
from xonnc.dialects.onnx.ops import logical, math, tensor
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.nn import AttentionOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked
from xonnc.lowering.onnx_to_krnl.builders.attention_sizes import has_attention_kernel
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_sub_byte, storage_type
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope

FUNCTIONS: tuple[type[Operation], ...] = (
    math.AddOp,
    logical.BitShiftOp,
    logical.BitwiseAndOp,
    math.MulOp,
    math.SubOp,
    tensor.CastOp,
)
"""Operators of the functions: they make floats of packed integers or narrow floats."""


@dataclass(frozen=True)
class NarrowCache:
    """A cache, and the float32 rows that are computed from its rows."""

    cache: SSAValue
    parts: tuple[SSAValue, ...]
    """Functions of the cache, side by side along the last axis."""
    scalars: tuple[SSAValue, ...]
    """The constants that they have."""
    members: tuple[Operation, ...]
    """The operators that compute them; nothing else reads their results."""

    @property
    def width(self) -> int:
        """Elements of a row of the cache."""
        assert is_ranked(self.cache.type)
        return self.cache.type.get_shape()[-1]


def plan_narrow_caches(
    ops: Iterable[Operation], scope: FusionScope
) -> dict[Operation, tuple[NarrowCache, NarrowCache]]:
    """Map each Attention to the narrow caches of its keys and values, if it has such."""
    found: dict[Operation, tuple[NarrowCache, NarrowCache]] = {}
    for op in ops:
        if isinstance(op, AttentionOp) and has_attention_kernel(op):
            keys, values = (_narrow_cache(op, value, scope) for value in (op.K, op.V))
            if keys is not None and values is not None:
                found[op] = keys, values
    return found


def _narrow_cache(reader: AttentionOp, value: SSAValue, scope: FusionScope) -> NarrowCache | None:
    joined = value.owner
    is_joined = isinstance(joined, tensor.ConcatOp) and joined.axis.value.data % 4 == 3
    members: dict[Operation, None] = {}
    leaves: dict[SSAValue, None] = {}
    scalars: dict[SSAValue, None] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        op, constant = each.owner, constant_elements(each)
        if constant is not None and constant.size == 1:
            scalars[each] = None
        elif (
            isinstance(op, Operation)
            and (isinstance(op, FUNCTIONS) or (is_joined and op is joined))
            and op.parent is reader.parent
            and scope.only_user(op.results[0]) in (reader, *members)
            and scope.may_join(op, reader)
        ):
            members[op] = None
            waiting += [operand for operand in op.operands if operand.type != NONE]
        else:
            leaves[each] = None
    if len(leaves) != 1 or not members:
        return None
    (cache,) = leaves
    parts = tuple(joined.operands) if is_joined and isinstance(joined, Operation) else (value,)
    if not all(_is_row_by_row(part, cache) for part in parts):
        return None
    return NarrowCache(cache, parts, tuple(scalars), tuple(members))


def _is_row_by_row(part: SSAValue, cache: SSAValue) -> bool:
    """Whether a part has an element for each of the cache, which is narrow, of rows of static size."""
    element = element_type(cache.type)
    if element is None or not is_ranked(cache.type) or not is_ranked(part.type) or is_sub_byte(element):
        return False
    width, shape = size_of(storage_type(element)), cache.type.get_shape()
    return width < size_of(f32) and len(shape) == 4 and 0 < shape[3] == part.type.get_shape()[3]
