"""
Single layers by the cycle model beside cycles measured on the RTL of nv_small: `python bench/nvdla_layers.py`

The measurements are in `nvdla_layers.toml`. `bench/nvdla_cycles.py --write` puts the table into
`docs/nvdla-performance.md`.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.cycles import CDP_DEPTH, PDP_DEPTH, SDP_DEPTH, Demand, bottom_elements
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.timeline import Timeline
from xonnc.lowering.dla_planning.convolution_tiling import ConvolutionPlan, row_tiles
from xonnc.lowering.dla_planning.feasibility import buffer_demand
from xonnc.lowering.dla_planning.plan_cycles import plan_cycles
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import load_target

MEASURED: Final = Path(__file__).resolve().parent / "nvdla_layers.toml"

SLOW: Final = load_target("nv_small")
FAST: Final = replace(SLOW, dram_gb_per_s=8.0, memory_latency_cycles=10)
"""The two memories of the measurements."""

DEPTHS: Final = {"sdp": SDP_DEPTH, "pdp": PDP_DEPTH, "cdp": CDP_DEPTH}


@dataclass(frozen=True)
class MeasuredLayer:
    """A layer with its cycles on the RTL and by the model; `fast` and `slow` name the memory."""

    name: str
    memory: str
    measured: int
    modelled: int

    @property
    def deviation(self) -> float:
        """The model's cycles relative to the measured ones, less 1."""
        return self.modelled / self.measured - 1


def measured_layers() -> Iterator[MeasuredLayer]:
    """Yield every measured layer, with the fast memory before the slow one."""
    tables = tomllib.loads(MEASURED.read_text())
    for kernel, stride, dilation, channels, kernels, size, data, weights, *cycles in tables["convolutions"]:
        pad = dilation * (kernel // 2) if kernel % 2 else 0
        window = Window2D((kernel, kernel), (stride, stride), (dilation, dilation), (pad, pad, pad, pad))
        source = CubeShape(channels, size, size)
        steps = f"/{stride}" * (stride > 1) + f" dilation {dilation}" * (dilation > 1)
        name = f"{kernel}x{kernel}{steps} {channels} to {kernels} on {size}x{size}"
        for memory, count in zip(("fast", "slow"), cycles, strict=True):
            modelled = _convolution(memory, source, kernels, window, (data, weights), size, False)
            yield MeasuredLayer(name, memory, count, modelled)
    for name, engine, cubes, channels, *rest in tables["engines"]:
        height, width, rows, columns, below, *cycles = rest
        for memory, count in zip(("fast", "slow"), cycles, strict=True):
            read = channels * height * width
            modelled = _engine(memory, engine, cubes, read, (channels, rows, columns), below)
            yield MeasuredLayer(f"{name} of {channels}x{height}x{width}", memory, count, modelled)
    wide = CubeShape(64, 56, 56), 8, Window2D((3, 3), pads=(1, 1, 1, 1)), (30, 2)
    for rows, count in tables["tiled"]:
        modelled = _convolution("slow", *wide, rows, True)
        yield MeasuredLayer(f"3x3 64 to 8 on 56x56 in tiles of {rows} rows", "slow", count, modelled)


def _target(memory: str):
    return FAST if memory == "fast" else SLOW


def _convolution(
    memory: str,
    source: CubeShape,
    kernels: int,
    window: Window2D,
    banks: tuple[int, int],
    rows: int,
    resident: bool,
) -> int:
    demand = buffer_demand(SLOW, Precision.INT8, source, kernels, window)
    plan = ConvolutionPlan(*banks, resident, row_tiles(demand, rows), 0)
    return round(plan_cycles(_target(memory), Precision.INT8, source, kernels, window, demand, plan))


def _engine(
    memory: str, engine: str, cubes: int, elements: int, result: tuple[int, int, int], below: bool
) -> int:
    channels, rows, columns = result
    depth = DEPTHS[engine] + (bottom_elements(SLOW, columns) if below else 0)
    demand = Demand(
        streamed=cubes * elements, results=channels * rows * columns, elements=elements, depth=depth
    )
    timeline = Timeline(_target(memory))
    timeline.add(demand, (engine,))
    return round(timeline.end)


def table() -> list[str]:
    """Return the Markdown table of all layers."""
    lines = ["| layer | memory | RTL | model | deviation |", "|---|---|---|---|---|"]
    for layer in measured_layers():
        cycles = f"{layer.measured:,} | {layer.modelled:,} | {layer.deviation:+.1%}"
        lines.append(f"| {layer.name} | {layer.memory} | {cycles} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
