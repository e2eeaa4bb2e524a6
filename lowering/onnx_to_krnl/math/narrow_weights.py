"""Weights of float32 that floats of 16 bits hold exactly, as those of models trained or stored in 16 bits."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from xonnc.rewriting.patterns import Array

MANTISSA_BITS = np.uint32(0xFFFF)
"""The bits of a float32 that bfloat16 does not have."""

SAMPLE = 4096
"""Elements of the first column that are looked at first: they tell almost all weights of 24 bits."""


def narrowed(weights: Array, kinds: Collection[str]) -> Array | None:
    """
    Return float32 weights as int16, the bits of bfloat16, or as float16, if none of them changes; else None.

    Parameters:
        weights: a matrix.
        kinds: the types to try, of `bfloat16` and `float16`.
    """
    some = weights[:SAMPLE, :1]
    for kind, narrow in (("bfloat16", _bfloat16), ("float16", _float16)):
        if kind in kinds and narrow(some) is not None and (found := narrow(weights)) is not None:
            return found
    return None


def _bfloat16(weights: Array) -> Array | None:
    bits = weights.view(np.uint32)
    return None if (bits & MANTISSA_BITS).any() else (bits >> np.uint32(16)).astype(np.uint16).view(np.int16)


def _float16(weights: Array) -> Array | None:
    with np.errstate(over="ignore"):
        found = weights.astype(np.float16)
    # Bits, so that NaN and the sign of zero count.
    is_exact = np.array_equal(found.astype(np.float32).view(np.uint32), weights.view(np.uint32))
    return found if is_exact else None
