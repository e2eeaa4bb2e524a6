"""Errors in the usage of a command line."""

from __future__ import annotations

from xonnc.errors import XonncError


class UsageError(XonncError):
    """An invalid command line; the tools exit with 2."""
