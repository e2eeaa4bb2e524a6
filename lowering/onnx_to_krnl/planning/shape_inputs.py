"""
Shape-determining inputs: axes, shapes, pads, conditions whose values must be known at compile time.

Kernels are compiled for static shapes and attributes. A model whose inputs feed such operands is compiled for
their values, as it is for the shapes of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xonnc.dialects.onnx.interface_names import are_dictionaries
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.tensor import ShapeOp, SizeOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape

REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")

ALWAYS: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "If": (0,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "Pad": (1, 3),
    "Resize": (2, 3),
    "ResizeV10": (1,),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    **{f"Reduce{kind}": (1,) for kind in REDUCTIONS},
}
"""By operator, or by version of one, operands whose values kernels are compiled for."""

FOR_SHAPES: dict[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "OneHot": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Tile": (1,),
}
"""By operator, operands whose values are needed if the result's shape is unknown without them."""

MAX_ELEMENTS = 64
"""Inputs with more elements are data, not shapes."""


def shape_determining_inputs(module: ModuleOp) -> list[str]:
    """Return the names of inputs that such operands are computed from."""
    function = next((op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks), None)
    if function is None or not are_dictionaries(function.arg_attrs):
        return []
    block = function.body.block
    names = [attributes.data.get("onnx.name") for attributes in function.arg_attrs]
    waiting = list(_shape_determining(block))
    seen: set[SSAValue] = set()
    while waiting:
        value = waiting.pop()
        if value in seen or not (_is_small(value) or _is_small_table(value)):
            continue
        seen.add(value)
        if isinstance(value.owner, Operation):
            waiting.extend(value.owner.operands)
    found = [names[each.index] for each in seen if isinstance(each, BlockArgument) and each.owner is block]
    return sorted(name.data for name in found if isinstance(name, StringAttr))


def depends_on_known_sizes(values: Iterable[SSAValue], block: Block) -> bool:
    """
    Whether small operands are computed from inputs of the model `block` that it may be compiled for.

    These are sizes of its inputs, and small inputs. Without them, values are computed from data, and so are
    those that the arguments of a loop's body go into.
    """
    waiting, seen, is_known = list(values), set[SSAValue](), False
    while waiting:
        value = waiting.pop()
        if value in seen or not _is_small(value):
            continue
        seen.add(value)
        if isinstance(value, BlockArgument):
            if value.owner is not block:
                return False
            is_known = True
        elif isinstance(value.owner, ShapeOp | SizeOp):
            is_known = True
        elif isinstance(value.owner, Operation):
            waiting.extend(value.owner.operands)
    return is_known


def _shape_determining(block: Block) -> Iterator[SSAValue]:
    for op in block.ops:
        if isinstance(op, OnnxOp):
            yield from shape_determining_operands(op)


def shape_determining_operands(op: OnnxOp) -> Sequence[SSAValue]:
    """Return the operands whose values kernels are compiled for, or dynamic results have sizes from."""
    operand_indices = ALWAYS.get(op.name.removeprefix("onnx."), ALWAYS.get(op.OP_TYPE, ()))
    if any(static_shape(result.type) is None for result in op.results if result.type != NONE):
        operand_indices += FOR_SHAPES.get(op.OP_TYPE, ())
    return [op.operands[index] for index in operand_indices if index < len(op.operands)]


def _is_small_table(value: SSAValue) -> bool:
    """
    Whether a value is a small matrix of integers, as sizes of several images are: one row for each.

    Matrices of floats are data, and so are those of unknown size.
    """
    shape = static_shape(value.type)
    is_integer = isinstance(element_type(value.type), IntegerType)
    return is_integer and shape is not None and len(shape) == 2 and prod(shape) <= MAX_ELEMENTS


def _is_small(value: SSAValue) -> bool:
    """Whether a value is a scalar or a short vector; of intermediates the length may be unknown."""
    if element_type(value.type) is None:
        return False
    shape = static_shape(value.type)
    if shape is None:
        return isinstance(value.owner, Operation) and is_ranked(value.type) and len(value.type.shape) <= 1
    return len(shape) <= 1 and prod(shape) <= MAX_ELEMENTS
