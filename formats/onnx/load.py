"""Opens a model in any of ONNX's three spellings: binary (mapped, its weights left in place), text, JSON."""

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
from xonnc.formats.onnx.external import DataFolder
from xonnc.formats.onnx.mapped import map_file
from xonnc.formats.onnx.tensors import TensorReader
from xonnc.formats.onnx.wire import Marks, without_payloads
from xonnc.formats.recognition import ONNX_MODEL, recognised

Spelling: TypeAlias = Literal["onnx", "onnxtxt", "json"]

STDIN = "-"

_SPELLINGS: dict[str, Spelling] = {
    ".onnx": "onnx",
    ".onnxtxt": "onnxtxt",
    ".onnxtext": "onnxtxt",
    ".json": "json",
}


@dataclass
class LoadedModel:
    """A model without its payloads, and the reader that finds them."""

    name: str
    proto: onnx.ModelProto
    tensors: TensorReader

    @staticmethod
    def of(model: onnx.ModelProto, name: str = "model") -> LoadedModel:
        """A model that is in memory already."""
        return LoadedModel(name, model, TensorReader())

    def drop_defaults(self, names: Collection[str]) -> None:
        """Leaves out the initializers of inputs called so: these have to be given then."""
        proto = onnx.ModelProto.FromString(self.proto.SerializeToString())
        kept = [tensor for tensor in proto.graph.initializer if tensor.name not in names]
        del proto.graph.initializer[:]
        proto.graph.initializer.extend(kept)
        self.proto = proto


def spelling_of(path: str) -> Spelling:
    """How a file is spelled, by its name; binary if the name does not say."""
    return _SPELLINGS.get(Path(path).suffix.lower(), "onnx")


def load(path: str | Path, spelling: Spelling | None = None) -> LoadedModel:
    """The model at `path` (`-`: standard input, binary unless `spelling` says otherwise)."""
    name = str(path)
    from_stdin = name == STDIN
    whole = memoryview(sys.stdin.buffer.read()) if from_stdin else map_file(Path(path))
    folder = DataFolder(None if from_stdin else Path(path).parent)
    place = "<stdin>" if from_stdin else name
    return parse(whole, spelling or spelling_of(name), place, folder)


def parse(whole: memoryview, spelling: Spelling, place: str, folder: DataFolder) -> LoadedModel:
    """The model that `whole` spells; errors begin with `place`."""
    try:
        if spelling == "onnx":
            tensors = TensorReader(whole, Marks(), folder)
            model = _binary(without_payloads(whole, tensors.marks))
        else:
            tensors = TensorReader(folder=folder)
            model = (_text if spelling == "onnxtxt" else _json)(_lines(whole))
    except XonncError as error:
        raise XonncError(f"{place}: {_stranger(whole, spelling) or error}") from error
    if not model.HasField("graph"):
        reason = _stranger(whole, spelling) or "not an ONNX model: there is no graph in it"
        raise XonncError(f"{place}: {reason}")
    return LoadedModel(place, model, tensors)


def _stranger(whole: memoryview, spelling: Spelling) -> str | None:
    """What a file is that is no model, if it can be told."""
    meaning = recognised(whole, is_text=spelling != "onnx")
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


def _lines(whole: memoryview) -> str:
    """The text without whole-line `//` comments, which neither parser knows."""
    try:
        lines = bytes(whole).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise XonncError(f"byte {error.start}: not UTF-8 text; a binary model is called .onnx") from error
    return "\n".join("" if line.lstrip().startswith("//") else line for line in lines)
