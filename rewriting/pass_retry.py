"""
Passes that ask to be run again with other parameters.

A pass raises `RetryError` where its parameters do not fit the module, as a tile that is too large. It is then
run on the module as it was before, with the parameters changed, a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.elements import drop_attributes
from xonnc.errors import XonncError
from xonnc.rewriting.remarks import remark

ParametersT = TypeVar("ParametersT", bound=Mapping[str, object])

MAX_TRIES = 8
"""The maximum number of runs of a pass on a module."""


class RetryError(Exception):
    """A pass asks to be run again on the unchanged module; `changes` are new values of its parameters."""

    def __init__(self, reason: str, **changes: object) -> None:
        super().__init__(reason)
        self.changes = changes


def run_with_retry(
    name: str,
    run: Callable[[ModuleOp, Mapping[str, object]], None],
    module: ModuleOp,
    parameters: Mapping[str, object],
) -> None:
    """
    Run a pass on a copy of the module until it asks for no retry; the result replaces the module's ops.

    Raises `XonncError` after `MAX_TRIES` runs, or for a parameter that the pass does not have.
    """
    for number in range(1, MAX_TRIES + 1):
        tried = module.clone()
        try:
            run(tried, parameters)
        except RetryError as request:
            drop_attributes(tried)
            unknown = [each for each in request.changes if each not in parameters]
            if unknown or not request.changes:
                known = ", ".join(parameters) or "none"
                what = f"with '{unknown[0]}'" if unknown else "with nothing changed"
                raise XonncError(f"pass {name} asks for a retry {what}; its parameters are {known}") from None
            parameters = {**parameters, **request.changes}
            changes = ", ".join(f"{each}={value}" for each, value in request.changes.items())
            if number == MAX_TRIES:
                raise XonncError(
                    f"pass {name} gives up after {MAX_TRIES} tries: {request}; it asks for {changes}"
                ) from None
            remark(f"pass {name}: retry {number + 1}/{MAX_TRIES} with {changes}: {request}", module)
            continue
        drop_attributes(ModuleOp(module.detach_region(0)))
        module.add_region(tried.detach_region(0))
        module.attributes = dict(tried.attributes)
        return
