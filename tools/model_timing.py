"""Time and memory of a model as native code, measured, and on NVDLA, by the cycle model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from xonnc.artifacts import planned_module
from xonnc.errors import XonncError
from xonnc.lowering.native.module_memory_map import memory_map
from xonnc.native import compile_native
from xonnc.targets import load_target
from xonnc.targets.cpu import cpu_names
from xonnc.tools.generated_inputs import accepted_feeds

MIN_RUNS = 3


@dataclass(frozen=True)
class Measurement:
    """
    One model on one target.

    `milliseconds` are those of the fastest run on one thread, or by the cycle model for NVDLA, where
    `activation_bytes` are in DRAM and `cpu_nodes` are not counted. `failure` tells why there are none.
    """

    model: str
    target: str
    compile_seconds: float = 0.0
    milliseconds: float | None = None
    activation_bytes: int | None = None
    cpu_nodes: int = 0
    failure: str = ""


def measured(path: Path, target: str, precision: str | None, seconds: float) -> Measurement:
    """
    Compile a model for a target and measure it.

    For NVDLA it is quantized with generated samples if `precision` is `int8`, or if the target has no floats.
    Native code runs repeatedly for about `seconds`.
    """
    empty = Measurement(path.name, target)
    try:
        if target in ("cpu", *cpu_names()):
            return _on_processor(path, empty, seconds)
        return _on_nvdla(path, empty, precision)
    except XonncError as error:
        return replace(empty, failure=str(error).splitlines()[0])


def _on_processor(path: Path, empty: Measurement, seconds: float) -> Measurement:
    begun = perf_counter()
    session = compile_native(path, empty.target, cache=False)
    feeds = accepted_feeds(session, path)
    compiled = perf_counter() - begun
    shapes = {name: array.shape for name, array in feeds.items()}
    arena = memory_map(planned_module(path, empty.target, shapes))
    times: list[float] = []
    end = perf_counter() + seconds
    while len(times) < MIN_RUNS or perf_counter() < end:
        start = perf_counter()
        session.run(None, feeds)
        times.append(perf_counter() - start)
    return replace(
        empty,
        compile_seconds=compiled,
        milliseconds=min(times) * 1000,
        activation_bytes=None if arena.peak is None else arena.size,
    )


def _on_nvdla(path: Path, empty: Measurement, precision: str | None) -> Measurement:
    from xonnc.tools.sweep.measure import measure
    from xonnc.tools.sweep.plan import Case
    from xonnc.tools.sweep.target_ranges import TargetChoice

    if precision is None:
        precision = "float" if "fp16" in load_target(empty.target).precisions else "int8"
    begun = perf_counter()
    figures = measure(Case(str(path), TargetChoice(empty.target), precision))
    return replace(
        empty,
        compile_seconds=perf_counter() - begun,
        milliseconds=figures["milliseconds"],
        activation_bytes=int(figures["activation_bytes"]),
        cpu_nodes=int(figures["cpu_nodes"]),
    )
