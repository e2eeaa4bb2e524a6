"""
Mutants of valid models, most of them invalid: one random change each.

Changes: an attribute value, an operand dropped or swapped, the shape or element type of an input, a declared
type, a truncated initializer, indices and counts out of range. Some mutants are still valid; the caller
compares them with another runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import onnx
from onnx import numpy_helper

from xonnc.fuzzing.random_models import Array, Feeds

_A = onnx.AttributeProto
_T = TypeVar("_T")

_KINDS = {"INT": _A.INT, "FLOAT": _A.FLOAT, "STRING": _A.STRING, "INTS": _A.INTS}

UNUSUAL_INTEGERS = (-(2**40), -129, -2, -1, 0, 1, 2, 3, 5, 7, 64, 2**31)
"""Replacements of integers: around the limits of small ranges, and far out of range."""

UNUSUAL_STRINGS = ("", "nonsense", "NOTSET", "linear", "constant", "none", "TANH")

MAX_ELEMENTS = 1 << 16
"""Most elements of an input whose shape changes."""


@dataclass(frozen=True)
class InvalidModel:
    """A model with one thing changed, and inputs for it."""

    change: str
    """Description of the change."""
    model: onnx.ModelProto
    feeds: Feeds


class _NotApplicable(Exception):
    """A change that does not apply to the model."""


def mutants(model: onnx.ModelProto, feeds: Feeds, count: int, seed: int) -> Iterator[InvalidModel]:
    """Up to `count` mutants of a model, sampled by `seed`; fewer where changes do not apply."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        given = dict(feeds)
        change = CHANGES[int(generator.integers(len(CHANGES)))]
        try:
            description = change(copy, given, generator)
        except _NotApplicable:
            continue
        yield InvalidModel(description, copy, given)


def _one(found: Sequence[_T], generator: np.random.Generator) -> _T:
    if not found:
        raise _NotApplicable
    return found[int(generator.integers(len(found)))]


def _nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type != "Constant"]


def _change_attribute(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    """Another value for an attribute that is there."""
    node = _one([node for node in _nodes(model) if node.attribute], generator)
    given = _one(node.attribute, generator)
    match given.type:
        case _A.INT:
            given.i = int(_one(UNUSUAL_INTEGERS, generator))
            value: object = given.i
        case _A.FLOAT:
            given.f = float(_one((-1.0, 0.0, 3.5, float("nan"), float("inf")), generator))
            value = given.f
        case _A.STRING:
            given.s = _one(UNUSUAL_STRINGS, generator).encode()
            value = given.s
        case _A.INTS:
            value = _mutated_list(list(given.ints), generator)
            del given.ints[:]
            given.ints.extend(value)
        case _A.FLOATS:
            value = list(given.floats)[:-1]
            del given.floats[-1:]
        case _A.STRINGS:
            value = list(given.strings)[:-1]
            del given.strings[-1:]
        case _:
            raise _NotApplicable
    return f"{node.op_type}: {given.name} = {value}"


def _mutated_list(numbers: list[int], generator: np.random.Generator) -> list[int]:
    """A list with a number less, more or changed."""
    kind = int(generator.integers(4))
    if kind == 0:
        return numbers[:-1]
    if kind == 1:
        return [*numbers, int(_one(UNUSUAL_INTEGERS, generator))]
    if not numbers:
        raise _NotApplicable
    index = int(generator.integers(len(numbers)))
    numbers[index] = numbers[index - 1] if kind == 2 else int(_one(UNUSUAL_INTEGERS, generator))
    return numbers


def _set_attribute(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    """A value for an attribute that was left out."""
    node = _one(_nodes(model), generator)
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    except onnx.defs.SchemaError as error:
        raise _NotApplicable from error
    named = {given.name for given in node.attribute}
    left = [each for name, each in sorted(schema.attributes.items()) if name not in named]
    attribute = _one(left, generator)
    values: Mapping[int, object] = {
        _A.INT: int(_one(UNUSUAL_INTEGERS, generator)),
        _A.FLOAT: float(_one((-1.0, 0.0, 3.5), generator)),
        _A.STRING: _one(UNUSUAL_STRINGS, generator),
        _A.INTS: _mutated_list([1, 1], generator),
    }
    kind = _KINDS.get(str(attribute.type).rpartition(".")[2], _A.UNDEFINED)
    if kind not in values or values[kind] == []:
        raise _NotApplicable
    node.attribute.append(onnx.helper.make_attribute(attribute.name, values[kind]))
    return f"{node.op_type}: {attribute.name} = {values[kind]}, which was left out"


def _unknown_attribute(
    model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator
) -> str:
    node = _one(_nodes(model), generator)
    node.attribute.append(onnx.helper.make_attribute("no_such_attribute", 1))
    return f"{node.op_type}: an unknown attribute"


def _drop_attribute(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    node = _one([node for node in _nodes(model) if node.attribute], generator)
    index = int(generator.integers(len(node.attribute)))
    name = node.attribute[index].name
    del node.attribute[index]
    return f"{node.op_type}: {name} left out"


def _drop_operand(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    node = _one([node for node in _nodes(model) if node.input], generator)
    if generator.integers(2):
        del node.input[-1]
        return f"{node.op_type}: without its last operand"
    index = int(generator.integers(len(node.input)))
    node.input[index] = ""
    return f"{node.op_type}: without operand {index}"


def _swap_operands(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    node = _one([node for node in _nodes(model) if len(node.input) > 1], generator)
    first, second = generator.choice(len(node.input), 2, replace=False)
    names = list(node.input)
    names[first], names[second] = names[second], names[first]
    del node.input[:]
    node.input.extend(names)
    return f"{node.op_type}: operands {first} and {second} swapped"


def _other_operand(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    node = _one([node for node in _nodes(model) if node.input], generator)
    names = [info.name for info in model.graph.input] + [each.name for each in model.graph.initializer]
    index = int(generator.integers(len(node.input)))
    node.input[index] = _one([name for name in names if name != node.input[index]], generator)
    return f"{node.op_type}: operand {index} is '{node.input[index]}'"


def _change_shape(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    """An input of another shape, in the model and as it is fed."""
    info = _one([info for info in model.graph.input if _is_numeric(feeds.get(info.name))], generator)
    array = feeds[info.name]
    shape = _other_shape(array.shape, generator)
    feeds[info.name] = np.resize(array, shape).astype(array.dtype)
    sizes = info.type.tensor_type.shape
    was_dynamic = any(not dim.HasField("dim_value") for dim in sizes.dim)
    del sizes.dim[:]
    for size in shape:
        dim = sizes.dim.add()
        if not was_dynamic:
            dim.dim_value = size
    # What is declared would contradict it, which is another change.
    for each in (*model.graph.output, *model.graph.value_info):
        each.type.tensor_type.ClearField("shape")
    return f"input '{info.name}': {list(array.shape)} becomes {list(shape)}"


def _make_shape_dynamic(
    model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator
) -> str:
    """The same with all dimensions dynamic."""
    description = _change_shape(model, feeds, generator)
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            dim.Clear()
    return f"{description}, dynamic shapes"


def _is_numeric(value: Array | None) -> bool:
    return value is not None and value.dtype.kind not in "OSU"


def _other_shape(shape: tuple[int, ...], generator: np.random.Generator) -> tuple[int, ...]:
    kind = int(generator.integers(6))
    if kind == 0 or not shape:
        return (*shape, int(_one((1, 2, 3), generator)))
    if kind == 1:
        return shape[1:]
    if kind == 2:
        return shape[:-1]
    index = int(generator.integers(len(shape)))
    size = (0, 1, shape[index] + 1, max(shape[index] - 1, 0))[int(generator.integers(4))]
    made = (*shape[:index], size, *shape[index + 1 :])
    return made if np.prod(made) <= MAX_ELEMENTS else shape[1:]


def _change_type(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    """An input of another element type, in the model and as it is fed."""
    info = _one([info for info in model.graph.input if _is_numeric(feeds.get(info.name))], generator)
    dtype = np.dtype(_one(("float32", "float64", "int8", "int32", "int64", "bool", "uint8"), generator))
    feeds[info.name] = np.asarray(feeds[info.name]).astype(dtype)
    info.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    return f"input '{info.name}': {dtype}"


def _declare(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    """A declared shape that is not so."""
    outputs = [info for info in model.graph.output if info.type.HasField("tensor_type")]
    info = _one(outputs, generator)
    found = info.type.tensor_type.shape
    shape = tuple(dim.dim_value if dim.HasField("dim_value") else 2 for dim in found.dim)
    made = _other_shape(shape, generator)
    del found.dim[:]
    for size in made:
        found.dim.add().dim_value = size
    return f"output '{info.name}': {list(shape)} is declared {list(made)}"


def _freeze(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    """An input of integers that is a constant with other numbers."""
    info = _one([info for info in model.graph.input if _is_count(feeds.get(info.name))], generator)
    array = _unusual(feeds.pop(info.name), generator)
    name = info.name
    model.graph.initializer.append(numpy_helper.from_array(array, name))
    model.graph.input.remove(info)
    return f"'{name}' is the constant {array.reshape(-1)[:8].tolist()}"


def _unusual_feed(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    """An input of integers fed with other numbers."""
    name = _one([name for name, value in feeds.items() if _is_count(value)], generator)
    feeds[name] = _unusual(feeds[name], generator)
    return f"'{name}' is fed {feeds[name].reshape(-1)[:8].tolist()}"


def _is_count(value: Array | None) -> bool:
    """Whether integers may be indices, axes, counts or sizes."""
    return value is not None and value.dtype.kind in "iu" and 0 < value.size <= 64


def _unusual(array: Array, generator: np.random.Generator) -> Array:
    made = array.copy().reshape(-1)
    limits = np.iinfo(made.dtype)
    index = int(generator.integers(made.size))
    made[index] = np.clip(int(_one(UNUSUAL_INTEGERS, generator)), limits.min, limits.max)
    return made.reshape(array.shape)


def _cut_initializer(model: onnx.ModelProto, feeds: dict[str, Array], generator: np.random.Generator) -> str:
    """An initializer of another shape, with the numbers for it."""
    tensor = _one([each for each in model.graph.initializer if each.dims], generator)
    array = numpy_helper.to_array(tensor)
    if not array.size or array.dtype.kind in "OSU":
        raise _NotApplicable
    shape = _other_shape(array.shape, generator)
    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(np.resize(array, shape), name))
    return f"initializer '{name}': {list(array.shape)} becomes {list(shape)}"


Change = Callable[[onnx.ModelProto, dict[str, Array], np.random.Generator], str]

CHANGES: Sequence[Change] = (
    _change_attribute,
    _set_attribute,
    _unknown_attribute,
    _drop_attribute,
    _drop_operand,
    _swap_operands,
    _other_operand,
    _change_shape,
    _make_shape_dynamic,
    _change_type,
    _declare,
    _freeze,
    _unusual_feed,
    _cut_initializer,
)
