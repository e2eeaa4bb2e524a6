"""How many groups of a grouped convolution run as one, zeros between them."""

from __future__ import annotations

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.constants import Precision
from xonnc.formats.nvdla.geometry import channels_per_atom
from xonnc.lowering.dla_planning.feasibility import convolution_cycles
from xonnc.lowering.dla_planning.window import Window
from xonnc.targets import NvdlaTarget


def merged_groups(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window, groups: int
) -> int:
    """
    How many of `groups` groups one convolution takes, the input being `source` and the results `kernels`.

    Both sides must be whole atoms. Of what fits the fewest cycles are chosen: many groups at a time waste
    multiplications, few make many layers, each of which waits for memory first. Of equal ones the fewest
    layers; all at once where nothing fits the buffer, so that the convolution is cut another way.
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
