"""
Plug-ins that come with xonnc, loaded lazily.

Each is imported when a model or IR text first contains an operator of its domain, and not otherwise.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from xonnc.dialects.onnx import registry
from xonnc.plugins.operators import Plugin

if TYPE_CHECKING:
    from xdsl.ir import Dialect

BUNDLED = {"microsoft": ("com.microsoft", "xonnc.contrib.microsoft")}
"""The operator domain and the module of each bundled plug-in, by the plug-in's name."""


def offer() -> None:
    """Let the operator registry load a bundled plug-in at the first look-up in its domain."""
    for name, (domain, _) in BUNDLED.items():
        registry.provide(domain, partial(_register, name))


def load(name: str) -> Plugin:
    """Load a bundled plug-in if it is not loaded yet."""
    offer()
    # Any look-up in the domain makes the registry load the plug-in, if it has not done so yet.
    registry.versions_of(BUNDLED[name][0], "")
    return _plugin(name)


def get_microsoft() -> Dialect:
    """The dialect of onnxruntime's contributed operators."""
    from xonnc.plugins.registration import dialect_of

    return dialect_of(load("microsoft"))


def _register(name: str) -> None:
    # Imported late: it brings the onnx package and the CPU lowering with it.
    from xonnc.plugins.registration import register

    plugin = _plugin(name)
    plugin.source = "bundled with xonnc"
    register(plugin)


def _plugin(name: str) -> Plugin:
    found = import_module(BUNDLED[name][1]).plugin
    assert isinstance(found, Plugin)
    return found
