"""Computations of sizes: of shapes and constants, a few integers at a time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue, Use

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.tensor import ShapeOp, SizeOp
from xonnc.dialects.onnx.types import NONE, static_shape
from xonnc.lowering.onnx_to_krnl.session_ops import CONTROL
from xonnc.lowering.onnx_to_krnl.shape_inputs import MAX_ELEMENTS
from xonnc.transforms.dims.shape_analysis import holds_integers


def is_size(op: Operation, sizes: Container[SSAValue]) -> bool:
    """Whether an op gives a shape, or computes a few integers from constants and sizes."""
    if isinstance(op, ShapeOp | SizeOp):
        return True
    if not all(_is_small(value) and holds_integers(value) for value in op.results):
        return False
    read = [value for value in op.operands if value.type != NONE and not isinstance(value.owner, ConstantOp)]
    return bool(read) and all(value in sizes for value in read)


def producers_of(values: Iterable[SSAValue], sizes: Mapping[SSAValue, Operation]) -> list[Operation]:
    """Return the ops that compute those of some values that are sizes, in order."""
    made: list[Operation] = []
    for op in dict.fromkeys(sizes[value] for value in values if value in sizes):
        made += [each for each in (*producers_of(op.operands, sizes), op) if each not in made]
    return made


def _computed_sizes(ops: Sequence[Operation]) -> dict[SSAValue, Operation]:
    """Return the results that are a few integers, computed from nothing but shapes and constants."""
    sizes: dict[SSAValue, Operation] = {}
    for op in ops:
        if is_size(op, sizes):
            sizes.update((result, op) for result in op.results)
    return sizes


def clone_sizes(later: Sequence[Operation]) -> list[Operation]:
    """
    Clone computations of sizes that other operators of the block read, which then read the clones.

    A function that took the result of one would have tensors of unknown shape: it has to see what shapes the
    sizes are those of.
    """
    moved = set(later)
    sizes = _computed_sizes(later)

    def is_outside(use: Use) -> bool:
        op = use.operation
        is_operator = isinstance(op, OnnxOp) and not isinstance(op, (*CONTROL, ReturnOp, YieldOp))
        return is_operator and op.parent is later[0].parent and op not in moved

    needed = {op for value, op in sizes.items() if any(map(is_outside, value.uses))}
    for op in reversed(later):
        if op in needed:
            needed.update(sizes[value] for value in op.operands if value in sizes)
    clones: dict[SSAValue, SSAValue] = {}
    made: list[Operation] = []
    for op in later:
        if op in needed:
            made.append(op.clone(clones))
            for old, new in zip(op.results, made[-1].results, strict=True):
                clones[old] = new
                old.replace_uses_with_if(new, is_outside)
    return made


def _is_small(value: SSAValue) -> bool:
    shape = static_shape(value.type)
    return shape is not None and len(shape) <= 1 and prod(shape) <= MAX_ELEMENTS
