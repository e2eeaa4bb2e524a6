"""
Generate the models of the conformance set, measure each and write the page.

    python -m bench.conformance [NAME …] [--models DIR] [--families …] [--stages graph native nvdla]

Models and measurements stay in the folder, so that an interrupted run resumes; `--again` repeats
measurements. `--jobs` and `--scheduler` measure several models at once, where times do not matter. Needs
PyPI, 8 GB of disk and an hour or two.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.conformance.environment import ROOT, generate, temporary
from bench.conformance.generate import FAILURE, FAMILIES, INPUTS
from bench.conformance.measure import Figures, StageRunner, StageTask
from bench.conformance.model_specs import ModelSpec
from bench.conformance.page import page, problems, summary
from xonnc.executors.executor import Executor
from xonnc.executors.local_processes import LocalProcesses
from xonnc.executors.open_executor import open_executor

STAGES = ("graph", "native", "nvdla")
TIMEOUT_SECONDS = 300.0
"""Time limit of a stage in seconds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate, measure and write the page; exit 1 if there are failures."""
    parser = argparse.ArgumentParser(prog="python -m bench.conformance", description=(__doc__ or "").strip())
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--models", type=Path, default=temporary("models"), help="folder of the models")
    parser.add_argument(
        "--environment",
        type=Path,
        help="folder of the virtual environment of most families (default: temporary)",
    )
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=STAGES)
    parser.add_argument("--again", action="store_true", help="repeat earlier measurements")
    parser.add_argument("--as-they-are", action="store_true", help="generate no models")
    parser.add_argument(
        "--jobs", type=int, default=1, help="worker processes; with more than one, times are not comparable"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="measure on a Dask cluster: tcp://host:8786")
    parser.add_argument("--note", default="", help="measurement conditions, printed on the page")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "conformance.md")
    options = parser.parse_args(arguments)
    options.models.mkdir(parents=True, exist_ok=True)
    if not options.as_they_are:
        generate(options.environment, options.models, options.families, options.names)
    results = ResultStore(options.models / "results.json")
    specs = [
        spec
        for family in options.families
        for spec in FAMILIES[family]()
        if (options.models / spec.name / INPUTS).exists()
        and (not options.names or spec.name in options.names)
    ]
    with _executor(options.jobs, options.scheduler) as executor:
        runner = StageRunner(is_alone=options.jobs == 1 and options.scheduler is None)
        measure(specs, options.models, options.stages, results, executor, runner, options.again)
    found = results.by_model()
    failed = [path.parent.name for path in options.models.glob(f"*/{FAILURE}")]
    options.page.write_text(page(found, options.note, failed))
    answered = {name: figures for name, figures in found.items() if "unanswered" not in figures}
    print("\n".join((*problems(answered), *summary(answered))))
    return 1 if any(problems(answered)) else 0


class ResultStore:
    """Measurements by model and stage, stored in a JSON file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, dict[str, Figures]] = json.loads(path.read_text()) if path.exists() else {}

    def add(self, spec: ModelSpec, stage: str, figures: Figures) -> None:
        """Replace the measurements of a stage of a model and write the file."""
        self.found.setdefault(spec.name, {})[stage] = figures | {"source": spec.source}
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json.dumps(self.found, indent=1))
        unfinished.rename(self.path)

    def by_model(self) -> dict[str, Figures]:
        """Measurements of each model, merged over stages."""
        return {
            name: {key: value for figures in stages.values() for key, value in figures.items()}
            for name, stages in self.found.items()
        }


def _executor(jobs: int, scheduler: str | None) -> Executor:
    """Return an executor that gives a model one attempt, of limited time where workers are local."""
    return open_executor(0, scheduler) if scheduler else LocalProcesses(jobs, TIMEOUT_SECONDS, attempts=1)


def measure(
    specs: Sequence[ModelSpec],
    models: Path,
    stages: Sequence[str],
    results: ResultStore,
    executor: Executor,
    runner: Callable[[StageTask], Figures],
    again: bool = False,
) -> None:
    """Measure the stages of models that have no measurements yet."""
    with tempfile.TemporaryDirectory() as reports:
        cases = [
            (spec, StageTask(stage, models / spec.name, Path(reports, f"{spec.name}-{stage}.json")))
            for spec in specs
            for stage in stages
            if (stage != "nvdla" or spec.is_convolutional)
            and (again or stage not in results.found.get(spec.name, {}))
        ]
        for outcome in executor.run(runner, [task for _, task in cases]):
            spec, task = cases[outcome.index]
            figures: Figures = outcome.result or {}
            if outcome.error:
                # A worker that dies leaves what it knew.
                figures = json.loads(task.report.read_text()) if task.report.exists() else {}
                figures[f"{task.stage}_failed"] = outcome.error
            results.add(spec, task.stage, figures)
            print(f"{spec.name} {task.stage}: {_told(figures)}", flush=True)


def _told(figures: Figures) -> str:
    shown = {key: value for key, value in figures.items() if value not in ("", {}, [], False)}
    texts = (f"{value:.2f}" if isinstance(value, float) else str(value) for value in shown.values())
    return ", ".join(f"{key} {text}" for key, text in zip(shown, texts, strict=True))


if __name__ == "__main__":
    sys.exit(main())
