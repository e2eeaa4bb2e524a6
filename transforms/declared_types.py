"""Declared types of a model: trusted until they contradict the operators."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TypeVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import is_ranked, tensor_type, unranked
from xonnc.errors import InvalidModelError
from xonnc.rewriting.editing import retype
from xonnc.rewriting.op_verification import verification_error
from xonnc.rewriting.remarks import warn
from xonnc.transforms.branch_types import forget_behind_branches, forget_types
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.shape_inference_onnx import correct_shapes
from xonnc.transforms.shapes.inference_context import UNKNOWN, InferenceContext, ShapeError

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


def check_declared(module: Operation, corrects: bool) -> None:
    """
    Check that no declared type of an inner value takes a dynamic dimension of an input for constant.

    Exporters may declare inner values in the sizes of the traced inputs. Shape computations that are folded
    by such a type are wrong for all other sizes. That is a `ShapeError`, but with `corrects` all declared
    types are then dropped with a warning, after those that contradict operators were corrected.
    """
    if corrects:
        correct_shapes(module)
    functions = [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]
    arguments = chain.from_iterable(function.body.block.args for function in functions)
    if not (any(map(_is_dynamic, arguments)) and any(map(_declares_sizes, module.walk()))):
        return
    if not corrects and any(isinstance(op, OnnxOp) and verification_error(op) for op in module.walk()):
        # The rules of operators rely on valid ones. The inference reports this one with all other errors.
        return
    # One walk finds the first such value; more would only find further equalities.
    for value in DimAnalysis(module, is_thorough=True, max_walks=1).values_that_fix_inputs():
        op = value.owner
        if not isinstance(op, Operation):
            continue
        problem = f"the result is declared {value.type}, but it has dynamic dimensions of the inputs"
        if not corrects:
            raise InferenceContext(op).fail(problem)
        warn(f"{problem}; all declared shapes of results are ignored", op)
        forget_all_declared(module)
        return


def _is_dynamic(value: SSAValue) -> bool:
    return not is_ranked(value.type) or UNKNOWN in value.type.get_shape()


def _declares_sizes(op: Operation) -> bool:
    """Whether a result whose type follows from operands has one with static dimensions."""
    return _is_inferred(op) and any(
        is_ranked(result.type) and any(size != UNKNOWN for size in result.type.get_shape())
        for result in op.results
    )


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
    forget_behind_branches(module)


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
        forget_types((*op.results, *arguments))
