"""Saving of loaded models without import: weights stay in their files until they are written."""

from __future__ import annotations

from pathlib import Path

import onnx

from xonnc.errors import XonncError
from xonnc.formats.onnx.load_model import LoadedModel, load
from xonnc.formats.onnx.model_tensors import tensors_of
from xonnc.formats.onnx.save_model import (
    ExportedModel,
    ExternalData,
    Initializer,
    needs_external_data,
    save,
)
from xonnc.formats.onnx.tensors import TensorReader, payload

_PAYLOAD_FIELDS = (
    *("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"),
    *("external_data", "data_location"),
)


def export_loaded(loaded: LoadedModel) -> ExportedModel:
    """Return a loaded model for `save`: initializers of the main graph apart, all other tensors whole."""
    model = onnx.ModelProto()
    model.CopyFrom(loaded.proto)
    try:
        initializers = [_initializer(tensor, loaded.tensors) for tensor in model.graph.initializer]
        del model.graph.initializer[:]
        for tensor in tensors_of(model):
            _make_whole(tensor, loaded.tensors)
    except XonncError as error:
        raise XonncError(f"{loaded.name}: {error}") from error
    return ExportedModel(model, initializers)


def save_loaded(loaded: LoadedModel, path: str | Path, external: ExternalData | None = None) -> list[Path]:
    """Write a loaded model to `path`; by default with external data if it came with some."""
    if external is None and has_external_data(loaded.proto) and str(path) != "-":
        external = ExternalData(f"{Path(path).name}.data")
    return save(export_loaded(loaded), path, external=external)


def save_proto(model: onnx.ModelProto, path: Path) -> list[Path]:
    """Write a model in memory to `path`, with external data if it is too large for one file."""
    exported = export_loaded(LoadedModel.of(model))
    external = ExternalData(f"{path.name}.data") if needs_external_data(exported) else None
    return save(exported, path, external=external)


def whole_model(loaded: LoadedModel) -> onnx.ModelProto:
    """Return a loaded model as one message, weights included."""
    return export_loaded(loaded).to_proto()


def load_proto(path: str | Path) -> onnx.ModelProto:
    """Load the model at `path` as one message, external data included."""
    return whole_model(load(path))


def has_external_data(model: onnx.ModelProto) -> bool:
    """Whether initializers of the main graph are in other files."""
    return any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in model.graph.initializer)


def _initializer(tensor: onnx.TensorProto, reader: TensorReader) -> Initializer:
    rest = onnx.TensorProto()
    rest.CopyFrom(tensor)
    if tensor.data_type == onnx.TensorProto.STRING:
        return Initializer(rest, None)
    for field in _PAYLOAD_FIELDS:
        rest.ClearField(field)
    return Initializer(rest, reader.array(tensor))


def _make_whole(tensor: onnx.TensorProto, reader: TensorReader) -> None:
    """Put the payload of a tensor into it that is a reference into a file."""
    if tensor.data_type == onnx.TensorProto.STRING:
        return
    is_external = tensor.data_location == onnx.TensorProto.EXTERNAL
    if is_external or (tensor.HasField("raw_data") and reader.marks.read(tensor.raw_data) is not None):
        array = reader.array(tensor)
        for field in _PAYLOAD_FIELDS:
            tensor.ClearField(field)
        tensor.raw_data = payload(array).tobytes()
