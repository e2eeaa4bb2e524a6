"""
Generate the models of the conformance set, measure each and write the page.

    python -m bench.conformance [NAME …] [--models DIR] [--families …] [--stages graph native nvdla]

Models and measurements stay in the folder, so that an interrupted run resumes; `--again` repeats
measurements. Needs PyPI, 8 GB of disk and an hour or two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGKILL
from threading import Timer
from typing import Any

from bench.conformance.environment import ROOT, generate, python_of, temporary
from bench.conformance.generate import FAILURE, FAMILIES, INPUTS
from bench.conformance.measure import DONE
from bench.conformance.model_specs import ModelSpec
from bench.conformance.page import page, problems, summary

Figures = dict[str, Any]

STAGES = ("graph", "native", "nvdla")
TIMEOUT_SECONDS = 300.0
"""Time limit of a stage in seconds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate, measure and write the page; exit 1 if there are failures."""
    parser = argparse.ArgumentParser(prog="python -m bench.conformance", description=(__doc__ or "").strip())
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--models", type=Path, default=temporary("models"), help="folder of the models")
    parser.add_argument(
        "--environment", type=Path, default=temporary("packages"), help="folder of the virtual environment"
    )
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=STAGES)
    parser.add_argument("--again", action="store_true", help="repeat earlier measurements")
    parser.add_argument("--as-they-are", action="store_true", help="generate no models")
    parser.add_argument("--note", default="", help="measurement conditions, printed on the page")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "conformance.md")
    options = parser.parse_args(arguments)
    options.models.mkdir(parents=True, exist_ok=True)
    if not options.as_they_are:
        generate(python_of(options.environment), options.models, options.families, options.names)
    results = ResultStore(options.models / "results.json")
    with tempfile.TemporaryDirectory() as made:
        stages = {name: StageProcess(name, Path(made)) for name in options.stages}
        for spec in [spec for family in options.families for spec in FAMILIES[family]()]:
            folder = options.models / spec.name
            if (folder / INPUTS).exists() and (not options.names or spec.name in options.names):
                measure(spec, folder, stages, results, options.again)
        for stage in stages.values():
            stage.close()
    found = results.by_model()
    failed = [path.parent.name for path in options.models.glob(f"*/{FAILURE}")]
    options.page.write_text(page(found, options.note, failed))
    held = {name: figures for name, figures in found.items() if "unanswered" not in figures}
    print("\n".join((*problems(held), *summary(held))))
    return 1 if any(problems(held)) else 0


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


def measure(
    spec: ModelSpec, folder: Path, stages: Mapping[str, StageProcess], results: ResultStore, again: bool
) -> None:
    """Measure the stages of a model that have no measurements yet."""
    for name, stage in stages.items():
        if name == "nvdla" and not spec.is_convolutional:
            continue
        if again or name not in results.found.get(spec.name, {}):
            figures = stage.run(folder)
            results.add(spec, name, figures)
            print(f"{spec.name} {name}: {_told(figures)}", flush=True)


class StageProcess:
    """A worker process that measures one stage of many models; restarted when it dies."""

    def __init__(self, name: str, made: Path) -> None:
        self.name = name
        self._report = made / f"{name}.json"
        self._messages = made / f"{name}.txt"
        self._process: subprocess.Popen[str] | None = None

    def run(self, folder: Path) -> Figures:
        """Measurements of a model; `NAME_failed` has the error if the process died or timed out."""
        self._report.unlink(missing_ok=True)
        process = self._process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{folder}\n")
        process.stdin.flush()
        late = Timer(TIMEOUT_SECONDS, process.kill)
        late.start()
        is_done = process.stdout.readline().strip() == DONE
        late.cancel()
        figures: Figures = json.loads(self._report.read_text()) if self._report.exists() else {}
        if is_done:
            return figures
        code = process.wait()
        self._process = None
        lines = self._messages.read_text(errors="replace").strip().splitlines() or ["no message"]
        ended = (
            f"over {TIMEOUT_SECONDS:.0f} s"
            if not late.is_alive() and code == -SIGKILL
            else f"ended by signal {-code}"
        )
        return figures | {f"{self.name}_failed": ended if code < 0 else lines[-1]}

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "bench.conformance.measure", self.name, str(self._report)]
        with self._messages.open("w") as messages:
            return subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True
            )

    def close(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _told(figures: Figures) -> str:
    shown = {key: value for key, value in figures.items() if value not in ("", {}, [], False)}
    texts = (f"{value:.2f}" if isinstance(value, float) else str(value) for value in shown.values())
    return ", ".join(f"{key} {text}" for key, text in zip(shown, texts, strict=True))


if __name__ == "__main__":
    sys.exit(main())
