"""The errors a user can cause; every tool prints them as one line and exits 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class XonncError(Exception):
    """
    A mistake in the user's input: a file, a model, an option's value.

    The message is one line that names the place (file, node, field), the rule broken, the value found
    and a way out. Anything else that escapes a tool is a bug of ours.
    """

    def __init__(self, message: str = "", about: object = None):
        self.about = about
        """The operation it is about, if it is about one: a tool that knows its place in a text tells it."""
        super().__init__(message)


class UnknownNameError(XonncError):
    """A target, stage or level that there is not: the command line is wrong, and the tools exit 2."""


class DeclaredShapeError(XonncError):
    """A run finds another shape than the model declares of a result."""


class CollectedError(XonncError):
    """Several mistakes, found in a single run."""

    def __init__(self, reasons: list[str], about: Sequence[object] = ()):
        self.reasons = reasons
        self.subjects = about or [None] * len(reasons)
        """The operation that each reason is about."""
        super().__init__("\n".join(reasons))

    def at(self, place: str) -> CollectedError:
        """The same, with `place` in front of every reason."""
        return type(self)([f"{place}: {reason}" for reason in self.reasons], self.subjects)


class RefusalError(CollectedError):
    """Everything about one model that a target cannot take."""


class InvalidModelError(CollectedError):
    """Everything that is wrong with a model: operators that break their rules, shapes that do not fit."""


def suggest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if something known is close to `name`, else nothing."""
    found = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean '{found[0]}'?" if found else ""
