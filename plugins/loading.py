"""
Loading of plug-ins: from files given by path, from the environment, and from installed packages.

A plug-in is code that runs with the user's rights, so no file is ever loaded because a model, or the
folder of a model, names it.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from xonnc.plugins import bundled
from xonnc.plugins.operators import Plugin, PluginError

GROUP = "xonnc.plugins"
"""The entry point group of installed plug-ins."""

ENVIRONMENT = "XONNC_PLUGINS"
"""The environment variable with paths of plug-in files, separated as in PATH."""

_loaded: dict[Path, Sequence[Plugin]] = {}
_state = {"installed": False, "disabled": False}


def load_file(path: str | Path) -> Sequence[Plugin]:
    """
    Load the plug-ins in a Python file and register them; loading the same file again has no effect.

    Raises `PluginError` if the file is missing, raises an exception, or defines no plug-in.
    """
    file = Path(path).resolve()
    if file in _loaded:
        return _loaded[file]
    if not file.is_file():
        raise PluginError(f"{path}: no such file; --plugin takes a Python file")
    plugins = plugins_in(_imported(file), str(path))
    for plugin in plugins:
        plugin.source = plugin.source or str(path)
        _register(plugin)
    _loaded[file] = plugins
    return plugins


def load_installed() -> None:
    """
    Register the plug-ins of the environment and of installed packages, once, and offer the bundled ones.

    A package whose plug-in fails is skipped with a warning, so that models that do not need it still compile.
    """
    bundled.offer()
    if _state["installed"] or _state["disabled"]:
        return
    _state["installed"] = True
    for path in os.environ.get(ENVIRONMENT, "").split(os.pathsep):
        if path:
            load_file(path)
    for entry in installed():
        try:
            for plugin in plugins_of(entry):
                plugin.source = plugin.source or _origin(entry)
                _register(plugin)
        except Exception as error:
            warnings.warn(f"plug-in '{entry.name}' of {_origin(entry)} is left out: {error}", stacklevel=2)


def installed() -> Iterator[EntryPoint]:
    """Yield the entry points of installed plug-ins, sorted by name."""
    yield from sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


def disable() -> None:
    """Stop automatic loading: from now on only files given by path and bundled plug-ins (`--no-plugins`)."""
    _state["disabled"] = True


def plugins_in(module: ModuleType, source: str) -> Sequence[Plugin]:
    """Return the plug-ins that a module defines; raise `PluginError` if there are none."""
    found = list(
        {id(plugin): plugin for plugin in vars(module).values() if isinstance(plugin, Plugin)}.values()
    )
    if not found:
        raise PluginError(f"{source}: no plug-in in it; it needs a Plugin('name')")
    return found


def _register(plugin: Plugin) -> None:
    # Imported late: it brings the compiler with it, which `--help` does not need.
    from xonnc.plugins.registration import register

    register(plugin)


def plugins_of(entry: EntryPoint) -> Sequence[Plugin]:
    """Return the plug-ins of an entry point, which names a `Plugin` or a module with plug-ins."""
    loaded: object = entry.load()
    if isinstance(loaded, Plugin):
        return [loaded]
    if isinstance(loaded, ModuleType):
        return plugins_in(loaded, entry.value)
    raise PluginError(f"entry point {entry.value} is neither a Plugin nor a module")


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value


def _imported(file: Path) -> ModuleType:
    # The hash of the path makes module names unique: two files may both be called ops.py.
    name = f"xonnc_plugin_{file.stem}_{sha256(str(file).encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise PluginError(f"{file}: not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except PluginError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        line = _line_of(error, file)
        raise PluginError(f"{file}{line}: {type(error).__name__}: {error}") from error
    return module


def _line_of(error: BaseException, file: Path) -> str:
    """Return the line of the file where an error was raised, as `:12`; empty if it was elsewhere."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    lines: list[int] = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f":{lines[-1]}" if lines else ""
