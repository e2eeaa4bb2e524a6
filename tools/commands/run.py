"""`xonnc run`: run a model as native code, or a package."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError, suggest
from xonnc.formats.atomic_write import atomic_writes
from xonnc.tools import tensor_files
from xonnc.tools.commands.run_model import (
    CompiledModel,
    EngineModel,
    LibraryModel,
    Profile,
    report_host_calls,
)
from xonnc.tools.console import progress, row, wrote
from xonnc.tools.files import FILE_KINDS, read_tensor, require_output, write_array

if TYPE_CHECKING:
    from xonnc.runtime.package import LoadedPackage

Array = npt.NDArray[Any]

MODELS = (".onnx", ".onnxtxt", ".json")
"""File extensions of ONNX models."""


FOR_NATIVE_CODE = ("profile", "trace", "unsafe", "no_tuning", "calibrate")
FOR_MODELS = (*FOR_NATIVE_CODE, "engine")
"""Options that only models take."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "package",
        type=Path,
        metavar="MODEL",
        help="a package (.xpkg), an ONNX model, or a library of native code (.so)",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="input (.npy, .pb); unnamed inputs are in the model's order; may be repeated",
    )
    parser.add_argument(
        "--output", action="append", default=[], metavar="[NAME=]FILE", help="output (.npy, .pb), likewise"
    )
    parser.add_argument(
        "--target",
        help="for a package: a .toml file to simulate instead of its own target (default: the "
        "package's); for a model: cpu, or a kind of processor (default: cpu)",
    )
    parser.add_argument(
        "--mode",
        choices=("fast", "exact"),
        default="fast",
        help="fast: sum FP16 convolutions in float32; exact: as the hardware (default: %(default)s)",
    )
    parser.add_argument(
        "--cpu",
        choices=("native", "onnxruntime"),
        default="native",
        help="for a package: the engine of its CPU parts (default: %(default)s)",
    )
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        help="for a model: what runs it instead of native code: reference (ONNX's reference evaluator), "
        "onnxruntime, or another one of 'xonnc verify'",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="for a model: print the time of each kernel, its GFLOP/s, GB/s and share of the roofline",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="for a model: write the profile in the trace format of Chrome and Perfetto (.json)",
    )
    parser.add_argument(
        "--unsafe",
        action="store_true",
        help="for a model: leave out run-time checks of indices and counts",
    )
    parser.add_argument(
        "--calibrate",
        type=Path,
        metavar="DATA",
        help="for a model: quantize it to INT8 with ranges measured on samples (.npz, .npy, a folder)",
    )
    parser.add_argument(
        "--no-tuning",
        action="store_true",
        help="for a model: use the cost model's tile sizes, not those measured by 'xonnc tune'",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Run and write the outputs."""
    begun = time.perf_counter()
    model = None
    is_profiled = args.profile or args.trace is not None
    other: EngineModel | None = None
    if args.package.suffix in MODELS and args.engine is not None:
        if option := next((each for each in (*FOR_NATIVE_CODE, "target") if getattr(args, each)), None):
            raise XonncError(
                f"--{option.replace('_', '-')} is for native code, not for --engine {args.engine}"
            )
        other = EngineModel(args.package, args.engine)
    elif args.package.suffix in MODELS:
        model = CompiledModel(
            args.package, args.target or "cpu", is_profiled, args.unsafe, not args.no_tuning, args.calibrate
        )
    elif option := next((each for each in FOR_MODELS if getattr(args, each)), None):
        name = option.replace("_", "-")
        raise XonncError(f"{args.package}: --{name} is for models ({', '.join(MODELS)})")
    elif args.package.suffix in (".o", ".ll", ".c"):
        raise XonncError(
            f"{args.package}: {FILE_KINDS[args.package.suffix]}, which is for a program of your own; compile "
            "the model to .so to run it here"
        )
    library = LibraryModel(args.package) if args.package.suffix == ".so" else None
    package = model or other or library or _loaded_package(args)
    return run_files(package, args.package, args, begun, model)


def _loaded_package(args: argparse.Namespace) -> LoadedPackage:
    # Imported late: models and libraries do not need the compiler and simulator for NVDLA, which take 0.7 s.
    from xonnc.package_engine import load_package

    return load_package(args.package, args.target, args.mode, args.cpu)


def run_files(
    package: CompiledModel | EngineModel | LibraryModel | LoadedPackage,
    source: Path,
    args: argparse.Namespace,
    begun: float,
    model: CompiledModel | None = None,
) -> int:
    """
    Run the model from `source` on the files of `args.input` and write those of `args.output`.

    `model` is the package again if it was compiled here; `begun` is when the command began.
    """
    defaults = package.defaults if isinstance(package, CompiledModel | EngineModel) else ()
    inputs = named_files(list(map(str, args.input)), list(package.inputs), f"{source}: input", defaults)
    files = named_files(list(map(str, args.output)), list(package.outputs), f"{source}: output")
    for path in files.values():
        require_output(path, (".npy", ".pb"), source, *inputs.values())
    trace: Path | None = None if model is None else args.trace
    if trace is not None:
        require_output(trace, (".json",), source, *inputs.values(), *files.values())
    feeds = {name: _array(path) for name, path in inputs.items()}
    with progress(f"running {source.name}", args.quiet) as step:
        has_no_steps = isinstance(package, CompiledModel | EngineModel | LibraryModel)
        outputs = package.run(feeds) if has_no_steps else package.run(feeds, observe=step)
    seconds = time.perf_counter() - begun
    profile = Profile(model, args.target or "cpu") if model is not None and model.steps else None
    with atomic_writes() as written:
        for name, path in files.items():
            array = _writable(name, outputs[name])
            if path.suffix.lower() == ".pb":
                with written.open(path) as file:
                    file.write(tensor_files.encoded(path, array))
            else:
                write_array(written, path, array)
        if trace is not None and profile is not None:
            with written.open(trace) as file:
                file.write(profile.trace(source.name).encode())
    # `xonnc simulate`, which runs no models, has no such option.
    shown = profile if profile is not None and args.profile else None
    _report_outputs(outputs, files, args, shown, seconds)
    if not (args.quiet or args.json):
        if model is not None:
            report_host_calls(model.session)
        if shown is not None:
            shown.print()
        if trace is not None:
            wrote(trace)
        row("time", f"{seconds:.1f} s")
    return 0


def _report_outputs(
    outputs: Mapping[str, Any],
    files: Mapping[str, Path],
    args: argparse.Namespace,
    profile: Profile | None,
    seconds: float,
) -> None:
    if args.json:
        table = _as_json(outputs, files, seconds)
        if profile is not None:
            table["profile"] = profile.as_json()
        print(json.dumps(table, indent=2))
    elif not args.quiet:
        for name, value in outputs.items():
            row("output", f"{name} {_described(value)}" + (f", wrote {files[name]}" if name in files else ""))


def named_files(
    given: Sequence[str], names: Sequence[str], what: str, optional: Sequence[str] = ()
) -> dict[str, Path]:
    """
    Assign files to names: `NAME=FILE` by name, other files in the order of the remaining names.

    Names that are `optional` are only given by name.
    """
    found: dict[str, Path] = {}
    nameless: list[str] = []
    for text in given:
        name, equals, file = text.partition("=")
        if equals and (name in names or name in optional):
            if name in found:
                raise XonncError(f"{what} '{name}' is given twice")
            found[name] = Path(file)
        elif equals and not Path(text).exists() and "/" not in name:
            known = [*names, *optional]
            raise XonncError(f"{what} '{name}': no such name{suggest(name, known) or _known(known)}")
        else:
            nameless.append(text)
    left = [name for name in names if name not in found]
    if len(nameless) > len(left):
        raise XonncError(f"{what}: {len(given)} files given{_known(names)}")
    return found | {name: Path(file) for name, file in zip(left, nameless, strict=False)}


def _known(names: Collection[str]) -> str:
    return f"; there are {', '.join(names)}" if names else "; there are none"


def _array(path: Path) -> Array:
    if path.suffix.lower() == ".pb":
        return tensor_files.read(path, None, None)
    tensor = read_tensor(path)
    if isinstance(tensor, bytes):
        raise XonncError(f"{path}: inputs are arrays in .npy or .pb files")
    return tensor


def _writable(name: str, value: Any) -> Array:
    array: Array = np.asarray(value)
    if array.dtype.kind == "O" and all(isinstance(each, str) for each in array.ravel()):
        return array.astype(np.str_)
    if array.dtype.kind == "O":
        raise XonncError(f"output '{name}': not a tensor; .npy files hold tensors")
    return array


def _described(value: Any) -> str:
    if type(value) in (list, tuple, dict, type(None)):
        return f"a {type(value).__name__}"
    array: Array = np.asarray(value)
    shape = "x".join(map(str, array.shape)) or "scalar"
    if array.size and array.dtype.kind in "fiu":
        return f"{shape} {array.dtype}, {float(array.min()):.6g} to {float(array.max()):.6g}"
    return f"{shape} {array.dtype}"


def _as_json(outputs: Mapping[str, Any], files: Mapping[str, Path], seconds: float) -> dict[str, object]:
    arrays: dict[str, Array] = {name: np.asarray(value) for name, value in outputs.items()}
    return {
        "seconds": seconds,
        "outputs": [
            {
                "name": name,
                "shape": list(array.shape),
                "dtype": str(array.dtype),
                "file": str(files[name]) if name in files else None,
            }
            for name, array in arrays.items()
        ],
    }
