"""Packages whose parts for the CPU run as native code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.runtime import package
from xonnc.runtime.nvdla.simulator import Mode
from xonnc.runtime.package import LoadedPackage, RunPart

CPUS = ("native", "onnxruntime")
"""What parts for the CPU run by."""


def load_package(
    path: str | Path, target: str | None = None, mode: Mode = "fast", cpu: str = CPUS[0]
) -> LoadedPackage:
    """
    The package in a file, ready to run.

    Parts for the CPU are compiled to native code; those that would need the reference evaluator run in
    onnxruntime if it is installed. With `cpu="onnxruntime"` all do. Raises `XonncError` for another `cpu`,
    and for parts that cannot be loaded.
    """
    if cpu not in CPUS:
        raise XonncError(f"no way '{cpu}' to run parts for the CPU; there are {', '.join(CPUS)}")
    return package.load_package(path, target, mode, native_part if cpu == CPUS[0] else None)


def native_part(part: bytes, name: str) -> tuple[str, RunPart] | None:
    """A part of a model as native code; `None` if something else suits it better."""
    model = onnx.ModelProto.FromString(part)
    try:
        session = compile_native(model)
    except XonncError:
        return None
    has_open_sizes = any(port.shape is None or None in port.shape for port in session.inputs)
    if (session.host_calls() or has_open_sizes) and find_spec("onnxruntime") is not None:
        return None

    def run(feeds: Mapping[str, Any]) -> Sequence[object]:
        try:
            return session.run(None, feeds)
        except XonncError as error:
            raise XonncError(f"{name}: {error}") from None

    return "native code", run
