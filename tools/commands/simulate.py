"""`xonnc simulate`: a loadable runs on the simulator."""

from __future__ import annotations

import argparse
import json
import time
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import OutputFiles, atomic_writes
from xonnc.targets import DEFAULT_TARGET, load_target
from xonnc.tools.console import progress, row
from xonnc.tools.files import is_package, read_tensor, require_output, write_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.runtime.nvdla.simulator import OpResult, Output
    from xonnc.runtime.nvdla.tensors import BoundTensor
    from xonnc.tools.files import Array


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("loadable", type=Path, help="a loadable (.nvdla), or a package (.xpkg)")
    add_machine(parser)
    parser.add_argument(
        "--input",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="input, in binding order: .npy (NCHW; uint8 HWC for images), .pgm or .ppm (images), or "
        ".bin (raw bytes of the surface); may be repeated",
    )
    parser.add_argument(
        "--output",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="output file, in binding order; may be repeated",
    )
    parser.add_argument("--dump", type=Path, metavar="DIR", help="write the result of every operation to DIR")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options of the simulator."""
    parser.add_argument(
        "--target",
        help="configuration to simulate, which a loadable does not name (default: nv_full; "
        "for a package the one it names)",
    )
    parser.add_argument(
        "--mode",
        choices=("fast", "exact"),
        default="fast",
        help="fast: sum FP16 convolutions in float32; exact: as the hardware (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Simulate and write the outputs."""
    return _run_package(args) if is_package(args.loadable) else _run_loadable(args)


def _run_package(args: argparse.Namespace) -> int:
    """The parts for the DLA on the simulator, the others in onnxruntime."""
    from xonnc.runtime.package import load_package
    from xonnc.tools.commands.run import run_files

    if args.dump:
        raise XonncError(f"{args.loadable}: --dump is for loadables (.nvdla), this is a package")
    begun = time.perf_counter()
    return run_files(load_package(args.loadable, args.target, args.mode), args.loadable, args, begun)


def _run_loadable(args: argparse.Namespace) -> int:
    from xonnc.formats.nvdla.checks.loadable_check import read_fitting
    from xonnc.runtime.nvdla.simulator import Simulator

    for path in args.output:
        require_output(path, (".npy", ".bin"), args.loadable, *args.input, takes_others=True)
    if args.dump:
        args.dump.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    with progress(f"simulating {args.loadable.name}", args.quiet) as step:

        def observe(result: OpResult) -> None:
            step(result.done, result.total, result.engine)
            if args.dump:
                _dump(args.dump, result)

        target = load_target(args.target or DEFAULT_TARGET)
        loadable = read_fitting(args.loadable, target)
        simulator = Simulator(loadable, target, mode=args.mode, observer=observe)
        if len(args.input) != len(simulator.inputs):
            raise XonncError(
                f"{args.loadable}: {len(args.input)} inputs given, it takes {len(simulator.inputs)}: "
                f"{_described(simulator.inputs)}"
            )
        if len(args.output) > len(simulator.outputs):
            raise XonncError(f"{args.loadable}: it has only these outputs: {_described(simulator.outputs)}")
        bound = zip(args.input, simulator.inputs, strict=True)
        outputs = simulator.run([_input(path, tensor) for path, tensor in bound])
    with atomic_writes() as files:
        for path, output in zip(args.output, outputs, strict=False):
            _write(files, path, output)
    seconds = time.perf_counter() - begun
    if args.json:
        print(json.dumps(_as_json(outputs, args.output, seconds), indent=2))
    elif not args.quiet:
        for index, output in enumerate(outputs):
            _report(output, args.output[index] if index < len(args.output) else None)
        row("time", f"{seconds:.1f} s")
    return 0


def _write(files: OutputFiles, path: Path, output: Output) -> None:
    """Write an output as an array to `.npy`, as the bytes of its surface to any other name."""
    if path.suffix == ".npy":
        write_array(files, path, output.numbers)
        return
    with files.open(path) as file:
        file.write(output.raw)


def _input(path: Path, tensor: BoundTensor) -> Array | bytes:
    """The contents of a file, as bound; `XonncError` unless size, element type and rank are the tensor's."""
    value = read_tensor(path)
    if isinstance(value, bytes):
        return value
    taken, shape = tensor.element_types, tensor.model_shape
    if value.size == prod(shape) and value.dtype not in taken:
        kinds = " or ".join(map(str, taken))
        raise XonncError(f"{path}: {value.dtype} elements; input {tensor.name} takes {kinds}, convert them")
    # What has fewer axes in the model has ones after them here.
    if value.ndim >= 2 and value.shape == shape[: value.ndim] and set(shape[value.ndim :]) <= {1}:
        return value.reshape(shape)
    return value


def _dump(folder: Path, result: OpResult) -> None:
    tensor = result.tensor()
    if tensor is not None:
        name = f"{result.done:04}-task{result.task}-op{result.index}-{result.engine.lower()}.npy"
        with atomic_writes(sync=False) as files:
            write_array(files, folder / name, tensor)


def _described(tensors: Sequence[BoundTensor]) -> str:
    shapes = (f"{tensor.name} {'x'.join(map(str, tensor.model_shape))}" for tensor in tensors)
    return "; ".join(shapes) or "none"


def _report(output: Output, path: Path | None) -> None:
    tensor = output.numbers
    shape = "x".join(map(str, tensor.shape))
    text = f"{output.name} {shape} {tensor.dtype}, {float(tensor.min()):.6g} to {float(tensor.max()):.6g}"
    row("output", text + (f", wrote {path}" if path else ""))


def _as_json(outputs: Sequence[Output], paths: Sequence[Path], seconds: float) -> dict[str, object]:
    return {
        "seconds": seconds,
        "outputs": [
            {
                "name": output.name,
                "shape": list(output.numbers.shape),
                "dtype": str(output.numbers.dtype),
                "file": str(paths[index]) if index < len(paths) else None,
            }
            for index, output in enumerate(outputs)
        ],
    }
