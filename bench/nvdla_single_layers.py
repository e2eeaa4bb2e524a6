"""
Single layers on the simulated NVDLA: three random cases of each operator in each configuration, compared with
the integer reference of the quantized graph (FP16: with onnxruntime).

    make single-layer
    python bench/nvdla_single_layers.py [KIND …] [--cases 3] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.nvdla_zoo import CONFIGURATIONS, Configuration
from oracles.nvdla.random_networks import FLOAT_LAYERS, LAYERS, NetworkRecipe, RecipeLayer, random_recipe
from oracles.nvdla.sweep import Outcome, outcome_of

KINDS = tuple(kind for kind in (*LAYERS, *FLOAT_LAYERS) if kind not in ("conv2", "conv3"))
"""The layers, convolutions once."""

MAX_DRAWN = 60
"""Seeds that are tried for cases that the configuration takes."""


@dataclass(frozen=True)
class Cell:
    """The cases of an operator in a configuration: those that agree, all, and the first failure."""

    agreeing: int
    cases: int
    failure: str = ""

    def __str__(self) -> str:
        return f"{self.agreeing} of {self.cases}" if self.cases else "–"


def main() -> int:
    """Print a table; exit 1 if there are failures."""
    parser = argparse.ArgumentParser(description="Single layers on the simulated NVDLA.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)} (default: all)")
    parser.add_argument("--cases", type=int, default=3, help="cases of each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    options = parser.parse_args()
    if unknown := [kind for kind in options.kinds if kind not in KINDS]:
        parser.error(f"no layer {', '.join(unknown)}; there are {', '.join(KINDS)}")
    table = Table("layer", *(str(configuration) for configuration in CONFIGURATIONS))
    failures: list[str] = []
    for kind in options.kinds or KINDS:
        cells = [measured(kind, each, options.cases, options.seed) for each in CONFIGURATIONS]
        table.add_row(kind, *map(str, cells))
        failures += [cell.failure for cell in cells if cell.failure]
    Console(width=100).print(table)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def measured(kind: str, configuration: Configuration, cases: int, seed: int) -> Cell:
    """Run cases of a layer in a configuration; those that it refuses do not count."""
    if kind in FLOAT_LAYERS and configuration.is_integer:
        return Cell(0, 0)
    found = list(islice(_outcomes(kind, configuration, seed), cases))
    wrong = [f"{configuration}: {recipe}: {outcome.detail}" for recipe, outcome in found if outcome.fails]
    return Cell(len(found) - len(wrong), len(found), wrong[0] if wrong else "")


def _outcomes(kind: str, configuration: Configuration, first: int) -> Iterator[tuple[NetworkRecipe, Outcome]]:
    for seed in islice(count(first), MAX_DRAWN):
        shape = random_recipe(seed, is_integer=configuration.is_integer, layers=1).shape
        recipe = NetworkRecipe(seed, shape, (RecipeLayer(kind, seed),), configuration.is_integer)
        outcome = outcome_of(recipe, configuration.target)
        if outcome.fails or outcome.kind == "agrees":
            yield recipe, outcome


if __name__ == "__main__":
    sys.exit(main())
