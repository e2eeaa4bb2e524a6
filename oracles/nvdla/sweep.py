"""
Random networks for NVDLA: compiled, checked, simulated and compared.

In INT8 every integer must equal the reference of the quantized graph; in FP16 results must equal
onnxruntime's up to float16 rounding. Failing networks are reduced.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from oracles.nvdla.fixed_point import Array
from oracles.nvdla.quantized_reference import QuantizedReference
from oracles.nvdla.random_networks import NetworkRecipe, image_of, model_of
from oracles.nvdla.window_operators import SlidingWindow
from xonnc.compiler import Compilation, InternalCompilerError, compile_model
from xonnc.dialects.dla.types import CubeShape
from xonnc.errors import RefusalError, XonncError
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.lowering.dla_planning.group_merging import merged_groups
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.runtime.nvdla.simulator import Output, Simulator
from xonnc.runtime.reference import ReferenceModel as Onnxruntime
from xonnc.targets import NvdlaTarget, load_target

MAX_DEVIATION = 1.01
"""
Largest deviation of a quantized result from its exact operands: half a unit, and the operands' own error.
"""

MAX_RELATIVE_ERROR = 1e-2
"""Largest error in FP16 relative to the largest output."""

IMAGES = 3
"""Inputs per network: a run must not depend on what the previous one left in memory."""


@dataclass(frozen=True)
class Outcome:
    """
    `agrees`, `refused`, `mixed` (no reference has its integers), or the kind of failure (`compiling`,
    `simulating`, `differs`, `reference`), and details.
    """

    kind: str
    detail: str = ""

    @property
    def fails(self) -> bool:
        """Whether it is a failure."""
        return self.kind not in ("agrees", "refused", "mixed")


@dataclass(frozen=True)
class PlannedLayers:
    """The layers that the compiler plans for a target."""

    target: NvdlaTarget

    def groups_at_once(self, source: Sequence[int], kernels: int, window: SlidingWindow, groups: int) -> int:
        """Return how many groups of a convolution are one layer."""
        shape = CubeShape(source[0], source[1], source[2])
        planned = Window2D(window.kernel, window.strides, window.dilations, window.pads)
        return (
            1 if groups == 1 else merged_groups(self.target, Precision.INT8, shape, kernels, planned, groups)
        )


def outcome_of(recipe: NetworkRecipe, target: str) -> Outcome:
    """Return the outcome of one recipe on a target."""
    model = model_of(recipe)
    images = [image_of(recipe, index) for index in range(IMAGES)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            compiled = compile_model(path, target)
            outputs = _simulated(compiled, images, target)
            if recipe.is_integer:
                if compiled.report.nodes_by_precision.get("fp16"):
                    return Outcome("mixed", "INT8 cannot express a node, which runs in FP16")
                return _against_integers(model, images, target, outputs)
            reference = Onnxruntime(path)
            return _against_floats([reference.run({"x": image})[0] for image in images], outputs)
    except RefusalError as error:
        return Outcome("refused", str(error).splitlines()[0])
    except InternalCompilerError as error:
        return Outcome("compiling", str(error))
    except XonncError as error:
        return Outcome("simulating", str(error))
    except (AssertionError, ValueError, IndexError, KeyError, OverflowError) as error:
        return Outcome("crash", f"{type(error).__name__}: {error}")


def _simulated(compiled: Compilation, images: Sequence[Array], target: str) -> list[Output]:
    """Return the simulator's outputs; the compiler itself runs the static checks."""
    loadable = parse_loadable(to_bytes(compiled.loadable))
    simulator = Simulator(loadable, load_target(target))
    return [simulator.run([image])[0] for image in images]


def _against_integers(
    model: onnx.ModelProto, images: Sequence[Array], target: str, outputs: Sequence[Output]
) -> Outcome:
    reference = QuantizedReference(model, PlannedLayers(load_target(target)))
    for image, output in zip(images, outputs, strict=True):
        (expected,) = reference.run({"x": image})
        found = output.tensor.reshape(expected.shape)
        wrong = found != expected
        if wrong.any():
            most = int(np.abs(found.astype(np.int64) - expected).max())
            return Outcome("differs", f"{int(wrong.sum())} of {wrong.size} integers, by up to {most}")
    deviations = max(reference.deviations, default=0.0)
    if deviations > MAX_DEVIATION:
        return Outcome("reference", f"a rounding {deviations:.2f} steps from the exact number")
    return Outcome("agrees")


def _against_floats(expected: Sequence[Array], outputs: Sequence[Output]) -> Outcome:
    largest = max(float(np.abs(one).max(initial=0.0)) for one in expected) or 1.0
    error = max(
        float(np.abs(output.numbers.reshape(one.shape) - one).max(initial=0.0))
        for one, output in zip(expected, outputs, strict=True)
    )
    if not error <= MAX_RELATIVE_ERROR * largest:
        return Outcome("differs", f"error {error / largest:.2e} of the largest")
    return Outcome("agrees")


def reduced(recipe: NetworkRecipe, fails: Callable[[NetworkRecipe], bool]) -> NetworkRecipe:
    """Return the smallest failing recipe found by removing layers and shrinking the image."""
    while (smaller := next(filter(fails, _smaller(recipe)), None)) is not None:
        recipe = smaller
    return recipe


def _smaller(recipe: NetworkRecipe) -> Iterator[NetworkRecipe]:
    for index in range(len(recipe.layers)):
        yield replace(recipe, layers=recipe.layers[:index] + recipe.layers[index + 1 :])
    channels, height, width = recipe.shape
    for shape in (
        (channels // 2, height, width),
        (channels, height // 2, width),
        (channels, height, width // 2),
    ):
        if min(shape) > 0:
            yield replace(recipe, shape=shape)
