"""
The manifest of a package, `manifest.json`; docs/nvdla-package.md has its format.

Everything read is checked: names, numbers, and that each step finds what it takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal, TypeAlias, TypeGuard, get_args

from xonnc.errors import XonncError
from xonnc.formats.nvdla.quantization import QuantizationParameters

FORMAT = "xonnc-package"
VERSION = 1
"""
The major version. It changes when readers of the version before would run a package wrongly; entries that
they may ignore are added without.
"""

StepKind: TypeAlias = Literal["dla", "cpu", "backend"]
"""NVDLA, the CPU, or the backend of a plug-in that has the package's target."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"parts/[0-9]+\.(nvdla|onnx)")
_BACKEND_FILE = re.compile(r"parts/[0-9]+\.[A-Za-z0-9_.]+")
"""The files of backends have suffixes of their own."""
_HOST_FILE = re.compile(r"parts/[0-9]+\.(o|h|weight)")


@dataclass(frozen=True)
class TensorInfo:
    """
    The type of a value between steps: NumPy's name of the element type, or `sequence` and the like.

    `shape` has `None` for dynamic dimensions, and is `None` itself if the rank is unknown.
    """

    type: str
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True)
class PackagePort:
    """An input or output of the model, and the value bound to it."""

    name: str
    value: str


@dataclass(frozen=True)
class HostFile:
    """A file of the host's native code for a CPU partition: object file (`.o`), header or weights."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class PackageStep:
    """A partition: its file, size and SHA-256, and the values that it consumes and produces."""

    kind: StepKind
    file: str
    size: int
    sha256: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    quantization: Mapping[str, QuantizationParameters]
    """The quantization of the DLA partition's inputs and outputs, by value."""
    host_files: tuple[HostFile, ...] = ()
    """Native code of a CPU partition for the package's host, in addition to the ONNX model."""
    nodes: tuple[str, ...] = ()
    """The node that each hardware layer of a DLA partition computes; empty if unknown."""


@dataclass(frozen=True)
class Manifest:
    """The manifest; steps run in order."""

    target: str
    inputs: tuple[PackagePort, ...]
    outputs: tuple[PackagePort, ...]
    values: Mapping[str, TensorInfo]
    steps: tuple[PackageStep, ...]
    host: str | None = None
    """The triple or processor kind that all CPU partitions have native code for."""
    batch: int = 1
    """
    The images of one run. `values` are those of one image: loadables take as many, other partitions run for
    one after the other.
    """

    def __post_init__(self) -> None:
        """Raise `XonncError` if a step consumes an undefined value or produces a defined one."""
        if self.batch < 1:
            raise XonncError(f"batch {self.batch}; a run is of 1 image or more")
        defined = _require_unique([port.value for port in self.inputs], "inputs")
        _require_unique([port.name for port in self.inputs], "names of inputs")
        _require_unique([port.name for port in self.outputs], "names of outputs")
        files: set[str] = set()
        for number, step in enumerate(self.steps):
            where = f"step {number}"
            if step.file in files:
                raise XonncError(f"{where}: '{step.file}' is another step's file")
            files.add(step.file)
            self._require_host_files(step, where)
            if missing := [name for name in step.inputs if name not in defined]:
                raise XonncError(f"{where}: takes '{missing[0]}', which no earlier step produces")
            if twice := [name for name in step.outputs if name in defined]:
                raise XonncError(f"{where}: gives '{twice[0]}', which is defined already")
            defined |= _require_unique(step.outputs, f"outputs of {where}")
        if missing := [port.value for port in self.outputs if port.value not in defined]:
            raise XonncError(f"output '{missing[0]}' is produced by no step")
        if unknown := sorted(defined - self.values.keys()):
            raise XonncError(f"value '{unknown[0]}' has no type")

    def _require_host_files(self, step: PackageStep, where: str) -> None:
        """Raise `XonncError` unless a CPU partition has its object file and header, if there is a host."""
        found = sorted(host.file for host in step.host_files)
        stem = step.file.rpartition(".")[0]
        needed = [f"{stem}.h", f"{stem}.o"] if self.host is not None and step.kind == "cpu" else []
        if found != needed and (not needed or found != [*needed, f"{stem}.weight"]):
            raise XonncError(
                f"{where}: host files {', '.join(found) or 'none'}; it has {', '.join(needed) or 'none'}"
            )


def _require_unique(names: Sequence[str], what: str) -> set[str]:
    found: set[str] = set()
    for name in names:
        if name in found:
            raise XonncError(f"{what}: '{name}' twice")
        found.add(name)
    return found


def write_manifest(manifest: Manifest) -> bytes:
    """Return the JSON of a manifest; equal manifests give equal bytes."""
    table = {
        "format": FORMAT,
        "version": VERSION,
        "target": manifest.target,
        **({} if manifest.host is None else {"host": manifest.host}),
        **({} if manifest.batch == 1 else {"batch": manifest.batch}),
        "inputs": [{"name": port.name, "value": port.value} for port in manifest.inputs],
        "outputs": [{"name": port.name, "value": port.value} for port in manifest.outputs],
        "values": {
            name: {"type": tensor.type, "shape": None if tensor.shape is None else list(tensor.shape)}
            for name, tensor in sorted(manifest.values.items())
        },
        "steps": [
            {
                "kind": step.kind,
                "file": step.file,
                "size": step.size,
                "sha256": step.sha256,
                "inputs": list(step.inputs),
                "outputs": list(step.outputs),
                "quantization": {
                    name: {"scale": one.scale, "zero_point": one.zero_point}
                    for name, one in sorted(step.quantization.items())
                },
                **({"host": list(map(asdict, step.host_files))} if step.host_files else {}),
                **({"nodes": list(step.nodes)} if step.nodes else {}),
            }
            for step in manifest.steps
        ],
    }
    return (json.dumps(table, indent=1, ensure_ascii=False) + "\n").encode()


def read_manifest(data: bytes) -> Manifest:
    """Parse a manifest; `XonncError` names the invalid entry."""
    try:
        table: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise XonncError(f"not JSON: {error}") from None
    if _entry(table, "format", str, "manifest") != FORMAT:
        raise XonncError(f"format '{table['format']}' is not '{FORMAT}'")
    version = _entry(table, "version", int, "manifest")
    if version != VERSION:
        raise XonncError(
            f"version {version}; this release reads {VERSION}: update xonnc, or compile the model again"
        )
    values = _entry(table, "values", dict, "manifest")
    return Manifest(
        target=_entry(table, "target", str, "manifest"),
        inputs=tuple(_port(each, f"input {n}") for n, each in _list(table, "inputs", "manifest")),
        outputs=tuple(_port(each, f"output {n}") for n, each in _list(table, "outputs", "manifest")),
        values={name: _tensor(each, f"value '{name}'") for name, each in values.items()},
        steps=tuple(_step(each, f"step {n}") for n, each in _list(table, "steps", "manifest")),
        host=_entry(table, "host", str, "manifest") if "host" in table else None,
        batch=_entry(table, "batch", int, "manifest") if "batch" in table else 1,
    )


def _port(table: Any, where: str) -> PackagePort:
    return PackagePort(_entry(table, "name", str, where), _entry(table, "value", str, where))


def _tensor(table: Any, where: str) -> TensorInfo:
    type_ = _entry(table, "type", str, where)
    if _object(table).get("shape") is None:
        return TensorInfo(type_, None)
    sizes = [size for _, size in _list(table, "shape", where)]
    if not all(size is None or (type(size) is int and size >= 0) for size in sizes):
        raise XonncError(f"{where}: shape {sizes}; sizes are integers or null")
    return TensorInfo(type_, tuple(sizes))


def _step(table: Any, where: str) -> PackageStep:
    step_kind = _entry(table, "kind", str, where)
    kind = next((each for each in get_args(StepKind) if each == step_kind), None)
    if kind is None:
        raise XonncError(f"{where}: kind '{step_kind}'; there are {', '.join(get_args(StepKind))}")
    file, size = _entry(table, "file", str, where), _entry(table, "size", int, where)
    digest = _entry(table, "sha256", str, where)
    if not (_BACKEND_FILE if kind == "backend" else _FILE).fullmatch(file):
        suffix = ".SUFFIX" if kind == "backend" else ".nvdla or .onnx"
        raise XonncError(f"{where}: file '{file}'; parts are called parts/NUMBER{suffix}")
    _require_digest(size, digest, where)
    # Packages of earlier releases call it "grids".
    key = "grids" if "grids" in table and "quantization" not in table else "quantization"
    parameters = _entry(table, key, dict, where)
    return PackageStep(
        kind=kind,
        file=file,
        size=size,
        sha256=digest,
        inputs=_names(table, "inputs", where),
        outputs=_names(table, "outputs", where),
        quantization={
            name: _parameters(each, f"{where}: quantization of '{name}'") for name, each in parameters.items()
        },
        host_files=tuple(_host_file(each, where) for _, each in _list(table, "host", where))
        if "host" in table
        else (),
        nodes=_names(table, "nodes", where) if "nodes" in table else (),
    )


def _host_file(table: Any, where: str) -> HostFile:
    file, size = _entry(table, "file", str, where), _entry(table, "size", int, where)
    digest = _entry(table, "sha256", str, where)
    if not _HOST_FILE.fullmatch(file):
        raise XonncError(f"{where}: host file '{file}'; they are called parts/NUMBER.o, .h or .weight")
    _require_digest(size, digest, where)
    return HostFile(file, size, digest)


def _require_digest(size: int, digest: str, where: str) -> None:
    if size < 0 or not _DIGEST.fullmatch(digest):
        raise XonncError(f"{where}: size {size} and sha256 '{digest}' are no size and digest")


def _parameters(table: Any, where: str) -> QuantizationParameters:
    scale, zero = _entry(table, "scale", float, where), _entry(table, "zero_point", int, where)
    if not (isfinite(scale) and scale > 0):
        raise XonncError(f"{where}: scale {scale:g}; scales are above 0")
    return QuantizationParameters(scale, zero)


def _names(table: Any, key: str, where: str) -> tuple[str, ...]:
    found = [each for _, each in _list(table, key, where)]
    if not all(isinstance(each, str) for each in found):
        raise XonncError(f"{where}: {key} are names, in text")
    return tuple(found)


def _list(table: Any, key: str, where: str) -> list[tuple[int, Any]]:
    found: list[Any] = _entry(table, key, list, where)
    return list(enumerate(found))


def _is_object(table: Any) -> TypeGuard[dict[str, Any]]:
    return type(table) is dict


def _object(table: Any) -> Mapping[str, Any]:
    """Return a JSON object; for another type, an empty one."""
    return table if _is_object(table) else {}


def _entry(table: Any, key: str, kind: type[Any], where: str) -> Any:
    """Return an entry of the given JSON type; integers are accepted as floats."""
    found = _object(table).get(key)
    if kind is float and type(found) is int:
        return float(found)
    if type(found) is not kind:
        raise XonncError(f"{where}: '{key}' is {found!r:.60}, where {_JSON[kind]} is needed")
    return found


_JSON: Mapping[type[Any], str] = {
    dict: "an object",
    float: "a number",
    int: "an integer",
    list: "a list",
    str: "text",
}
