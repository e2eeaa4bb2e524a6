"""
Identify files of unsupported types by their content, with a remedy for the message.

Only messages depend on it: a file is asked after reading it has failed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeAlias

MAX_READ = 1 << 16
"""Bytes at the begin in which marks are looked for."""

MIN_TEXT = 12
"""Fewer bytes, none of them a control character, may be the begin of anything."""

MAX_LISTED = 1 << 22
"""Bytes at the end of an archive in which its directory is looked for."""

Bytes: TypeAlias = bytes | memoryview | mmap

_ZIP = b"PK\x03\x04"
_ENTRY = b"PK\x01\x02"
"""
The signature of a member in the directory of a ZIP archive; the length of its name is 28 bytes after it.
"""

ONNX_MODEL = "an ONNX model; 'xonnc compile' makes a loadable, a package or native code of it"
PACKAGE = "a package; xonnc run, simulate, inspect, explain, report and check take it as .xpkg"

NVDLA_LOADABLE = "an NVDLA loadable; xonnc simulate, inspect, report and check take it as .nvdla"

_LFS_START = b"version https://git-lfs.github.com/"
_LFS_POINTER = "a Git LFS pointer, which stands for the file; 'git lfs pull' gets it"
_HTML_STARTS = (b"<!doctype html", b"<html")
_HTML_PAGE = "an HTML page, not the file behind it; download the file itself"

_STARTS: Sequence[tuple[bytes, str]] = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes models (.h5); export it with tf2onnx"),
    (b"\x7fELF", "an ELF library or program; give the model that it was compiled from"),
    (b"MZ\x90\x00", "a Windows library or program; give the model that it was compiled from"),
    (b"\x93NUMPY", "a numpy array (.npy), which holds data and no model"),
    (b"ftrt", "a TensorRT engine; give the ONNX model that it was built from"),
    (
        b"GGUF",
        "a GGUF file of llama.cpp, weights without a graph; export the model to ONNX from its framework",
    ),
    (b"BC\xc0\xde", "LLVM bitcode; give the model that it was compiled from"),
    (b"ML\xefR", "MLIR bytecode; write the IR as text"),
    (b"\x1f\x8b", "compressed by gzip; unpack it first"),
    (b"\xfd7zXZ\x00", "compressed by xz; unpack it first"),
    (b"BZh", "compressed by bzip2; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it and give the model in it"),
    (b"\x89PNG", "a PNG image, which is no model"),
    (b"\xff\xd8\xff", "a JPEG image, which is no model"),
    (b"%PDF", "a PDF document, which is no model"),
    (_LFS_START, _LFS_POINTER),
)

_AT_FOUR: Sequence[tuple[bytes, str]] = (
    (b"TFL3", "a TensorFlow Lite model; convert it with 'python -m tf2onnx.convert --tflite'"),
    (b"NVDA", NVDLA_LOADABLE),
    (b"ORTM", "a model in onnxruntime's own format (.ort); give the ONNX model that it was made from"),
)

_PYTORCH = "a PyTorch file; export it with torch.onnx.export"
_SAVED_MODEL = "a TensorFlow SavedModel; convert it with 'python -m tf2onnx.convert --saved-model'"
_COREML = "a Core ML model; export the model to ONNX from the framework that it was made in"
_OPENVINO = "an OpenVINO model (.xml); give the ONNX model that it was made from"
_SAFETENSORS = "safetensors, weights without a graph; export the model to ONNX from its framework"


def identify_bytes(data: Bytes, is_text: bool = False) -> str | None:
    """
    Name the type of a file and a remedy: `a PyTorch file; export it with …`; `None` if unknown.

    With `is_text` only what is not simply text of some kind, which whoever reads it knows best.
    """
    head = bytes(data[:MAX_READ])
    for mark, meaning in _STARTS:
        if head.startswith(mark):
            return meaning
    for mark, meaning in _AT_FOUR:
        if head[4:8] == mark:
            return meaning
    if head.startswith(_ZIP):
        return _of_archive(data)
    if head[257:262] == b"ustar":
        return _PYTORCH if b"storages" in head else "a tar archive; unpack it and give the model in it"
    if re.match(rb"\x80[\x02-\x05]", head):
        is_torch = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19" in head or b"torch" in head
        return _PYTORCH if is_torch else "a pickle of Python objects; export the model in it to ONNX"
    if re.match(rb"\{\s*\"", head[8:64]) and int.from_bytes(head[:8], "little") < 1 << 32:
        return _SAFETENSORS
    return _of_protobuf(head) or _of_text(head, is_text)


def identify_placeholder(data: Bytes) -> str | None:
    """Return what stands for a file (a Git LFS pointer, an HTML page); `None` if it is the file."""
    head = bytes(data[:1024])
    if head.startswith(_LFS_START):
        return _LFS_POINTER
    return _HTML_PAGE if head.lstrip().lower().startswith(_HTML_STARTS) else None


def identify_file(path: Path) -> str | None:
    """Apply `identify_bytes` to a file; `None` if it cannot be mapped."""
    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return identify_bytes(data)
    except (OSError, ValueError):
        return None


def identify_folder(path: Path) -> str | None:
    """Name the kind of a folder; `None` if unknown."""
    if (path / "saved_model.pb").is_file():
        return _SAVED_MODEL
    return _COREML if path.suffix == ".mlpackage" and path.is_dir() else None


def _of_protobuf(head: bytes) -> str | None:
    """Identify protobuf messages by their first fields, since they have no magic number."""
    if head.startswith(b"\x08") and b"com.github.apple.coremltools" in head:
        return _COREML
    if head.startswith(b"\x08\x01\x12"):
        return _SAVED_MODEL
    if head.startswith(b"\n") and (b"\x12\x0bPlaceholder" in head or b"\x12\x05Const" in head):
        return "a TensorFlow graph; convert it with 'python -m tf2onnx.convert --graphdef'"
    # The version of the IR, then the producer, the graph or the opset.
    return ONNX_MODEL if re.match(rb"\x08[\x03-\x20][\x12\x1a\x3a\x42]", head) else None


def _of_archive(data: Bytes) -> str:
    """Identify a ZIP archive by the names of its members."""
    names = _members(data[-MAX_LISTED:])
    if not names:
        return "a damaged ZIP archive; get the file again"
    last = {name.rsplit("/", 1)[-1] for name in names}
    if "manifest.json" in names and any(name.startswith("parts/") for name in names):
        return PACKAGE
    if last & {"data.pkl", "constants.pkl", "archive_format", "serialized_exported_program.json"}:
        return _PYTORCH
    if "config.json" in names and "model.weights.h5" in names:
        return "a Keras model (.keras); export it with tf2onnx"
    if any(name.endswith(".npy") for name in names):
        return "numpy arrays (.npz), which hold data and no model"
    if any(name.endswith(".mlmodel") for name in names):
        return _COREML
    if "saved_model.pb" in last:
        return _SAVED_MODEL
    found = next((name for name in names if name.endswith(".onnx")), None)
    return f"a ZIP archive; unpack it{'' if found is None else f' and give {found}'}"


def _members(directory: bytes | memoryview) -> list[str]:
    """Return the member names from the directory at the end of a ZIP archive, without a full read."""
    buffer = bytes(directory)
    found: list[str] = []
    offset = buffer.find(_ENTRY)
    while offset >= 0:
        size = int.from_bytes(buffer[offset + 28 : offset + 30], "little")
        found.append(buffer[offset + 46 : offset + 46 + size].decode("utf-8", "replace"))
        offset = buffer.find(_ENTRY, offset + 46)
    return found


def _of_text(head: bytes, is_text: bool) -> str | None:
    """Identify text by its content; `None` if it is not text."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    start = text[:1024].lower()
    if start.startswith(_HTML_STARTS):
        return _HTML_PAGE
    if re.match(rb"(<\?xml[^>]*>\s*)?<net\b", start):
        return _OPENVINO
    if start.startswith(b"<?xml"):
        return "an XML file, which is no model"
    if is_text or len(text) < MIN_TEXT or any(byte < 9 or 13 < byte < 32 for byte in head[:4096]):
        return None
    try:
        head[:4096].decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head[:4096]) - 4:
            return None
    if text.startswith(b"{"):
        return "JSON; a model in it is called .json"
    code = re.sub(rb"\A(\s*//[^\n]*\n)*\s*", b"", text[:4096])
    if code.startswith(b"<") and b"ir_version" in code:
        return "ONNX as text; call it .onnxtxt"
    if re.match(rb"\"?builtin\.module\b|module\b[^\n]*\{|func\.func\b", code):
        return "IR as text; onnx-opt and onnx-translate take it as .mlir"
    return "plain text, which is no model"
