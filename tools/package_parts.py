"""The loadables and ONNX models of a package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.package.archive import read_package


@dataclass(frozen=True)
class PackagePart:
    """A loadable of a package, or an ONNX model, and the nodes of the loadable's layers where known."""

    content: Loadable | bytes
    nodes: tuple[str, ...]


def read_loadables(path: Path) -> tuple[dict[str, Loadable], str]:
    """Return the loadables of a package by name, and its target."""
    parts, target = read_parts(path)
    contents = {name: part.content for name, part in parts.items()}
    return {name: part for name, part in contents.items() if not isinstance(part, bytes)}, target


def read_parts(path: Path) -> tuple[dict[str, PackagePart], str]:
    """Return the parts of a package by name, in execution order, and its target."""
    package = read_package(path)
    parts = {
        f"{path.name}: {step.file}": PackagePart(
            parse_loadable(part, f"{path}: {step.file}") if step.kind == "dla" else bytes(part), step.nodes
        )
        for step, part in zip(package.manifest.steps, package.parts, strict=True)
    }
    return parts, package.manifest.target
