"""
Differential testing of random layers and small networks on NVDLA: compiled, checked, simulated, and compared
with the integer reference of the quantized graph (FP16: with onnxruntime). Failures are reduced and saved.

    python bench/nvdla_sweep.py [--target nv_small] [--precision INT8] [--layers 2000] [--networks 200]
                                [--seed 0] [--save DIR] [--fast-memory]
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.nvdla_cycles import CycleCase, write_target
from bench.nvdla_zoo import CONFIGURATIONS, Configuration
from oracles.nvdla.random_networks import NetworkRecipe, model_of, random_recipe
from oracles.nvdla.sweep import Outcome, outcome_of, reduced

NETWORK_SEEDS = 1 << 32
"""Offset of the seeds of networks, so that they differ from those of layers."""


def main() -> int:
    """Print a line for each configuration and failure; exit 1 if there are failures."""
    parser = argparse.ArgumentParser(description="Random layers and networks on the NVDLA.")
    parser.add_argument("--target", default="", help="the configurations of this target alone")
    parser.add_argument("--precision", default="", help="INT8 or FP16 alone")
    parser.add_argument("--layers", type=int, default=2000)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--save", type=Path, help="folder for reduced failing models")
    parser.add_argument(
        "--fast-memory",
        action="store_true",
        help="beside a memory that bounds no layer, so that most 3x3 convolutions in FP16 are Winograd's",
    )
    args = parser.parse_args()
    selected = [
        one
        for one in CONFIGURATIONS
        if args.target in ("", one.target) and args.precision in ("", one.precision)
    ]
    with tempfile.TemporaryDirectory() as folder:
        if args.fast_memory:
            selected = [beside_fast_memory(configuration, Path(folder)) for configuration in selected]
        failures = sum(swept(configuration, args) for configuration in selected)
    return 1 if failures else 0


def beside_fast_memory(configuration: Configuration, folder: Path) -> Configuration:
    """Return the configuration with a target whose memory delivers a beat a cycle at once."""
    case = CycleCase(configuration.target, configuration.precision, 64, None)
    path = write_target(case, folder, memory_latency_cycles=1)
    return replace(configuration, target=str(path))


def swept(configuration: Configuration, args: argparse.Namespace) -> int:
    """Run all models in one configuration; return the number of failures."""
    begun = time.perf_counter()
    recipes = [
        random_recipe(args.seed + index, is_integer=configuration.is_integer, layers=1)
        for index in range(args.layers)
    ]
    recipes += [
        random_recipe(NETWORK_SEEDS + args.seed + index, is_integer=configuration.is_integer)
        for index in range(args.networks)
    ]
    kinds: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    failures = 0
    for recipe in recipes:
        outcome = outcome_of(recipe, configuration.target)
        kinds[outcome.kind] += 1
        if outcome.kind == "refused":
            refusals[re.sub(r"^.*?: |[\d.]+", "", outcome.detail)] += 1
        if outcome.fails:
            failures += 1
            _report(recipe, outcome, configuration, args.save)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    print(
        f"{configuration}: {len(recipes)} models, {counted}; {time.perf_counter() - begun:.0f} s", flush=True
    )
    for refusal, count in refusals.most_common(8):
        print(f"  {count:>5} refused: {refusal}")
    return failures


def _report(recipe: NetworkRecipe, outcome: Outcome, configuration: Configuration, save: Path | None) -> None:
    def fails(candidate: NetworkRecipe) -> bool:
        return outcome_of(candidate, configuration.target).kind == outcome.kind

    small = reduced(recipe, fails)
    found = outcome_of(small, configuration.target)
    print(f"{configuration}: {found.kind}: {found.detail}\n  {small}", flush=True)
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        path = save / f"{configuration.target}_{configuration.precision.lower()}_{recipe.seed}.onnx"
        path.write_bytes(model_of(small).SerializeToString())
        path.with_suffix(".txt").write_text(f"{found.kind}: {found.detail}\n{small}\n")


if __name__ == "__main__":
    sys.exit(main())
