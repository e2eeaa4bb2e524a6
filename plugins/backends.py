"""Backends of plug-ins: declaration with their lowering pass, registration, and search by target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass

from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.plugins.backend_declarations import Backend
from xonnc.plugins.operators import JoiningPass, Plugin, PluginError
from xonnc.rewriting.extensions import is_taken
from xonnc.targets import target_names
from xonnc.targets.cpu import CODE_SUFFIXES, cpu_names
from xonnc.targets.toml_tables import read_toml


def backend(
    plugin: Plugin,
    name: str,
    properties: type,
    files: Sequence[str | Path],
    *,
    suffix: str,
    dialect: Dialect | None = None,
) -> Backend:
    """
    Declare a backend of a plug-in.

    Parameters:
        plugin: the plug-in it belongs to.
        name: its name, which is also the stage after the lowering; the pass is `convert-onnx-to-NAME`.
        properties: a frozen dataclass with the properties of a target, `name` and `description` among them.
        files: TOML files with the values of the properties, one for each target, named as the target.
        suffix: the suffix of output files.
        dialect: the dialect of the ops that it lowers to.

    Returns: the backend, with decorators for its functions: `lowers`, `constraint` and `emits`.
    """
    made = Backend(plugin, name, properties, files, suffix=suffix, dialect=dialect)
    pass_name = f"convert-onnx-to-{name.replace('_', '-')}"
    if is_taken(pass_name) or pass_name in plugin.passes:
        raise PluginError(f"{made}: there is a pass '{pass_name}' already")
    plugin.passes[pass_name] = JoiningPass(_lowering_pass(made, pass_name))
    plugin.backends.append(made)
    return made


def _lowering_pass(backend: Backend, name: str) -> type[ModulePass]:
    # Imported late: it brings the readers of IR with it, which registration brings too.
    from xonnc.plugins.backend_lowering import convert

    def apply(found: Any, ctx: Context, op: ModuleOp) -> None:
        convert(op, backend, backend.target_of(found.target))

    members = {"name": name, "apply": apply, "__doc__": f"Lowers ONNX operators for {backend}."}
    kind = make_dataclass(
        f"ConvertOnnxTo{backend.name.title()}",
        [("target", str, next(iter(backend.targets)))],
        bases=(ModulePass,),
        namespace=members,
        frozen=True,
    )
    # The source of the plug-in is part of the key of cached programs.
    kind.__module__ = getattr(backend.properties, "__module__", __name__)
    return kind


_backends: dict[str, Backend] = {}


def backends() -> Sequence[Backend]:
    """Return the registered backends."""
    return list(_backends.values())


def require_new_backends(plugin: Plugin) -> None:
    """Raise `PluginError` if a backend is incomplete, or its name or a target is taken."""
    taken = {name: "xonnc" for name in ("cpu", "tosa", *cpu_names(), *target_names())}
    taken |= {name: f"plug-in {each.plugin.name}" for each in backends() for name in each.targets}
    for backend in plugin.backends:
        if backend.name in _backends:
            other = _backends[backend.name].plugin.name
            raise PluginError(f"{backend}: plug-in {other} has a backend of this name; rename one")
        for name in backend.targets:
            if name in taken:
                raise PluginError(f"{backend}: {taken[name]} has a target '{name}'; rename the TOML file")
            taken[name] = f"plug-in {plugin.name}"
        if not backend.lowerings:
            raise PluginError(f"{backend}: it lowers no operator; decorate a function with @….lowers('Relu')")
        if backend.emit is None:
            raise PluginError(f"{backend}: nothing emits its output; decorate a function with @….emits")


def register_backends(plugin: Plugin) -> None:
    """Register the backends of a plug-in, which `require_new_backends` has accepted."""
    _backends.update({backend.name: backend for backend in plugin.backends})


def require_target(name: str, *others: str) -> None:
    """
    Raise `UnknownNameError` unless a target of the compiler, of a plug-in or of `others` has this name.

    The paths of TOML files are left to those who read them.
    """
    own = ["cpu", *cpu_names(), *others, *target_names()]
    known = [*own, *(target for backend in backends() for target in backend.targets)]
    if name not in known and (suffix := f".{name.lower()}") in CODE_SUFFIXES:
        raise UnknownNameError(
            f"no target '{name}': the name of the output selects the kind of code, such as -o model{suffix}"
        )
    if name not in known and not name.endswith(".toml"):
        raise UnknownNameError(
            f"no target '{name}'{suggest(name, known) or '.'} There are {', '.join(known)}; "
            "a .toml file of your own serves as well"
        )


def backend_of(target: str | None) -> Backend | None:
    """
    Return the backend of a target, given by its name or a TOML file with `backend = "…"`.

    The result is `None` for the targets of the compiler and for unknown names.
    """
    if target is None:
        return None
    for backend in backends():
        if target in backend.targets:
            return backend
    path = Path(target)
    if path.suffix != ".toml" or not path.is_file():
        return None
    named = read_toml(path).get("backend")
    if named is None:
        return None
    if named not in _backends:
        hint = suggest(str(named), _backends) or f"; there are {', '.join(_backends) or 'none'}"
        raise XonncError(f"{target}: no backend '{named}'{hint}; is its plug-in loaded?")
    return _backends[str(named)]
