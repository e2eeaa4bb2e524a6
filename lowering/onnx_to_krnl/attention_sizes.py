"""The sizes of an attention, and the keys that its queries attend to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.nn import AttentionOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked
from xonnc.lowering.onnx_to_krnl.kernel_builder import INDEX, KernelBuilder
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_static, volume


def has_attention_kernel(op: Operation) -> bool:
    """
    Return whether there is a kernel for an Attention: one over a key-value cache; others are inlined.

    It computes float32 heads of static number and size, without a state that it would have to concatenate,
    without a mask, and without the scores as a result.
    """
    if not isinstance(op, AttentionOp):
        return False
    absent = (op.past_key, op.past_value, op.present_key, op.present_value, op.qk_matmul_output)
    if any(value.type != NONE for value in absent) or op.softmax_precision is not None:
        return False
    shapes = [_shape(value) for value in (op.Q, op.K, op.V)]
    has_cache = op.nonpad_kv_seqlen.type != NONE and op.attn_mask.type == NONE and is_ranked(op.Y.type)
    return has_cache and all(len(each) == 4 and DYNAMIC_INDEX not in each[1::2] for each in shapes)


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
    return AttentionSizes(op, batch, queries, keys, key_heads, heads // key_heads, width, value_width)


def attended_keys(
    kernel: KernelBuilder, it: AttentionSizes, lengths: SSAValue, head: Scalar, query: Scalar
) -> tuple[Scalar, Scalar]:
    """Return the first key that a query attends to, and their number."""
    op, keys = it.op, Scalar(kernel, kernel.size(it.keys))
    image = head // it.key_heads
    length = Scalar(kernel, kernel.load(lengths, [image.value])).to(INDEX)
    # A length beyond the keys would read past them.
    end = length.clamp(0, keys)
    position = query + (length - Scalar(kernel, kernel.size(it.queries)))
    if op.is_causal.value.data:
        end = end.minimum(position + 1)
    if op.right_window_size.value.data >= 0:
        end = end.minimum(position + 1 + op.right_window_size.value.data)
    first = end.like(0)
    if op.left_window_size.value.data >= 0:
        first = (position - op.left_window_size.value.data).clamp(0, keys)
    return first, (end - first).maximum(0)
