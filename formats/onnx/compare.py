"""
Structural comparison of ONNX models, field by field, up to equivalent encodings.

These differences are ignored:

1. an attribute equal to its schema's default may be present or absent;
2. the order of a node's attributes and of opset imports;
3. `ai.onnx` and the empty domain;
4. an unset field and one set to zero or empty;
5. the storage of a tensor's elements: raw data, typed fields, external data;
6. name and doc string of a tensor within an attribute, and doc string of an attribute.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import onnx
from google.protobuf.message import Message

from xonnc.errors import XonncError
from xonnc.formats.onnx.load_model import LoadedModel, load
from xonnc.formats.onnx.schemas import canonical_domain, default_of, opsets_of
from xonnc.formats.onnx.tensors import TensorReader

Model: TypeAlias = onnx.ModelProto | LoadedModel | str | Path

_IGNORED: dict[str, frozenset[str]] = {
    "ModelProto": frozenset(("opset_import",)),
    "FunctionProto": frozenset(("opset_import",)),
    "NodeProto": frozenset(("attribute", "domain")),
    "AttributeProto": frozenset(("type", "doc_string")),
}
"""Fields that are compared by rules of their own, or not at all."""


def models_equal(a: Model, b: Model) -> list[str]:
    """
    Return the differences between two models, one line each, `location: in a, in b`; none if they are equal.
    """
    first, second = _opened(a), _opened(b)
    comparison = _Comparison(first.tensors, second.tensors)
    comparison.scope(first.proto, second.proto, "model")
    return comparison.differences


def _opened(model: Model) -> LoadedModel:
    if isinstance(model, LoadedModel):
        return model
    if isinstance(model, onnx.ModelProto):
        return LoadedModel.of(model)
    return load(model)


@dataclass
class _Comparison:
    tensors_a: TensorReader
    tensors_b: TensorReader
    differences: list[str] = field(default_factory=list[str])
    opsets: dict[str, int] = field(default_factory=dict[str, int])

    def differ(self, path: str, a: object, b: object) -> None:
        """Note a difference, shortened to one readable line."""
        shown = (" ".join(str(side).split()) or "nothing" for side in (a, b))
        self.differences.append(f"{path}: " + ", ".join(text[:80] for text in shown))

    def scope(self, a: Message, b: Message, path: str) -> None:
        """A model or a function: what comes with opsets of its own."""
        assert isinstance(a, onnx.ModelProto | onnx.FunctionProto)
        assert isinstance(b, onnx.ModelProto | onnx.FunctionProto)
        outer, self.opsets = self.opsets, opsets_of(a)
        if self.opsets != opsets_of(b):
            self.differ(f"{path}.opset_import", self.opsets, opsets_of(b))
        self.fields(a, b, path)
        self.opsets = outer

    def message(self, a: Message, b: Message, path: str) -> None:
        match a, b:
            case onnx.TensorProto(), onnx.TensorProto():
                self.tensor(a, b, path, _NAMED)
            case onnx.NodeProto(), onnx.NodeProto():
                self.node(a, b, path)
            case onnx.FunctionProto(), onnx.FunctionProto():
                self.scope(a, b, path)
            case _:
                self.fields(a, b, path)

    def fields(self, a: Message, b: Message, path: str) -> None:
        """All fields of two messages, those that are set in neither left out."""
        ignored = _IGNORED.get(a.DESCRIPTOR.name, frozenset[str]())
        in_a, in_b = _set_fields(a), _set_fields(b)
        for name in in_a | in_b:
            if name in ignored:
                continue
            inner = f"{path}.{name}"
            left, right = in_a.get(name), in_b.get(name)
            match left, right:
                case Message(), Message():
                    self.message(left, right, inner)
                case _Entries(), _Entries():
                    self.sequence(left, right, inner)
                case _Entries(), _:
                    self.sequence(left, [], inner)
                case _, _Entries():
                    self.sequence([], right, inner)
                case _:
                    if not _same(left, right):
                        self.differ(inner, left, right)

    def sequence(self, a: Sequence[object], b: Sequence[object], path: str) -> None:
        """Two repeated fields, entry by entry; entries are called by their names where they have one."""
        if len(a) != len(b):
            self.differ(path, f"{len(a)} entries", f"{len(b)} entries")
        for index, (left, right) in enumerate(zip(a, b, strict=False)):
            if isinstance(left, Message) and isinstance(right, Message):
                self.message(left, right, f"{path}[{_label(left) or index}]")
            elif not _same(left, right):
                self.differ(f"{path}[{index}]", left, right)

    def node(self, a: onnx.NodeProto, b: onnx.NodeProto, path: str) -> None:
        self.fields(a, b, path)
        domain = canonical_domain(a.domain)
        if domain != canonical_domain(b.domain):
            self.differ(f"{path}.domain", a.domain, b.domain)
        left = {attribute.name: attribute for attribute in a.attribute}
        right = {attribute.name: attribute for attribute in b.attribute}
        for name in left | right:
            default = default_of(domain, a.op_type, self.opsets.get(domain, 1), name)
            mine, yours = left.get(name, default), right.get(name, default)
            if mine is None or yours is None:
                self.differ(f"{path}.{name}", mine, yours)
            else:
                self.attribute(mine, yours, f"{path}.{name}")

    def attribute(self, a: onnx.AttributeProto, b: onnx.AttributeProto, path: str) -> None:
        if a.type and b.type and a.type != b.type:
            self.differ(f"{path}.type", a.type, b.type)
        elif a.HasField("t") and b.HasField("t"):
            self.tensor(a.t, b.t, path, frozenset())
        elif len(a.tensors) == len(b.tensors) > 0:
            for index, (left, right) in enumerate(zip(a.tensors, b.tensors, strict=True)):
                self.tensor(left, right, f"{path}[{index}]", frozenset())
        else:
            self.fields(a, b, path)

    def tensor(self, a: onnx.TensorProto, b: onnx.TensorProto, path: str, named: frozenset[str]) -> None:
        """Two tensors: element type, shape and the bytes of their elements."""
        for name in named:
            left, right = (_set_fields(side).get(name) for side in (a, b))
            if str(left or "") != str(right or ""):
                self.differ(f"{path}.{name}", left, right)
        try:
            first, second = self.tensors_a.array(a), self.tensors_b.array(b)
        except XonncError as error:
            self.differences.append(f"{path}: {error}")
            return
        if first.dtype != second.dtype or first.shape != second.shape:
            self.differ(path, f"{first.dtype}{list(first.shape)}", f"{second.dtype}{list(second.shape)}")
        elif first.dtype == object and first.tolist() != second.tolist():
            self.differ(path, first.tolist(), second.tolist())
        elif first.dtype != object and first.tobytes() != second.tobytes():
            self.differ(path, *(side.reshape(-1)[:4] for side in (first, second)))


_NAMED = frozenset(("name", "doc_string", "metadata_props"))
"""The fields of an initializer that are compared, besides its elements."""


class _Entries(list[object]):
    """A repeated field."""


def _set_fields(message: Message) -> dict[str, object]:
    """The fields that are set to more than zero or nothing; repeated ones as lists."""
    found: dict[str, object] = {}
    for descriptor, value in message.ListFields():
        if descriptor.is_repeated:
            found[descriptor.name] = _Entries(value)
        elif isinstance(value, Message) or value or descriptor.containing_oneof:
            found[descriptor.name] = value
    return found


def _same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, Message) or isinstance(b, Message):
        present = a if isinstance(a, Message) else b
        return isinstance(present, Message) and not _set_fields(present)
    return (a or None) == (b or None)


def _label(message: Message) -> str:
    found = _set_fields(message)
    name = found.get("name") or found.get("key") or ""
    if not name and isinstance(message, onnx.NodeProto):
        name = f"{message.op_type} -> {', '.join(message.output)}"
    return str(name)
