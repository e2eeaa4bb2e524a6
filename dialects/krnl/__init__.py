"""The krnl dialect: loops with schedules over buffers, and what native code is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def get_krnl() -> Dialect:
    """A new dialect object, for one context; a tool that only lists dialects loads none."""
    from xonnc.dialects.krnl.dialect import new_krnl

    return new_krnl()
