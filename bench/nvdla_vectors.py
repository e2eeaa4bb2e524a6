"""
Runs the golden NVDLA vectors through the simulator and prints passed / all cases by engine and configuration.

    python bench/nvdla_vectors.py [FOLDER] [--mode fast] [--core] [--only TEXT]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from oracles.golden import GoldenCase, Mismatch, golden_cases, run_case, summary
from xonnc.errors import XonncError
from xonnc.runtime.nvdla.simulator import Mode

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "vectors" / "nvdla"


def main() -> int:
    """Print the table and the failures; exit 1 if there are any."""
    parser = argparse.ArgumentParser(description="Run the golden NVDLA vectors through the simulator.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--mode", choices=["exact", "fast"], default="exact")
    parser.add_argument("--core", action="store_true", help="the core subset alone")
    parser.add_argument("--only", default="", help="cases whose path or engine contains this text")
    options = parser.parse_args()
    if not (options.folder / "index.json").is_file():
        print(f"{options.folder}: no index.json; give the folder of the vectors", file=sys.stderr)
        return 1
    cases = [
        case
        for case in golden_cases(options.folder)
        if (case.core or not options.core) and (options.only in case.name or options.only == case.engine)
    ]
    start = time.perf_counter()
    results, failures = run_all(cases, options.mode)
    seconds = time.perf_counter() - start
    console = Console()
    console.print(as_table(results))
    for failure in failures:
        console.print(failure, highlight=False)
    print(f"{len(cases) - len(failures)} of {len(cases)} cases pass in {options.mode} mode, {seconds:.1f} s")
    return 1 if failures else 0


def run_all(cases: list[GoldenCase], mode: Mode) -> tuple[list[tuple[GoldenCase, bool]], list[str]]:
    """Run all cases; return whether each passed, and a line for each failure."""
    results: list[tuple[GoldenCase, bool]] = []
    failures: list[str] = []
    for case in cases:
        try:
            mismatches: list[Mismatch] | str = run_case(case, mode)
        except XonncError as error:
            mismatches = str(error)
        results.append((case, not mismatches))
        if mismatches:
            what = mismatches if isinstance(mismatches, str) else "; ".join(map(str, mismatches))
            failures.append(f"{case.name}: {what}")
    return results, failures


def as_table(results: list[tuple[GoldenCase, bool]]) -> Table:
    """Table by engine and configuration: `passed`, or `passed/all` if some failed."""
    counts = summary(results)
    engines = sorted({engine for engine, _ in counts})
    configurations = sorted({configuration for _, configuration in counts})
    table = Table("engine", *configurations)
    table.columns[0].no_wrap = True
    for engine in engines:
        cells = [counts.get((engine, configuration)) for configuration in configurations]
        table.add_row(engine, *(_cell(cell) for cell in cells))
    return table


def _cell(count: tuple[int, int] | None) -> str:
    if count is None:
        return ""
    passed, total = count
    return str(total) if passed == total else f"[red]{passed}/{total}[/red]"


if __name__ == "__main__":
    sys.exit(main())
