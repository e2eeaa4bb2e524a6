"""
How each convolution of a network uses the convolution buffer, read from the IR after `dla-split`.

The input is in the buffer whole or in tiles of its rows; of the kernels all are, two groups (one is loaded
while the other computes), or one group at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from xdsl.ir import SSAValue

from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.dla.types import cube_of, shape_of
from xonnc.dialects.onnx.locations import node_names
from xonnc.lowering.dla.convolution_plans import window_of
from xonnc.lowering.dla_planning.convolution_tiling import ConvBuffer, ConvBufferDemand
from xonnc.lowering.dla_planning.feasibility import buffer_demand, buffer_of
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.targets import NvdlaTarget

ALL_KERNELS, TWO_GROUPS, ONE_GROUP = "all kernels", "two groups", "one group"
"""The kernels that are in the buffer at once."""


@dataclass(frozen=True)
class BufferStrategy:
    """
    The use of the convolution buffer by the convolutions of a node that share their weights.

    `tiles` convolutions compute its rows, each with its input in `data_banks` and `kernels_at_once` in
    `weight_banks`, of `banks` in all. The whole input would take `input_banks`, all weights `kernel_banks`.
    `groups` counts the groups of kernels, `keeps_weights` tells whether they stay for the next tile,
    `is_winograd` whether input and kernels are those of Winograd's algorithm, which are larger. `parts`
    convolutions with other weights do the same.
    """

    nodes: tuple[str, ...]
    parts: int
    tiles: int
    kernels_at_once: str
    groups: int
    keeps_weights: bool
    is_winograd: bool
    data_banks: int
    weight_banks: int
    banks: int
    input_banks: int
    kernel_banks: int

    @property
    def input_part(self) -> str:
        """What is in the buffer of the input at once."""
        return "whole" if self.tiles == 1 else f"{self.tiles} tiles of rows"

    @property
    def kernel_part(self) -> str:
        """What is in the buffer of the kernels at once."""
        if self.kernels_at_once == ALL_KERNELS:
            kept = ", kept for the next tile" if self.keeps_weights else ""
            return f"all{kept if self.tiles > 1 else ''}"
        return f"{self.kernels_at_once} of {self.groups}"

    @property
    def reason(self) -> str:
        """Why the convolution is computed so."""
        demand = f"input {self.input_banks} + kernels {self.kernel_banks} banks of {self.banks}"
        if self.is_winograd:
            demand += " by Winograd's algorithm"
        if self.input_banks + self.kernel_banks > self.banks:
            return f"{demand}: not all fits"
        if self.tiles > 1:
            return f"{demand}: all fits, but a tile is computed while the next is loaded"
        return f"{demand}: all fits"


def buffer_strategies(convolutions: Sequence[ConvOp], target: NvdlaTarget) -> Iterator[BufferStrategy]:
    """Yield the strategies of convolutions that `dla-split` has planned, in their order."""
    found: dict[BufferStrategy, int] = {}
    for tiles in _by_weights(convolutions):
        strategy = _strategy(tiles, target)
        found[strategy] = found.get(strategy, 0) + 1
    for strategy, parts in found.items():
        yield replace(strategy, parts=parts)


def _by_weights(convolutions: Sequence[ConvOp]) -> Iterator[list[ConvOp]]:
    """Yield the tiles of each convolution: those of the same nodes with the same weights."""
    found: dict[tuple[tuple[str, ...], SSAValue], list[ConvOp]] = {}
    for op in convolutions:
        found.setdefault((tuple(node_names(op)), op.weights), []).append(op)
    yield from found.values()


def _strategy(tiles: Sequence[ConvOp], target: NvdlaTarget) -> BufferStrategy:
    buffer = buffer_of(target)
    demand = _demand(tiles, target)
    plans = [op.banks.data for op in tiles if op.banks is not None]
    # A tile at the edge may have fewer rows, never more banks.
    data_banks = max(plan.data_banks for plan in plans)
    weight_banks = max(plan.weight_banks for plan in plans)
    return BufferStrategy(
        nodes=tuple(node_names(tiles[0])),
        parts=1,
        tiles=len(tiles),
        kernels_at_once=_kernels_at_once(demand, weight_banks * buffer.bank_bytes),
        groups=ceil(demand.weight_bytes / demand.group_bytes),
        keeps_weights=all(plan.weight_reuse for plan in plans[1:]),
        is_winograd=tiles[0].is_winograd is not None,
        data_banks=data_banks,
        weight_banks=weight_banks,
        banks=buffer.banks,
        input_banks=_input_banks(demand, buffer),
        kernel_banks=ceil(demand.weight_bytes / buffer.bank_bytes),
    )


def _demand(tiles: Sequence[ConvOp], target: NvdlaTarget) -> ConvBufferDemand:
    """Return what the convolution would put into the buffer if it were computed in one tile."""
    first = tiles[0]
    window, source = window_of(first), cube_of(first.source.type)
    top, left, _, right = window.pads
    bottom = window_of(tiles[-1]).pads[2]
    outputs = sum(cube_of(op.accumulator.type).height for op in tiles)
    height = (outputs - 1) * window.strides[0] + window.dilated_kernel[0] - top - bottom
    whole = source._replace(height=max(height, source.height))
    padded = replace(window, pads=(top, left, bottom, right))
    kernels = shape_of(first.weights.type)[0]
    return buffer_demand(target, precision_of(first.source.type), whole, kernels, padded)


def _input_banks(demand: ConvBufferDemand, buffer: ConvBuffer) -> int:
    return ceil(demand.entries_per_slice * demand.full_rows / buffer.entries)


def _kernels_at_once(demand: ConvBufferDemand, weight_bytes: int) -> str:
    if weight_bytes >= demand.weight_bytes:
        return ALL_KERNELS
    return TWO_GROUPS if weight_bytes >= 2 * demand.group_bytes else ONE_GROUP
