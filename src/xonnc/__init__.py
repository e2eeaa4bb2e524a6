"""xonnc compiles ONNX models with xDSL: to native code, and to NVDLA loadables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xonnc.api import compile
    from xonnc.artifacts import Artifact, compile_artifact
    from xonnc.compiler import Compilation, compile_model
    from xonnc.deployment import Deployment, deploy
    from xonnc.dla_model import DlaModel
    from xonnc.errors import InvalidModelError, RefusalError, XonncError
    from xonnc.formats.native.param_dict import load_params, save_params
    from xonnc.formats.nvdla.checks.loadable_check import read_checked
    from xonnc.formats.nvdla.reader import read_loadable
    from xonnc.graph_build import build, build_config
    from xonnc.native import load_native as load
    from xonnc.notebook import load_ipython_extension as load_ipython_extension
    from xonnc.package_engine import load_package
    from xonnc.packages import CompiledPackage, compile_package
    from xonnc.quantizer import QuantizedModel, quantize
    from xonnc.runtime.native.library import Library
    from xonnc.runtime.native.session import Session
    from xonnc.runtime.nvdla.simulator import Simulator, simulate
    from xonnc.runtime.package import LoadedPackage
    from xonnc.simplifier import SimplifiedModel, simplify
    from xonnc.targets import load_target
    from xonnc.torch_backend import from_torch
    from xonnc.tosa import TosaOutput, compile_tosa
    from xonnc.verifier import verify

__version__: str

__all__ = [
    "Artifact",
    "Compilation",
    "CompiledPackage",
    "Deployment",
    "DlaModel",
    "InvalidModelError",
    "Library",
    "LoadedPackage",
    "QuantizedModel",
    "RefusalError",
    "Session",
    "SimplifiedModel",
    "Simulator",
    "TosaOutput",
    "XonncError",
    "build",
    "build_config",
    "compile",
    "compile_artifact",
    "compile_model",
    "compile_package",
    "compile_tosa",
    "deploy",
    "from_torch",
    "load",
    "load_package",
    "load_params",
    "load_target",
    "quantize",
    "read_checked",
    "read_loadable",
    "save_params",
    "simplify",
    "simulate",
    "verify",
]

_HOMES = {
    "Artifact": "artifacts",
    "Compilation": "compiler",
    "CompiledPackage": "packages",
    "Deployment": "deployment",
    "DlaModel": "dla_model",
    "InvalidModelError": "errors",
    "Library": "runtime.native.library",
    "LoadedPackage": "runtime.package",
    "QuantizedModel": "quantizer",
    "RefusalError": "errors",
    "Session": "runtime.native.session",
    "SimplifiedModel": "simplifier",
    "Simulator": "runtime.nvdla.simulator",
    "TosaOutput": "tosa",
    "XonncError": "errors",
    "build": "graph_build",
    "build_config": "graph_build",
    "compile": "api",
    "compile_artifact": "artifacts",
    "compile_model": "compiler",
    "compile_package": "packages",
    "compile_tosa": "tosa",
    "deploy": "deployment",
    "from_torch": "torch_backend",
    "load": "native",
    "load_ipython_extension": "notebook",
    "load_package": "package_engine",
    "load_params": "formats.native.param_dict",
    "load_target": "targets",
    "quantize": "quantizer",
    "read_checked": "formats.nvdla.checks.loadable_check",
    "read_loadable": "formats.nvdla.reader",
    "save_params": "formats.native.param_dict",
    "simplify": "simplifier",
    "simulate": "runtime.nvdla.simulator",
    "verify": "verifier",
}

_NAMES_THERE = {"load": "load_native"}
"""Public names that are others where they live."""


def __getattr__(name: str) -> object:
    """Load a public name from its module when it is first asked for (PEP 562): every tool imports this."""
    if name == "__version__":
        from importlib.metadata import version

        return version("xonnc")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from xonnc.garbage_collection import without_cycle_collection

    with without_cycle_collection(keeps_all=True):
        home = import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(home, _NAMES_THERE.get(name, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
