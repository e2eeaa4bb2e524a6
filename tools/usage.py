"""Command lines that cannot be meant."""

from __future__ import annotations

from xonnc.errors import XonncError


class UsageError(XonncError):
    """A command line that cannot be meant; the tools exit 2."""
