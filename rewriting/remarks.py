"""
What passes tell without stopping: warnings and remarks.

    warn("the rules did not converge", function)

A tool listens (`listening`) and prints them with their place in the text. Where nobody listens, as under
`xdsl-opt`, a warning is one of Python's and a remark goes to the log `xonnc`.
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
    """Something a user may want to know; nothing is wrong with the result."""

    severity: Literal["warning", "remark"]
    text: str
    about: Operation | None = None

    def __str__(self) -> str:
        name = "" if self.about is None else _name(self.about)
        return f"{name}: {self.text}" if name else self.text


class XonncWarning(UserWarning):
    """A warning of a pass that no tool listens to."""


Listener = Callable[[Remark], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Tells `listener` of all warnings and remarks inside the block, and nobody else."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def warn(text: str, about: Operation | None = None) -> None:
    """Tells of something that is probably not as the user wants it, about an op or the whole run."""
    _tell(Remark("warning", text, about))


def remark(text: str, about: Operation | None = None) -> None:
    """Tells of something that the user may have asked for."""
    _tell(Remark("remark", text, about))


def _name(op: Operation) -> str:
    """A node by its name, a function by its symbol; a module is the whole input."""
    symbol = op.properties.get("sym_name")
    if isinstance(symbol, StringAttr):
        return f"@{symbol.data}"
    return "" if isinstance(op, ModuleOp) and not node_name(op) else describe(op)


def _tell(told: Remark) -> None:
    listener = _LISTENER.get()
    if listener is not None:
        listener(told)
    elif told.severity == "warning":
        warnings.warn(str(told), XonncWarning, stacklevel=3)
    else:
        logging.getLogger("xonnc").info("%s", told)
