"""Load packages and run their CPU parts as native code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from xonnc.argument_types import checks_arguments
from xonnc.backend_model import run_output
from xonnc.errors import PluginFunctionError, XonncError
from xonnc.native import compile_native
from xonnc.plugins.backends import backend_of
from xonnc.runtime import package
from xonnc.runtime.nvdla.simulator import Mode, Observer
from xonnc.runtime.package import Engine, LoadedPackage, RunPart

CPUS = ("native", "onnxruntime")
"""Engines for the CPU parts of a package."""


@checks_arguments
def load_package(
    path: str | Path,
    target: str | None = None,
    mode: Mode = "fast",
    cpu: str = CPUS[0],
    observer: Observer | None = None,
) -> LoadedPackage:
    """
    Load a package, ready to run.

    CPU parts are compiled to native code. A part that native code would run partly in the reference
    evaluator, or that has dynamic shapes, runs in onnxruntime if that is installed.

    Parameters:
        path: the package (.xpkg).
        target: a target to simulate instead of the package's own, if that is a TOML file.
        mode: `fast` sums FP16 convolutions in float32, `exact` follows the hardware bit for bit.
        cpu: `native`, or `onnxruntime` to run all CPU parts in it.
        observer: called after each hardware operation of NVDLA.

    Returns: the loaded package; `run` takes arrays by input name.

    Raises: `XonncError` for an unknown `cpu`, a damaged package, or a part that cannot be loaded.

    Example:
        >>> outputs = xonnc.load_package("model.xpkg").run({"x": image})
    """
    if cpu not in CPUS:
        raise XonncError(f"no engine '{cpu}' for the CPU's partitions; there are {', '.join(CPUS)}")
    native = native_part if cpu == CPUS[0] else None
    return package.load_package(path, target, mode, native, backend_engine, observer)


def backend_engine(target: str) -> Engine:
    """
    Return the engine for parts of a package that the backend of a plug-in compiled.

    Parameters:
        target: the target of the package.

    Raises: `XonncError` if no loaded plug-in has the target.
    """
    backend = backend_of(target)
    if backend is None:
        raise XonncError(f"target '{target}' is of a plug-in that is not loaded; name its file with --plugin")

    def load(part: bytes, name: str) -> tuple[str, RunPart]:
        def run(feeds: Mapping[str, Any]) -> Sequence[object]:
            return run_output(backend, target, part, [np.asarray(each) for each in feeds.values()])

        return f"backend {backend.name}", run

    return load


def native_part(part: bytes, name: str) -> tuple[str, RunPart] | None:
    """
    Compile a CPU part to native code.

    Parameters:
        part: the serialised ONNX model of the part.
        name: the name of the part in messages.

    Returns: the name of the engine and a function from feeds to outputs, or `None` if onnxruntime is
        preferable.
    """
    model = onnx.ModelProto.FromString(part)
    try:
        session = compile_native(model)
    except PluginFunctionError as error:
        raise XonncError(f"{name}: {error}") from None
    except XonncError:
        return None
    has_dynamic_shapes = any(port.shape is None or None in port.shape for port in session.inputs)
    if (session.host_calls() or has_dynamic_shapes) and find_spec("onnxruntime") is not None:
        return None

    def run(feeds: Mapping[str, Any]) -> Sequence[object]:
        try:
            return session.run(None, feeds)
        except XonncError as error:
            raise XonncError(f"{name}: {error}") from None

    return "native code", run
