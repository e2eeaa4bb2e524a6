"""Cycles of a convolution's plan, by the model of the hardware (`formats/nvdla/timeline.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.cycles import ConvWork, Demand, conv_cycles, row_cycles
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.timeline import Timeline
from xonnc.lowering.dla_planning.convolution_tiling import ConvBufferDemand, ConvolutionPlan
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget

OPERAND_BYTES = 4
"""Bytes of an INT8 kernel's bias and factor in the SDP; of a 16-bit one the bias alone."""


class PassDemand(NamedTuple):
    """
    The traffic of the SDP pass after a convolution: `operands` per kernel, and for each row of results
    operands and results, in bytes; it takes `rate` elements a cycle.
    """

    operands: int
    row_operands: int
    row_results: int
    rate: float


def tile_demands(
    target: NvdlaTarget,
    precision: Precision,
    source: CubeShape,
    kernels: int,
    window: Window2D,
    rows: ConvBufferDemand,
    plan: ConvolutionPlan,
    passed: PassDemand | None = None,
) -> Iterator[Demand]:
    """
    Yield what each tile of a convolution asks of memory and the engines.

    `passed` is what the pass of the SDP after it takes; by default a bias per kernel and the results.
    """
    columns = window.output_size(source)[1]
    kernel = window.kernel_shape(precision, source.channels)
    written = geometry.surfaces(target, precision, kernels) * columns * target.memory_atom_bytes
    atoms = 1 if window.pixel_bytes else geometry.surfaces(target, precision, source.channels)
    row = row_cycles(atoms, source.width)
    bank = target.cbuf_entries * target.cbuf_entry_bytes
    per_kernel = OPERAND_BYTES if precision is Precision.INT8 else precision.bytes
    if passed is None:
        passed = PassDemand(kernels * per_kernel, 0, written, target.sdp_elements_per_cycle)
    weights, first_weights = rows.read_bytes, rows.group_bytes
    if rows.compressed_bytes is not None:
        groups = geometry.ceil_div(kernels, geometry.kernel_group(target, precision))
        first_weights = geometry.ceil_div(rows.compressed_bytes, groups)
    work = ConvWork(
        precision,
        kernels,
        *kernel,
        rows=0,
        columns=columns,
        is_image=bool(window.pixel_bytes),
        is_winograd=window.is_winograd,
    )
    heights = {tile.outputs for tile in plan.tiles}
    cycles = {height: conv_cycles(target, work._replace(rows=height), passed.rate) for height in heights}
    for tile in plan.tiles:
        is_loaded = tile is plan.tiles[0] or not plan.weights_resident
        data = tile.inputs * rows.row_bytes
        yield Demand(
            data=data,
            weights=weights if is_loaded else 0,
            first_weights=first_weights if is_loaded else 0,
            operands=passed.operands,
            streamed=tile.outputs * passed.row_operands,
            results=tile.outputs * passed.row_results,
            row_cycles=tile.inputs * row,
            conv=cycles[tile.outputs],
            data_bank_bytes=plan.data_banks * bank,
            weight_bank_bytes=plan.weight_banks * bank,
            held_data=rows.held_bytes(tile, target.cbuf_entry_bytes),
            held_weights=min(weights, plan.weight_banks * bank),
        )


def plan_cycles(
    target: NvdlaTarget,
    precision: Precision,
    source: CubeShape,
    kernels: int,
    window: Window2D,
    rows: ConvBufferDemand,
    plan: ConvolutionPlan,
) -> float:
    """Return the cycles of all tiles of a convolution, which are independent of each other."""
    timeline = Timeline(target)
    for demand in tile_demands(target, precision, source, kernels, window, rows, plan):
        timeline.add(demand, ("CONV", "SDP"))
    return timeline.end
