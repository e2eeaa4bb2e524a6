"""Passes of plug-ins: functions on modules, registered by name, alone or after a stage of the pipelines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import make_dataclass
from typing import Any, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from xonnc.errors import XonncError, suggest
from xonnc.plugins.operators import JoiningPass, Plugin, PluginError
from xonnc.rewriting.extensions import NATIVE_STAGES, is_taken
from xonnc.rewriting.pass_retry import RetryError, run_with_retry

FunctionT = TypeVar("FunctionT", bound=Callable[..., None])

OPTION_TYPES = (int, float, bool, str)
"""The types of options of passes."""

NVDLA_STAGES = ("onnx", "simplified", "dla", "scheduled", "allocated")
"""The stages of compilation for NVDLA after which passes can run."""

STAGES = tuple(dict.fromkeys((*NVDLA_STAGES[:2], *NATIVE_STAGES, *NVDLA_STAGES)))


def module_pass(plugin: Plugin, *, name: str, after: str | None = None) -> Callable[[FunctionT], FunctionT]:
    """
    Declare a function of a module and its context as the pass `name`.

    The function changes the module in place. Further parameters with a default (an integer, float, boolean or
    string) are options of the pass: `onnx-opt --NAME='tile=16'`. A function with such parameters may
    `raise RetryError("too large", tile=16)`: it is run again on the unchanged module, up to 8 times in all.

    `onnx-opt --NAME` and pass pipelines run it. With `after`, the
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
        options = _options(function, f"plug-in {plugin.name}: pass '{name}'")

        def run(module: ModuleOp, parameters: Mapping[str, object], ctx: Context) -> None:
            try:
                function(module, ctx, **parameters)
                module.verify()
            except (XonncError, RetryError):
                raise
            except VerifyException as error:
                raise XonncError(f"pass {name} of plug-in {plugin.name} left invalid IR: {error}") from error
            except Exception as error:
                raise XonncError(
                    f"pass {name} of plug-in {plugin.name} raised {type(error).__name__}: {error}"
                ) from error

        def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
            given = {option: getattr(self, option) for option in options}
            if options:
                run_with_retry(name, lambda module, changed: run(module, changed, ctx), op, given)
            else:
                run(op, {}, ctx)

        members = {
            "name": name,
            "apply": apply,
            "__doc__": inspect.getdoc(function) or "",
        }
        kind = make_dataclass(
            function.__name__,
            [(option, cast("type[object]", type(default)), default) for option, default in options.items()],
            bases=(ModulePass,),
            namespace=members,
            frozen=True,
        )
        # The source of the plug-in is part of the key of cached programs.
        kind.__module__ = function.__module__
        plugin.passes[name] = JoiningPass(kind, after)
        return function

    return declare


def _options(function: Callable[..., None], where: str) -> dict[str, Any]:
    """Return the defaults of the parameters after the module and the context."""
    parameters = list(inspect.signature(function).parameters.values())[2:]
    for each in parameters:
        if type(each.default) not in OPTION_TYPES:
            kinds = ", ".join(kind.__name__ for kind in OPTION_TYPES)
            raise PluginError(f"{where}: parameter '{each.name}' needs a default of type {kinds}")
    return {each.name: each.default for each in parameters}
