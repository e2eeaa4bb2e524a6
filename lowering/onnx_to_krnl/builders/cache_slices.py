"""
Keys and values that are slices of one tensor, a Gather of one index, as in Attention of com.microsoft.

An Attention reads such slices where they are, in the cache: all are one fusion group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.nn import AttentionOp
from xonnc.dialects.onnx.types import is_ranked
from xonnc.lowering.onnx_to_krnl.builders.attention_sizes import has_attention_kernel
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope


@dataclass(frozen=True)
class CacheSlices:
    """The slices of a cache that an Attention reads."""

    cache: SSAValue
    """A tensor with keys and values as slices of its first axis."""
    count: int
    """Its number of slices."""
    indices: tuple[int, int]
    """Those of the keys and of the values."""
    members: tuple[Operation, Operation]
    """The operators that slice; nothing else reads their results."""


def plan_cache_slices(ops: Iterable[Operation], scope: FusionScope) -> dict[Operation, CacheSlices]:
    """Map each Attention to the slices of a cache that it reads, if it reads such."""
    found: dict[Operation, CacheSlices] = {}
    for op in ops:
        if isinstance(op, AttentionOp) and has_attention_kernel(op):
            slices = _slices_of(op, scope)
            if slices is not None and all(scope.may_join(member, op) for member in slices.members):
                found[op] = slices
    return found


def _slices_of(op: AttentionOp, scope: FusionScope) -> CacheSlices | None:
    keys, values = op.K.owner, op.V.owner
    if not isinstance(keys, tensor.GatherOp) or not isinstance(values, tensor.GatherOp):
        return None
    first, second, cache = _slice_index(keys), _slice_index(values), keys.data
    is_alone = all(scope.only_user(each.output) is op and each.parent is op.parent for each in (keys, values))
    if first is None or second is None or values.data is not cache or not is_alone:
        return None
    assert is_ranked(cache.type)
    return CacheSlices(cache, cache.type.get_shape()[0], (first, second), (keys, values))


def _slice_index(op: tensor.GatherOp) -> int | None:
    """Return the constant index that a Gather selects of the first axis of its operand, or None."""
    type_, indices = op.data.type, constant_elements(op.indices)
    if op.axis.value.data != 0 or not is_ranked(type_) or indices is None or indices.ndim:
        return None
    count, index = type_.get_shape()[0], int(indices)
    return index % count if -count <= index < count else None
