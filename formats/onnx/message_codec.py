"""
Encoding of protobuf messages as dictionary attributes, field by field.

Fields that no pass reads (doc strings, metadata, training information, local functions, device
configurations, …) are kept in the IR in this form, and export restores them:

```mlir
onnx.metadata_props = [{key = "source", value = "torch"}]
```

A `TensorProto` is `{name = "w", value = dense<…>}`: its elements are a constant like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeGuard

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute

from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.errors import XonncError
from xonnc.formats.onnx.tensors import AnyArray, encode, header, payload

Scalar: TypeAlias = int | float | str | bytes
TensorToAttribute: TypeAlias = Callable[[onnx.TensorProto], Attribute]
AttributeToArray: TypeAlias = Callable[[Attribute], AnyArray]


class Field(Protocol):
    """The part of a field descriptor that is used here (protobuf has two classes for it)."""

    @property
    def name(self) -> str: ...

    @property
    def full_name(self) -> str: ...

    @property
    def is_repeated(self) -> bool: ...

    @property
    def type(self) -> int: ...

    @property
    def message_type(self) -> object | None: ...


_PAYLOAD_FIELDS = frozenset(
    (
        "dims",
        "data_type",
        "segment",
        "raw_data",
        "float_data",
        "int32_data",
        "string_data",
        "int64_data",
        "double_data",
        "uint64_data",
        "external_data",
        "data_location",
    )
)
"""The fields of `TensorProto` that the `value` attribute replaces."""


def fields(message: Message, tensor: TensorToAttribute, skip: Container[str] = ()) -> dict[str, Attribute]:
    """Encode the set fields of a message as attributes by name, except those in `skip`."""
    if isinstance(message, onnx.TensorProto):
        found = {name: value for name, value in _fields(message, tensor, _PAYLOAD_FIELDS)}
        found["value"] = tensor(message)
        return found
    return dict(_fields(message, tensor, skip))


def prefixed(message: Message, tensor: TensorToAttribute, names: Container[str]) -> dict[str, Attribute]:
    """Encode the set fields named in `names` as attributes `onnx.<name>`."""
    return {
        f"onnx.{field.name}": _to_attribute(field, value, tensor)
        for field, value in message.ListFields()
        if field.name in names
    }


def fill_prefixed(message: Message, attributes: Mapping[str, Attribute], array: AttributeToArray) -> None:
    """Decode attributes `onnx.<name>` into the fields of a message, the inverse of `prefixed`."""
    found = {
        name.removeprefix("onnx."): value for name, value in attributes.items() if name.startswith("onnx.")
    }
    known = message.DESCRIPTOR.fields_by_name
    fill(message, {name: value for name, value in found.items() if name in known}, array)


def to_attribute(message: Message, tensor: TensorToAttribute) -> DictionaryAttr:
    """Encode a message as a dictionary attribute."""
    return DictionaryAttr(fields(message, tensor))


def fill(message: Message, values: Mapping[str, Attribute], array: AttributeToArray) -> None:
    """Decode attributes into the fields of a message, the inverse of `fields`; errors name the field."""
    values = dict(values)
    if isinstance(message, onnx.TensorProto) and (value := values.pop("value", None)) is not None:
        elements = array(value)
        message.MergeFrom(header(elements))
        if message.data_type != onnx.TensorProto.STRING:
            message.raw_data = payload(elements).tobytes()
    for name, value in values.items():
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            raise XonncError(f"'{name}' in a preserved {message.DESCRIPTOR.name}: it has no such field")
        _set(message, field, value, array)


def _fields(
    message: Message, tensor: TensorToAttribute, skip: Container[str]
) -> Sequence[tuple[str, Attribute]]:
    return [
        (field.name, _to_attribute(field, value, tensor))
        for field, value in message.ListFields()
        if field.name not in skip
    ]


def _to_attribute(field: Field, value: object, tensor: TensorToAttribute) -> Attribute:
    if field.is_repeated:
        assert _is_list(value)
        return ArrayAttr([_one(field, entry, tensor) for entry in value])
    return _one(field, value, tensor)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence)


def _one(field: Field, value: object, tensor: TensorToAttribute) -> Attribute:
    match value:
        case Message():
            return to_attribute(value, tensor)
        case str():
            return StringAttr(value)
        case bytes() if field.type == FieldDescriptor.TYPE_STRING:
            raise XonncError(f"{field.full_name}: {value[:40]!r} is not UTF-8 text")
        case bytes():
            return text_or_bytes(value)
        case float():
            return FloatAttr(value, f32 if field.type == FieldDescriptor.TYPE_FLOAT else f64)
        case int():
            return IntegerAttr(value, i64)
        case _:
            raise TypeError(f"{field.full_name}: a {type(value).__name__}")


def text_or_bytes(value: bytes) -> StringAttr | BytesAttr:
    """Return a string attribute for UTF-8 text, else a bytes attribute."""
    try:
        return StringAttr(value.decode("utf-8"))
    except UnicodeDecodeError:
        return BytesAttr(value)


def _set(message: Message, field: Field, value: Attribute, array: AttributeToArray) -> None:
    location = f"{message.DESCRIPTOR.name}.{field.name}"
    if field.message_type is not None:
        _set_messages(message, field, value, array, location)
        return
    try:
        if field.is_repeated:
            getattr(message, field.name).extend(
                _scalar(field, entry, location) for entry in _entries(value, location)
            )
        else:
            setattr(message, field.name, _scalar(field, value, location))
    except (TypeError, ValueError) as error:
        raise XonncError(f"{location}: {value} does not fit the field: {error}") from error


def _set_messages(
    message: Message, field: Field, value: Attribute, array: AttributeToArray, location: str
) -> None:
    entries = _entries(value, location) if field.is_repeated else (value,)
    for entry in entries:
        if not isinstance(entry, DictionaryAttr):
            raise XonncError(f"{location}: {entry} where a dictionary of the message's fields is needed")
        child = getattr(message, field.name)
        if field.is_repeated:
            child = child.add()
        else:
            child.SetInParent()
        assert isinstance(child, Message)
        fill(child, entry.data, array)


def _entries(value: Attribute, location: str) -> Sequence[Attribute]:
    if not is_array(value):
        raise XonncError(f"{location}: {value} where a list is needed")
    return value.data


def _scalar(field: Field, value: Attribute, location: str) -> Scalar:
    match value:
        case StringAttr():
            return encode(value.data) if field.type == FieldDescriptor.TYPE_BYTES else value.data
        case BytesAttr():
            return value.data
        case IntegerAttr():
            return value.value.data
        case FloatAttr():
            return value.value.data
        case _:
            raise XonncError(f"{location}: {value} where a number or a string is needed")
