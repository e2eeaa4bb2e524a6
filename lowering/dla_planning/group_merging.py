"""Merging groups of a grouped convolution into one dense layer with zeros between the groups."""

from __future__ import annotations

from math import inf

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import channels_per_atom
from xonnc.lowering.dla_planning.feasibility import convolution_cycles, min_cycles
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget


def merged_groups(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window2D, groups: int
) -> int:
    """
    Return how many of `groups` groups one layer computes, `source` being the whole input and `kernels` all
    outputs.

    Input and output channels of a layer must be whole atoms. Among the candidates the one with the fewest
    cycles wins: merging wastes multiplications by zero, while each layer pays the memory latency. On a tie
    the fewest layers. If nothing fits the buffer, all groups, so that the convolution is split another way.
    Candidates are planned by their lower bounds, until those left are above what was found.
    """
    atom = channels_per_atom(target, precision)
    inputs, outputs = source.channels // groups, kernels // groups
    fitting = [
        merged
        for merged in range(1, groups + 1)
        if groups % merged == 0
        if merged == groups or (merged * inputs % atom == 0 and merged * outputs % atom == 0)
    ]

    def layer(merged: int) -> tuple[NvdlaTarget, Precision, CubeShape, int, Window2D]:
        return target, precision, source._replace(channels=merged * inputs), merged * outputs, window

    bounds = {merged: groups // merged * min_cycles(*layer(merged)) for merged in fitting}
    best: tuple[float, int] = inf, 0
    for merged in sorted(fitting, key=lambda one: bounds[one]):
        if bounds[merged] > best[0]:
            break
        best = min(best, (groups // merged * convolution_cycles(*layer(merged)), -merged))
    return -best[1]
