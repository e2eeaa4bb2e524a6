"""The measurement of one case, which runs in a worker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import Sample, calibrate_module, input_shapes, read_samples
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.performance import performance
from xonnc.packages import compile_package
from xonnc.targets import load_target
from xonnc.tools.sweep.plan import Case

GENERATED_SAMPLES = 4

Figures = dict[str, float]


def measure(case: Case) -> Figures:
    """Compile a case and estimate it; raise `XonncError` if the model is refused."""

    def ranges(module: ModuleOp) -> Ranges:
        shapes = input_shapes(module)
        samples = read_samples(Path(case.samples), shapes) if case.samples else _generated(shapes)
        return calibrate_module(module, samples)

    package = compile_package(case.model, case.target, None, ranges if case.precision == "int8" else None)
    if not package.compiled:
        count, operator, reason = package.causes[0]
        raise XonncError(f"nothing runs on {case.target}: {count} {operator}: {reason}")
    target = load_target(case.target)
    costs = [performance(one.loadable, target) for one in package.compiled]
    cycles = sum(cost.cycles for cost in costs)
    macs = sum(cost.macs for cost in costs)
    peak = max((layer.peak_macs for cost in costs for layer in cost.layers), default=0)
    return {
        "milliseconds": cycles / target.clock_mhz / 1000,
        "cycles": cycles,
        "macs": macs,
        "utilisation": macs / (peak * cycles) if peak and cycles else 0.0,
        "traffic_bytes": sum(cost.traffic_bytes for cost in costs),
        "cpu_nodes": len(package.cpu_nodes),
    }


def _generated(shapes: dict[str, tuple[int, ...]]) -> list[Sample]:
    random = np.random.default_rng(0)
    return [
        {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(GENERATED_SAMPLES)
    ]
