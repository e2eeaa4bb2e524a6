"""
Partitioning of networks between DLA and CPU: the models of `bench/models.py` compiled to packages, in INT8
for nv_small (calibrated with one generated input) and in FP16 for nv_full; CPU nodes are listed with reasons.

    python bench/packages.py [NAME …] [--reasons 3]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.models import NETWORKS, path_of
from xonnc.calibration import calibrate_module
from xonnc.compiler import Calibrate
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.packages import compile_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.runtime.verification.trial_inputs import trial_feeds

CHOICES = (("nv_small", True), ("nv_full", False))
"""Targets, and whether float models are quantized to INT8."""


def main() -> int:
    """Print a row for each network and target; exit 1 if one does not compile."""
    parser = argparse.ArgumentParser(description="Partitioning of networks between DLA and CPU.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; all if none")
    parser.add_argument("--reasons", type=int, default=3, help="reasons a row (default: %(default)s)")
    args = parser.parse_args()
    names: list[str] = args.names or list(NETWORKS)
    print(f"{'model':<20} {'target':<9} nodes  on DLA  partitions  crossings  compile s")
    passed = [
        measure(name, target, is_quantized, args.reasons)
        for name in names
        for target, is_quantized in CHOICES
    ]
    return 0 if all(passed) else 1


def measure(name: str, target: str, is_quantized: bool, reasons: int) -> bool:
    """Compile one network and print its row."""
    path = path_of(name)
    begun = time.perf_counter()
    try:
        package = compile_package(path, target, None, _ranges_of(path) if is_quantized else None)
    except XonncError as error:
        print(f"{name:<20} {target:<9} {error}", flush=True)
        return False
    seconds = time.perf_counter() - begun
    on_dla = package.nodes - len(package.cpu_nodes)
    print(
        f"{name:<20} {target:<9} {package.nodes:>5} {on_dla:>7} {len(package.compiled):>10} "
        f"{package.crossings:>10} {seconds:>10.1f}",
        flush=True,
    )
    for count, operator, reason in package.causes[:reasons]:
        print(f"    {count:>4} {operator}: {reason}", flush=True)
    return True


def _ranges_of(path: Path) -> Calibrate:
    """Calibrate with one generated input of the model."""

    def ranges(module: ModuleOp) -> Ranges:
        feeds = next(iter(trial_feeds(ReferenceModel(path).inputs(), 0)))
        return calibrate_module(module, [feeds])

    return ranges


if __name__ == "__main__":
    sys.exit(main())
