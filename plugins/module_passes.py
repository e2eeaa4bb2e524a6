"""Passes of plug-ins: functions on modules, registered by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.plugins.operators import Plugin, PluginError
from xonnc.rewriting.extensions import is_taken

FunctionT = TypeVar("FunctionT", bound=Callable[[ModuleOp, Context], None])


def module_pass(plugin: Plugin, *, name: str) -> Callable[[FunctionT], FunctionT]:
    """
    Declare a function of a module and its context as the pass `name`.

    The function changes the module in place. `onnx-opt --NAME` and pass pipelines run it.
    """

    def declare(function: FunctionT) -> FunctionT:
        if is_taken(name) or name in plugin.passes:
            raise PluginError(f"plug-in {plugin.name}: there is a pass '{name}' already")

        def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
            function(op, ctx)

        members = {"name": name, "apply": apply, "__doc__": inspect.getdoc(function) or ""}
        plugin.passes[name] = dataclass(frozen=True)(type(function.__name__, (ModulePass,), members))
        return function

    return declare
