"""Constants laid out for kernels, once for all programs of a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from xonnc.rewriting.patterns import Array


class Packings:
    """What was made of constants: programs for other shapes of the same model share it."""

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[Array, Array]] = {}

    def of(self, source: Array, how: Hashable, make: Callable[[], Array]) -> Array:
        """What `make` makes of a constant that nobody writes to, in a way that `how` tells from others."""
        place = source.__array_interface__["data"][0]
        key = place, source.shape, source.strides, source.dtype.str, how
        if key not in self._made:
            # The source is kept so that nothing else comes to lie in its place.
            self._made[key] = source, make()
        return self._made[key][1]
