"""Tensors in files: `.npy`, `.pb` (TensorProto), `.bin` (raw), `.pgm`, `.ppm`, `.dimg` and `.json`."""

from __future__ import annotations

import json
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError

from xonnc.errors import XonncError, suggest
from xonnc.formats.onnx.tensors import DATA_TYPES_BY_DTYPE, DTYPES, TensorReader, payload, proto
from xonnc.tools.files import read_tensor

Array = npt.NDArray[Any]

TENSOR_ENDINGS = (".npy", ".pb", ".bin", ".pgm", ".ppm", ".dimg", ".json")

ELEMENT_TYPES = {str(dtype): dtype for dtype in DTYPES.values() if dtype != np.object_}
"""Element types by the name that `--type` takes."""


def element_type(name: str) -> np.dtype[np.generic]:
    """Return an element type by name."""
    if name not in ELEMENT_TYPES:
        raise XonncError(f"there is no element type '{name}'{suggest(name, ELEMENT_TYPES)}")
    return ELEMENT_TYPES[name]


def read(path: Path, shape: tuple[int, ...] | None, type_name: str | None) -> Array:
    """
    Read a tensor.

    `.bin` files need `type_name`; `shape` is one axis by default. For other files, both change what is read.
    """
    ending = path.suffix.lower()
    if ending not in TENSOR_ENDINGS:
        raise XonncError(f"{path}: not a tensor file; supported endings: {', '.join(TENSOR_ENDINGS)}")
    dtype = None if type_name is None else element_type(type_name)
    if ending == ".bin" and dtype is None:
        raise XonncError(f"{path}: raw bytes have no type; give it with --type float32")
    content = read_tensor(path)
    array = content if isinstance(content, np.ndarray) else _decoded(path, content, dtype)
    if shape is not None:
        if prod(shape) != array.size:
            raise XonncError(f"{path}: {array.size} elements, but --shape asks for {prod(shape)}")
        array = array.reshape(shape)
    return array if dtype is None else array.astype(dtype)


def _decoded(path: Path, content: bytes, dtype: np.dtype[np.generic] | None) -> Array:
    ending = path.suffix.lower()
    if ending == ".bin":
        assert dtype is not None
        if len(content) % dtype.itemsize:
            raise XonncError(
                f"{path}: {len(content)} bytes: not a multiple of the element size {dtype.itemsize}"
            )
        return np.frombuffer(content, dtype)
    if ending == ".pb":
        try:
            return TensorReader().array(onnx.TensorProto.FromString(content))
        except (DecodeError, XonncError) as error:
            raise XonncError(f"{path}: not a TensorProto: {error}") from None
    try:
        return _of_json(content) if ending == ".json" else np.array(content.split(), np.float32)
    except (ValueError, TypeError, KeyError) as error:
        raise XonncError(f"{path}: not a tensor in text form: {error}") from None


def _of_json(content: bytes) -> Array:
    found: Any = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError("an object with type, shape and data is needed")
    entries = cast("dict[str, Any]", found)
    return np.array(entries["data"], element_type(str(entries["type"]))).reshape(entries["shape"])


def encoded(path: Path, array: Array) -> bytes:
    """Return the content of a tensor file with the format of its ending."""
    ending = path.suffix.lower()
    if ending not in TENSOR_ENDINGS:
        raise XonncError(f"{path}: not a tensor file; supported endings: {', '.join(TENSOR_ENDINGS)}")
    if array.dtype not in DATA_TYPES_BY_DTYPE:
        raise XonncError(f"{path}: ONNX has no element type {array.dtype}")
    if ending in (".pgm", ".ppm"):
        return _portable_map(path, array)
    if ending == ".npy":
        stream = BytesIO()
        np.save(stream, array, allow_pickle=False)
        return stream.getvalue()
    if ending == ".pb":
        return proto(array).SerializeToString()
    if ending == ".bin":
        return payload(array).tobytes()
    if ending == ".dimg":
        return (" ".join(f"{float(value):g}" for value in array.reshape(-1)) + "\n").encode()
    is_float = array.dtype.kind not in "biu"
    data = (array.astype(np.float64) if is_float else array).reshape(-1).tolist()
    return json.dumps({"type": str(array.dtype), "shape": array.shape, "data": data}).encode() + b"\n"


def _portable_map(path: Path, array: Array) -> bytes:
    channels, magic = (1, b"P5") if path.suffix.lower() == ".pgm" else (3, b"P6")
    pixels = array[..., np.newaxis] if array.ndim == 2 else array
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != channels:
        shape = " x ".join(map(str, array.shape))
        raise XonncError(f"{path}: pixels are uint8 and H x W x {channels}; this is {array.dtype} {shape}")
    return b"%s\n%d %d\n255\n" % (magic, pixels.shape[1], pixels.shape[0]) + pixels.tobytes()
