"""Runs passes over a model: once each, or until nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xonnc.compat.onnxoptimizer import passes as _registered
from xonnc.compat.onnxoptimizer.model import Model
from xonnc.compat.onnxoptimizer.registry import PASSES, PassType
from xonnc.errors import XonncError, suggest
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.rewriting.timeline import timed

assert _registered

MAX_ITERATIONS = 50
"""The most sweeps of a fixed-point run."""

OLDEST_IR_VERSION = 4
"""From this version on, initializers need not be inputs."""


class UnknownPassError(XonncError, RuntimeError):
    """A pass that does not exist; a `RuntimeError` as in ONNX-optimizer."""


@dataclass
class Report:
    """The result of a run: the rewrites of each pass, and whether another sweep would change nothing."""

    rewrites: dict[str, int] = field(default_factory=dict[str, int])
    iterations: int = 0
    converged: bool = False


def default_passes() -> list[str]:
    """Return the names of the passes that fuse or eliminate."""
    return [each.name for each in PASSES.values() if each.kind in (PassType.FUSE, PassType.NOP)]


def run(
    loaded: LoadedModel,
    names: Sequence[str] | None = None,
    fixed_point: bool = False,
    max_iterations: int = MAX_ITERATIONS,
) -> Report:
    """
    Run passes on a model in place.

    Parameters:
        loaded: the model.
        names: the passes in order; the default ones if `None`.
        fixed_point: whether sweeps are repeated until none changes anything.
        max_iterations: the most sweeps.

    Raises: `UnknownPassError`.
    """
    chosen = default_passes() if names is None else list(names)
    for name in chosen:
        if name not in PASSES:
            raise UnknownPassError(f"pass {name} is unknown{suggest(name, PASSES)}")
    loaded.proto.ir_version = max(loaded.proto.ir_version, OLDEST_IR_VERSION)
    # Who lists all default passes wants what the default does.
    model = Model(loaded, assumes=not set(chosen) >= set(default_passes()))
    report = Report()
    while report.iterations < (max_iterations if fixed_point else 1):
        changes = _sweep(model, chosen, report)
        report.iterations += 1
        if not changes:
            report.converged = True
            break
    return report


def _sweep(model: Model, names: Sequence[str], report: Report) -> int:
    changes = 0
    for name in names:
        with timed(name):
            count = PASSES[name].run(model.graph)
        report.rewrites[name] = report.rewrites.get(name, 0) + count
        # Splitting and renaming are done with, whatever they find again.
        changes += count if PASSES[name].kind is not PassType.SEPARATE else 0
    model.flush()
    return changes
