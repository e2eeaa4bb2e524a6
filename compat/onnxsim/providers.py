"""Names of onnxruntime's execution providers, which are checked; constants are folded on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from xonnc.errors import XonncError, suggest

Provider: TypeAlias = str | tuple[str, Mapping[str, Any]]
"""A name, or a name with options."""

CPU = "CPUExecutionProvider"


class UnknownProviderError(XonncError, ValueError):
    """A provider that onnxruntime does not have; a `ValueError` as in onnxsim."""


def check_providers(providers: Sequence[Provider]) -> None:
    """
    Warn of providers other than the CPU, which are not used.

    Raises `TypeError` for what is neither a name nor a name with options, and
    `UnknownProviderError` for a name that onnxruntime, if it is installed, does not know.
    """
    if isinstance(providers, str):
        raise TypeError(f"providers is the text {providers!r}; it is a list of names")
    names = [_name(provider) for provider in providers]
    known: Sequence[str] = ()
    if find_spec("onnxruntime") is not None:
        ort = import_module("onnxruntime")
        known = [*ort.get_all_providers(), *ort.get_available_providers()]
    for name in names:
        if known and name not in known:
            raise UnknownProviderError(f"onnxruntime has no provider '{name}'{suggest(name, known)}")
    if others := [name for name in names if name != CPU]:
        warnings.warn(
            f"constants are folded on the CPU, without onnxruntime: {', '.join(others)} is not used",
            stacklevel=3,
        )


def _name(provider: object) -> str:
    if isinstance(provider, str):
        return provider
    match provider:
        case (str() as name, Mapping()):
            return name
        case _:
            raise TypeError(f"provider {provider!r} is neither a name nor a name with options")
