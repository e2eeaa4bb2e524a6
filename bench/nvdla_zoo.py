"""
The twelve networks that the NVDLA back end is measured by, in its four configurations.

Models of floats are rounded to 8 bits with a calibration table from generated images, kept beside the models
of `bench/models.py`.
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
from xonnc.lowering.onnx_to_dla.quantize_onnx import name_values
from xonnc.runtime.calibration import DEFAULT_METHOD

Array = npt.NDArray[Any]

NETWORKS = (*(f"light_{name}" for name in light_names()), "mobilenet_v2", "resnet18_qdq", "unet")

IMAGES = 32
"""How many generated images a calibration sees."""

REVISION = 2
"""Raised when tables of one method come to say more, so that nobody measures with one kept from before."""

CALIBRATION_SEED = 0x5EED
"""Apart from the seeds of the inputs that networks are tried on."""


@dataclass(frozen=True)
class Configuration:
    """A target and the precision that it computes in."""

    target: str
    precision: str

    @property
    def is_integer(self) -> bool:
        """Whether networks are rounded to 8 bits."""
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
    """The model of a network; in FP16 the model of floats that `resnet18_qdq` is the rounded form of."""
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
    """Finds a network's ranges: those kept from before, else those of generated images, which are kept."""

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
    """One seeded input of standard normal numbers."""
    generator = np.random.default_rng((seed, index))
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def markdown(cells: Mapping[tuple[str, str], str]) -> list[str]:
    """A table of texts by network and configuration: networks down, configurations across."""
    networks, across = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    lines = [f"| network | {' | '.join(across)} |", f"|---|{'---|' * len(across)}"]
    for network in networks:
        found = (cells.get((network, configuration), "") for configuration in across)
        lines.append(f"| {network} | {' | '.join(found)} |")
    return lines
