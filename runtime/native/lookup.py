"""Tables with a default by which operators replace each element of a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from xonnc.runtime.native.operator_call import Array, OperatorCall


def key_of(value: object) -> object:
    """Return the key for table lookup: NaN, which does not equal itself, is replaced by a sentinel."""
    return NAN if isinstance(value, float) and value != value else value


NAN = object()
"""Sentinel key for NaN."""


KEY_TYPES = (str, int, float)


class Lookup(dict[object, Any]):
    """A dictionary with a default, which `map(table.__getitem__, keys)` reads without a call per key."""

    def __init__(self, items: Iterable[tuple[object, object]], default: object) -> None:
        super().__init__(items)
        self._default = default
        self._get = self.__getitem__

    def __missing__(self, key: object) -> object:
        if not isinstance(key, KEY_TYPES) and key is not NAN:
            raise KeyError(key)
        return self._default

    def of(self, call: OperatorCall, dtype: np.dtype[np.generic]) -> Array:
        """Return the values of the elements of operand 0; bytes are decoded only if there are any."""
        x = call.array(0)
        given: list[object] = x.ravel().tolist()
        elements = map(key_of, given) if x.dtype.kind == "f" else given
        try:
            found = np.fromiter(map(self._get, elements), dtype, len(given))
        except KeyError:
            found = np.fromiter(map(self._get, call.strings(0)), dtype, len(given))
        return found if x.ndim == 1 else found.reshape(x.shape)
