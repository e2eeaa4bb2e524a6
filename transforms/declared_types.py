"""Declared types of a model: trusted until they contradict the operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import is_ranked, tensor_type, unranked
from xonnc.errors import InvalidModelError
from xonnc.rewriting.editing import retype
from xonnc.transforms.shapes.inference_context import UNKNOWN, ShapeError

Made = TypeVar("Made")

COMPUTED = frozenset(
    (
        "ConstantOfShape Expand Reshape Resize ResizeV10 ResizeV11 ResizeV13 ResizeV18 Split SplitV13 Squeeze"
        " Tile Unsqueeze Upsample"
    ).split()
)
"""Ops whose result shape is the value of an operand."""


def with_claims(make: Callable[[bool], Made], strict: bool = False) -> Made:
    """
    Call `make(False)`; if declared shapes contradict the operators, call `make(True)`, which corrects them.

    As in onnxruntime, inferred shapes then win, with a warning. With `strict`, a contradiction is an error.
    """
    try:
        return make(False)
    except (InvalidModelError, ShapeError) as error:
        if strict:
            raise
        try:
            return make(True)
        except (InvalidModelError, ShapeError):
            # The model has other errors too: the first message lists them all.
            raise error from None


def forget_declared(module: Operation) -> None:
    """
    Drop declared dimensions of results whose shape is the value of an operand.

    Kernels of a static shape do not read the shape operand, so a wrong declaration would go unnoticed; other
    results are checked at run time. Dimensions that follow from constants are inferred again. A result
    declared empty would be computed without its op.
    """
    for op in module.walk():
        is_computed = op.name.removeprefix("onnx.") in COMPUTED
        for result in op.results if is_computed or isinstance(op, OnnxOp) else ():
            type_ = result.type
            if isinstance(op, ConstantOp | CustomOp) or not is_ranked(type_):
                continue
            if is_computed or 0 in type_.get_shape():
                retype(result, unranked(type_.element_type))
    _forget_behind_branches(module)


def forget_declared_by_bodies(module: Operation) -> None:
    """
    Drop the dimensions in loops whose bodies declare more of carried values than the operands have.

    Exporters may declare those of the traced inputs. The runtime checks the arguments of a body, but shape
    computations may be folded by what is only declared. Scan outputs of a loop without iterations then have
    the shapes that the body gives them at run time.
    """
    for op in module.walk():
        if op.name in ("onnx.Loop", "onnx.Scan") and _declares_more(op):
            _forget_dimensions(op)


def _declares_more(loop: Operation) -> bool:
    """Whether the body of a loop declares dimensions of carried values that the operands do not have."""
    arguments, operands = list(loop.regions[0].block.args), list(loop.operands)
    # Scanned operands have one axis more; a dimension that only the body declares is one of the others.
    first = 2 if loop.name == "onnx.Loop" else 0
    for argument, operand in zip(arguments[first:], operands[first:], strict=False):
        inner, outer = (each.type.get_shape() if is_ranked(each.type) else () for each in (argument, operand))
        if any(size != UNKNOWN and size not in outer for size in inner):
            return True
    return False


def _forget_dimensions(loop: Operation) -> None:
    """Drop the dimensions, but not the ranks, of the results of a loop and of all values in its body."""
    values = [*loop.results, *loop.regions[0].block.args]
    values += [result for op in loop.regions[0].walk() for result in op.results if _is_inferred(op)]
    for value in values:
        if is_ranked(value.type):
            unknown = (UNKNOWN,) * len(value.type.get_shape())
            retype(value, tensor_type(unknown, value.type.element_type))


def _is_inferred(op: Operation) -> bool:
    """Whether the types of results follow from operands and attributes."""
    return isinstance(op, OnnxOp) and not isinstance(op, ConstantOp | CustomOp)


def _forget_behind_branches(module: Operation) -> None:
    """
    Drop declared types of `onnx.If` results and of values derived from them.

    Branches may return different ranks, and no kernel checks a rank.
    """
    dependent: set[SSAValue] = set()
    for op in module.walk():
        follows = any(operand in dependent for operand in op.operands)
        parent = op.parent_op()
        if follows and isinstance(op, YieldOp) and parent is not None:
            _forget(parent.results)
            dependent.update(parent.results)
        elif follows and isinstance(op, OnnxOp) and not isinstance(op, CustomOp):
            arguments = [each for region in op.regions for block in region.blocks for each in block.args]
            _forget((*op.results, *arguments))
            dependent.update(op.results, arguments)
        elif op.name == "onnx.If":
            _forget(op.results)
            dependent.update(op.results)


def _forget(values: Iterable[SSAValue]) -> None:
    for value in values:
        if is_ranked(value.type):
            retype(value, unranked(value.type.element_type))


def forget_all_declared(module: Operation) -> None:
    """
    Drop all dimensions except those of inputs, constants and custom operators.

    Bodies of loops get the iteration's number and the condition in the rank that they declare, 0 or 1.
    """
    for op in module.walk():
        if not isinstance(op, OnnxOp) or isinstance(op, ConstantOp | CustomOp):
            continue
        first = 2 if op.name == "onnx.Loop" else 0
        arguments = [each for region in op.regions for block in region.blocks for each in block.args[first:]]
        _forget((*op.results, *arguments))
