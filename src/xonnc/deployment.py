"""
Programs for boards: a package as C++ sources with its loadables and the native code of its CPU parts.

    deploy("model.xpkg", "board")
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx

from xonnc.argument_types import checks_arguments
from xonnc.artifacts import compile_artifact
from xonnc.errors import RefusalError, XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.native.program import TensorSpec
from xonnc.formats.nvdla.checks.loadable_check import require_fitting
from xonnc.formats.nvdla.enumerations import MemoryFlags
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.onnx.embedded_models import require_self_contained
from xonnc.formats.package.archive import Package, read_package
from xonnc.formats.package.manifest import PackageStep, TensorInfo
from xonnc.host_code import part_prefix
from xonnc.lowering.deployment.board_program import (
    BoardProgram,
    CpuStep,
    Cube,
    ElementType,
    LoadableStep,
    Value,
)
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.nvdla.tensors import BoundTensor
from xonnc.targets import NvdlaTarget, load_target
from xonnc.targets.cpu import cpu_names

PORTABLE = "c"
"""The CPU for which parts are C source, compiled by the board's own compiler."""

_ELEMENTS = {
    np.dtype(np.int8): ElementType.INT8,
    np.dtype(np.int16): ElementType.INT16,
    np.dtype(np.float16): ElementType.FLOAT16,
    np.dtype(np.float32): ElementType.FLOAT32,
}


@dataclass(frozen=True)
class Deployment:
    """A program that was written."""

    folder: Path
    program: BoardProgram
    files: Mapping[str, int]
    """Sizes in bytes by path in the folder."""


@checks_arguments
def deploy(
    package: str | Path,
    output: str | Path,
    *,
    cpu: str | None = None,
    target: str | None = None,
    name: str | None = None,
) -> Deployment:
    """
    Write a C++ program that runs a package on a board, without Python.

    Parameters:
        package: the package (.xpkg).
        output: the folder to write, which must not exist or be empty.
        cpu: `c` for CPU parts as C source for any processor, or a processor kind (`aarch64`, …) for object
            files. By default the object files that the package has for its host, or C source if it has none.
        target: the NVDLA configuration instead of the one that the package names, if that is a TOML file.
        name: the name of the program (default: that of the package).

    Returns: the program and its files.

    Raises:
        RefusalError: with every operator of a CPU part that has no native code.
        XonncError: for a damaged package, dynamic shapes, strings, or a folder that has content.

    Example:
        >>> xonnc.deploy("model.xpkg", "board", cpu="aarch64")
    """
    folder = Path(output)
    if cpu not in (None, PORTABLE, "cpu", *cpu_names()):
        raise XonncError(f"no processor '{cpu}'; there are {', '.join((PORTABLE, 'cpu', *cpu_names()))}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise XonncError(f"{folder}: it exists already; choose another with --output")
    content = read_package(Path(package))
    if content.manifest.batch != 1:
        raise XonncError(
            f"{package}: a run computes {content.manifest.batch} images, a board's program one at a time; "
            "compile without --batch"
        )
    for step in content.manifest.steps:
        if step.kind == "backend":
            raise XonncError(f"{package}: {step.file} is of a plug-in, which deploys it itself")
    hardware = load_target(target or content.manifest.target)
    name = re.sub(r"\W", "_", Path(package).stem, flags=re.ASCII) if name is None else name
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
        raise XonncError(f"program '{name}': names are of letters, digits and _; give one with --name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Everything is written before the folder gets its name.
    with TemporaryDirectory(dir=folder.parent) as temporary:
        staged = Path(temporary) / "program"
        program = _write(content, staged, name, cpu, hardware)
        files = {str(path.relative_to(staged)): path.stat().st_size for path in _files(staged)}
        if folder.exists():
            folder.rmdir()
        os.replace(staged, folder)
    return Deployment(folder, program, files)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _write(package: Package, folder: Path, name: str, cpu: str | None, hardware: NvdlaTarget) -> BoardProgram:
    manifest = package.manifest
    for part in ("parts", "data", "simulator/nvdla"):
        (folder / part).mkdir(parents=True)
    used = {port.value for port in (*manifest.inputs, *manifest.outputs)}
    used |= {value for step in manifest.steps for value in (*step.inputs, *step.outputs)}
    values = {value: _value(value, info) for value, info in manifest.values.items() if value in used}
    steps: list[LoadableStep | CpuStep] = []
    for number, (step, part) in enumerate(zip(manifest.steps, package.parts, strict=True)):
        where = f"{package.name}: {step.file}"
        if step.kind == "dla":
            steps.append(_loadable(part, where, step, values, hardware))
            (folder / "data" / Path(step.file).name).write_bytes(part)
        elif cpu is None and manifest.host is not None:
            steps.append(_host_part(package, part, where, step, folder, number))
        else:
            steps.append(_cpu_part(part, where, step, folder, part_prefix(number), cpu or PORTABLE))
    program = BoardProgram(
        name,
        Path(package.name).name,
        manifest.target,
        values,
        [(port.name, port.value) for port in manifest.inputs],
        [(port.name, port.value) for port in manifest.outputs],
        steps,
    )
    for path, text in program.files().items():
        with atomic_write(folder / path) as file:
            file.write(text.encode())
    return program


def _value(name: str, info: TensorInfo) -> Value:
    shape = [size for size in info.shape or () if size is not None]
    if info.shape is None or len(shape) != len(info.shape):
        raise XonncError(
            f"value '{name}': its shape is dynamic; fix the shapes of the model's inputs with "
            "'xonnc simplify --overwrite-input-shape' and compile again"
        )
    try:
        size = np.dtype(info.type).itemsize
    except TypeError:
        raise XonncError(f"value '{name}': no array in C has elements of type {info.type}") from None
    return Value(info.type, tuple(shape), prod(shape) * size)


def _loadable(
    part: bytes, where: str, step: PackageStep, values: dict[str, Value], hardware: NvdlaTarget
) -> LoadableStep:
    loadable = parse_loadable(part, where)
    require_fitting(loadable, where, hardware)
    simulator = Simulator(loadable, hardware)
    sizes = {
        loadable.tensors[entry.tensor_desc_id].name: entry.size
        for entry in loadable.memories
        if entry.flags & (MemoryFlags.INPUT | MemoryFlags.OUTPUT)
    }
    inputs: list[tuple[str, Cube]] = []
    for name, tensor in zip(step.inputs, simulator.inputs, strict=True):
        if tensor.pixel is not None:
            rows = tensor.shape[2], tensor.shape[3] * tensor.pixel.planes[0].size
            values[name] = Value("uint8", rows, prod(rows))
        inputs.append((name, _cube(f"{where}: '{name}'", tensor, values[name], sizes[tensor.name])))
    outputs = [
        (name, _cube(f"{where}: '{name}'", tensor, values[name], sizes[tensor.name]))
        for name, tensor in zip(step.outputs, simulator.outputs, strict=True)
    ]
    return LoadableStep(Path(step.file).name, inputs, outputs)


def _cube(where: str, tensor: BoundTensor, value: Value, memory_bytes: int) -> Cube:
    images, channels, height, width = tensor.shape
    element, kind = _ELEMENTS[tensor.dtype], _ELEMENTS.get(np.dtype(value.type))
    if tensor.pixel is not None:
        if len(tensor.pixel.planes) > 1:
            raise XonncError(f"{where}: pixels in two planes; deploy takes formats of one plane")
        channels, width = 1, value.shape[1]
        element = kind = ElementType.BYTES
    if kind is None:
        raise XonncError(
            f"{where}: {value.type} elements; the conversions are from float32, float16 and int8"
        )
    if element != kind and element != ElementType.FLOAT16 and tensor.grid is None:
        raise XonncError(
            f"{where}: {value.type} becomes {tensor.dtype}, but the loadable has no scale for it"
        )
    return Cube(
        images,
        channels,
        height,
        width,
        element,
        kind,
        tensor.atom,
        tensor.line_stride,
        tensor.surf_stride,
        tensor.size // images,
        tensor.offset,
        memory_bytes,
        0.0 if tensor.grid is None else float(np.float32(tensor.grid.scale)),
        0 if tensor.grid is None else tensor.grid.zero_point,
    )


def _cpu_part(part: bytes, where: str, step: PackageStep, folder: Path, prefix: str, cpu: str) -> CpuStep:
    require_self_contained(part, where)
    model = onnx.ModelProto.FromString(part)
    suffix = ".c" if cpu == PORTABLE else ".o"
    path = folder / "parts" / f"{prefix}{suffix}"
    try:
        artifact = compile_artifact(model, path, "cpu" if cpu == PORTABLE else cpu, prefix=prefix)
    except RefusalError as refused:
        raise refused.at(where) from None
    _require_ports(where, step.inputs, artifact.program.inputs)
    _require_ports(where, step.outputs, artifact.program.outputs)
    weights = [file for file in artifact.files if file.suffix == ".weight"]
    for file in weights:
        shutil.move(file, folder / "data" / f"{prefix}.weight")
    return CpuStep(prefix, path.name, f"{prefix}.weight" if weights else None, step.inputs, step.outputs)


def _host_part(
    package: Package, part: bytes, where: str, step: PackageStep, folder: Path, number: int
) -> CpuStep:
    """Write the object file, header and weights that the package has for its host."""
    require_self_contained(part, where)
    graph = onnx.ModelProto.FromString(part).graph
    _require_names(where, step.inputs, [port.name for port in graph.input])
    _require_names(where, step.outputs, [port.name for port in graph.output])
    prefix, weights = part_prefix(number), None
    for each in step.host_files:
        file = f"{prefix}{Path(each.file).suffix}"
        if each.file.endswith(".weight"):
            weights = file
        (folder / ("data" if file == weights else "parts") / file).write_bytes(package.host_files[each.file])
    return CpuStep(prefix, f"{prefix}.o", weights, step.inputs, step.outputs)


def _require_ports(where: str, names: Sequence[str], ports: Sequence[TensorSpec]) -> None:
    _require_names(where, names, [port.name for port in ports])


def _require_names(where: str, names: Sequence[str], found: Sequence[str]) -> None:
    if list(found) != list(names):
        raise XonncError(f"{where}: it has {', '.join(found)}, the manifest says {', '.join(names)}")
