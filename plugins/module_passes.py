"""Passes of plug-ins: functions on modules, registered by name, alone or after a stage of the pipelines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from xonnc.errors import XonncError, suggest
from xonnc.plugins.operators import JoiningPass, Plugin, PluginError
from xonnc.rewriting.extensions import is_taken

FunctionT = TypeVar("FunctionT", bound=Callable[[ModuleOp, Context], None])

NATIVE_STAGES = ("simplified", "legalized", "outlined", "fused", "layout", "krnl", "planned")
"""The stages of native compilation, in sessions and ahead of time, after which passes can run."""

NVDLA_STAGES = ("onnx", "simplified", "dla", "scheduled", "allocated")
"""The stages of compilation for NVDLA after which passes can run."""

STAGES = tuple(dict.fromkeys((*NVDLA_STAGES[:2], *NATIVE_STAGES, *NVDLA_STAGES)))


def module_pass(plugin: Plugin, *, name: str, after: str | None = None) -> Callable[[FunctionT], FunctionT]:
    """
    Declare a function of a module and its context as the pass `name`.

    The function changes the module in place. `onnx-opt --NAME` and pass pipelines run it. With `after`, the
    pipelines of all targets that have this stage run it there; it is a stage of its own in dumps. The stage
    after the lowering of a backend of the same plug-in has the backend's name.
    """
    if is_taken(name) or name in plugin.passes:
        raise PluginError(f"plug-in {plugin.name}: there is a pass '{name}' already")
    stages = (*STAGES, *(backend.name for backend in plugin.backends))
    if after is not None and after not in stages:
        hint = suggest(after, stages) or f"; there are {', '.join(stages)}"
        raise PluginError(f"plug-in {plugin.name}: pass '{name}': no stage '{after}'{hint}")

    def declare(function: FunctionT) -> FunctionT:
        def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
            try:
                function(op, ctx)
                op.verify()
            except XonncError:
                raise
            except VerifyException as error:
                raise XonncError(f"pass {name} of plug-in {plugin.name} left invalid IR: {error}") from error
            except Exception as error:
                raise XonncError(
                    f"pass {name} of plug-in {plugin.name} raised {type(error).__name__}: {error}"
                ) from error

        members = {
            "name": name,
            "apply": apply,
            "__doc__": inspect.getdoc(function) or "",
            "__module__": function.__module__,
        }
        kind = dataclass(frozen=True)(type(function.__name__, (ModulePass,), members))
        plugin.passes[name] = JoiningPass(kind, after)
        return function

    return declare
