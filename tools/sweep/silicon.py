"""
Area and power of configurations, interpolated in NVIDIA's published table.

The table is that of the NVDLA primer (ResNet-50, INT8, 1 GHz; http://nvdla.org/primer.html): it has INT8
configurations of 32 to 2048 multipliers, each with one size of the convolution buffer. Between them the
figures are interpolated linearly in the logarithms. Configurations outside the range, and those with a
datapath of 16 bits, are not in it and have no figures.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from xonnc.targets import NvdlaTarget

Figures = dict[str, float]


class _Published(NamedTuple):
    """A row of the table; area in mm², power in mW."""

    macs: int
    area_28nm: float
    area_16nm: float
    peak_16nm: float
    average_16nm: float


PUBLISHED = (
    _Published(32, 0.85, 0.51, 45, 17),
    _Published(64, 0.91, 0.55, 55, 21),
    _Published(128, 1.4, 0.84, 82, 31),
    _Published(256, 1.7, 1.0, 135, 48),
    _Published(512, 2.3, 1.4, 210, 80),
    _Published(1024, 3.0, 1.8, 375, 143),
    _Published(2048, 5.5, 3.3, 766, 291),
)


def silicon(target: NvdlaTarget) -> Figures:
    """Return area in mm² and average power in mW; nothing for configurations that the table cannot tell."""
    macs = target.atomic_c * target.atomic_k
    if target.has_16_bits or not PUBLISHED[0].macs <= macs <= PUBLISHED[-1].macs:
        return {}
    steps = [log(row.macs) for row in PUBLISHED]

    def at(values: list[float]) -> float:
        return exp(float(np.interp(log(macs), steps, [log(each) for each in values])))

    # Power at 1 GHz; it is taken to be proportional to the clock.
    clock = target.clock_mhz / 1000
    return {
        "area_mm2_28nm": at([row.area_28nm for row in PUBLISHED]),
        "area_mm2_16nm": at([row.area_16nm for row in PUBLISHED]),
        "power_mw_16nm": at([row.average_16nm for row in PUBLISHED]) * clock,
    }
