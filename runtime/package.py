"""
Execution of packages: DLA partitions in the simulator, CPU partitions in onnxruntime, in sequence.

    package = load_package("model.xpkg")
    outputs = package.run({"x": image})

If onnxruntime is not installed or cannot load a partition, the onnx package's reference evaluator runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from xonnc.errors import UnknownNameError, XonncError
from xonnc.formats.nvdla.checks.loadable_check import require_fitting
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.onnx.embedded_models import program, require_self_contained
from xonnc.formats.package.archive import Package, read_package
from xonnc.formats.package.manifest import PackagePort, PackageStep, TensorInfo
from xonnc.runtime.native.onnxruntime_api import requested, require_request, split_request
from xonnc.runtime.nvdla.simulator import Mode, Simulator
from xonnc.runtime.nvdla.simulator import Observer as OperationObserver
from xonnc.runtime.nvdla.tensors import BoundTensor
from xonnc.runtime.reference import open_session
from xonnc.targets import NvdlaTarget, load_target

Array = npt.NDArray[Any]
Values: TypeAlias = dict[str, object]
Run = Callable[[Sequence[Values]], None]
"""
A function that runs a step for the images of a batch: it reads inputs from the values of each and adds
its outputs to them.
"""

Observer = Callable[[int, int, str], None]
"""A progress callback at the start of a step: its index, the number of steps, and the engine's name."""


RunPart = Callable[[Mapping[str, Any]], Sequence[object]]
"""A function that runs a partition of a model: inputs by name to the list of outputs."""

Engine = Callable[[bytes, str], "tuple[str, RunPart] | None"]
"""
A function that loads a partition, given its ONNX model and a name for messages.

It returns the engine's name and a function that runs the partition, or `None` if it cannot load it.
"""


class LoadedPackage:
    """
    A loaded package, which can be run any number of times.

    `target` overrides the target that the package names: a name, or the path of a target file. CPU partitions
    run in `engine` if it can load them, else in onnxruntime or the reference evaluator. `backend` gives the
    engine for the partitions of a plug-in's target; `observer` is called after each operation of the
    DLA. Raises `XonncError` for partitions that cannot be loaded.
    """

    def __init__(
        self,
        package: Package,
        target: str | None = None,
        mode: Mode = "fast",
        engine: Engine | None = None,
        backend: Callable[[str], Engine] | None = None,
        observer: OperationObserver | None = None,
    ):
        self.manifest = package.manifest
        hardware = _hardware(package, target)
        self.bound: list[BoundTensor] = []
        """The input tensors of all DLA partitions; their names are those of values in the manifest."""
        self._steps: list[tuple[str, Run]] = []
        for step, part in zip(self.manifest.steps, package.parts, strict=True):
            name = f"{package.name}: {step.file}"
            if step.kind == "dla":
                loadable = parse_loadable(part, name)
                if target is not None:
                    require_fitting(loadable, name, hardware())
                simulator = Simulator(loadable, hardware(), mode=mode, observer=observer)
                _check_ports(step, simulator, name)
                self.bound += simulator.inputs
                self._steps.append(("simulator", _on_dla(step, simulator, self.manifest.values)))
            elif step.kind == "backend":
                if backend is None:
                    raise XonncError(
                        f"{name}: a part for the backend of a plug-in; load it by xonnc.load_package"
                    )
                run_in = backend(target or self.manifest.target)
                self._steps.append(_on_cpu(step, part, name, run_in))
            else:
                require_self_contained(part, name)
                self._steps.append(_on_cpu(step, part, name, engine))

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """The model's inputs by name."""
        return {port.name: self._of_batch(port) for port in self.manifest.inputs}

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        """The model's outputs by name."""
        return {port.name: self._of_batch(port) for port in self.manifest.outputs}

    def _of_batch(self, port: PackagePort) -> TensorInfo:
        """Return an input or output of all images, which are along its first dimension."""
        tensor = self.manifest.values[port.value]
        if self.manifest.batch == 1 or not tensor.shape:
            return tensor
        return replace(tensor, shape=(self.manifest.batch, *tensor.shape[1:]))

    @overload
    def run(self, output_names: Mapping[str, Any], *, observe: Observer | None = None) -> dict[str, Any]: ...
    @overload
    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        *,
        observe: Observer | None = None,
    ) -> list[Any]: ...
    def run(
        self,
        output_names: Sequence[str] | Mapping[str, Any] | None,
        input_feed: Mapping[str, Any] | None = None,
        *,
        observe: Observer | None = None,
    ) -> dict[str, Any] | list[Any]:
        """
        Run the model on an array for each input by name.

        `run(output_names, input_feed)` is onnxruntime's way: it returns a list of the outputs of these names,
        of all with `None`. `run(input_feed)` returns all outputs by name.

        Raises `XonncError` for inputs that are missing, unknown, or of the wrong type or shape, and for
        unknown outputs.
        """
        names, feeds = split_request(output_names, input_feed)
        require_request(list(self.outputs), names, None)
        results = self._results(feeds, observe)
        return results if isinstance(output_names, Mapping) else requested(results, names, None)

    def _results(self, feeds: Mapping[str, Any], observe: Observer | None) -> dict[str, Any]:
        """Run all steps; return the outputs by name."""
        images = self._given(feeds)
        for number, (what, run) in enumerate(self._steps):
            if observe is not None:
                observe(number, len(self._steps), what)
            run(images)
        if len(images) == 1:
            return {port.name: images[0][port.value] for port in self.manifest.outputs}
        return {
            port.name: np.concatenate([np.asarray(values[port.value]) for values in images])
            for port in self.manifest.outputs
        }

    def _given(self, feeds: Mapping[str, Any]) -> list[Values]:
        """Return the inputs of each image."""
        known = self.inputs
        if unknown := sorted(feeds.keys() - known.keys()):
            raise XonncError(f"no input '{unknown[0]}'; the model takes {', '.join(known) or 'none'}")
        batch = self.manifest.batch
        images: list[Values] = [{} for _ in range(batch)]
        for port in self.manifest.inputs:
            if port.name not in feeds:
                raise XonncError(f"input '{port.name}' is not given; the model takes {', '.join(known)}")
            _check_fits(port.name, feeds[port.name], known[port.name])
            given = feeds[port.name]
            parts = [given] if batch == 1 else np.split(np.asarray(given), batch)
            for values, part in zip(images, parts, strict=True):
                values[port.value] = part
        return images


def _hardware(package: Package, target: str | None) -> Callable[[], NvdlaTarget]:
    """Return a function that loads the target to simulate; a package without DLA partitions needs none."""

    def load() -> NvdlaTarget:
        if target is not None:
            return load_target(target)
        try:
            return load_target(package.manifest.target)
        except UnknownNameError as error:
            # Name the package: the unknown target comes from its manifest, not from the command line.
            raise XonncError(f"{package.name}: {error}") from None

    return load


def load_package(
    path: str | Path,
    target: str | None = None,
    mode: Mode = "fast",
    engine: Engine | None = None,
    backend: Callable[[str], Engine] | None = None,
    observer: OperationObserver | None = None,
) -> LoadedPackage:
    """Read a package from a file and load it; see `LoadedPackage`."""
    return LoadedPackage(read_package(Path(path)), target, mode, engine, backend, observer)


def _check_fits(name: str, value: Any, tensor: TensorInfo) -> None:
    """
    Raise `XonncError` unless an array has the type and shape that the manifest says.

    Sequences, optionals and maps are checked by the partition that takes them.
    """
    if tensor.type in ("Seq", "Opt", "Map"):
        return
    array: Array = np.asarray(value)
    kind = "string" if array.dtype.kind in "OUS" else array.dtype.name
    if kind != tensor.type:
        raise XonncError(f"input '{name}': {kind} elements, the model takes {tensor.type}")
    if tensor.shape is None:
        return
    fits = len(array.shape) == len(tensor.shape) and all(
        declared in (None, size) for size, declared in zip(array.shape, tensor.shape, strict=True)
    )
    if not fits:
        declared = ["?" if size is None else size for size in tensor.shape]
        raise XonncError(f"input '{name}': shape {list(array.shape)}, the model takes {declared}")


def _check_ports(step: PackageStep, simulator: Simulator, name: str) -> None:
    for what, declared, bound in (
        ("inputs", step.inputs, simulator.inputs),
        ("outputs", step.outputs, simulator.outputs),
    ):
        found = [tensor.name for tensor in bound]
        if found != list(declared):
            raise XonncError(
                f"{name}: its {what} are {', '.join(found) or 'none'}, the "
                f"manifest says {', '.join(declared)}"
            )


def _on_dla(step: PackageStep, simulator: Simulator, values: Mapping[str, TensorInfo]) -> Run:
    """
    Return a function that runs a step in the simulator.

    The simulator quantizes inputs and dequantizes outputs by the parameters in the loadable. A loadable's
    tensors are `1xCxHxW`, with the elements of the model's tensors in row-major order, so a reshape converts
    between the two. Those of a batch hold its images one after the other.
    """

    def run(images: Sequence[Values]) -> None:
        bound: list[Array] = []
        for name, tensor in zip(step.inputs, simulator.inputs, strict=True):
            array = np.concatenate([np.asarray(environment[name]).reshape(-1) for environment in images])
            if array.size != prod(tensor.model_shape):
                raise XonncError(
                    f"'{name}': shape {list(array.shape)}; {step.file} takes {list(tensor.model_shape)}"
                )
            bound.append(array.reshape(tensor.model_shape))
        for name, output in zip(step.outputs, simulator.run(bound), strict=True):
            parts = np.split(output.numbers, len(images))
            for environment, numbers in zip(images, parts, strict=True):
                environment[name] = _as_said(name, numbers, values[name], step)

    return run


def _as_said(name: str, numbers: Array, tensor: TensorInfo, step: PackageStep) -> Array:
    shape = [size for size in tensor.shape or () if size is not None]
    if tensor.shape is None or len(shape) != len(tensor.shape) or prod(shape) != numbers.size:
        raise XonncError(
            f"'{name}': {step.file} gives {list(numbers.shape)}, the manifest says {tensor.shape}"
        )
    try:
        dtype = np.dtype(tensor.type)
    except TypeError:
        raise XonncError(f"'{name}': no element type '{tensor.type}' that {step.file} could give") from None
    return numbers.reshape(shape).astype(dtype)


def _on_cpu(step: PackageStep, part: bytes, name: str, chosen_engine: Engine | None) -> tuple[str, Run]:
    """Return the name of the engine of a CPU step and a function to run it; prefer `chosen_engine`."""
    made = None if chosen_engine is None else chosen_engine(part, name)
    engine, outputs_of = made or _engine(part, name)

    def run(images: Sequence[Values]) -> None:
        for environment in images:
            outputs = outputs_of({value: environment[value] for value in step.inputs})
            if len(outputs) != len(step.outputs):
                raise XonncError(
                    f"{name}: gives {len(outputs)} values, the manifest says {len(step.outputs)}"
                )
            environment.update(zip(step.outputs, outputs, strict=True))

    return engine, run


def _engine(part: bytes, name: str) -> tuple[str, RunPart]:
    if find_spec("onnxruntime") is None:
        return "onnx.reference", program(part, name)
    try:
        session, errors = open_session(part, name)
    except XonncError as refused:
        # The reference evaluator supports operators and types that onnxruntime lacks.
        try:
            return "onnx.reference", program(part, name)
        except XonncError as error:
            raise XonncError(f"{refused}; {error}") from None

    def run(feeds: Mapping[str, Any]) -> Sequence[object]:
        try:
            return session.run(None, feeds)
        except errors as error:
            raise XonncError(f"{name}: onnxruntime does not run it: {' '.join(str(error).split())}") from None

    return "onnxruntime", run
