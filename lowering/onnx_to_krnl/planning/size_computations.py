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
from xonnc.lowering.onnx_to_krnl.planning.session_ops import CONTROL
from xonnc.lowering.onnx_to_krnl.planning.shape_inputs import MAX_ELEMENTS
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


def repeated_sizes(later: Sequence[Operation]) -> set[Operation]:
    """
    Return the computations of sizes among ops that move to a function that other operators of the block read.

    A function that took the result of one would have tensors of unknown shape: it has to see what shapes the
    sizes are those of. So the block computes them again.
    """
    moved, sizes = set(later), _computed_sizes(later)
    needed = {
        op for value, op in sizes.items() if any(is_operator_beside(use, op, moved) for use in value.uses)
    }
    for op in reversed(later):
        if op in needed:
            needed.update(sizes[value] for value in op.operands if value in sizes)
    return needed


def is_operator_beside(use: Use, op: Operation, moved: Container[Operation]) -> bool:
    """Whether a use of a result of `op` is by an operator of the same block that does not move."""
    reader = use.operation
    is_operator = isinstance(reader, OnnxOp) and not isinstance(reader, (*CONTROL, ReturnOp, YieldOp))
    return is_operator and reader.parent is op.parent and reader not in moved


def clone_sizes(repeated: Sequence[Operation], moved: Container[Operation]) -> list[Operation]:
    """Clone computations of sizes, in order; operators of their block that do not move read the clones."""
    clones: dict[SSAValue, SSAValue] = {}
    made: list[Operation] = []
    for op in repeated:
        made.append(op.clone(clones))
        for old, new in zip(op.results, made[-1].results, strict=True):
            clones[old] = new
            old.replace_uses_with_if(new, lambda use, op=op: is_operator_beside(use, op, moved))
    return made


def _is_small(value: SSAValue) -> bool:
    shape = static_shape(value.type)
    return shape is not None and len(shape) <= 1 and prod(shape) <= MAX_ELEMENTS
