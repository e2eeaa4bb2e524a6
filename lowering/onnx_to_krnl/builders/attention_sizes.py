"""The sizes of an attention, and the keys that its queries attend to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.nn import AttentionOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import INDEX, KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume


def has_attention_kernel(op: Operation) -> bool:
    """
    Return whether there is a kernel for an Attention: one over a key-value cache; others are inlined.

    It computes float32 heads of static number and size, without a state that it would have to concatenate,
    and without the scores as a result. A mask is added to the scores.
    """
    if not isinstance(op, AttentionOp):
        return False
    absent = (op.past_key, op.past_value, op.present_key, op.present_value, op.qk_matmul_output)
    if any(value.type != NONE for value in absent) or op.softmax_precision is not None:
        return False
    shapes = [_shape(value) for value in (op.Q, op.K, op.V)]
    has_cache = op.nonpad_kv_seqlen.type != NONE and _adds_mask(op) and is_ranked(op.Y.type)
    return has_cache and all(len(each) == 4 and DYNAMIC_INDEX not in each[1::2] for each in shapes)


def _adds_mask(op: AttentionOp) -> bool:
    """Return whether there is no mask, or one of numbers that are added to the scores, which have no cap."""
    return op.attn_mask.type == NONE or (2 <= len(_shape(op.attn_mask)) <= 4 and not op.softcap.value.data)


def _shape(value: SSAValue) -> Sequence[int]:
    """Return the shape of a ranked float32 tensor, else an empty one."""
    if not is_ranked(value.type) or element_type(value.type) != f32:
        return ()
    return value.type.get_shape()


@dataclass(frozen=True)
class AttentionSizes:
    """The sizes of an attention, and which keys its queries attend to."""

    op: AttentionOp
    batch: Size
    queries: Size
    keys: Size
    key_heads: int
    group: int
    """Query heads of a key-value head."""
    width: int
    """Size of a head of queries and keys."""
    value_width: int
    mask: tuple[Size, ...] = ()
    """The shape of what is added to the scores, (batch, query heads, queries, keys); empty if nothing is."""

    @property
    def mask_varies(self) -> bool:
        """Whether the rows of a key-value head have rows of the mask of their own."""
        return any(size != 1 for size in self.mask[1:3])

    @property
    def rows(self) -> Size:
        """Rows of the queries of a key-value head: each query of each head of the group."""
        return volume([self.group, self.queries])

    @property
    def is_masked(self) -> bool:
        """Whether the keys that a query attends to depend on its position."""
        windows = self.op.left_window_size.value.data, self.op.right_window_size.value.data
        return bool(self.op.is_causal.value.data) or max(windows) >= 0

    @property
    def scale(self) -> float:
        """The factor of scores."""
        return self.width**-0.5 if self.op.scale is None else self.op.scale.value.data


def attention_sizes(op: AttentionOp, sizes: Callable[[SSAValue], Sequence[Size]]) -> AttentionSizes:
    """Return the sizes of an attention with heads of static number and size."""
    batch, heads, queries, width = sizes(op.Q)
    _, key_heads, keys, _ = sizes(op.K)
    value_width = sizes(op.V)[3]
    assert is_static(heads)
    assert is_static(key_heads)
    assert is_static(width)
    assert is_static(value_width)
    mask = () if op.attn_mask.type == NONE else tuple(sizes(op.attn_mask))
    mask = (*(1 for _ in range(4 - len(mask))), *mask) if mask else ()
    return AttentionSizes(op, batch, queries, keys, key_heads, heads // key_heads, width, value_width, mask)


def mask_row(
    kernel: KernelBuilder, it: AttentionSizes, head: Scalar, member: Scalar, query: Scalar
) -> Scalar:
    """Return the row of the mask for a query of a member of the group of a key-value head."""
    image, heads = head // it.key_heads, it.key_heads * it.group
    indices = image, head % it.key_heads * it.group + member, query
    row = head.like(0)
    for index, size, full in zip(indices, it.mask, (it.batch, heads, it.queries), strict=False):
        if size == 1:
            continue
        extent = Scalar(kernel, kernel.size(size))
        # A dynamic size that is not known to be that of the scores may be 1, and broadcast.
        row = row * extent + (index if size == full else index.minimum(extent - 1))
    return row


def attended_keys(
    kernel: KernelBuilder, it: AttentionSizes, lengths: SSAValue, head: Scalar, query: Scalar
) -> tuple[Scalar, Scalar]:
    """Return the first key that a query attends to, and their number."""
    op, keys = it.op, Scalar(kernel, kernel.size(it.keys))
    image = head // it.key_heads
    length = Scalar(kernel, kernel.load(lengths, [image.value])).to(INDEX)
    # A length beyond the keys would read past them.
    end = length.clamp(0, keys)
    if it.mask:
        # Keys that the mask has no column for are not attended to.
        end = end.minimum(Scalar(kernel, kernel.size(it.mask[3])))
    position = query + (length - Scalar(kernel, kernel.size(it.queries)))
    if op.is_causal.value.data:
        end = end.minimum(position + 1)
    if op.right_window_size.value.data >= 0:
        end = end.minimum(position + 1 + op.right_window_size.value.data)
    first = end.like(0)
    if op.left_window_size.value.data >= 0:
        first = (position - op.left_window_size.value.data).clamp(0, keys)
    return first, (end - first).maximum(0)
