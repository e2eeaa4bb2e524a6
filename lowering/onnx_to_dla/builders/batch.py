"""Models of one image that are to compute several in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xonnc.dialects.dla.engines import integer
from xonnc.dialects.dla.images import BATCH_ATTRIBUTE
from xonnc.dialects.onnx.interface_names import argument_names, given_names
from xonnc.dialects.onnx.types import is_ranked
from xonnc.errors import XonncError

MAX_IMAGES = 16
"""The largest batch: each image has layers of its own, of which a task numbers up to 32767."""


def shapes_of_one_image(module: ModuleOp) -> Mapping[str, Sequence[int]]:
    """Return the shapes of the inputs of `module` whose first dimension is dynamic, with 1 in its place."""
    function = _function(module)
    shapes = {name: _shape(value) for name, value in _inputs(function)}
    return {name: (1, *shape[1:]) for name, shape in shapes.items() if shape and shape[0] == DYNAMIC_INDEX}


def set_batch(module: ModuleOp, count: int) -> None:
    """
    Store how many images the network in `module` is to compute in one run.

    Raises `XonncError` for inputs and outputs that are not of one image.
    """
    if not 1 <= count <= MAX_IMAGES:
        raise XonncError(f"a batch of {count} images (1 to {MAX_IMAGES}); run several batches")
    if count == 1:
        return
    function = _function(module)
    for name, value in _inputs(function):
        _require_one_image(f"input '{name}'", value, count)
    last = function.body.block.last_op
    results = () if last is None else last.operands
    for name, value in zip(given_names(function.res_attrs, len(results)), results, strict=True):
        _require_one_image(f"output '{name}'", value, count)
    function.attributes[BATCH_ATTRIBUTE] = integer(count)


def copy_batch(source: FuncOp, function: FuncOp) -> None:
    """Let `function`, a part of `source`, compute as many images in one run."""
    if (count := source.attributes.get(BATCH_ATTRIBUTE)) is not None:
        function.attributes[BATCH_ATTRIBUTE] = count


def _require_one_image(what: str, value: SSAValue, count: int) -> None:
    shape = _shape(value)
    if shape is not None and shape[:1] != (1,):
        raise XonncError(
            f"{what}: shape {list(shape)}; a batch of {count} takes models of one image, whose inputs and "
            "outputs have a first dimension of 1; export the model with that, or compile without --batch"
        )


def _function(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def _inputs(function: FuncOp) -> Sequence[tuple[str, SSAValue]]:
    return list(zip(argument_names(function), function.body.block.args, strict=True))


def _shape(value: SSAValue) -> tuple[int, ...] | None:
    return value.type.get_shape() if is_ranked(value.type) else None
