"""`xonnc sweep`: compile many models for many targets, with a store of results that resumes."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.tools.console import columns, progress, row
from xonnc.tools.files import require_output

if TYPE_CHECKING:
    from xonnc.tools.sweep.plan import Case
    from xonnc.tools.sweep.store import ResultStore, StoredResult

FIGURES = (
    "milliseconds",
    "cycles",
    "macs",
    "utilisation",
    "traffic_bytes",
    "cpu_nodes",
    "multipliers",
    "cbuf_bytes",
    "dram_gb_per_s",
    "area_mm2_28nm",
    "area_mm2_16nm",
    "power_mw_16nm",
    "output_noise_db",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("sweep", type=Path, help="a .toml file with models, targets and precisions")
    parser.add_argument(
        "--store", type=Path, metavar="FILE", help="results (.db) (default: beside the .toml file)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes; 0: this process (default: one for each processor)",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="run on a Dask cluster instead: tcp://host:8786"
    )
    parser.add_argument("--retry", action="store_true", help="run again the cases that lost their workers")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the results as CSV")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page with the results and their Pareto fronts"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Run what the store does not have, and report; exit code 1 if a case lost its workers."""
    from xonnc.tools.sweep.plan import read_cases
    from xonnc.tools.sweep.store import ResultStore

    if args.jobs < 0:
        raise XonncError(f"--jobs {args.jobs}: a number of processes, or 0 for this process")
    if args.csv is not None:
        require_output(args.csv, (".csv",), args.sweep)
    if args.html is not None:
        require_output(args.html, (".html",), args.sweep)
    cases = {case.key(): case for case in read_cases(args.sweep)}
    with ResultStore(args.store or args.sweep.with_suffix(".db")) as store:
        ran = _run_missing(cases, store, args)
        results = store.results(cases)
    rows = [_row(case, results[key]) for key, case in cases.items()]
    if args.csv is not None:
        _write_csv(args.csv, rows)
    if args.html is not None:
        from xonnc.tools.sweep.pareto import render

        with atomic_write(args.html) as file:
            file.write(render(args.sweep.stem, rows).encode())
    counts = Counter(result.status for result in results.values())
    if args.json:
        print(json.dumps({"ran": ran, "results": rows}, indent=2))
    elif not args.quiet:
        _print(rows)
        row("ran", f"{ran} of {len(cases)} cases, the store had the others")
        row("results", ", ".join(f"{count} {status}" for status, count in counts.items()))
    return 1 if counts["lost"] else 0


def _run_missing(cases: Mapping[str, Case], store: ResultStore, args: argparse.Namespace) -> int:
    from xonnc.executors.open_executor import open_executor
    from xonnc.tools.sweep.measure import measure

    stored = store.results(cases)
    missing = [key for key in cases if key not in stored or (args.retry and stored[key].status == "lost")]
    if not missing:
        return 0
    with (
        open_executor(args.jobs, args.scheduler) as executor,
        progress("sweeping", args.quiet or args.json) as step,
    ):
        outcomes = executor.run(measure, [cases[key] for key in missing])
        for done, outcome in enumerate(outcomes, 1):
            store.add(missing[outcome.index], outcome)
            step(done, len(missing), Path(cases[missing[outcome.index]].model).name)
    return len(missing)


def _row(case: Case, result: StoredResult) -> dict[str, str | float]:
    figures = {name: result.figures.get(name, "") for name in FIGURES}
    return {
        "model": Path(case.model).name,
        "target": case.target.label,
        "precision": case.precision,
        "calibration": case.calibration if case.precision == "int8" else "",
        "status": result.status,
        **figures,
        "message": result.message,
    }


def _write_csv(path: Path, rows: Sequence[Mapping[str, str | float]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def _print(rows: Sequence[Mapping[str, str | float]]) -> None:
    names = ("model", "target", "precision", "calibration")
    table: list[tuple[str, ...]] = [(*names, "ms", "MACs used", "CPU nodes", "noise dB", "")]
    for each in rows:
        figures = ("", "", "", "")
        reason = f"{each['status']}: {str(each['message']).partition(chr(10))[0]}"
        if each["status"] == "done":
            time, used, reason = float(each["milliseconds"]), float(each["utilisation"]), ""
            noise = "" if each["output_noise_db"] == "" else f"{each['output_noise_db']:.1f}"
            figures = (f"{time:.3f}", f"{used:.1%}", str(each["cpu_nodes"]), noise)
        table.append((*(str(each[name]) for name in names), *figures, reason))
    for line in columns(table):
        print(line)
