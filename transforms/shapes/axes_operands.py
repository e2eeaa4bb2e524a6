"""Axes and steps as constant operands: non-negative, and present where the operator has a default."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i64
from xdsl.ir import Operation

from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.tensor import SliceOp, SqueezeOp, UnsqueezeOp
from xonnc.rewriting.editing import insert_before
from xonnc.transforms.shapes.inference_context import UNKNOWN, InferenceContext, Shape

AXES = {SqueezeOp: 1, UnsqueezeOp: 1, SliceOp: 3}
"""The operand indices of axes, by operator."""
STEPS = 4
"""The operand index of Slice's steps."""


def write_axes(module: Operation) -> None:
    """
    Give Squeeze, Unsqueeze and Slice constant axes that count from the front, and Slice its steps.

    Those of Slice are written only where they are absent: its axes may be negative.
    """
    for op in list(module.walk()):
        data = InferenceContext(op).shape(0) if type(op) in AXES else None
        if data is None:
            continue
        if isinstance(op, SliceOp):
            _write_defaults(op)
        elif isinstance(op, SqueezeOp):
            _write_squeezed(op, data)
        elif isinstance(op, UnsqueezeOp):
            _write_from_front(op, len(data), is_inserted=True)


def _write_defaults(op: SliceOp) -> None:
    site = InferenceContext(op)
    starts = site.shape(1)
    if starts is None or len(starts) != 1 or starts[0] == UNKNOWN:
        return
    if not site.has(AXES[SliceOp]):
        _write(op, AXES[SliceOp], range(starts[0]))
    if not site.has(STEPS):
        _write(op, STEPS, (1,) * starts[0])


def _write_squeezed(op: SqueezeOp, data: Shape) -> None:
    if InferenceContext(op).has(AXES[SqueezeOp]):
        _write_from_front(op, len(data), is_inserted=False)
    elif UNKNOWN not in data:
        _write(op, AXES[SqueezeOp], [axis for axis, size in enumerate(data) if size == 1])


def _write_from_front(op: Operation, rank: int, is_inserted: bool) -> None:
    axes = InferenceContext(op).numbers(1)
    if axes is not None and any(axis < 0 for axis in axes):
        total = rank + len(axes) if is_inserted else rank
        _write(op, 1, [axis % total for axis in axes])


def _write(op: Operation, index: int, numbers: Sequence[int]) -> None:
    type_ = TensorType(i64, [len(numbers)])
    made = ConstantOp.from_attr(
        DenseIntOrFPElementsAttr.from_list(type_, list(numbers)), derived(op.location)
    )
    insert_before(op, [made])
    op.operands[index] = made.output
