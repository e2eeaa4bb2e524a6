"""Constants laid out for kernels, once for all programs that are compiled in a context."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialect_interfaces import DialectInterface

Array: TypeAlias = npt.NDArray[Any]


class PrepackedWeights(DialectInterface):
    """What was made of constants: programs for other shapes of the same model share it."""

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[Array, Array]] = {}

    @staticmethod
    def of(ctx: Context) -> PrepackedWeights:
        """The packings of a context, whose krnl dialect is loaded if need be; new ones if it has none."""
        if "krnl" in ctx.registered_dialect_names:
            ctx.get_optional_dialect("krnl")
        found = (dialect.get_interface(PrepackedWeights) for dialect in ctx.loaded_dialects)
        return next((each for each in found if each is not None), None) or PrepackedWeights()

    def packed(self, source: Array, how: Hashable, make: Callable[[], Array]) -> Array:
        """What `make` makes of a constant that nobody writes to, in a way that `how` tells from others."""
        place = source.__array_interface__["data"][0]
        key = place, source.shape, source.strides, source.dtype.str, how
        if key not in self._made:
            # The source is kept so that nothing else comes to lie in its place.
            self._made[key] = source, make()
        return self._made[key][1]
