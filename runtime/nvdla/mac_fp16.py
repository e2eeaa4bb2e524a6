"""
The fp16 multiplier array and accumulator, bit for bit (docs/internals/nvdla-hardware.md §4.1).

One CMAC step multiplies up to 64 pairs, aligns the products to the largest exponent bucket among them (the
truncated products of `booth_products`) and adds them as integers; CACC adds the steps into a 48-bit float.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, I8, I32, I64, U16, U32, Bool

# Pairs handled at once: large enough for numpy, small enough for the cache.
_BLOCK_PAIRS = 1 << 15
_NO_BUCKET = -64
# Products this many buckets below the largest, 32 bits and more, are zero.
_TRUNCATED_BUCKETS = 8
# What the truncated rows of the Booth tree lack, by alignment shift / 4.
_TREE_CONSTANTS = np.array(
    [0xAAAB0000, 0xFAAAB000, 0xFFAAAB00, 0xFFFAAAB0, 0xFFFFAAAB, 0xFFFFFAAB, 0xFFFFFFAB, 0xFFFFFFFB],
    np.uint32,
)
_MANTISSA_BITS = 40
_MANTISSA_MASK = np.int64((1 << _MANTISSA_BITS) - 1)


@dataclass(frozen=True)
class Factors:
    """fp16 numbers as the multipliers take them: mantissa shifted by the low exponent bits, and bucket."""

    magnitude: U32
    bucket: I8
    negative: Bool

    def __getitem__(self, key: tuple[slice | None, ...]) -> Factors:
        return Factors(self.magnitude[key], self.bucket[key], self.negative[key])

    def flattened(self) -> Factors:
        """One row of pairs per position or kernel."""
        rows = len(self.magnitude)
        return Factors(
            self.magnitude.reshape(rows, -1), self.bucket.reshape(rows, -1), self.negative.reshape(rows, -1)
        )


def split_factors(bits: U16) -> Factors:
    """Take fp16 bits apart; a zero gets a bucket no sum of buckets can win with, Inf counts as 65536."""
    field = ((bits >> np.uint16(10)) & np.uint16(31)).astype(np.uint32)
    mantissa = (bits & np.uint16(0x3FF)).astype(np.uint32)
    normal = field != 0
    magnitude = np.where(normal, (mantissa | 0x400) << (field & 3), mantissa << 1).astype(np.uint32)
    bucket = np.where(magnitude == 0, _NO_BUCKET, (field >> 2).astype(np.int8)).astype(np.int8)
    return Factors(magnitude, bucket, (bits >> np.uint16(15)) != 0)


class Step(NamedTuple):
    """The aligned products of a step, `[positions, kernels, pairs]`, and the bucket they are aligned to."""

    products: I32
    bucket: I64


def aligned_products(data: Factors, weights: Factors) -> Step:
    """All products of `data[positions, pairs]` with `weights[kernels, pairs]`, each row of pairs one step."""
    shape = (len(data.magnitude), len(weights.magnitude), data.magnitude.shape[1])
    bucket = (data.bucket[:, None, :] + weights.bucket[None, :, :]).reshape(-1, shape[2])
    largest = bucket.max(axis=1)
    below = (largest[:, None].astype(np.int16) - bucket).ravel()
    negative = (data.negative[:, None, :] ^ weights.negative[None, :, :]).ravel()
    d = np.broadcast_to(data.magnitude[:, None, :], shape).ravel()
    w = np.broadcast_to(weights.magnitude[None, :, :], shape).ravel()
    exact = (d * w).view(np.int32)
    products = np.where(negative, -exact, exact)
    products *= below == 0
    # A dropped pair (a zero factor) lies far below the largest bucket, unless the whole step is empty.
    some = np.repeat(largest >= 0, shape[2])
    inexact = np.flatnonzero((below > 0) & (below < _TRUNCATED_BUCKETS) & some)
    shift = below[inexact].astype(np.uint32) * np.uint32(4)
    products[inexact] = booth_products(w[inexact], d[inexact], negative[inexact], shift)
    largest = largest.reshape(shape[:2]).astype(np.int64)
    return Step(products.reshape(shape), largest)


def booth_products(w: U32, d: U32, negative: Bool, shift: U32) -> I32:
    """
    Products scaled down by `2**shift`: both carry-save vectors of a radix-4 Booth tree truncated separately.

    `w`, `d` < 2**14, `shift` one of 4, 8 .. 28 (0 gives the exact product); flat arrays.
    """
    one = np.uint32(1)
    flip = negative.astype(np.uint32) * np.uint32(7)
    partial: list[U32] = []
    inverted: list[U32] = []
    for digit in range(8):
        # Three bits of 2w choose 0, d or 2d, and its sign; a negative product swaps the signs.
        code = (w << one) >> np.uint32(2 * digit)
        changes = code ^ (code >> one)
        factor = (changes & one) + ((changes & ~(changes << one)) & np.uint32(2))
        signed = code ^ flip
        minus = (signed >> np.uint32(2)) & ~((signed >> one) & signed) & one
        # A row is d or its complement in 16 bits, below a bit 16 that tells which.
        partial.append((d * factor) ^ (np.uint32(0x10000) - minus))
        inverted.append(minus)
    # Row i is worth 4**i; the +1 of a negated row i sits in the free low bits of row i + 1.
    shifted = [row << np.uint32(2 * digit) for digit, row in enumerate(partial)]
    ones = [one << np.uint32(2 * digit) for digit, one in enumerate(inverted)]
    low = [shifted[0], *(shifted[i] | ones[i - 1] for i in (1, 2, 3)), ones[3]]
    high = [shifted[4], *(shifted[i] | ones[i - 1] for i in (5, 6, 7)), ones[7]]
    total, carry = _carry_save(_carry_save(low) + _carry_save(high))
    summed = (total >> shift) + (carry >> shift) + _TREE_CONSTANTS[shift >> np.uint32(2)]
    return summed.view(np.int32)


def _carry_save(rows: list[U32]) -> list[U32]:
    """Reduce rows to a sum and a carry vector by 3:2 compressors, triples from the front."""
    while len(rows) > 2:
        reduced: list[U32] = []
        in_triples = len(rows) // 3 * 3
        for i in range(0, in_triples, 3):
            a, b, c = rows[i : i + 3]
            reduced.append(a ^ b ^ c)
            reduced.append(((a & b) | (a & c) | (b & c)) << np.uint32(1))
        rows = reduced + rows[in_triples:]
    return rows


class Accumulator:
    """CACC's 48-bit floats, `mantissa * 2**(exponent - 101)`, one per output."""

    def __init__(self, shape: tuple[int, ...]):
        self.mantissa: I64 = np.zeros(shape, np.int64)
        self.exponent: I64 = np.zeros(shape, np.int64)

    def add(self, sums: I64, bucket: I64) -> None:
        """Add `sums * 2**(4 * bucket - 50)`; a sum of zero is skipped."""
        left = 38 - 1 - _magnitude_bits(sums)
        added = (sums << left) << 2
        exponent = 4 * bucket - left + 49
        mantissa, new_exponent = _float_add(self.mantissa, self.exponent, added, exponent)
        self.mantissa = np.where(sums == 0, self.mantissa, mantissa)
        self.exponent = np.where(sums == 0, self.exponent, new_exponent)

    def singles(self) -> F32:
        """The sums as fp32: 24 significant bits, ties away from zero."""
        magnitude = np.abs(self.mantissa)
        # A normalised mantissa has its leading bit at 38 (or is exactly -2**39).
        rounded = ((magnitude >> 14) + 1) >> 1
        value = np.ldexp(rounded.astype(np.float64), self.exponent - 101 + 15)
        return np.where(self.mantissa < 0, -value, value).astype(np.float32)


def _magnitude_bits(x: I64) -> I64:
    """Bits below the sign that a two's complement number needs: 0 for 0 and -1."""
    # Every value has fewer than 53 bits: the float exponent is exact.
    return np.frexp((x ^ (x >> 63)).astype(np.float64))[1].astype(np.int64)


def _float_add(a: I64, a_exponent: I64, b: I64, b_exponent: I64) -> tuple[I64, I64]:
    swap = b_exponent > a_exponent
    large, small = np.where(swap, b, a), np.where(swap, a, b)
    exponent = np.maximum(a_exponent, b_exponent)
    difference = np.abs(a_exponent - b_exponent)
    small = np.where(difference > _MANTISSA_BITS, np.int64(0), small)
    distance: I64 = np.minimum(difference, np.int64(_MANTISSA_BITS))
    # `small << 40` leaves int64 only above bit 40, which the mask drops.
    shifted_bits: I64 = (small << (_MANTISSA_BITS - distance)) & _MANTISSA_MASK
    total: I64 = large + (small >> distance)

    overflow = _magnitude_bits(total) > _MANTISSA_BITS - 1
    left: I64 = np.where(overflow, np.int64(0), _MANTISSA_BITS - 1 - _magnitude_bits(total))
    normalised = (total << left) | (shifted_bits >> (_MANTISSA_BITS - left))
    remainder: I64 = (shifted_bits << left) & _MANTISSA_MASK
    half = np.int64(1 << (_MANTISSA_BITS - 1))
    guard = np.where(overflow, total & 1, remainder & half).astype(np.bool_)
    sticky = np.where(overflow, shifted_bits, remainder & (half - 1)).astype(np.bool_)
    mantissa: I64 = np.where(overflow, total >> 1, normalised)
    exponent = exponent + np.where(overflow, 1, -left)
    mantissa = mantissa + (guard & ((mantissa >= 0) | sticky)).astype(np.int64)

    again = _magnitude_bits(mantissa) > _MANTISSA_BITS - 1
    mantissa = np.where(again, mantissa >> 1, mantissa)
    exponent = np.where(mantissa == 0, 0, exponent + again)
    return mantissa, exponent


def block_positions(kernels: int, pairs: int) -> int:
    """The number of output positions per call of `aligned_products`."""
    return max(1, _BLOCK_PAIRS // max(1, kernels * pairs))
