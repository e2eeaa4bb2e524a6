"""Inputs of the benchmark models, equal for all peers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt
import onnx

DYNAMIC_SIZES = {"batch": 1, "sequence": 64, "height": 56, "width": 56}
"""Values of dynamic dimensions by `dim_param`; 1 for any other name."""

VOCABULARY = 1000
"""Integer inputs are token ids below this; masks are all ones."""


def feeds_for(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    """Random inputs of a model: standard normal floats, bytes, or token ids."""
    with path.open("rb") as file:
        graph = onnx.ModelProto.FromString(file.read()).graph
    initializers = {each.name for each in graph.initializer}
    generator = np.random.default_rng(7)
    feeds: dict[str, npt.NDArray[np.generic]] = {}
    for port in graph.input:
        if port.name in initializers:
            continue
        tensor = port.type.tensor_type
        shape = [each.dim_value or DYNAMIC_SIZES.get(each.dim_param, 1) for each in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.FLOAT:
            feeds[port.name] = generator.normal(size=shape).astype(np.float32)
        elif tensor.elem_type == onnx.TensorProto.UINT8:
            feeds[port.name] = generator.integers(0, 256, shape, np.uint8)
        elif "mask" in port.name:
            feeds[port.name] = np.ones(shape, np.int64)
        else:
            feeds[port.name] = generator.integers(0, VOCABULARY, shape)
    return feeds


def write_feeds(path: Path, feeds: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Write an `.npz` file; unlike `numpy.savez`, names may be arbitrary."""
    with ZipFile(path, "w") as archive:
        for name, array in feeds.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, array)
