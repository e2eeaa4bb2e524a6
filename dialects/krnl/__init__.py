"""The krnl dialect: loop nests with schedules over buffers, register-tiled kernels, and calls of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def get_krnl() -> Dialect:
    """Return a new dialect object, for one context; tools that only list dialects load none."""
    from xonnc.dialects.krnl.dialect import new_krnl

    return new_krnl()
