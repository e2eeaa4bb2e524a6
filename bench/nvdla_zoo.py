"""
The twelve networks of the NVDLA benchmarks in four configurations.

Float models are quantized to INT8 with a calibration table from generated images, which is cached beside the
models of `bench/models.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from bench.models import folder, path_of
from xonnc.calibration import calibrate_module, input_shapes
from xonnc.compiler import Compilation, compile_model
from xonnc.contexts import StageCallback
from xonnc.formats.nvdla.calibration import Ranges, read_calibration, write_calibration
from xonnc.formats.onnx.light_models import light_names
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values
from xonnc.runtime.calibration import DEFAULT_METHOD

Array = npt.NDArray[Any]

NETWORKS = (*(f"light_{name}" for name in light_names()), "mobilenet_v2", "resnet18_qdq", "unet")

IMAGES = 32
"""Number of generated calibration images."""

REVISION = 4
"""Cache key of calibration tables: raised when their contents change."""

CALIBRATION_SEED = 0x5EED
"""Seed of calibration images, distinct from that of the test inputs."""


@dataclass(frozen=True)
class Configuration:
    """A target and its precision."""

    target: str
    precision: str

    @property
    def is_integer(self) -> bool:
        """Whether networks are quantized to INT8."""
        return self.precision == "INT8"

    def __str__(self) -> str:
        return f"{self.target} {self.precision}"


CONFIGURATIONS = (
    Configuration("nv_full", "FP16"),
    Configuration("nv_full", "INT8"),
    Configuration("nv_large", "INT8"),
    Configuration("nv_small", "INT8"),
)


def model_of(name: str, configuration: Configuration) -> Path:
    """Path of a network; in FP16 the float model instead of `resnet18_qdq`."""
    if name == "resnet18_qdq" and not configuration.is_integer:
        return path_of("resnet18")
    return path_of(name)


def compiled(
    name: str, configuration: Configuration, images: int = IMAGES, on_stage: StageCallback | None = None
) -> Compilation:
    """The network's loadable; `RefusalError` where the compiler refuses it. `on_stage` sees the stages."""
    needs_ranges = configuration.is_integer and name != "resnet18_qdq"
    return compile_model(
        model_of(name, configuration),
        configuration.target,
        on_stage,
        calibrate=calibration(name, images) if needs_ranges else None,
    )


def calibration(name: str, images: int) -> Callable[[ModuleOp], Ranges]:
    """Ranges of a network: cached ones, else calibrated with generated images and cached."""

    def ranges(module: ModuleOp) -> Ranges:
        table = folder() / name / f"{DEFAULT_METHOD}{REVISION}_{images}.json"
        if table.exists():
            name_values(module)
            return read_calibration(table)
        samples = [image(input_shapes(module), CALIBRATION_SEED, index) for index in range(images)]
        found = calibrate_module(module, samples)
        write_calibration(table, found)
        return found

    return ranges


def image(shapes: Mapping[str, tuple[int, ...]], seed: int, index: int) -> dict[str, Array]:
    """A seeded input with standard normal elements."""
    generator = np.random.default_rng((seed, index))
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def markdown(cells: Mapping[tuple[str, str], str]) -> list[str]:
    """Markdown table with a row for each network and a column for each configuration."""
    networks, across = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    lines = [f"| network | {' | '.join(across)} |", f"|---|{'---|' * len(across)}"]
    for network in networks:
        found = (cells.get((network, configuration), "") for configuration in across)
        lines.append(f"| {network} | {' | '.join(found)} |")
    return lines
