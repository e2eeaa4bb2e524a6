"""
Serialisation of models without a second copy of the weights in memory.

Payloads of initializers are streamed from their buffers (often the mapped input file) into the serialised
message or an external data file. All files are written atomically.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import onnx
import onnx.printer
from google.protobuf import json_format
from google.protobuf.message import EncodeError

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write, atomic_writes, is_special, require_writable
from xonnc.formats.byte_sink import ByteSink
from xonnc.formats.onnx.compare import models_equal
from xonnc.formats.onnx.external_data import DataFolder
from xonnc.formats.onnx.load_model import STDIN, ModelFormat, format_of, parse
from xonnc.formats.onnx.payload_extraction import RAW_DATA, varint
from xonnc.formats.onnx.tensors import AnyArray, payload, stored_size

MAX_FILE_BYTES = (1 << 31) - 1
"""protobuf reads no message of 2 GiB or more."""

FRAME_BYTES = 32
"""Tags and lengths around an initializer take less."""

PAGE = 4096
"""Large tensors in external data are page-aligned, so that readers can map them (ONNX, ExternalData.md)."""

_INITIALIZER_TAG = varint(5 << 3 | 2)
_GRAPH_TAG = varint(7 << 3 | 2)
_RAW_DATA_TAG = varint(RAW_DATA << 3 | 2)


@dataclass(frozen=True)
class Initializer:
    """
    An initializer to be written: its elements, and a `TensorProto` with the rest (strings are in the latter).
    """

    tensor: onnx.TensorProto
    elements: AnyArray | None

    @property
    def size(self) -> int:
        """Bytes of the payload."""
        return 0 if self.elements is None else stored_size(self.tensor.data_type, self.elements.size)

    def write_to(self, tensor: onnx.TensorProto) -> None:
        """Fill `tensor` with everything, elements included."""
        tensor.CopyFrom(self.tensor)
        if self.elements is not None:
            tensor.raw_data = payload(self.elements).tobytes()


@dataclass(frozen=True)
class ExportedModel:
    """A model with the initializers of its main graph apart."""

    proto: onnx.ModelProto
    initializers: list[Initializer]

    def to_proto(self) -> onnx.ModelProto:
        """Return one `ModelProto` with all weights, for models of moderate size."""
        model = onnx.ModelProto()
        model.CopyFrom(self.proto)
        for initializer in self.initializers:
            initializer.write_to(model.graph.initializer.add())
        return model


@dataclass(frozen=True)
class ExternalData:
    """Store weights of at least `threshold` bytes in the file `name` in the model's folder."""

    name: str
    threshold: int = 1024

    def __post_init__(self) -> None:
        if self.name in ("", ".", "..") or "/" in self.name or "\0" in self.name:
            raise XonncError(
                f"external data file '{self.name}': it must be a plain file name, as it goes beside the model"
            )


def save(
    model: ExportedModel,
    path: str | Path,
    model_format: ModelFormat | None = None,
    external: ExternalData | None = None,
) -> list[Path]:
    """Write a model to `path` (`-`: standard output); return the files written."""
    name = str(path)
    model_format = model_format or format_of(name)
    if name == STDIN:
        if external is not None:
            raise XonncError(
                "external data needs a folder; give the model a file name instead of standard output"
            )
        write(model, sys.stdout.buffer, model_format)
        sys.stdout.buffer.flush()
        return []
    target = Path(path)
    require_writable(target)
    if external is None or all(one.size < max(external.threshold, 1) for one in model.initializers):
        with atomic_write(target) as stream:
            write(model, stream, model_format)
        return [target]
    if is_special(target):
        raise XonncError(f"{target}: external data needs a folder; give the model a file name")
    data = target.with_name(external.name)
    if data == target:
        raise XonncError(f"{target}: the model and its external data cannot be the same file")
    if data.is_symlink():
        raise XonncError(f"{data}: is a symbolic link, which not all ONNX readers follow; remove it")
    with atomic_writes() as files, files.open(target) as stream, files.open(data) as data_stream:
        write(_externalised(model, external, data_stream), stream, model_format)
    return [target, data]


def serialized(model: onnx.ModelProto) -> bytes | None:
    """Return the bytes of a model in memory; `None` from 2 GB on, which protobuf does not write."""
    try:
        return model.SerializeToString(deterministic=True)
    except EncodeError:
        return None


def needs_external_data(model: ExportedModel) -> bool:
    """Return whether a model is too large for one file."""
    size = model.proto.ByteSize() + sum(one.tensor.ByteSize() + one.size for one in model.initializers)
    return size + len(model.initializers) * FRAME_BYTES > MAX_FILE_BYTES


def write(model: ExportedModel, stream: BinaryIO, model_format: ModelFormat) -> None:
    """Write the serialised model to `stream`."""
    if model_format == "json":
        stream.write(json_format.MessageToJson(model.to_proto()).encode("utf-8") + b"\n")
    elif model_format == "onnxtxt":
        stream.write(_text(model.to_proto()))
    else:
        write_binary(model, stream)


def _text(model: onnx.ModelProto) -> bytes:
    """Return ONNX text; raise `XonncError` if it would lose fields, such as doc strings of nodes."""
    text = onnx.printer.to_text(model).encode("utf-8", "surrogateescape") + b"\n"
    try:
        lost = models_equal(model, parse(memoryview(text), "onnxtxt", "text", DataFolder(None)))
    except XonncError as error:
        lost = [str(error)]
    if lost:
        raise XonncError(f"ONNX text cannot hold this model ({lost[0]}); write .onnx or .json")
    return text


def write_binary(model: ExportedModel, stream: ByteSink) -> None:
    """Write the serialised model to `stream`, payloads directly from their buffers."""
    outer = onnx.ModelProto()
    outer.CopyFrom(model.proto)
    outer.ClearField("graph")
    head = outer.SerializeToString(deterministic=True)
    graph = model.proto.graph.SerializeToString(deterministic=True)
    tensors = [initializer.tensor.SerializeToString(deterministic=True) for initializer in model.initializers]
    frames = [_frame(tensor, one) for tensor, one in zip(tensors, model.initializers, strict=True)]
    length = len(graph) + sum(
        len(frame) + one.size for frame, one in zip(frames, model.initializers, strict=True)
    )
    if len(head) + length > MAX_FILE_BYTES:
        raise XonncError(
            f"the model takes {(len(head) + length) / 1e9:.1f} GB and one ONNX file holds at most 2.1 GB; "
            "write its weights to a second file with --external-data"
        )
    for part in (head, _GRAPH_TAG, varint(length), graph):
        stream.write(part)
    for frame, initializer in zip(frames, model.initializers, strict=True):
        stream.write(frame)
        if initializer.elements is not None:
            stream.write(payload(initializer.elements))


def _frame(tensor: bytes, initializer: Initializer) -> bytes:
    """Return the bytes of an initializer's field that precede its payload."""
    lead = b"" if initializer.elements is None else _RAW_DATA_TAG + varint(initializer.size)
    return _INITIALIZER_TAG + varint(len(tensor) + len(lead) + initializer.size) + tensor + lead


def _externalised(model: ExportedModel, external: ExternalData, stream: BinaryIO) -> ExportedModel:
    return ExportedModel(model.proto, list(_move(model.initializers, external, stream)))


def _move(
    initializers: Iterable[Initializer], external: ExternalData, stream: BinaryIO
) -> Generator[Initializer]:
    offset = 0
    for initializer in initializers:
        if initializer.elements is None or initializer.size < max(external.threshold, 1):
            yield initializer
            continue
        gap = -offset % PAGE if initializer.size >= PAGE else 0
        stream.write(bytes(gap))
        offset += gap
        stream.write(payload(initializer.elements))
        tensor = onnx.TensorProto()
        tensor.CopyFrom(initializer.tensor)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", external.name), ("offset", offset), ("length", initializer.size)):
            tensor.external_data.add(key=key, value=str(value))
        offset += initializer.size
        yield Initializer(tensor, None)
