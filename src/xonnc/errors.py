"""Errors caused by the user's input; every tool prints them as one line and exits with code 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class XonncError(Exception):
    """
    A mistake in the user's input: a file, a model or an option.

    The message is one line: the location (file, node, field), the rule broken, the value found and what to
    do. Any other exception that leaves a tool is a bug of the compiler.
    """

    def __init__(self, message: str = "", about: object = None):
        self.about = about
        """The operation it is about, if any: a tool that knows its position in a text prints it."""
        super().__init__(message)


class UnknownNameError(XonncError):
    """An unknown target, stage or optimization level on a command line; the tools exit with code 2."""


class ArgumentTypeError(XonncError, TypeError):
    """An argument of a wrong type in a call of the Python API."""


class DeclaredShapeError(XonncError):
    """A computed shape contradicts the shape that the model declares."""


class DimensionNameError(DeclaredShapeError):
    """Inputs give two sizes to a dimension of one name."""


class PluginFunctionError(XonncError):
    """
    A function of a plug-in raised an error or returned a wrong value for a node.

    It is no refusal by the target: the node is not moved to the CPU, but the compilation ends.
    """


def cannot_read(path: object, error: OSError | ValueError) -> XonncError:
    """
    Return the error of a file that cannot be read, with the system's reason.

    Parameters:
        path: the file.
        error: what reading it raised.
    """
    return XonncError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


class CollectedError(XonncError):
    """Several mistakes found in one run."""

    def __init__(self, reasons: list[str], about: Sequence[object] = ()):
        self.reasons = reasons
        self.subjects = about or [None] * len(reasons)
        """The operation that each reason is about."""
        super().__init__("\n".join(reasons))

    def at(self, location: str) -> CollectedError:
        """
        Return the same error with `location` before every reason.

        Parameters:
            location: a file or node name.
        """
        return type(self)([f"{location}: {reason}" for reason in self.reasons], self.subjects)


class RefusalError(CollectedError):
    """All parts of a model that a target does not support."""


class UndefinedOperatorError(RefusalError):
    """All operators of a model that exist nowhere, so that no target runs them."""


class InvalidModelError(CollectedError):
    """
    All faults of an invalid model: operators used against their specification, contradictory shapes.
    """


def suggest(name: str, known: Iterable[str]) -> str:
    """
    Return `; did you mean 'x'?` for the nearest known name, or an empty string if none is similar.

    Parameters:
        name: the name given.
        known: the valid names.
    """
    found = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean '{found[0]}'?" if found else ""
