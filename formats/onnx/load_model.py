"""Load models in binary (mapped, weights left in place), text or JSON format."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import onnx
import onnx.parser
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from xonnc.errors import XonncError
from xonnc.formats.file_types import ONNX_MODEL, identify_bytes
from xonnc.formats.onnx.external_data import DataFolder
from xonnc.formats.onnx.memory_mapped_files import map_file
from xonnc.formats.onnx.payload_extraction import PayloadMarkers, without_payloads
from xonnc.formats.onnx.tensors import TensorReader

ModelFormat: TypeAlias = Literal["onnx", "onnxtxt", "json"]

STDIN = "-"

_FORMATS: dict[str, ModelFormat] = {
    ".onnx": "onnx",
    ".onnxtxt": "onnxtxt",
    ".onnxtext": "onnxtxt",
    ".json": "json",
}


@dataclass
class LoadedModel:
    """A model without its payloads, and the reader that locates them."""

    name: str
    proto: onnx.ModelProto
    tensors: TensorReader

    @staticmethod
    def of(model: onnx.ModelProto, name: str = "model") -> LoadedModel:
        """Wrap a model in memory."""
        return LoadedModel(name, model, TensorReader())

    def drop_defaults(self, names: Collection[str]) -> None:
        """Drop the initializers of the named inputs, which must then be fed."""
        proto = onnx.ModelProto.FromString(self.proto.SerializeToString())
        retained = [tensor for tensor in proto.graph.initializer if tensor.name not in names]
        del proto.graph.initializer[:]
        proto.graph.initializer.extend(retained)
        self.proto = proto


def format_of(path: str) -> ModelFormat:
    """Return the format that a file name implies; binary if it implies none."""
    return _FORMATS.get(Path(path).suffix.lower(), "onnx")


def load(path: str | Path, model_format: ModelFormat | None = None) -> LoadedModel:
    """Load the model at `path` (`-`: standard input, binary unless `model_format` says otherwise)."""
    name = str(path)
    from_stdin = name == STDIN
    content = memoryview(sys.stdin.buffer.read()) if from_stdin else map_file(Path(path))
    folder = DataFolder(None) if from_stdin else DataFolder.of_model(Path(path))
    source = "<stdin>" if from_stdin else name
    return parse(content, model_format or format_of(name), source, folder)


def parse(content: memoryview, model_format: ModelFormat, source: str, folder: DataFolder) -> LoadedModel:
    """The model that `content` spells; errors begin with `source`."""
    try:
        if model_format == "onnx":
            tensors = TensorReader(content, PayloadMarkers(), folder)
            model = _binary(without_payloads(content, tensors.marks))
        else:
            tensors = TensorReader(folder=folder)
            model = (_text if model_format == "onnxtxt" else _json)(_lines(content))
    except XonncError as error:
        raise XonncError(f"{source}: {_describe_foreign_file(content, model_format) or error}") from error
    if not model.HasField("graph"):
        reason = _describe_foreign_file(content, model_format) or "not an ONNX model: there is no graph in it"
        raise XonncError(f"{source}: {reason}")
    return LoadedModel(source, model, tensors)


def _describe_foreign_file(content: memoryview, model_format: ModelFormat) -> str | None:
    """Return the kind of a file that is no model, if it is recognized."""
    meaning = identify_bytes(content, is_text=model_format != "onnx")
    return None if meaning in (None, ONNX_MODEL) else f"not an ONNX model: this is {meaning}"


def _binary(reduced: bytes) -> onnx.ModelProto:
    try:
        return onnx.ModelProto.FromString(reduced)
    except DecodeError as error:
        raise XonncError("not an ONNX model, or damaged: protobuf cannot decode it") from error


def _text(text: str) -> onnx.ModelProto:
    try:
        return onnx.parser.parse_model(text)
    except (onnx.parser.ParseError, DecodeError, LookupError, RuntimeError, ValueError) as error:
        # Numbers that fit no type are not the parser's own errors.
        raise XonncError(f"not ONNX text: {' '.join(str(error).split())}") from error


def _json(text: str) -> onnx.ModelProto:
    model = onnx.ModelProto()
    try:
        json_format.Parse(text, model)
    except (json_format.ParseError, RecursionError) as error:
        raise XonncError(f"not an ONNX model in JSON: {' '.join(str(error).split())}") from error
    return model


def _lines(content: memoryview) -> str:
    """The text without whole-line `//` comments, which neither parser knows."""
    try:
        lines = bytes(content).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise XonncError(f"byte {error.start}: not UTF-8 text; a binary model is called .onnx") from error
    return "\n".join("" if line.lstrip().startswith("//") else line for line in lines)
