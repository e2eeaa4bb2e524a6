"""Change the shapes and dimension names of model inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument
from xdsl.traits import IsTerminator

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.interface_names import are_dictionaries
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, element_type_of, is_ranked, tensor_type, unranked
from xonnc.errors import DimensionNameError, XonncError, suggest
from xonnc.formats.onnx.value_types import read_dim_params, write_dim_params
from xonnc.rewriting.editing import retype
from xonnc.rewriting.patterns import Array
from xonnc.transforms.shape_inference_onnx import infer_shapes

Shapes: TypeAlias = Mapping[str, Sequence[int]]
"""Shapes by input name."""

DIM_PARAMS = "onnx.dim_params"

EVERY_INPUT = -1
"""Index that stands for all inputs without an entry."""


@dataclass(frozen=True)
class Signature:
    """onnx-mlir's `--shapeInformation` and `--dimParams`, by input index (-1: all)."""

    shapes: Mapping[int, Sequence[int]] = field(default_factory=dict[int, "Sequence[int]"])
    """Leading dimensions, -1 for a dynamic one; the others are kept."""
    names: Mapping[int, Mapping[int, str]] = field(default_factory=dict[int, "Mapping[int, str]"])
    """Names of dynamic dimensions by axis; they replace the input's own names."""


@dataclass
class _Input:
    """A model input and its dimension names."""

    title: str
    value: BlockArgument
    names: dict[int, str]

    @property
    def known(self) -> Sequence[int] | None:
        """Return its shape, or `None` if unranked."""
        return self.value.type.get_shape() if is_ranked(self.value.type) else None


def set_input_shapes(module: ModuleOp, shapes: Shapes) -> None:
    """
    Change the shapes of inputs by name (-1: dynamic).

    A named dimension gets its value wherever the name occurs among the inputs. Inner types that depend on a
    changed dimension are dropped.
    """
    function = _function(module)
    inputs = _named_inputs(function)
    requested: list[tuple[_Input, Sequence[int]]] = []
    for name, shape in shapes.items():
        if name not in inputs:
            raise XonncError(
                f"no input '{name}'{suggest(name, inputs)}; there are {', '.join(inputs) or 'none'}"
            )
        known = inputs[name].known
        if element_type(inputs[name].value.type) is None:
            raise XonncError(f"input '{name}': a {inputs[name].value.type} has no shape; only tensors have")
        if known is not None and len(known) != len(shape):
            raise XonncError(f"input '{name}': {len(shape)} sizes, but its rank is {len(known)}")
        requested.append((inputs[name], shape))
    if _reshape(list(inputs.values()), requested):
        _forget_types(module)
    if function is not None:
        _write_names(function, list(inputs.values()))


def forget_dimension_names(module: ModuleOp) -> None:
    """Drop the names of dimensions of inputs: dimensions of one name may have different sizes."""
    function = _function(module)
    if function is None:
        return
    inputs = _inputs(function)
    for each in inputs:
        each.names = {}
    _write_names(function, inputs)


def set_input_values(module: ModuleOp, values: Mapping[str, Array], pool: DisposablePool) -> None:
    """Replace the uses of inputs by constants, by name; the inputs remain, without uses."""
    function = _function(module)
    inputs = _named_inputs(function)
    for name, array in values.items():
        argument = inputs[name].value
        type_ = tensor_type(array.shape, element_type_of(array.dtype))
        constant = ConstantOp.create(result_types=[type_], properties={"value": pool.create(array)})
        assert function is not None
        first = function.body.block.first_op
        assert first is not None
        function.body.block.insert_op_before(constant, first)
        argument.replace_all_uses_with(constant.output)


def set_signature(module: ModuleOp, signature: Signature) -> None:
    """
    Change the shapes and dimension names of inputs by index (docs/internals/onnx-rules.md §8.2).

    As `set_input_shapes`, followed by shape inference if a static dimension changed. Dimensions beyond an
    input's rank are ignored, and unranked inputs stay. `XonncError` if there is no input of an index.
    """
    function = _function(module)
    if function is None:
        raise XonncError("no function, so no inputs to give shapes or names to")
    inputs = _inputs(function)
    for option, options_by_input in ("shapeInformation", signature.shapes), ("dimParams", signature.names):
        beyond = next((index for index in options_by_input if index >= len(inputs)), None)
        if beyond is not None:
            raise XonncError(f"--{option}: no input {beyond}; there are {len(inputs)}, counted from 0")
    for index, each in enumerate(inputs):
        _rename(each, index, signature)
    requested: list[tuple[_Input, Sequence[int]]] = []
    for index, each in enumerate(inputs):
        shape, known = signature.shapes.get(index, signature.shapes.get(EVERY_INPUT)), each.known
        if shape is not None and known is not None:
            requested.append((each, [*shape[: len(known)], *known[len(shape) :]]))
    contradicts = _reshape(inputs, requested)
    _write_names(function, inputs)
    if contradicts:
        _forget_types(module)
    end = function.body.block.last_op
    if end is not None and end.has_trait(IsTerminator):
        function.function_type = FunctionType.from_lists(
            [each.value.type for each in inputs], [each.type for each in end.operands]
        )
    if contradicts:
        infer_shapes(module)


def _rename(each: _Input, index: int, signature: Signature) -> None:
    """Set the dimension names of an input from its entry, or from the one for all inputs."""
    known, own = each.known, signature.names.get(index)
    if own is not None:
        beyond = next((axis for axis in own if known is not None and axis >= len(known)), None)
        if beyond is not None:
            rank = len(known or ())
            raise XonncError(f"--dimParams: {each.title}: no dimension {beyond}, its rank is {rank}")
    names = signature.names.get(EVERY_INPUT) if own is None else own
    if names is not None and known is not None:
        each.names = {axis: names[axis] for axis in sorted(names) if axis < len(known)}


def _function(module: ModuleOp) -> FuncOp | None:
    """Return the main function: the first one."""
    return next((op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks), None)


def _inputs(function: FuncOp) -> list[_Input]:
    arguments = function.body.block.args
    attributes = function.arg_attrs
    entries = list(attributes) if are_dictionaries(attributes) else []
    found: list[_Input] = []
    for index, argument in enumerate(arguments):
        data: Mapping[str, Attribute] = entries[index].data if index < len(entries) else {}
        name, params = data.get("onnx.name"), data.get(DIM_PARAMS)
        title = f"input '{name.data}'" if isinstance(name, StringAttr) else f"input {index}"
        names = read_dim_params(params.data) if isinstance(params, StringAttr) else {}
        found.append(_Input(title, argument, names))
    return found


def _named_inputs(function: FuncOp | None) -> dict[str, _Input]:
    """Return the named inputs, by name."""
    if function is None or not are_dictionaries(function.arg_attrs):
        return {}
    found: dict[str, _Input] = {}
    for each, attributes in zip(_inputs(function), function.arg_attrs, strict=True):
        name = attributes.data.get("onnx.name")
        if isinstance(name, StringAttr):
            found[name.data] = each
    return found


def _reshape(inputs: Sequence[_Input], requested: Sequence[tuple[_Input, Sequence[int]]]) -> bool:
    """Set input shapes; return whether one contradicts a previous static dimension."""
    sizes: dict[str, int] = {}
    contradicts = False
    for each, shape in requested:
        for axis, size in enumerate(shape):
            name = each.names.get(axis)
            if name is not None and size >= 0 and sizes.setdefault(name, size) != size:
                raise DimensionNameError(
                    f"{each.title}: dimension '{name}' cannot be {size} here and {sizes[name]} elsewhere"
                )
        contradicts |= _set_shape(each.value, shape)
    for each in inputs:
        if (known := each.known) is not None:
            fixed = [
                sizes.get(each.names.get(axis, ""), size) if size == DYNAMIC_INDEX else size
                for axis, size in enumerate(known)
            ]
            _set_shape(each.value, fixed)
    return contradicts


def _set_shape(argument: BlockArgument, shape: Sequence[int]) -> bool:
    """Set the shape of an argument; return whether that contradicts a previous static dimension."""
    element = element_type(argument.type)
    if element is None:
        return False
    requested = tuple(DYNAMIC_INDEX if size == -1 else size for size in shape)
    known = argument.type.get_shape() if is_ranked(argument.type) else None
    retype(argument, tensor_type(requested, element))
    return known is not None and any(
        old not in (DYNAMIC_INDEX, new) for old, new in zip(known, requested, strict=True)
    )


def _write_names(function: FuncOp, inputs: Sequence[_Input]) -> None:
    """Write the names of dynamic dimensions."""
    names = {each.value: each for each in inputs}
    attributes = function.arg_attrs
    if are_dictionaries(attributes):
        entries = [dict(each.data) for each in attributes]
    elif any(each.names for each in inputs):
        entries: list[dict[str, Attribute]] = [{} for _ in function.body.block.args]
    else:
        return
    for argument, data in zip(function.body.block.args, entries, strict=True):
        each = names.get(argument)
        if each is None:
            continue
        data.pop(DIM_PARAMS, None)
        known = each.known
        retained = {
            axis: name
            for axis, name in each.names.items()
            if known is None or (axis < len(known) and known[axis] == DYNAMIC_INDEX)
        }
        if retained:
            data[DIM_PARAMS] = StringAttr(write_dim_params(retained))
    function.arg_attrs = ArrayAttr([DictionaryAttr(data) for data in entries])


def _forget_types(module: ModuleOp) -> None:
    """Reset the types of all results but constants to unranked, to be inferred again."""
    for op in module.walk():
        if isinstance(op, OnnxOp) and not isinstance(op, ConstantOp):
            for result in op.results:
                element = element_type(result.type)
                if element is not None:
                    retype(result, unranked(element))
