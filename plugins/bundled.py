"""
Plug-ins that come with xonnc, loaded lazily.

Each is imported when a model or IR text first contains one of its operators, and not otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from xonnc.dialects.onnx import registry
from xonnc.plugins.operators import Plugin

if TYPE_CHECKING:
    from xdsl.ir import Dialect


@dataclass(frozen=True)
class Bundled:
    """A bundled plug-in: its module, its domain, and its operators of the default domain."""

    module: str
    domain: str
    operators: Sequence[str]


BUNDLED = {
    "microsoft": Bundled(
        "xonnc.contrib.microsoft",
        "com.microsoft",
        (
            "Affine",
            "Crop",
            "DynamicSlice",
            "ImageScaler",
            "ParametricSoftplus",
            "Scale",
            "ScaledTanh",
        ),
    ),
    "qonnx": Bundled("xonnc.contrib.qonnx", "qonnx.custom_op.general", ()),
}
"""The bundled plug-ins by name."""


def offer() -> None:
    """Let the operator registry load a bundled plug-in at the first look-up in its domain."""
    for name, each in BUNDLED.items():
        operators = [(each.domain, ""), *(("", operator) for operator in each.operators)]
        registry.provide(partial(_register, name), operators)


def load(name: str) -> Plugin:
    """Load a bundled plug-in if it is not loaded yet."""
    offer()
    # Any look-up in the domain makes the registry load the plug-in, if it has not done so yet.
    registry.versions_of(BUNDLED[name].domain, "")
    return _plugin(name)


def get_microsoft() -> Dialect:
    """The dialect of onnxruntime's contributed operators."""
    from xonnc.plugins.registration import dialect_of

    return dialect_of(load("microsoft"))


def get_qonnx() -> Dialect:
    """The dialect of quantization to any number of bits, of QONNX."""
    from xonnc.plugins.registration import dialect_of

    return dialect_of(load("qonnx"))


def _register(name: str) -> None:
    # Imported late: it brings the onnx package and the CPU lowering with it.
    from xonnc.plugins.registration import register

    plugin = _plugin(name)
    plugin.source = "bundled with xonnc"
    register(plugin)


def _plugin(name: str) -> Plugin:
    found = import_module(BUNDLED[name].module).plugin
    assert isinstance(found, Plugin)
    return found
