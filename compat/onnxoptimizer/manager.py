"""Runs passes over a model: once each, or until nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import onnx

from xonnc.compat.onnxoptimizer import passes as _registered
from xonnc.compat.onnxoptimizer.change_log import ChangeLog
from xonnc.compat.onnxoptimizer.model import Model
from xonnc.compat.onnxoptimizer.registry import PASSES, PassType
from xonnc.errors import XonncError, suggest
from xonnc.formats.onnx.captures import graphs_of
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.formats.onnx.tensors import DTYPES, stored_size
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
    weights: tuple[int, int] = (0, 0)
    """Bytes of the initializers before and after."""


def default_passes() -> list[str]:
    """Return the names of the passes that fuse or eliminate."""
    return [each.name for each in PASSES.values() if each.kind in (PassType.FUSE, PassType.NOP)]


def run(
    loaded: LoadedModel,
    names: Sequence[str] | None = None,
    fixed_point: bool = False,
    max_iterations: int = MAX_ITERATIONS,
    log: ChangeLog | None = None,
) -> Report:
    """
    Run passes on a model in place.

    Parameters:
        loaded: the model.
        names: the passes in order; the default ones if `None`.
        fixed_point: whether sweeps are repeated until none changes anything.
        max_iterations: the most sweeps.
        log: gets the nodes that each pass removes and adds.

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
    before = initializer_bytes(loaded.proto.graph)
    if log is not None:
        log.start(loaded.proto.graph)
    while report.iterations < (max_iterations if fixed_point else 1):
        changes = _sweep(model, chosen, report, log)
        report.iterations += 1
        if not changes:
            report.converged = True
            break
    report.weights = before, initializer_bytes(loaded.proto.graph)
    return report


def initializer_bytes(graph: onnx.GraphProto) -> int:
    """Return the size of the initializers of a graph and its subgraphs; strings count nothing."""
    tensors = [tensor for tensor in graph.initializer if tensor.data_type in DTYPES]
    own = sum(stored_size(tensor.data_type, prod(tensor.dims)) for tensor in tensors)
    return own + sum(initializer_bytes(inner) for node in graph.node for inner in graphs_of(node))


def _sweep(model: Model, names: Sequence[str], report: Report, log: ChangeLog | None) -> int:
    changes = 0
    for name in names:
        with timed(name):
            count = PASSES[name].run(model.graph)
        report.rewrites[name] = report.rewrites.get(name, 0) + count
        # Splitting and renaming are done with, whatever they find again.
        if log is not None and count:
            model.flush()
            log.add(report.iterations + 1, name, model.message.graph)
        changes += count if PASSES[name].kind is not PassType.SEPARATE else 0
    model.flush()
    return changes
