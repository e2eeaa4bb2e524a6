"""All samples of a run, their medians, and the requirements on them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.models import CHAIN_LENGTHS, LARGEST, NETWORKS
from bench.simplification.sample import FailedMeasurement, Measurement
from bench.simplification.tools import BASELINE, XONNC

NODE_COUNT_PEERS = ("onnxsim", "onnxslim", "ort-basic")
SPEED_PEERS = ("onnxslim", "onnxoptimizer", "onnxscript")
LARGE_MEGABYTES = 40.0
"""Size in MB from which xonnc must be as fast as `ort-basic`."""
PEAK_FACTOR, PEAK_MEGABYTES = 1.3, 60.0
CHAIN, CHAIN_SECONDS = "chain5k", 1.5
MAX_COST_RATIO = 1.3
"""Largest ratio between the costs per node of chains of different lengths."""
NOISE = 0.1
"""A ratio is noisy if the ratio of medians and that of minima differ by more than this fraction."""


@dataclass
class ToolResult:
    """Samples of one tool on one model."""

    samples: list[Measurement] = field(default_factory=list[Measurement])
    failure: str = ""
    disagreement: str | None = None
    """Difference of the outputs from the original's, empty if equal; `None` if not compared."""

    def add(self, found: Measurement | FailedMeasurement) -> None:
        """Add a sample; the first failure is kept."""
        if isinstance(found, Measurement):
            self.samples.append(found)
        else:
            self.failure = self.failure or found.reason

    @property
    def is_done(self) -> bool:
        """Whether all samples succeeded."""
        return bool(self.samples) and not self.failure

    @property
    def seconds(self) -> float:
        """Median time."""
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def fastest(self) -> float:
        """Best time."""
        return min(sample.seconds for sample in self.samples)

    @property
    def start(self) -> float:
        """Median startup time: interpreter, imports and warm-up."""
        return statistics.median(sample.start for sample in self.samples)

    @property
    def peak(self) -> float:
        """Median peak memory in MB."""
        return statistics.median(sample.peak for sample in self.samples)

    @property
    def operators(self) -> Counter[str]:
        """Remaining nodes by operator."""
        return Counter(self.samples[0].operators)

    @property
    def nodes(self) -> int:
        """Number of remaining nodes."""
        return self.operators.total()


@dataclass
class Measurements:
    """Results by model and tool, and the size of each model in MB."""

    tools: list[str]
    sizes: dict[str, float] = field(default_factory=dict[str, float])
    cells: dict[str, dict[str, ToolResult]] = field(default_factory=dict[str, dict[str, ToolResult]])

    def cell(self, model: str, tool: str) -> ToolResult:
        """The result, created if missing."""
        return self.cells.setdefault(model, {}).setdefault(tool, ToolResult())

    def done(self, model: str, tool: str) -> ToolResult | None:
        """The result if all its samples succeeded, else `None`."""
        cell = self.cells.get(model, {}).get(tool)
        return cell if cell is not None and cell.is_done else None

    def loaded(self, model: str) -> ToolResult | None:
        """The result of only loading the model."""
        return self.done(model, BASELINE)


@dataclass(frozen=True)
class Requirement:
    """A requirement, and the models that miss it."""

    text: str
    failures: list[str]
    checked: int

    @property
    def passed(self) -> bool:
        """Whether it holds for all measured models, of which there is at least one."""
        return not self.failures and self.checked > 0


def requirements(measurements: Measurements) -> list[Requirement]:
    """The requirements, checked on the measured models."""
    ours = {
        model: cell for model in measurements.cells if (cell := measurements.done(model, XONNC)) is not None
    }
    all_of_ours = [
        measurements.cells[model][XONNC] for model in measurements.cells if XONNC in measurements.cells[model]
    ]
    found = [
        _requirement(
            "every model is simplified, and agrees with the original",
            (
                f"{model}: {cell.failure or cell.disagreement}" if cell.failure or cell.disagreement else ""
                for model in measurements.cells
                if (cell := measurements.cells[model].get(XONNC)) is not None
            ),
        ),
        _requirement(
            f"nodes <= the fewest of {', '.join(NODE_COUNT_PEERS)}",
            (
                _more(model, cell.nodes, {tool: peer.nodes for tool, peer in peers.items()})
                for model, cell in ours.items()
                if (peers := _results_of(measurements, model, NODE_COUNT_PEERS))
            ),
        ),
        _requirement(
            f"time <= ort-basic from {LARGE_MEGABYTES:.0f} MB on",
            (
                _slower(model, cell, peers)
                for model, cell in ours.items()
                if measurements.sizes[model] >= LARGE_MEGABYTES
                and (peers := _results_of(measurements, model, ("ort-basic",)))
            ),
        ),
        _requirement(
            f"faster than {', '.join(SPEED_PEERS)}",
            (
                _slower(model, cell, peers)
                for model, cell in ours.items()
                if (peers := _results_of(measurements, model, SPEED_PEERS))
            ),
        ),
        _requirement(
            f"peak <= {PEAK_FACTOR} x file + {PEAK_MEGABYTES:.0f} MB",
            (
                f"{model}: {cell.peak:.0f} MB of {most:.0f}" if cell.peak > most else ""
                for model, cell in ours.items()
                if model in NETWORKS or model == LARGEST
                for most in [PEAK_FACTOR * measurements.sizes[model] + PEAK_MEGABYTES]
            ),
        ),
        _requirement(
            f"{CHAIN} in {CHAIN_SECONDS} s",
            (
                f"{cell.seconds:.2f} s" if cell.seconds > CHAIN_SECONDS else ""
                for model, cell in ours.items()
                if model == CHAIN
            ),
        ),
        _flat({count: ours[name] for count in CHAIN_LENGTHS if (name := f"chain_{count}") in ours}),
    ]
    return [requirement for requirement in found if requirement.checked or not all_of_ours]


def costs(cells: dict[int, ToolResult]) -> dict[int, float]:
    """Microseconds per node by length of the chain."""
    return {count: cell.seconds / count * 1e6 for count, cell in cells.items()}


def _flat(cells: dict[int, ToolResult]) -> Requirement:
    text = f"a node costs the same in chains of all lengths, within a factor of {MAX_COST_RATIO}"
    if len(cells) < 2:
        return Requirement(text, [], 0)
    found = costs(cells)
    costs_text = ", ".join(f"{count}: {cost:.0f} us" for count, cost in found.items())
    return Requirement(
        text, [costs_text] if max(found.values()) > MAX_COST_RATIO * min(found.values()) else [], len(cells)
    )


def _requirement(text: str, outcomes: Iterable[str]) -> Requirement:
    """A requirement from a failure message for each model, empty where it holds."""
    found = list(outcomes)
    return Requirement(text, [outcome for outcome in found if outcome], len(found))


def _results_of(measurements: Measurements, model: str, tools: Iterable[str]) -> dict[str, ToolResult]:
    return {tool: cell for tool in tools if (cell := measurements.done(model, tool)) is not None}


def _more(model: str, nodes: int, peers: dict[str, int]) -> str:
    best = min(peers, key=lambda tool: peers[tool])
    return f"{model}: {nodes} of {peers[best]} ({best})" if nodes > peers[best] else ""


def ratio(cell: ToolResult, peer: ToolResult) -> float:
    """Ratio of the times of two tools: median over rounds that both ran, else ratio of medians."""
    if len(cell.samples) != len(peer.samples):
        return cell.seconds / peer.seconds
    pairs = zip(cell.samples, peer.samples, strict=True)
    return statistics.median(one.seconds / other.seconds for one, other in pairs)


def _slower(model: str, cell: ToolResult, peers: dict[str, ToolResult]) -> str:
    found = [
        f"{times:.2f} of {tool}{_noise(times, cell, peer)}"
        for tool, peer in peers.items()
        if (times := ratio(cell, peer)) > 1
    ]
    return f"{model}: {', '.join(found)}" if found else ""


def _noise(times: float, cell: ToolResult, peer: ToolResult) -> str:
    """Mark a ratio whose median and minima differ by more than `NOISE`."""
    return " (noisy)" if abs(times / (cell.fastest / peer.fastest) - 1) > NOISE else ""
