"""`xonnc check`: validate a model, or compare a compiled model with onnxruntime."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xonnc.errors import XonncError
from xonnc.targets import DEFAULT_TARGET, load_target
from xonnc.tools.commands.simulate import add_machine
from xonnc.tools.console import plural, progress, row
from xonnc.tools.files import is_package, reshape_to_binding
from xonnc.tools.output_comparison import COSINE_BOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xonnc.runtime.nvdla.tensors import BoundTensor
    from xonnc.runtime.reference import ModelParameter
    from xonnc.tools.console import ProgressCallback
    from xonnc.tools.output_comparison import Agreement, Array


COMPILED = (".nvdla", ".xpkg")
"""File extensions of compiled models."""


RANDOM_INPUTS = 3
"""The default number of random inputs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the ONNX model")
    parser.add_argument(
        "loadable",
        type=Path,
        nargs="?",
        help="the loadable or package compiled from it; without one, the model itself is validated",
    )
    parser.add_argument(
        "-n", "--inputs", type=int, help="number of inputs (default: 3 random ones, or all samples)"
    )
    parser.add_argument(
        "--samples",
        type=Path,
        metavar="DATA",
        help="compare on samples instead of random inputs (.npz, .npy, a folder), as --calibrate takes them",
    )
    parser.add_argument(
        "--least-cosine",
        type=float,
        default=COSINE_BOUND,
        metavar="C",
        help="the least cosine similarity of an output that agrees (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the random inputs (default: %(default)s)"
    )
    add_machine(parser)
    parser.add_argument("--json", action="store_true", help="print the agreement as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, only set the exit code")


def run(args: argparse.Namespace) -> int:
    """Validate or compare; exit code 1 if the model is invalid or an output disagrees."""
    if args.loadable is None:
        if args.target is not None:
            raise XonncError(
                f"--target {args.target}: without a compiled file the model alone is checked; give a "
                "loadable or package after it, or use 'xonnc compile --dry-run'"
            )
        return _check_model(args)
    if args.inputs is not None and args.inputs < 1:
        raise XonncError(f"--inputs {args.inputs}: at least one input is needed to compare")
    if not 0 <= args.least_cosine <= 1:
        raise XonncError(f"--least-cosine {args.least_cosine:g}: similarities are from 0 to 1")
    with progress(f"checking {args.loadable.name}", args.quiet) as step:
        agreements, count = agree(args, step)
    if args.json:
        print(json.dumps([_as_json(one) for one in agreements], indent=2))
    elif not args.quiet:
        for one in agreements:
            row(one.output, described(one, count))
    return 0 if all(one.passed for one in agreements) else 1


def _as_json(agreement: Agreement) -> dict[str, object]:
    error = agreement.largest_error if isfinite(agreement.largest_error) else None
    return {**asdict(agreement), "largest_error": error, "passed": agreement.passed}


def _check_model(args: argparse.Namespace) -> int:
    """Print all problems of a model."""
    if args.model.suffix in COMPILED:
        raise XonncError(
            f"{args.model}: a compiled file; 'xonnc inspect' checks it, 'xonnc check MODEL {args.model}' "
            "compares it with its model"
        )
    from xonnc.model_check import check_model

    problems = check_model(args.model)
    if args.json:
        print(json.dumps({"model": str(args.model), "problems": [asdict(one) for one in problems]}, indent=2))
    elif problems:
        for problem in problems:
            print(f"xonnc: {args.model}: {problem}", file=sys.stderr)
    elif not args.quiet:
        print(f"{args.model}   nothing is wrong")
    return 1 if problems else 0


@dataclass(frozen=True)
class _Compiled:
    """A compiled model: output names, and a function from feeds to outputs."""

    outputs: Sequence[str]
    bound: Sequence[BoundTensor]
    """Inputs bound to the DLA."""
    run: Callable[[Mapping[str, Array]], Sequence[Array]]
    batch: int = 1
    """The images of one run, along the first dimension of inputs and outputs."""

    def run_all(self, inputs: Sequence[Mapping[str, Array]]) -> Iterator[Sequence[Array]]:
        """Yield the outputs of each input; the last batch is filled up with its last input."""
        if self.batch == 1:
            yield from map(self.run, inputs)
            return
        for begin in range(0, len(inputs), self.batch):
            images = inputs[begin : begin + self.batch]
            filled = [*images, *[images[-1]] * (self.batch - len(images))]
            feeds = {name: np.concatenate([one[name] for one in filled]) for name in filled[0]}
            parts = [np.split(output, self.batch) for output in self.run(feeds)]
            yield from ([part[index] for part in parts] for index in range(len(images)))


def agree(args: argparse.Namespace, step: ProgressCallback) -> tuple[Sequence[Agreement], int]:
    """
    Run a model and what is compiled from it on the same inputs, and compare every output, in binding order.

    Returns: the agreement of each output, and the number of inputs.
    """
    from xonnc.runtime.reference import ReferenceModel
    from xonnc.tools.output_comparison import compare

    made = (_package if is_package(args.loadable) else _loadable)(args.loadable, args.target, args.mode)
    reference = ReferenceModel(args.model)
    names = [port.name for port in reference.outputs()]
    if (found := list(made.outputs)) != names:
        raise XonncError(
            f"{args.loadable}: outputs {', '.join(found)}, but the model's are {', '.join(names)}"
        )
    inputs = _inputs(args, reference.inputs(), made.bound)
    expected: list[list[Array]] = []
    given: list[list[Array]] = []
    for index, (feeds, outputs) in enumerate(zip(inputs, made.run_all(inputs), strict=True)):
        step(index, len(inputs))
        expected.append(reference.run(feeds))
        given.append([one.reshape(want.shape) for one, want in zip(outputs, expected[-1], strict=True)])
    agreements = [
        compare(name, [row[index] for row in expected], [row[index] for row in given], args.least_cosine)
        for index, name in enumerate(names)
    ]
    return agreements, len(inputs)


def _inputs(
    args: argparse.Namespace, ports: Sequence[ModelParameter], bound: Sequence[BoundTensor]
) -> Sequence[Mapping[str, Array]]:
    """Return the samples, or random inputs."""
    from xonnc.calibration import read_samples
    from xonnc.tools.output_comparison import random_feeds

    if args.samples is None:
        feeds = enumerate(random_feeds(ports, args.inputs or RANDOM_INPUTS, args.seed))
        return [{**random, **_of_pixels(random, bound, (args.seed, index))} for index, random in feeds]
    shapes: dict[str, tuple[int, ...]] = {}
    for port in ports:
        shape = tuple(size for size in port.shape if size is not None)
        if len(shape) != len(port.shape):
            raise XonncError(f"input '{port.name}': its shape is dynamic; samples need a fixed one")
        shapes[port.name] = shape
    return read_samples(args.samples, shapes, {port.name: port.dtype for port in ports})[: args.inputs]


def _loadable(path: Path, target: str | None, mode: str) -> _Compiled:
    """Prepare a loadable for the simulator."""
    from xonnc.formats.nvdla.checks.loadable_check import read_fitting
    from xonnc.runtime.nvdla.simulator import Simulator

    hardware = load_target(target or DEFAULT_TARGET)
    simulator = Simulator(read_fitting(path, hardware), hardware, mode="exact" if mode == "exact" else "fast")

    def run(feeds: Mapping[str, Array]) -> Sequence[Array]:
        bound = [reshape_to_binding(feeds[tensor.name], tensor.model_shape) for tensor in simulator.inputs]
        return [output.numbers for output in simulator.run(bound)]

    batch = max((tensor.shape[0] for tensor in simulator.inputs), default=1)
    return _Compiled([tensor.name for tensor in simulator.outputs], simulator.inputs, run, batch)


def _package(path: Path, target: str | None, mode: str) -> _Compiled:
    """Prepare a package, its loadables for the simulator."""
    from xonnc.runtime.package import load_package

    package = load_package(path, target, "exact" if mode == "exact" else "fast")
    return _Compiled(
        list(package.outputs),
        package.bound,
        lambda feeds: list(package.run(feeds).values()),
        package.manifest.batch,
    )


def _of_pixels(
    feeds: Mapping[str, Array], inputs: Sequence[BoundTensor], seed: tuple[int, int]
) -> dict[str, Array]:
    """Return normalised random pixels for image inputs of bytes."""
    found: dict[str, Array] = {}
    for tensor in inputs:
        if tensor.pixels is not None and tensor.dtype == np.int8 and tensor.name in feeds:
            pixels = np.random.default_rng(seed).integers(0, 256, tensor.model_shape)
            given = feeds[tensor.name]
            found[tensor.name] = tensor.pixels.numbers(pixels).astype(given.dtype).reshape(given.shape)
    return found


def described(agreement: Agreement, inputs: int) -> str:
    """Return a line on the agreement of one output."""
    verdict = "agrees" if agreement.passed else "DISAGREES"
    text = (
        f"{verdict} with onnxruntime on {plural(inputs, 'input')}: cosine {agreement.cosine:.6f}, "
        f"largest error {agreement.largest_error:.1e} of the largest value"
    )
    if agreement.scores:
        text += f", top-1 {agreement.same_top} of {inputs}"
        if agreement.clear_top != inputs:
            text += f" ({agreement.same_clear_top} of the {agreement.clear_top} with a clear margin)"
    return text
