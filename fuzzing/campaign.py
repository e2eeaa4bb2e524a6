"""Run many seeds and save reduced failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import onnx

from xonnc.errors import XonncError
from xonnc.executors.executor import Executor
from xonnc.formats.atomic_write import atomic_writes
from xonnc.fuzzing.case_reduction import reduced_failure
from xonnc.fuzzing.differential import LevelFailure, Original
from xonnc.fuzzing.edits import ReductionCase
from xonnc.fuzzing.failures import failure_of
from xonnc.fuzzing.levels import LEVELS
from xonnc.fuzzing.random_models import RandomModel, random_model

CRASH = "worker crash"
"""The kind of a failure that ended the worker process; it is not reduced, since that would end this one."""


@dataclass(frozen=True)
class FuzzResult:
    """Result of one seed."""

    seed: int
    nodes: int
    motifs: tuple[str, ...]
    runs_by: str
    """`onnxruntime`, `reference`, or empty if neither runs the model, which is then skipped."""
    failures: tuple[LevelFailure, ...]


def run_seed(seed: int, levels: Sequence[str] = tuple(LEVELS)) -> FuzzResult:
    """Run the model of a seed before and after each level of simplification."""
    drawn = random_model(seed)
    nodes = len(drawn.model.graph.node)
    try:
        original = Original(drawn.model, drawn.feeds)
    except XonncError:
        return FuzzResult(seed, nodes, drawn.motifs, "", ())
    found = [failure for level in levels if (failure := failure_of(original, level)) is not None]
    engine = "reference" if original.engine.by_reference else "onnxruntime"
    return FuzzResult(seed, nodes, drawn.motifs, engine, tuple(found))


def run_seeds(
    seeds: Sequence[int], levels: Sequence[str] = tuple(LEVELS), executor: Executor | None = None
) -> Iterator[FuzzResult]:
    """
    Results of several seeds as they complete, in this process or by an executor.

    With an executor, a model that ends its worker is a failure of all levels; without, it ends the process.
    """
    if executor is None:
        yield from (run_seed(seed, levels) for seed in seeds)
        return
    for outcome in executor.run(partial(run_seed, levels=levels), seeds):
        if outcome.is_lost:
            crash = LevelFailure(" ".join(levels), CRASH, outcome.error)
            yield FuzzResult(seeds[outcome.index], 0, (), "", (crash,))
        else:
            yield outcome.value()


def save(found: FuzzResult, folder: Path) -> list[Path]:
    """Reduce the first failure of a seed and write it as a model and a text; return the files."""
    drawn = random_model(found.seed)
    case, failure = reduced_failure(ReductionCase(drawn.model, drawn.feeds), found.failures[0])
    stem = folder / f"seed-{found.seed}-{failure.level}"
    model, text = stem.with_suffix(".onnx"), stem.with_suffix(".txt")
    contents = {
        model: case.model.SerializeToString(),
        text: _described(found, drawn, case, failure).encode(),
    }
    with atomic_writes() as files:
        for path, content in contents.items():
            with files.open(path) as file:
                file.write(content)
    return [model, text]


def _described(found: FuzzResult, drawn: RandomModel, case: ReductionCase, failure: LevelFailure) -> str:
    others = [one.level for one in found.failures[1:]]
    lines = [
        str(failure),
        f"seed {found.seed}: {found.nodes} nodes, reduced to {case.nodes}; of {', '.join(drawn.motifs)}",
        *([f"other levels that fail: {', '.join(others)}"] if others else []),
        "",
        onnx.printer.to_text(case.model),
    ]
    with np.printoptions(threshold=200, floatmode="unique"):
        for feeds in case.feeds:
            lines += [
                "",
                *(
                    f"{name}: {array.dtype}{list(array.shape)} {array.tolist()}"
                    for name, array in feeds.items()
                ),
            ]
    return "\n".join(lines) + "\n"
