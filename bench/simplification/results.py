"""All samples of a run, their medians and the marks for what was asked of them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.models import CHAIN_LENGTHS, LARGEST, NETWORKS
from bench.simplification.sample import Failure, Sample
from bench.simplification.tools import BASELINE, OURS

FEWEST_NODES_OF = ("onnxsim", "onnxslim", "ort-basic")
FASTER_THAN = ("onnxslim", "onnxoptimizer", "onnxscript")
LARGE = 40.0
"""Megabytes from which on we are to be as fast as `ort-basic`."""
PEAK_FACTOR, PEAK_MEGABYTES = 1.3, 60.0
CHAIN, CHAIN_SECONDS = "chain5k", 1.5
FLATNESS = 1.3
"""How much more a node of the dearest chain may cost than one of the cheapest."""
NOISE = 0.1
"""Ratios of medians and of minima that are further apart than this say nothing."""


@dataclass
class Cell:
    """What a tool did to a model."""

    samples: list[Sample] = field(default_factory=list[Sample])
    failure: str = ""
    disagreement: str | None = None
    """How the outputs differ from the original's; `None` if nobody looked."""

    def add(self, found: Sample | Failure) -> None:
        """Takes another sample; the first failure stays."""
        if isinstance(found, Sample):
            self.samples.append(found)
        else:
            self.failure = self.failure or found.reason

    @property
    def is_done(self) -> bool:
        """Whether it worked, every time."""
        return bool(self.samples) and not self.failure

    @property
    def seconds(self) -> float:
        """The median."""
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def fastest(self) -> float:
        """The least seconds."""
        return min(sample.seconds for sample in self.samples)

    @property
    def start(self) -> float:
        """The median of seconds before the clock."""
        return statistics.median(sample.start for sample in self.samples)

    @property
    def peak(self) -> float:
        """The median in megabytes."""
        return statistics.median(sample.peak for sample in self.samples)

    @property
    def operators(self) -> Counter[str]:
        """Nodes left by operator."""
        return Counter(self.samples[0].operators)

    @property
    def nodes(self) -> int:
        """Nodes left."""
        return self.operators.total()


@dataclass
class Figures:
    """Cells by model and tool, and the size of each model in megabytes."""

    tools: list[str]
    sizes: dict[str, float] = field(default_factory=dict[str, float])
    cells: dict[str, dict[str, Cell]] = field(default_factory=dict[str, dict[str, Cell]])

    def cell(self, model: str, tool: str) -> Cell:
        """The cell, empty at first."""
        return self.cells.setdefault(model, {}).setdefault(tool, Cell())

    def done(self, model: str, tool: str) -> Cell | None:
        """The cell, if there is a figure in it."""
        cell = self.cells.get(model, {}).get(tool)
        return cell if cell is not None and cell.is_done else None

    def loaded(self, model: str) -> Cell | None:
        """What reading the model takes."""
        return self.done(model, BASELINE)


@dataclass(frozen=True)
class Verdict:
    """Whether something that was asked holds, and for what it does not."""

    asked: str
    misses: list[str]
    checked: int

    @property
    def passed(self) -> bool:
        """Whether it holds for all that was measured, and something was."""
        return not self.misses and self.checked > 0


def verdicts(figures: Figures) -> list[Verdict]:
    """What issue 3 asks for, point by point, of what was measured."""
    ours = {model: cell for model in figures.cells if (cell := figures.done(model, OURS)) is not None}
    all_of_ours = [figures.cells[model][OURS] for model in figures.cells if OURS in figures.cells[model]]
    found = [
        _verdict(
            "every model is simplified, and agrees with the original",
            (
                f"{model}: {cell.failure or cell.disagreement}" if cell.failure or cell.disagreement else ""
                for model in figures.cells
                if (cell := figures.cells[model].get(OURS)) is not None
            ),
        ),
        _verdict(
            f"nodes <= the fewest of {', '.join(FEWEST_NODES_OF)}",
            (
                _more(model, cell.nodes, {tool: peer.nodes for tool, peer in rivals.items()})
                for model, cell in ours.items()
                if (rivals := _rivals(figures, model, FEWEST_NODES_OF))
            ),
        ),
        _verdict(
            f"time <= ort-basic from {LARGE:.0f} MB on",
            (
                _slower(model, cell, rivals)
                for model, cell in ours.items()
                if figures.sizes[model] >= LARGE and (rivals := _rivals(figures, model, ("ort-basic",)))
            ),
        ),
        _verdict(
            f"faster than {', '.join(FASTER_THAN)}",
            (
                _slower(model, cell, rivals)
                for model, cell in ours.items()
                if (rivals := _rivals(figures, model, FASTER_THAN))
            ),
        ),
        _verdict(
            f"peak <= {PEAK_FACTOR} x file + {PEAK_MEGABYTES:.0f} MB",
            (
                f"{model}: {cell.peak:.0f} MB of {most:.0f}" if cell.peak > most else ""
                for model, cell in ours.items()
                if model in NETWORKS or model == LARGEST
                for most in [PEAK_FACTOR * figures.sizes[model] + PEAK_MEGABYTES]
            ),
        ),
        _verdict(
            f"{CHAIN} in {CHAIN_SECONDS} s",
            (
                f"{cell.seconds:.2f} s" if cell.seconds > CHAIN_SECONDS else ""
                for model, cell in ours.items()
                if model == CHAIN
            ),
        ),
        _flat({count: ours[name] for count in CHAIN_LENGTHS if (name := f"chain_{count}") in ours}),
    ]
    return [verdict for verdict in found if verdict.checked or not all_of_ours]


def costs(cells: dict[int, Cell]) -> dict[int, float]:
    """Microseconds a node by the length of the chain."""
    return {count: cell.seconds / count * 1e6 for count, cell in cells.items()}


def _flat(cells: dict[int, Cell]) -> Verdict:
    asked = f"a node costs the same in chains of all lengths, within a factor of {FLATNESS}"
    if len(cells) < 2:
        return Verdict(asked, [], 0)
    found = costs(cells)
    told = ", ".join(f"{count}: {cost:.0f} us" for count, cost in found.items())
    return Verdict(asked, [told] if max(found.values()) > FLATNESS * min(found.values()) else [], len(cells))


def _verdict(asked: str, outcomes: Iterable[str]) -> Verdict:
    """Outcomes are empty where it holds."""
    found = list(outcomes)
    return Verdict(asked, [outcome for outcome in found if outcome], len(found))


def _rivals(figures: Figures, model: str, tools: Iterable[str]) -> dict[str, Cell]:
    return {tool: cell for tool in tools if (cell := figures.done(model, tool)) is not None}


def _more(model: str, nodes: int, rivals: dict[str, int]) -> str:
    best = min(rivals, key=lambda tool: rivals[tool])
    return f"{model}: {nodes} of {rivals[best]} ({best})" if nodes > rivals[best] else ""


def ratio(cell: Cell, rival: Cell) -> float:
    """How many times as long as its rival a tool takes: the median over the turns that they took together."""
    if len(cell.samples) != len(rival.samples):
        return cell.seconds / rival.seconds
    pairs = zip(cell.samples, rival.samples, strict=True)
    return statistics.median(one.seconds / other.seconds for one, other in pairs)


def _slower(model: str, cell: Cell, rivals: dict[str, Cell]) -> str:
    found = [
        f"{times:.2f} of {tool}{_noise(times, cell, rival)}"
        for tool, rival in rivals.items()
        if (times := ratio(cell, rival)) > 1
    ]
    return f"{model}: {', '.join(found)}" if found else ""


def _noise(times: float, cell: Cell, rival: Cell) -> str:
    """Says so if the median and the minima tell different stories."""
    return " (noisy)" if abs(times / (cell.fastest / rival.fastest) - 1) > NOISE else ""
