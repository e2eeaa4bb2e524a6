"""Models compiled for NVDLA, ready to run on the simulator or to be saved."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from xdsl.dialects.builtin import ModuleOp

from xonnc.argument_types import checks_arguments, require_path
from xonnc.calibration import (
    WIDE_BUDGET,
    Auto,
    Samples,
    calibrate_module,
    input_shapes,
    samples_of,
    select_float,
)
from xonnc.errors import XonncError
from xonnc.formats.native.program import TensorSpec
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.writer import write_loadable
from xonnc.formats.package.manifest import PackagePort, TensorInfo
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops, mark_float
from xonnc.lowering.onnx_to_dla.quantization.keep_float import keep_float as mark_named
from xonnc.package_engine import load_package
from xonnc.packages import CompiledPackage, compile_package
from xonnc.runtime.calibration import DEFAULT_METHOD
from xonnc.runtime.native.onnxruntime_api import (
    OnnxruntimeApi,
    requested,
    require_arrays,
    require_request,
)
from xonnc.runtime.package import LoadedPackage
from xonnc.transforms.models.signatures import Shapes

Array = npt.NDArray[Any]


class DlaModel(OnnxruntimeApi):
    """A model compiled for NVDLA: loadables, and native code for what the DLA does not take."""

    def __init__(self, package: CompiledPackage) -> None:
        self.package = package
        """The compiled package, with what runs where and why."""

    @cached_property
    def _loaded(self) -> LoadedPackage:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.xpkg"
            self.package.write(path)
            return load_package(path)

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        """The inputs, in the model's order."""
        return self._specs(self.package.manifest.inputs)

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        """The outputs, in the model's order."""
        return self._specs(self.package.manifest.outputs)

    def results(
        self, names: Sequence[str] | None, feeds: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> list[Any]:
        """
        Return outputs as `run` does: loadables run on the NVDLA simulator, CPU parts as native code.

        Parameters:
            names: the outputs asked for; `None` for all.
            feeds: arrays by input name.
            out: arrays that outputs are written to.

        Raises: `XonncError` for inputs that are missing, unknown, or of another type or shape.
        """
        known = [spec.name for spec in self.outputs]
        require_request(known, names, out)
        require_arrays(feeds)
        results = self._loaded.run({name: np.asarray(value) for name, value in feeds.items()})
        return requested(results, names, out)

    def __reduce__(self) -> str:
        """Raise `XonncError`: the package is what other processes load."""
        raise XonncError("models for NVDLA cannot be pickled; save(…) a package, which load_package reads")

    def report(self) -> CompiledPackage:
        """The placement: nodes on the CPU with reasons, tensors that cross, reports of the loadables."""
        return self.package

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """
        Write the model.

        Parameters:
            path: a `.xpkg` file; or `.nvdla`, for a model that runs on the DLA entirely.

        Returns: the files written.

        Raises: `XonncError` for another suffix, or a `.nvdla` file of a model with CPU parts.
        """
        file = require_path(path)
        if file.suffix == ".xpkg":
            self.package.write(file)
        elif file.suffix == ".nvdla":
            loadable = self.package.whole
            if loadable is None:
                nodes = ", ".join(f"{node.name} ({node.operator})" for node in self.package.cpu_nodes[:3])
                raise XonncError(f"{file}: the CPU runs a part, {nodes}; save a package (.xpkg)")
            write_loadable(loadable.loadable, file)
        else:
            raise XonncError(f"{file}: a model for the DLA is saved as .xpkg or .nvdla")
        return [file]

    def _specs(self, ports: Sequence[PackagePort]) -> list[TensorSpec]:
        values = self.package.manifest.values
        return [_spec(port, index, values[port.value]) for index, port in enumerate(ports)]


def _spec(port: PackagePort, index: int, info: TensorInfo) -> TensorSpec:
    try:
        dtype: np.dtype[Any] | None = np.dtype(info.type)
    except TypeError:
        dtype = None
    return TensorSpec(port.name, index, info.shape, dtype)


@checks_arguments
def compile_for_dla(
    model: str | Path | onnx.ModelProto,
    target: str,
    *,
    calibrate: Samples | Callable[[ModuleOp], Ranges] | None = None,
    method: str = DEFAULT_METHOD,
    keep_float: Sequence[str] = (),
    accuracy: float | None = None,
    wide: int | Auto = 0,
    wide_budget: float = WIDE_BUDGET,
    strict: bool = False,
    host: str | None = None,
    input_shapes: Shapes | None = None,
) -> DlaModel:
    """
    Compile a model for an NVDLA configuration.

    Parameters:
        model: the model.
        target: the name of a target or the path of a TOML file.
        calibrate: samples, a file of them, or a function from the simplified module to ranges.
        method: how samples become ranges.
        keep_float: names of nodes that the CPU runs in float, where `calibrate` quantizes.
        accuracy: the lowest cosine similarity that an output may have with the float model's on the samples,
            such as 0.99; the CPU runs nodes in float until it is reached.
        wide: how many of the first convolutions with an activation keep their rounding errors in a second
            tensor; `"auto"` takes those that reduce the error on the samples most.
        wide_budget: the time that a network with the layers of `"auto"` may take, relative to that without.
        strict: whether declared shapes that contradict the operators are an error.
        host: the triple or processor kind for which a saved package has object files, as in
            `compile_package`.
        input_shapes: sizes of dynamic inputs by name; the DLA takes fixed sizes.

    Returns: the compiled model.

    Raises: `XonncError` as `compile_package` does.

    Example:
        >>> compile_for_dla("model.onnx", "nv_small", calibrate="images.npz").save("model.xpkg")
    """
    measured = {"accuracy": accuracy is not None, "wide": wide != 0}
    if calibrate is None:
        for option, is_given in {"keep_float": bool(keep_float), **measured}.items():
            if is_given:
                raise XonncError(f"{option}: without samples in calibrate= nothing is quantized")
    if callable(calibrate):
        for option, is_given in measured.items():
            if is_given:
                raise XonncError(f"{option}: it is measured on samples, which calibrate= gives")
    ranges = None
    if calibrate is not None:
        ranges = partial(_ranges, calibrate, method, keep_float, accuracy, (wide, wide_budget), target)
    return DlaModel(compile_package(model, target, None, ranges, None, strict, host, input_shapes))


def _ranges(
    calibrate: Samples | Callable[[ModuleOp], Ranges],
    method: str,
    names: Sequence[str],
    accuracy: float | None,
    wide: tuple[int | Auto, float],
    target: str,
    module: ModuleOp,
) -> Ranges:
    """Return the ranges of a module, and mark its nodes that stay in float."""
    mark_named(module, names)
    if callable(calibrate):
        return calibrate(module)
    samples = samples_of(calibrate, input_shapes(module))
    ranges = calibrate_module(module, samples, method, target=target, wide=wide[0], wide_budget=wide[1])
    if accuracy is not None:
        found = select_float(module, ranges, samples, accuracy, target=target)
        ops = computing_ops(module)
        mark_float([ops[index] for index in found.indices])
    return ranges
