"""Merging groups of a grouped convolution into one dense layer with zeros between the groups."""

from __future__ import annotations

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import channels_per_atom
from xonnc.lowering.dla_planning.feasibility import convolution_cycles
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
    """
    atom = channels_per_atom(target, precision)
    inputs, outputs = source.channels // groups, kernels // groups
    fitting = [
        merged
        for merged in range(1, groups + 1)
        if groups % merged == 0
        if merged == groups or (merged * inputs % atom == 0 and merged * outputs % atom == 0)
    ]

    def cost(merged: int) -> tuple[float, int]:
        shape = source._replace(channels=merged * inputs)
        cycles = convolution_cycles(target, precision, shape, merged * outputs, window)
        return groups // merged * cycles, -merged

    return min(fitting, key=cost)
