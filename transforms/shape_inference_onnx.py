"""`shape-inference-onnx`: every result gets the most exact type that follows from the operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, NoneType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import is_ranked, is_tensor
from xonnc.rewriting.editing import retype
from xonnc.transforms.shapes import control, convolution, elementwise, movement, reduction
from xonnc.transforms.shapes.site import SHAPE_FUNCTIONS, UNKNOWN, ShapeError, Site, Types

THEMES = (control, convolution, elementwise, movement, reduction)
"""The modules whose functions are in `SHAPE_FUNCTIONS`."""

Fallback: TypeAlias = Callable[[Operation], Sequence[Attribute | None]]
"""Types for the results of an op that has no shape function here; `None` where nothing follows."""

_fallback: list[Fallback] = []


def use_fallback(fallback: Fallback) -> None:
    """Sets who infers ops without a shape function of ours; `tools` gives the onnx package's inference."""
    _fallback[:] = [fallback]


@dataclass(frozen=True)
class ShapeInference(ModulePass):
    """
    Infers the types of all values from the functions' arguments on, then the results of the functions.

    Known sizes are kept and unknown ones filled in; a contradiction is an error that names the node and both
    types. Properties that inference makes certain are written: `auto_pad` becomes pads, axes positive.
    """

    name = "shape-inference-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        infer_shapes(op)


def infer_shapes(module: Operation) -> bool:
    """Infers everything inside `module`; whether a type has changed."""
    changed = False
    for region in module.regions:
        for block in region.blocks:
            changed |= _infer_block(block)
    if isinstance(module, FuncOp) and module.body.blocks.first is not None:
        changed |= _retype_function(module)
    return changed


def _infer_block(block: Block) -> bool:
    changed = False
    for op in block.ops:
        if op.regions:
            changed |= infer_shapes(op)
        if isinstance(op, OnnxOp) and op.results:
            changed |= infer(op)
    return changed


def infer(op: Operation) -> bool:
    """Infers the results of one op; whether a type has changed."""
    changed = False
    for result, inferred in zip(op.results, _types(op), strict=True):
        if inferred is None or inferred == result.type or isinstance(result.type, NoneType):
            continue
        merged = merge(Site(op), result.type, inferred)
        if merged != result.type:
            retype(result, merged)
            changed = True
    return changed


def _types(op: Operation) -> Types:
    function = SHAPE_FUNCTIONS.get(op.name.removeprefix("onnx."))
    if function is not None:
        return function(Site(op))
    if _fallback:
        return _fallback[0](op)
    return [None] * len(op.results)


def merge(site: Site, known: Attribute, inferred: Attribute) -> Attribute:
    """
    Both types in one: every size that either knows (spec/onnx-rules-fold… §0.5).

    A rank of 0 and of 1 are taken for each other, the inferred one wins. `ShapeError` on a contradiction.
    """
    if not is_ranked(inferred):
        return known if is_tensor(known) and is_tensor(inferred) and is_ranked(known) else inferred
    if not is_ranked(known):
        return inferred
    before, after = known.get_shape(), inferred.get_shape()
    if len(before) != len(after):
        if len(before) + len(after) == 1:
            return inferred
        raise _contradiction(site, known, inferred)
    sizes: list[int] = []
    for old, new in zip(before, after, strict=True):
        if UNKNOWN not in (old, new) and old != new:
            raise _contradiction(site, known, inferred)
        sizes.append(old if new == UNKNOWN else new)
    return type(known)(inferred.element_type, sizes, known.encoding)


def _contradiction(site: Site, known: Attribute, inferred: Attribute) -> ShapeError:
    return site.fail(f"the result is said to be {known}, but its operands make it {inferred}")


def _retype_function(function: FuncOp) -> bool:
    """Makes the type of a function what its arguments and its end say."""
    block = function.body.block
    end = block.last_op
    if end is None or not end.has_trait(IsTerminator):
        return False
    wanted = FunctionType.from_lists(
        [argument.type for argument in block.args], [each.type for each in end.operands]
    )
    if wanted == function.function_type:
        return False
    function.function_type = wanted
    return True
