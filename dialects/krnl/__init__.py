"""The krnl dialect: loops with schedules over buffers, and what native code is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def get_krnl() -> Dialect:
    """The `krnl` dialect; a factory, so that a tool that only lists dialects loads none."""
    from xonnc.dialects.krnl.dialect import KRNL

    return KRNL
