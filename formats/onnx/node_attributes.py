"""
Conversion between attributes of ONNX nodes and attributes of ops.

Integers, floats, strings, tensors, types and lists of scalars have a native MLIR form
(`dialects/onnx/attribute_builders.py`). The others (references to function attributes, lists of tensors or
graphs, graphs of custom ops) are kept as encoded messages (`message_codec`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import onnx
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.utils.hints import isa

from xonnc.dialects.onnx import attribute_builders as spelled
from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.builtin_attributes import SparseElementsAttr
from xonnc.errors import XonncError
from xonnc.formats.onnx import message_codec
from xonnc.formats.onnx.constants import ConstantReader, array_of, sparse_proto
from xonnc.formats.onnx.tensors import DATA_TYPES, ELEMENT_TYPES, encode, proto
from xonnc.formats.onnx.value_types import to_proto, to_type

_A = onnx.AttributeProto

Kind: TypeAlias = onnx.AttributeProto.AttributeType
"""`FLOAT`, `INT`, …"""

MAX_MEMOISED_LIST = 64
"""Longer lists are not memoised."""

Convert: TypeAlias = Callable[[onnx.AttributeProto, ConstantReader], Attribute]

_CONVERT: dict[int, Convert] = {
    _A.FLOAT: lambda given, constants: _real(given.f),
    _A.INT: lambda given, constants: spelled.int_attr(given.i),
    _A.STRING: lambda given, constants: message_codec.text_or_bytes(given.s),
    _A.FLOATS: lambda given, constants: _reals(given.floats),
    _A.INTS: lambda given, constants: _integers(given.ints),
    _A.STRINGS: lambda given, constants: ArrayAttr(list(map(message_codec.text_or_bytes, given.strings))),
    _A.TENSOR: lambda given, constants: constants.dense(given.t),
    _A.SPARSE_TENSOR: lambda given, constants: constants.sparse(given.sparse_tensor),
    _A.TYPE_PROTO: lambda given, constants: to_type(given.tp, f"attribute '{given.name}'"),
}

_FIELDS: dict[str, Kind] = {
    "f": _A.FLOAT,
    "i": _A.INT,
    "s": _A.STRING,
    "t": _A.TENSOR,
    "g": _A.GRAPH,
    "tp": _A.TYPE_PROTO,
    "sparse_tensor": _A.SPARSE_TENSOR,
    "floats": _A.FLOATS,
    "ints": _A.INTS,
    "strings": _A.STRINGS,
    "tensors": _A.TENSORS,
    "graphs": _A.GRAPHS,
    "sparse_tensors": _A.SPARSE_TENSORS,
    "type_protos": _A.TYPE_PROTOS,
}
"""The kind of an attribute by the field it uses: files before IR version 2 have no `type`."""


KINDS: dict[str, Kind] = {_A.AttributeType.Name(kind): kind for kind in _FIELDS.values()}
"""The kinds by name."""


def kind_of(given: onnx.AttributeProto) -> Kind:
    """Return the `AttributeType` of an attribute; 0 if it is empty."""
    if given.type:
        return given.type
    return next(
        (_FIELDS[field.name] for field, _ in given.ListFields() if field.name in _FIELDS), _A.UNDEFINED
    )


def to_attribute(given: onnx.AttributeProto, constants: ConstantReader) -> Attribute | None:
    """Convert to a native MLIR attribute; `None` if there is none."""
    convert = _CONVERT.get(kind_of(given))
    return None if convert is None or given.ref_attr_name else convert(given, constants)


def element_type_attribute(given: onnx.AttributeProto) -> Attribute:
    """Convert an INT (before opset 6 a STRING) that names an element type, as `Cast.to`, to that type."""
    number = given.i
    if kind_of(given) == _A.STRING:
        number = dict(onnx.TensorProto.DataType.items()).get(given.s.decode("ascii", "replace"), 0)
    element = ELEMENT_TYPES.get(number)
    if element is None:
        raise XonncError(
            f"attribute '{given.name}': {number} is not an element type, 1 to {max(ELEMENT_TYPES)}"
        )
    return element


def preserved(given: onnx.AttributeProto, constants: ConstantReader) -> DictionaryAttr:
    """Encode an attribute as a message."""
    return message_codec.to_attribute(given, constants.dense)


def from_raw_attribute(value: Attribute) -> onnx.AttributeProto:
    """Decode an attribute, the inverse of `kept`."""
    if not isinstance(value, DictionaryAttr):
        raise XonncError(f"onnx.attributes: {value} where a dictionary is needed")
    given = onnx.AttributeProto()
    message_codec.fill(given, value.data, array_of)
    return given


def from_attribute(name: str, value: Attribute, kind: Kind) -> onnx.AttributeProto:
    """Convert to the attribute `name` of a node; `kind` is that of the schema, or `UNDEFINED`."""
    given = onnx.AttributeProto(name=name)
    match value:
        case IntegerAttr():
            given.type, given.i = _A.INT, value.value.data
        case FloatAttr():
            given.type, given.f = _A.FLOAT, value.value.data
        case StringAttr() | BytesAttr():
            given.type, given.s = _A.STRING, encode(value.data)
        case ArrayAttr():
            assert is_array(value)
            _fill_list(given, value.data, kind)
        case SparseElementsAttr():
            given.type = _A.SPARSE_TENSOR
            given.sparse_tensor.CopyFrom(sparse_proto(value))
        case TypeAttribute() if kind == _A.INT and value in DATA_TYPES:
            given.type, given.i = _A.INT, DATA_TYPES[value]
        case TypeAttribute() if kind == _A.STRING and value in DATA_TYPES:
            given.type, given.s = _A.STRING, onnx.TensorProto.DataType.Name(DATA_TYPES[value]).encode()
        case TypeAttribute():
            given.type = _A.TYPE_PROTO
            type_ = to_proto(value)
            if type_ is None:
                raise XonncError(f"attribute '{name}': ONNX has no type {value}")
            given.tp.CopyFrom(type_)
        case _:
            given.type = _A.TENSOR
            given.t.CopyFrom(proto(array_of(value)))
    if kind and kind != given.type:
        raise XonncError(f"attribute '{name}': {value} where ONNX wants {_A.AttributeType.Name(kind)}")
    return given


def _fill_list(given: onnx.AttributeProto, values: Iterable[Attribute], kind: Kind) -> None:
    values = list(values)
    if not values:
        given.type = kind or _A.INTS
    elif isa(values, list[IntegerAttr]):
        given.type = _A.INTS
        given.ints.extend(value.value.data for value in values)
    elif isa(values, list[FloatAttr]):
        given.type = _A.FLOATS
        given.floats.extend(value.value.data for value in values)
    elif isa(values, list[StringAttr | BytesAttr]):
        given.type = _A.STRINGS
        given.strings.extend(encode(value.data) for value in values)
    else:
        raise XonncError(f"attribute '{given.name}': neither numbers nor strings in the list")


def _real(value: float) -> Attribute:
    """Return a float attribute; -0.0, 0.0 and NaNs are not memoised, since they do not differ by `==`."""
    return spelled.float_attr(value) if value and value == value else FloatAttr(value, f32)


def _reals(values: Iterable[float]) -> Attribute:
    return ArrayAttr([_real(value) for value in values])


def _integers(values: Iterable[int]) -> Attribute:
    found = tuple(values)
    if len(found) > MAX_MEMOISED_LIST:
        # Forests say few different numbers very often.
        made = {value: IntegerAttr(value, i64) for value in set(found)}
        return ArrayAttr([made[value] for value in found])
    return spelled.int_array_attr(*found)
