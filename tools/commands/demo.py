"""`xonnc demo`: compile, simulate and check a well-known network."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write, atomic_writes
from xonnc.targets import load_target
from xonnc.tools.commands.check import described
from xonnc.tools.commands.compile import report
from xonnc.tools.console import progress, row, size
from xonnc.tools.files import write_array

Image = npt.NDArray[np.float32]

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of the ImageNet colour channels, for normalised inputs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "model", nargs="?", default="resnet50", help="a network of the onnx package (default: %(default)s)"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("demo-out"), help="output folder (default: %(default)s)"
    )
    parser.add_argument("--target", default="nv_full", help="default: %(default)s")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Compile, simulate one image and compare with onnxruntime."""
    from xonnc.compiler import compile_model
    from xonnc.formats.nvdla.reader import read_loadable
    from xonnc.runtime.nvdla.simulator import Simulator
    from xonnc.runtime.reference import ReferenceModel
    from xonnc.tools.output_comparison import compare

    folder: Path = args.folder
    folder.mkdir(parents=True, exist_ok=True)
    model, loadable = folder / f"{args.model}.onnx", folder / f"{args.model}.nvdla"
    _write_model(args.model, model)
    begun = time.perf_counter()
    compilation = compile_model(model, args.target)
    written = compilation.write(loadable)
    compiled = time.perf_counter()
    report(model, compilation)
    reference = ReferenceModel(model)
    (port,) = reference.inputs()
    if len(port.shape) != 4 or port.shape[1] != 3:
        raise XonncError(f"{model}: input {port.name} is no colour image; the demo shows image classifiers")
    pixels = image(port.shape[2] or 224, port.shape[3] or 224)
    begun_simulation = time.perf_counter()
    with progress(f"simulating {loadable.name}", args.quiet) as step:
        simulator = Simulator(
            read_loadable(loadable),
            load_target(args.target),
            observer=lambda result: step(result.done, result.total, result.engine),
        )
        (output,) = simulator.run([pixels])
    simulated = time.perf_counter()
    (expected,) = reference.run({port.name: pixels})
    agreement = compare(output.name, [expected], [output.tensor.reshape(expected.shape)])
    with atomic_writes() as files:
        write_array(files, folder / f"{args.model}-image.npy", pixels)
        write_array(files, folder / f"{args.model}-scores.npy", output.tensor)
    row("time", f"compiled in {compiled - begun:.1f} s, simulated in {simulated - begun_simulation:.1f} s")
    row("answer", f"class {_top(output.tensor)}; {described(agreement, 1)}")
    print(f"wrote           {loadable} ({size(written)}), {model.name}, image and scores as .npy beside it")
    return 0 if agreement.passed else 1


def image(height: int, width: int) -> Image:
    """Return a synthetic image, a disc and a bar on a gradient, `[1, 3, height, width]`, normalised."""
    y, x = np.mgrid[0 : 1 : complex(height), 0 : 1 : complex(width)]
    colours = np.stack([x, y, 1 - x], axis=0)
    colours[:, (x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.06] = np.array([[0.9], [0.8], [0.1]])
    colours[:, (abs(y - 0.8) < 0.06) & (x > 0.3)] = np.array([[0.1], [0.2], [0.3]])
    scaled = (colours - np.reshape(MEAN, (3, 1, 1))) / np.reshape(DEVIATION, (3, 1, 1))
    return scaled[None].astype(np.float32)


def _top(scores: npt.NDArray[Any]) -> int:
    return int(scores.argmax())


def _write_model(name: str, path: Path) -> None:
    """Write the model with random weights, unless it exists."""
    if path.exists():
        return
    from xonnc.formats.onnx.light_models import light_model

    with atomic_write(path) as file:
        file.write(light_model(name).SerializeToString())
