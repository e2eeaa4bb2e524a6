"""
Memory of twelve networks in four NVDLA configurations: peak of the activations against its lower bound over
all schedules, and total DRAM against one buffer for each tensor.

    python bench/nvdla_memory.py [NAME …] [--target nv_small] [--markdown]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.nvdla_zoo import CONFIGURATIONS, NETWORKS, Configuration, compiled, markdown
from xonnc.errors import XonncError

MAX_EXCESS = 0.03
"""Largest allowed excess of a peak over its lower bound, as a fraction."""


@dataclass(frozen=True)
class NvdlaMemoryResult:
    """One network in one configuration, in bytes; `refusal` where it does not compile."""

    network: str
    configuration: Configuration
    peak: int = 0
    lower_bound: int = 0
    dram: int = 0
    unshared_dram: int = 0
    """DRAM size with a separate buffer for each tensor."""
    refusal: str = ""

    @property
    def excess(self) -> float:
        """Excess of the peak over its lower bound, as a fraction."""
        return self.peak / self.lower_bound - 1 if self.lower_bound else 0.0


def main() -> int:
    """Print a row for each network and configuration; exit 1 if a peak exceeds its bound by too much."""
    parser = argparse.ArgumentParser(description="Memory of networks on the NVDLA.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; all if none")
    parser.add_argument("--target", default="", help="the configurations of this target alone")
    parser.add_argument("--markdown", action="store_true", help="as in docs/nvdla-accuracy.md")
    args = parser.parse_args()
    selected = [one for one in CONFIGURATIONS if args.target in ("", one.target)]
    rows: list[NvdlaMemoryResult] = []
    for name in args.names or NETWORKS:
        for configuration in selected:
            rows.append(measure(name, configuration))
            print(f"\r{name} on {configuration}\x1b[K", end="", file=sys.stderr, flush=True)
    print("\r\x1b[K", end="", file=sys.stderr)
    console = Console(width=118)
    if args.markdown:
        print("\n".join(markdown(cells(rows))))
    else:
        console.print(as_table(rows))
    for configuration in selected:
        console.print(summary([row for row in rows if row.configuration == configuration], configuration))
    return 1 if any(row.excess > MAX_EXCESS for row in rows) else 0


def measure(name: str, configuration: Configuration) -> NvdlaMemoryResult:
    """Compile a network and read its memory report."""
    try:
        # Calibrating with one image is enough: memory does not depend on the ranges.
        report = compiled(name, configuration, images=1).report
    except XonncError as error:
        return NvdlaMemoryResult(name, configuration, refusal=str(error).splitlines()[0])
    return NvdlaMemoryResult(
        name,
        configuration,
        report.activation_bytes,
        report.activation_lower_bound,
        report.dram_bytes,
        report.dram_bytes - report.activation_bytes + report.activation_bytes_apart,
    )


def cells(rows: Sequence[NvdlaMemoryResult]) -> dict[tuple[str, str], str]:
    """Table cells by network and configuration."""
    return {(row.network, str(row.configuration)): _cell(row) for row in rows}


def as_table(rows: Sequence[NvdlaMemoryResult]) -> Table:
    """The table for the terminal."""
    table = Table("network", "configuration", "peak KB", "bound KB", "above", "DRAM MB", "apart MB", "saved")
    for row in rows:
        if row.refusal:
            table.add_row(row.network, str(row.configuration), f"[yellow]{row.refusal[:60]}[/yellow]")
            continue
        table.add_row(
            row.network,
            str(row.configuration),
            f"{row.peak / 1024:.1f}",
            f"{row.lower_bound / 1024:.1f}",
            "equal" if row.peak == row.lower_bound else f"{row.excess:.2%}",
            f"{row.dram / 1e6:.2f}",
            f"{row.unshared_dram / 1e6:.2f}",
            f"{1 - row.dram / row.unshared_dram:.0%}",
        )
    return table


def _cell(row: NvdlaMemoryResult) -> str:
    if row.refusal:
        return row.refusal
    peak = f"{row.peak / 1024:.0f} KB"
    excess = "" if row.peak == row.lower_bound else f" (**{row.excess:.1%} above**)"
    return f"{peak}{excess}; {row.dram / 1e6:.1f} of {row.unshared_dram / 1e6:.1f} MB"


def summary(rows: Sequence[NvdlaMemoryResult], configuration: Configuration) -> str:
    """A line on how many peaks equal their lower bound."""
    compiled_rows = [row for row in rows if not row.refusal]
    equal = sum(row.peak == row.lower_bound for row in compiled_rows)
    worst = max((row.excess for row in compiled_rows), default=0.0)
    refused = len(rows) - len(compiled_rows)
    text = f"{configuration}: equal on {equal} of {len(compiled_rows)}, at most {worst:.2%} above"
    return text + (f"; {refused} do not compile" if refused else "")


if __name__ == "__main__":
    sys.exit(main())
