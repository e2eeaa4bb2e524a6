"""The measurement of one case, which runs in a worker."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite
from pathlib import Path

import numpy as np
import onnx
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import Sample, calibrate_module, input_shapes, open_model, read_samples
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.performance import performance
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import is_quantized, name_values
from xonnc.lowering.quantization_statistics.quantization_error import output_noise
from xonnc.packages import compile_package
from xonnc.tools.sweep.plan import Case
from xonnc.tools.sweep.silicon import silicon

GENERATED_SAMPLES = 4

CALIBRATIONS = 2
"""Calibrations that a worker remembers: cases with the same one follow each other."""

Figures = dict[str, float]


def measure(case: Case) -> Figures:
    """Compile a case and estimate it; raise `XonncError` if the model is refused."""

    is_int8 = case.precision == "int8"
    calibration = _calibration(case.calibration_key(), case.samples, case.calibration) if is_int8 else None
    with case.target.file() as name:
        if calibration is None:
            package = compile_package(case.model, name)
        else:
            package = compile_package(case.model, name, calibration.on_stage, calibration.ranges)
    if not package.compiled:
        count, operator, reason = package.causes[0]
        raise XonncError(f"nothing runs on {case.target.label}: {count} {operator}: {reason}")
    target = case.target.load()
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
        "activation_bytes": sum(one.report.activation_bytes for one in package.compiled),
        "cpu_nodes": len(package.cpu_nodes),
        "multipliers": target.atomic_c * target.atomic_k,
        "cbuf_bytes": target.cbuf_bytes,
        "dram_gb_per_s": target.dram_gb_per_s,
        **silicon(target),
        **({} if calibration is None else calibration.accuracy()),
    }


class _Calibration:
    """The ranges of a model, measured once for all targets, and what quantization costs in accuracy."""

    def __init__(self, source: str, method: str) -> None:
        self._source = source
        self._method = method
        self._ranges: Ranges | None = None
        self._samples: list[Sample] = []
        self._floats: onnx.ModelProto | None = None
        self._quantized: onnx.ModelProto | None = None
        self._accuracy: Figures | None = None

    def ranges(self, module: ModuleOp) -> Ranges:
        """Return the ranges of a simplified module."""
        # Ranges are by name: modules of other targets get the same ones.
        name_values(module)
        if self._ranges is None:
            shapes, source = input_shapes(module), self._source
            self._samples = read_samples(Path(source), shapes) if source else _generated(shapes)
            self._floats = export_proto(module) if source and not is_quantized(module) else None
            self._ranges = calibrate_module(module, self._samples, self._method)
        return self._ranges

    def on_stage(self, stage: str, module: ModuleOp) -> None:
        """Keep the quantized model."""
        if stage == "simplified" and self._floats is not None and self._quantized is None:
            self._quantized = export_proto(module)

    def accuracy(self) -> Figures:
        """Return the noise of the worst output relative to the float model's in decibels."""
        if self._accuracy is None:
            self._accuracy = {}
            if self._floats is not None and self._quantized is not None:
                noise = output_noise(self._quantized, self._floats, self._samples, open_model)
                self._accuracy = {"output_noise_db": noise} if isfinite(noise) else {}
        return self._accuracy


@lru_cache(maxsize=CALIBRATIONS)
def _calibration(key: str, samples: str, method: str) -> _Calibration:
    """Return the calibration with a key, which has the contents of the model and of the samples."""
    return _Calibration(samples, method)


def _generated(shapes: dict[str, tuple[int, ...]]) -> list[Sample]:
    random = np.random.default_rng(0)
    return [
        {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(GENERATED_SAMPLES)
    ]
