"""
Diagnostics of passes that do not stop the run: warnings and remarks.

    warn("the rules did not converge", function)

A tool installs a listener (`listening`) and prints them with their location. Without a listener, as under
`xdsl-opt`, a warning becomes a Python warning and a remark a message of the logger `xonnc`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from xonnc.dialects.onnx.locations import describe, node_name


@dataclass(frozen=True)
class Remark:
    """A diagnostic; the result of the pass is valid."""

    severity: Literal["warning", "remark"]
    text: str
    about: Operation | None = None

    def __str__(self) -> str:
        name = "" if self.about is None else _name(self.about)
        return f"{name}: {self.text}" if name else self.text


class XonncWarning(UserWarning):
    """A warning of a pass that no listener receives."""


Listener = Callable[[Remark], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Send all warnings and remarks inside the block to `listener`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def warn(text: str, about: Operation | None = None) -> None:
    """Report an unexpected condition about an op, or about the whole run."""
    _tell(Remark("warning", text, about))


def remark(text: str, about: Operation | None = None) -> None:
    """Report information that the user asked for."""
    _tell(Remark("remark", text, about))


def _name(op: Operation) -> str:
    """Return the name of a node, the symbol of a function, or nothing for a module."""
    symbol = op.properties.get("sym_name")
    if isinstance(symbol, StringAttr):
        return f"@{symbol.data}"
    return "" if isinstance(op, ModuleOp) and not node_name(op) else describe(op)


def _tell(remark: Remark) -> None:
    listener = _LISTENER.get()
    if listener is not None:
        listener(remark)
    elif remark.severity == "warning":
        warnings.warn(str(remark), XonncWarning, stacklevel=3)
    else:
        logging.getLogger("xonnc").info("%s", remark)
