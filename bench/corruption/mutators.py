"""Mutators of files: bytes, tokens of text, entries of JSON, fields of protobuf messages, ZIP members."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any, TypeGuard

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

Field = Any
"""A protobuf field descriptor, which has two implementations."""

Mutator = Callable[[Random, bytes], bytes]

BYTE_VALUES = (0, 1, 0x7F, 0x80, 0xFF)
INTEGERS = (0, 1, -1, 2, 7, 65, 127, 255, 1 << 16, (1 << 31) - 1, -(1 << 31), 1 << 40, 1 << 62, -(1 << 63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e30, -1e30, float("inf"), float("nan"))
TEXTS = ("", "?", "x", "\0", "é", "a" * 300, "-1", "1e999", "../x", "Conv", "ai.onnx.ml")
WORDS = (
    "",
    "0",
    "-1",
    "4611686018427387904",
    "1e400",
    "nan",
    '"',
    "\\",
    "!",
    "#",
    "!onnx.",
    "#onnx.",
    "%",
    "%0",
    "@",
    "(",
    ")",
    "[" * 40,
    "{",
    "}",
    "<",
    ">",
    "->",
    ":",
    "=",
    ",",
    "?",
    "*",
    "x",
    "f32",
    "i1",
    "none",
    "tensor<",
    "dense<",
    "unit",
    "loc(",
    "é",
    "\0",
)
_WORD = re.compile(rb"[A-Za-z_.]+|[0-9]+|\s+|.", re.DOTALL)


def mutate_bytes(random: Random, data: bytes) -> bytes:
    """Change, remove, repeat or truncate a few bytes."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4, 16))):
        at = random.randrange(len(changed) + 1)
        match random.randrange(8):
            case 0:
                del changed[at:]
            case 1:
                del changed[at : at + random.choice((1, 2, 4, 16, 256))]
            case 2:
                changed[at:at] = changed[at : at + random.choice((1, 4, 64, 1024))]
            case 3:
                changed[at:at] = random.randbytes(random.choice((1, 4, 16)))
            case 4 | 5:
                number = random.choice((4, 8))
                at -= at % 4
                value = random.choice(INTEGERS) % (1 << 8 * number)
                changed[at : at + number] = value.to_bytes(number, "little")
            case _:
                changed[at : at + 1] = bytes([random.choice((*BYTE_VALUES, random.randrange(256)))])
    return bytes(changed)


def mutate_words(random: Random, data: bytes) -> bytes:
    """Replace, remove, repeat or swap a few tokens of a text."""
    if random.random() < 0.1:
        return mutate_bytes(random, data)
    words: list[bytes] = _WORD.findall(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        if not words:
            break
        at, other = random.randrange(len(words)), random.randrange(len(words))
        match random.randrange(6):
            case 0:
                del words[at]
            case 1:
                words[at : at + random.randrange(1, 8)] = []
            case 2:
                words[at:at] = words[other : other + random.randrange(1, 8)]
            case 3:
                words[at], words[other] = words[other], words[at]
            case _:
                words[at] = random.choice(WORDS).encode()
    return b"".join(words)


def mutate_json(random: Random, data: bytes) -> bytes:
    """Replace, remove or repeat an entry of a JSON file; sometimes mutate its tokens or bytes instead."""
    if random.random() < 0.3:
        return mutate_words(random, data)
    try:
        tree: Any = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_words(random, data)
    for _ in range(random.choice((1, 1, 2))):
        tree = _mutate_tree(random, tree)
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def _keys(node: Any) -> list[Any]:
    """Keys or indices of a JSON container."""
    if _is_object(node):
        return list(node)
    return list(range(len(node))) if _is_list(node) else []


def _is_object(node: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(node, dict)


def _is_list(node: object) -> TypeGuard[list[Any]]:
    return isinstance(node, list)


def _mutate_tree(random: Random, tree: Any) -> Any:
    entries: list[tuple[Any, Any]] = []
    stack: list[Any] = [tree]
    while stack:
        node: Any = stack.pop()
        keys = _keys(node)
        entries += [(node, key) for key in keys]
        stack += [node[key] for key in keys]
    if not entries:
        return _json_value(random)
    node, key = random.choice(entries)
    match random.randrange(5):
        case 0:
            del node[key]
        case 1 if _is_list(node):
            node.insert(key, node[key])
        case 2:
            other, its_key = random.choice(entries)
            node[key] = json.loads(json.dumps(other[its_key]))
        case _:
            node[key] = _json_value(random)
    return tree


def _json_value(random: Random) -> Any:
    choices: list[Any] = [None, True, [], {}, [[]], *INTEGERS[:2], *FLOATS[-2:], random.choice(TEXTS)]
    return random.choice([*choices, random.choice(INTEGERS), random.choice(FLOATS)])


def mutate_model(random: Random, data: bytes) -> bytes:
    """Change fields of an ONNX model to other values of their type; sometimes mutate its bytes instead."""
    if random.random() < 0.2:
        return mutate_bytes(random, data)
    model = onnx.ModelProto.FromString(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        _mutate_field(random, model)
    return model.SerializeToString()


def _mutate_field(random: Random, model: onnx.ModelProto) -> None:
    messages: list[Message] = [model]
    for message in messages:
        for field, value in message.ListFields():
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                messages += list(value) if field.is_repeated else [value]
    weights = [1 + len(message.ListFields()) for message in messages]
    (message,) = random.choices(messages, weights)
    present = message.ListFields()
    if present and random.random() < 0.9:
        field = random.choice(present)[0]
    else:
        field = random.choice(list(message.DESCRIPTOR.fields))
    if field.is_repeated:
        _mutate_list(random, getattr(message, field.name), field)
    elif random.random() < 0.25:
        message.ClearField(field.name)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        getattr(message, field.name).SetInParent()
    else:
        setattr(message, field.name, _value(random, field, getattr(message, field.name), model))


def _mutate_list(random: Random, values: Any, field: Field) -> None:
    count = len(values)
    at = random.randrange(count) if count else 0
    is_message = field.type == FieldDescriptor.TYPE_MESSAGE
    match random.randrange(5):
        case 0 if count:
            del values[at]
        case 1 if count and not is_message:
            del values[random.randrange(count) :]
        case 2 if count:
            values.append(values[at])
        case 3 if count > 1 and is_message:
            values[at].CopyFrom(values[random.randrange(count)])
        case _ if is_message:
            values.add()
        case _:
            made = _value(random, field, values[at] if count else None, None)
            if count:
                values[at] = made
            else:
                values.append(made)


def _value(random: Random, field: Field, old: Any, model: onnx.ModelProto | None) -> Any:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return random.choice(FLOATS)
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return mutate_bytes(random, bytes(old or b"\0"))
        case FieldDescriptor.CPPTYPE_STRING:
            names = (
                [each for node in model.graph.node for each in (*node.input, *node.output)] if model else []
            )
            types = [node.op_type for node in model.graph.node] if model else []
            return random.choice((*TEXTS, *names, *types))
        case FieldDescriptor.CPPTYPE_ENUM:
            return random.choice([each.number for each in field.enum_type.values])
        case FieldDescriptor.CPPTYPE_BOOL:
            return not old
        case FieldDescriptor.CPPTYPE_INT32 | FieldDescriptor.CPPTYPE_UINT32:
            return random.choice((random.randrange(30), (1 << 31) - 1))
        case FieldDescriptor.CPPTYPE_UINT64:
            return random.choice(INTEGERS) % (1 << 64)
        case _:
            return random.choice((*INTEGERS, int(old or 0) + 1, int(old or 0) - 1))


def mutate_package(random: Random, data: bytes) -> bytes:
    """Mutate the manifest of a package, or a partition with its digest updated to match; or bytes."""
    if random.random() < 0.3:
        return mutate_bytes(random, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if random.random() < 0.5:
        members["manifest.json"] = mutate_json(random, members["manifest.json"])
    else:
        name = random.choice([name for name in members if name.startswith("parts/")])
        mutator = mutate_model if name.endswith(".onnx") else mutate_bytes
        part = members[name] = mutator(random, members[name])
        table = json.loads(members["manifest.json"])
        for step in table["steps"]:
            if step["file"] == name:
                step.update(size=len(part), sha256=hashlib.sha256(part).hexdigest())
        members["manifest.json"] = json.dumps(table).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()
