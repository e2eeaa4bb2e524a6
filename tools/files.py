"""Files of commands other than models: arrays, raw surfaces, IR dumps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.arrays import read_array
from xonnc.formats.atomic_write import OutputFiles, is_special, require_writable
from xonnc.formats.input_files import record_input
from xonnc.tools.portable_maps import read_portable_map

Array = npt.NDArray[Any]


STDOUT = Path("-")
"""The name of standard output as an output file."""

FILE_KINDS: Mapping[str, str] = {
    ".onnx": "ONNX model",
    ".onnxtxt": "ONNX model as text",
    ".onnxtext": "ONNX model as text",
    ".json": "ONNX model as JSON",
    ".mlir": "IR",
    ".nvdla": "NVDLA loadable",
    ".xpkg": "package",
    ".so": "shared library",
    ".o": "object file",
    ".ll": "LLVM IR",
    ".c": "C source",
    ".h": "C header",
    ".weight": "constants",
    ".npy": "array",
    ".npz": "arrays",
    ".bin": "bytes",
    ".pgm": "image",
    ".ppm": "image",
    ".toml": "target",
    ".html": "page",
}
"""The format of a file by its name."""


def is_package(path: Path) -> bool:
    """Return whether a file name is that of a package."""
    return FILE_KINDS.get(path.suffix.lower()) == "package"


def require_output(path: Path, endings: Collection[str], *inputs: Path, takes_others: bool = False) -> None:
    """
    Check an output file before any work is done for it.

    Its name has one of `endings` or none, or with `takes_others` one that is of no known format; it is a file
    that can be written, or a device or pipe; it is none of the `inputs`.
    """
    for file in inputs:
        record_input(file)
    require_writable(path)
    ending = path.suffix.lower()
    is_other = ending in FILE_KINDS if takes_others else bool(ending)
    if not is_other or ending in endings or is_special(path):
        return
    reason = f" says {FILE_KINDS[ending]}" if ending in FILE_KINDS else " is none of an output"
    listed = ", ".join(f"{each} ({FILE_KINDS.get(each, 'output')})" for each in endings)
    raise XonncError(f"{path}: the ending {ending}{reason}; supported: {listed}")


def stage_file(folder: Path, stages: Sequence[str], stage: str) -> Path:
    """Return the dump file of a stage: `01-onnx.mlir`, `02-simplified.mlir`, …"""
    return folder / f"{stages.index(stage) + 1:02}-{stage}.mlir"


def read_tensor(path: Path) -> Array | bytes:
    """
    An input for the simulator: the array in a `.npy` file, the pixels of a `.pgm` or `.ppm` as bytes `HxWxC`,
    or the raw bytes of any other file.
    """
    if not path.is_file():
        raise XonncError(f"{path}: no such file")
    record_input(path)
    if path.suffix in (".pgm", ".ppm"):
        return read_portable_map(path)
    return read_array(path) if path.suffix == ".npy" else path.read_bytes()


def reshape_to_binding(value: Array | bytes, shape: tuple[int, ...]) -> Array | bytes:
    """
    Reshape an array to the shape of the bound tensor, if they have equally many elements.

    Pixels row by row, `HxWxC`, stay as they are.
    """
    is_rows = isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3
    if isinstance(value, bytes) or is_rows or value.size != prod(shape):
        return value
    return value.reshape(shape)


def write_array(files: OutputFiles, path: Path, array: Array) -> None:
    """Write an array as `.npy`."""
    with files.open(path) as file:
        file.write(_npy(array))


def _npy(array: Array) -> bytes:
    """Return the bytes of an array as `.npy`; NumPy itself cannot write to pipes."""
    content = BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()
