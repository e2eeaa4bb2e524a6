"""Prepacked weights: constants in the layout of kernels, cached in a context."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialect_interfaces import DialectInterface

Array: TypeAlias = npt.NDArray[Any]


class PrepackedWeights(DialectInterface):
    """Cache of prepacked weights: programs for other shapes of the same model share them."""

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[Array, Array]] = {}

    @staticmethod
    def of(ctx: Context) -> PrepackedWeights:
        """Return the cache of a context, loading its krnl dialect if needed; a new one if it has none."""
        if "krnl" in ctx.registered_dialect_names:
            ctx.get_optional_dialect("krnl")
        found = (dialect.get_interface(PrepackedWeights) for dialect in ctx.loaded_dialects)
        return next((each for each in found if each is not None), None) or PrepackedWeights()

    def packed(self, source: Array, how: Hashable, make: Callable[[], Array]) -> Array:
        """Return `make()`, cached by the memory of a read-only constant and by `how`."""
        address = source.__array_interface__["data"][0]
        key = address, source.shape, source.strides, source.dtype.str, how
        if key not in self._made:
            # Keep the source alive: the key is its address, which must not be reused.
            self._made[key] = source, make()
        return self._made[key][1]
