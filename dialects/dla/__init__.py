"""NVDLA's engines as operations: first on tensors, then on surfaces with addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def get_dla() -> Dialect:
    """Return the `dla` dialect; a factory, so that tools that only list dialects load none."""
    from xonnc.dialects.dla.dialect import DLA

    return DLA
