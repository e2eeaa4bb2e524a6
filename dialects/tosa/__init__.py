"""The tosa dialect: xDSL's ops of the Tensor Operator Set Architecture, and those that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def get_tosa() -> Dialect:
    """Return the dialect; tools that only list dialects load none."""
    from xonnc.dialects.tosa.dialect import TOSA

    return TOSA
