"""Models embedded in packages: validation, and evaluation by the reference evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx
from google.protobuf.message import DecodeError

from xonnc.errors import XonncError
from xonnc.formats.onnx.model_tensors import tensors_of
from xonnc.formats.onnx.reference_evaluator import reference_of


def require_self_contained(data: bytes, name: str) -> None:
    """
    Raise `XonncError` unless `data` is a model without external data.

    External data in an embedded model would let a package read arbitrary files.
    """
    for tensor in tensors_of(_parsed(data, name)):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise XonncError(
                f"{name}: tensor '{tensor.name}' has external data; embedded models must contain weights"
            )


def program(data: bytes, name: str) -> Callable[[Mapping[str, object]], list[object]]:
    """
    Return a serialised model as a function from inputs by name to outputs in order, by the reference
    evaluator.

    Both raise `XonncError` where the evaluator fails.
    """
    return reference_of(_parsed(data, name))


def _parsed(data: bytes, name: str) -> onnx.ModelProto:
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        raise XonncError(f"{name}: not an ONNX model, or damaged: protobuf cannot decode it") from None
    if not model.HasField("graph"):
        raise XonncError(f"{name}: not an ONNX model: there is no graph in it")
    return model
