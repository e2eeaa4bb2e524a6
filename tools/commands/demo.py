"""`xonnc demo`: compile, simulate and check a trained classifier of digits and a well-known network."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import nullcontext, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write, atomic_writes
from xonnc.targets import load_target
from xonnc.tools import digits
from xonnc.tools.commands.check import described
from xonnc.tools.commands.compile import report
from xonnc.tools.commands.report import add_arguments as add_report_arguments
from xonnc.tools.commands.report import run as run_report
from xonnc.tools.console import progress, row, wrote
from xonnc.tools.files import write_array

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.formats.nvdla.calibration import Ranges
    from xonnc.runtime.nvdla.simulator import Observer, Simulator

Image = npt.NDArray[np.float32]

DIGITS = "digits"
"""The trained network; it is quantized, so its target is the smallest."""

TARGETS = {DIGITS: "nv_small"}
"""The default targets of networks, where that is not `nv_full`."""

SHOWN_DIGIT = 7

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of the ImageNet colour channels, for normalised inputs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "model",
        nargs="*",
        default=["resnet50", DIGITS],
        help=f"'{DIGITS}', a trained classifier, or a network of the onnx package with random weights "
        "(default: resnet50 digits)",
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("demo-out"), help="output folder (default: %(default)s)"
    )
    parser.add_argument("--target", help=f"default: nv_full, {TARGETS[DIGITS]} for {DIGITS}")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Run the demo of each network; 1 if one of them is wrong."""
    folder: Path = args.folder
    folder.mkdir(parents=True, exist_ok=True)
    is_silent = args.json or args.quiet
    outcomes: list[dict[str, object]] = []
    with redirect_stdout(StringIO()) if is_silent else nullcontext():
        for name in args.model:
            target = args.target or TARGETS.get(name, "nv_full")
            run_one = _run_digits if name == DIGITS else partial(_run_network, name)
            passed = run_one(folder, target, is_silent)
            files = {kind: str(folder / f"{name}.{kind}") for kind in ("onnx", "nvdla", "html")}
            outcomes.append({"model": name, "target": target, "passed": passed, "files": files})
    if args.json:
        print(json.dumps(outcomes, indent=2))
    return 0 if all(outcome["passed"] for outcome in outcomes) else 1


def _run_network(name: str, folder: Path, target: str, is_quiet: bool) -> bool:
    """Compile a network, simulate one image and compare with onnxruntime."""
    from xonnc.compiler import compile_model
    from xonnc.runtime.reference import ReferenceModel
    from xonnc.tools.output_comparison import compare

    model, loadable = folder / f"{name}.onnx", folder / f"{name}.nvdla"
    _write_model(name, model)
    begun = time.perf_counter()
    compilation = compile_model(model, target)
    written = compilation.write(loadable)
    compiled = time.perf_counter()
    report(model, compilation)
    reference = ReferenceModel(model)
    (port,) = reference.inputs()
    if len(port.shape) != 4 or port.shape[1] != 3:
        raise XonncError(f"{model}: input {port.name} is no colour image; the demo shows image classifiers")
    pixels = image(port.shape[2] or 224, port.shape[3] or 224)
    begun_simulation = time.perf_counter()
    with progress(f"simulating {loadable.name}", is_quiet) as step:
        (output,) = _simulator(loadable, target, lambda done: step(done.done, done.total, done.engine)).run(
            [pixels]
        )
    simulated = time.perf_counter()
    (expected,) = reference.run({port.name: pixels})
    agreement = compare(output.name, [expected], [output.tensor.reshape(expected.shape)])
    with atomic_writes() as files:
        write_array(files, folder / f"{name}-image.npy", pixels)
        write_array(files, folder / f"{name}-scores.npy", output.tensor)
    row("time", f"compiled in {compiled - begun:.1f} s, simulated in {simulated - begun_simulation:.1f} s")
    row("answer", f"class {_top(output.tensor)}; {described(agreement, 1)}")
    wrote(loadable, written, f", {model.name}, image and scores as .npy beside it")
    _write_report(model, target)
    return agreement.passed


def _run_digits(folder: Path, target: str, is_quiet: bool) -> bool:
    """Quantize and compile the trained network; simulate it on held-out images, and show it one of them."""
    from xonnc.calibration import calibrate_module
    from xonnc.compiler import compile_model
    from xonnc.runtime.reference import ReferenceModel

    images = digits.read_images()
    example = images.first(SHOWN_DIGIT)
    model, loadable = folder / f"{DIGITS}.onnx", folder / f"{DIGITS}.nvdla"
    image_file = folder / f"{DIGITS}-{SHOWN_DIGIT}.pgm"
    with atomic_writes() as files:
        for path, content in ((model, digits.read_model()), (image_file, digits.pgm(example))):
            with files.open(path) as file:
                file.write(content)
        write_array(files, folder / f"{DIGITS}-calibration.npy", images.calibration)
        write_array(files, image_file.with_suffix(".npy"), example)

    def ranges(module: ModuleOp) -> Ranges:
        samples = [{digits.INPUT: image[None]} for image in images.calibration]
        return calibrate_module(module, samples, target=target)

    compilation = compile_model(model, target, calibrate=ranges)
    written = compilation.write(loadable)
    report(model, compilation)
    reference, simulator = ReferenceModel(model), _simulator(loadable, target)
    correct = {"float32": 0, "INT8": 0}
    with progress(f"simulating {loadable.name}", is_quiet) as step:
        for number, (image, label) in enumerate(zip(images.held_out, images.labels, strict=True), 1):
            correct["float32"] += _top(reference.run({digits.INPUT: image[None]})[0]) == label
            correct["INT8"] += _top(simulator.run([image[None]])[0].tensor) == label
            step(number, len(images.labels), "")
    total = len(images.labels)
    shares = ", ".join(f"{kind} {right} ({right / total:.1%})" for kind, right in correct.items())
    row("accuracy", f"of {total} held-out images: {shares}")
    found = _top(simulator.run([example])[0].tensor)
    for line in digits.drawn(example):
        row("", line)
    row("answer", f"class {found}; the image is a held-out {SHOWN_DIGIT}")
    wrote(loadable, written, f", {model.name}, samples and the image beside it")
    _write_report(model, target, "--calibrate", str(folder / f"{DIGITS}-calibration.npy"))
    return found == SHOWN_DIGIT


def _write_report(model: Path, target: str, *options: str) -> None:
    """Write the page of `xonnc report --html` beside the model."""
    parser = argparse.ArgumentParser()
    add_report_arguments(parser)
    page = str(model.with_suffix(".html"))
    run_report(parser.parse_args([str(model), "--target", target, "--html", page, *options]))


def _simulator(loadable: Path, target: str, observer: Observer | None = None) -> Simulator:
    from xonnc.formats.nvdla.reader import read_loadable
    from xonnc.runtime.nvdla.simulator import Simulator

    return Simulator(read_loadable(loadable), load_target(target), observer=observer)


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
