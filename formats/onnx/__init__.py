"""
ONNX models: files in and out, and the way to and from the `onnx` dialect.

`import_model(path, ctx)` gives a module whose weights are views of the mapped file,
`export_model(module, path)` writes one, `models_equal(a, b)` says where two differ. They are loaded when
first asked for, so that a tool that reads no model pays nothing for the `onnx` package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xonnc.formats.onnx.compare import models_equal
    from xonnc.formats.onnx.exporter import export_model, export_proto
    from xonnc.formats.onnx.importer import import_model, import_proto

__all__ = ["export_model", "export_proto", "import_model", "import_proto", "models_equal"]

_HOMES = {
    "export_model": "exporter",
    "export_proto": "exporter",
    "import_model": "importer",
    "import_proto": "importer",
    "models_equal": "compare",
}


def __getattr__(name: str) -> object:
    """Load a public name from its module when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
