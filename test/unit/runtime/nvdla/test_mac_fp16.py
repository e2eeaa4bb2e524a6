"""The fp16 MAC against a scalar transcription of docs/internals/nvdla-hardware.md §4.1 on Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from xonnc.runtime.nvdla.mac_fp16 import Accumulator, aligned_products, booth_products, split_factors

K = [0xAAAB0000, 0xFAAAB000, 0xFFAAAB00, 0xFFFAAAB0, 0xFFFFAAAB, 0xFFFFFAAB, 0xFFFFFFAB, 0xFFFFFFFB]
WORD = 0xFFFFFFFF


def booth(w: int, d: int, negative: bool, s: int) -> int:
    if s >= 32:
        return 0
    p: list[int] = []
    v: list[int] = []
    for i in range(8):
        code = (((2 * w) >> (2 * i)) & 7) ^ (7 if negative else 0)
        p.append(
            {
                0: 0x10000,
                7: 0x10000,
                1: d | 0x10000,
                2: d | 0x10000,
                3: 2 * d | 0x10000,
                4: ~(2 * d) & 0xFFFF,
                5: ~d & 0xFFFF,
                6: ~d & 0xFFFF,
            }[code]
        )
        v.append(int(code in (4, 5, 6)))
    first = [p[0], p[1] << 2 | v[0], p[2] << 4 | v[1] << 2, p[3] << 6 | v[2] << 4, v[3] << 6]
    second = [p[4] << 8, p[5] << 10 | v[4] << 8, p[6] << 12 | v[5] << 10, p[7] << 14 | v[6] << 12, v[7] << 14]

    def csa(rows: list[int]) -> list[int]:
        while len(rows) > 2:
            out: list[int] = []
            full = len(rows) - len(rows) % 3
            for i in range(0, full, 3):
                a, b, c = rows[i : i + 3]
                out += [a ^ b ^ c, (((a & b) | (a & c) | (b & c)) << 1) & WORD]
            rows = out + rows[full:]
        return rows

    u, t = csa(csa(first) + csa(second))
    total = ((u >> s) + (t >> s) + K[s // 4]) & WORD
    return total - (1 << 32) if total >> 31 else total


def test_booth_products_match_the_scalar_tree():
    rng = np.random.default_rng(3)
    w = rng.integers(0, 1 << 14, 500).astype(np.uint32)
    d = rng.integers(0, 1 << 14, 500).astype(np.uint32)
    negative = rng.random(500) < 0.5
    shift = (4 * rng.integers(0, 8, 500)).astype(np.uint32)
    expected = [
        booth(int(a), int(b), bool(n), int(s)) for a, b, n, s in zip(w, d, negative, shift, strict=True)
    ]
    assert booth_products(w, d, negative, shift).tolist() == expected


def test_booth_products_without_a_shift_are_exact():
    rng = np.random.default_rng(4)
    w = rng.integers(0, 1 << 14, 500).astype(np.uint32)
    d = rng.integers(0, 1 << 14, 500).astype(np.uint32)
    negative = rng.random(500) < 0.5
    exact = np.where(negative, -1, 1) * w.astype(np.int64) * d.astype(np.int64)
    assert np.array_equal(booth_products(w, d, negative, np.zeros(500, np.uint32)), exact)


def scalar_step(data: list[int], weights: list[int]) -> tuple[int, int] | None:
    pairs: list[tuple[int, int, int, bool]] = []
    for d, w in zip(data, weights, strict=True):
        if not d & 0x7FFF or not w & 0x7FFF:
            continue
        fields: list[tuple[int, int]] = []
        for bits in (d, w):
            e, m = bits >> 10 & 31, bits & 0x3FF
            fields.append((e >> 2, (m | 0x400) << (e & 3) if e else m << 1))
        pairs.append((fields[0][0] + fields[1][0], fields[1][1], fields[0][1], bool((d ^ w) >> 15)))
    if not pairs:
        return None
    largest = max(p[0] for p in pairs)
    return sum(booth(w, d, n, 4 * (largest - b)) for b, w, d, n in pairs), largest


@pytest.mark.parametrize("spread", [1, 6])
def test_steps_align_to_the_largest_bucket_and_drop_zeros(spread: int):
    rng = np.random.default_rng(spread)
    data = (rng.standard_normal((4, 64)) * 2.0 ** rng.integers(-spread, spread, (4, 64))).astype(np.float16)
    weights = (rng.standard_normal((3, 64)) * 2.0 ** rng.integers(-spread, spread, (3, 64))).astype(
        np.float16
    )
    data[:, ::5] = 0
    weights[:, ::7] = -0.0
    data[1] = 0
    data[2, 1:9] = 6e-8
    bits_d, bits_w = data.view(np.uint16), weights.view(np.uint16)
    step = aligned_products(split_factors(bits_d), split_factors(bits_w))
    sums = step.products.sum(axis=2)
    for p in range(4):
        for k in range(3):
            expected = scalar_step(bits_d[p].tolist(), bits_w[k].tolist())
            if expected is None:
                assert sums[p, k] == 0
            else:
                assert (int(sums[p, k]), int(step.bucket[p, k])) == expected


def scalar_add(a: int, ea: int, total: int, bucket: int) -> tuple[int, int]:
    """CACC's addition on unbounded integers: mantissa and kept bits are one 80-bit number."""
    if total == 0:
        return a, ea
    n = 0
    while -(1 << 36) <= total << n < 1 << 36:
        n += 1
    b, eb = (total << n) << 2, 4 * bucket - n + 49
    if eb > ea:
        a, ea, b, eb = b, eb, a, ea
    b = 0 if ea - eb > 40 else b
    wide = (a << 40) + ((b << 40) >> min(ea - eb, 40))
    exponent = ea
    if not -(1 << 79) <= wide < 1 << 79:
        kept = wide & ((1 << 41) - 1)
        mantissa, exponent = wide >> 41, ea + 1
        guard, sticky = kept >> 40 & 1, kept & ((1 << 40) - 1)
    else:
        while -(1 << 78) <= wide < 1 << 78 and wide:
            wide, exponent = wide << 1, exponent - 1
        mantissa, kept = wide >> 40, wide & ((1 << 40) - 1)
        guard, sticky = kept >> 39, kept & ((1 << 39) - 1)
    mantissa += 1 if guard and (mantissa >= 0 or sticky) else 0
    if mantissa == 1 << 39:
        mantissa, exponent = mantissa >> 1, exponent + 1
    return mantissa, exponent if mantissa else 0


def test_accumulator_matches_the_scalar_addition():
    rng = np.random.default_rng(5)
    count, steps = 300, 12
    total = Accumulator((count,))
    scalar = [(0, 0)] * count
    for _ in range(steps):
        sums = (rng.integers(-(1 << 33), 1 << 33, count) >> rng.integers(0, 33, count)).astype(np.int64)
        bucket = rng.integers(0, 15, count)
        total.add(sums, bucket)
        scalar = [scalar_add(a, e, int(s), int(b)) for (a, e), s, b in zip(scalar, sums, bucket, strict=True)]
    assert list(zip(total.mantissa.tolist(), total.exponent.tolist(), strict=True)) == scalar


def test_single_results_round_ties_away_from_zero():
    total = Accumulator((3,))
    # 2**25 + 2 lies halfway between two singles (step 4); 2**33 - 1 rounds up over a power of two.
    total.add(np.array([(1 << 25) + 2, -((1 << 25) + 2), (1 << 33) - 1], np.int64), np.array([10, 10, 10]))
    scale = 2.0 ** (4 * 10 - 50)
    assert total.singles().tolist() == [((1 << 25) + 4) * scale, -((1 << 25) + 4) * scale, (1 << 33) * scale]
