"""
Calibration: value ranges of the tensors of a network, measured on samples, for INT8 quantization.

    samples = read_samples(Path("images.npz"), input_shapes(module))
    ranges = calibrate_module(module, samples)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import onnx
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult

from xonnc.contexts import new_context
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.interface_names import argument_names
from xonnc.dialects.onnx.locations import output_names
from xonnc.dialects.onnx.multiplications import multiplications
from xonnc.dialects.onnx.types import static_shape
from xonnc.errors import XonncError
from xonnc.executors.executor import Executor
from xonnc.formats.arrays import read_arrays
from xonnc.formats.input_files import record_input
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import is_quantized
from xonnc.lowering.onnx_to_dla.int8.sums_functions import has_sums_functions, looks_up_sums, rounded_of
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops, stays_float
from xonnc.lowering.onnx_to_dla.quantization.output_branches import output_branches, separate_output_branches
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import equalized, name_values, quantize
from xonnc.lowering.onnx_to_dla.quantization.softmax_logits import logits_of
from xonnc.lowering.onnx_to_dla.quantization.widen_activations_onnx import wide_layers
from xonnc.lowering.placement.float_costs import FloatCosts, network_milliseconds
from xonnc.lowering.placement.node_costs import elements
from xonnc.lowering.quantization_statistics.bias_correction import bias_corrections
from xonnc.lowering.quantization_statistics.float_selection import (
    FloatSelection,
    Quantizer,
    select_float_nodes,
)
from xonnc.lowering.quantization_statistics.quantization_error import with_quantized_weights, without_pairs
from xonnc.lowering.quantization_statistics.wide_selection import (
    NoiseOfOutputs,
    select_wide_layers,
)
from xonnc.native_compilation import CompileOptions, resolve_processor
from xonnc.native_sessions import open_session
from xonnc.runtime.calibration import DEFAULT_METHOD, RunModel, calibrate
from xonnc.runtime.native.session import Session
from xonnc.targets import NvdlaTarget, load_target

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]

Samples: TypeAlias = "str | os.PathLike[str] | Sequence[Sample]"
"""Samples to calibrate with: a file or folder as `read_samples` takes, or inputs by name."""

MAX_THREADS = 8
"""Threads of a run: more gain little on networks of one image."""

WIDE_BUDGET = 1.5
"""The time that a network with wide layers may take relative to that without, unless it is given."""

WIDE_PASSES = 5
"""Passes over a tensor that wide layers add: three lookups, the product, and the rounding errors."""

DEFAULT_NVDLA = "nv_small"
"""The NVDLA whose times count where none is given."""

Auto: TypeAlias = Literal["auto"]

MAX_COMPARED = 16
"""The most samples on which a quantized model is compared with the float model."""

FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
"""Element types that are quantized."""


def calibrate_module(
    module: ModuleOp,
    samples: Sequence[Sample],
    method: str = DEFAULT_METHOD,
    step: Callable[[int, int, str], None] | None = None,
    executor: Executor | None = None,
    target: str | None = None,
    wide: int | Auto = 0,
    wide_budget: float = WIDE_BUDGET,
) -> Ranges:
    """
    Measure the ranges of all float tensors of a module, and the corrections of biases for NVDLA.

    The corrections [Nagel et al. 2019, bias correction] are measured on the same samples, for float models.

    Parameters:
        module: the simplified module.
        samples: inputs by name, one mapping for each sample.
        method: how samples become ranges, one of `xonnc.runtime.calibration.METHODS`.
        step: called with the samples done, their number, and a label.
        executor: runs the samples; if `None`, threads of this process do.
        target: the NVDLA that the corrections are for, which differ where its SDP has a lookup table.
        wide: how many of the first convolutions with an activation keep their rounding errors in a second
            tensor; `"auto"` takes those that reduce the error of the outputs on the samples most.
        wide_budget: the time that a network with the layers of `"auto"` may take, relative to that without.

    Returns: the ranges by tensor name.

    Raises: `XonncError` if the model does not run, for wide layers that it or the target does not have, or
        with a budget below 1.

    Example:
        >>> ranges = calibrate_module(module, read_samples(Path("images.npz"), input_shapes(module)))
    """
    if wide and is_quantized(module):
        raise XonncError(
            "wide layers: the model has QuantizeLinear, and its pairs say how values are rounded; give the "
            "float model"
        )
    found = dict(measure_ranges(module, samples, method, step, executor))
    if not is_quantized(module):
        hardware = None if target is None else load_target(target)
        if wide:
            named = _wide_names(module, hardware)
            if wide == "auto":
                chosen = _select_wide(module, found, named, samples, target or DEFAULT_NVDLA, wide_budget)
            else:
                chosen = _first(named, wide)
            found |= _widened(found, chosen)
        corrections = bias_corrections(module, found, samples, open_parts, looks_up_sums(hardware))
        rounded = rounded_of(hardware) if has_sums_functions(module) else ""
        for name, numbers in corrections.items():
            if name in found:
                found[name] = replace(found[name], bias_corrections=numbers, rounded=rounded)
    return found


@dataclass(frozen=True)
class _Wide:
    """A layer that can be wide: the names of its two values, and the time that it then adds, in cycles."""

    values: tuple[str, ...]
    cycles: float


def _wide_names(module: ModuleOp, target: NvdlaTarget | None) -> list[_Wide]:
    """Return the layers of a module that can be wide, in order."""
    if target is not None and looks_up_sums(target):
        raise XonncError(
            f"wide layers: the SDP of {target.name} looks up sums, which are not rounded before; choose "
            "a target without a lookup table in the SDP"
        )
    hardware = target or load_target(DEFAULT_NVDLA)
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    found: list[_Wide] = []
    for layer in [layer for function in functions for layer in wide_layers(function.body.block)]:
        marked = (layer.sums, layer.result, layer.joined)
        values = [each for each in marked if isinstance(each, OpResult)]
        convolutions = [op for op in (layer.sums.owner, *layer.readers) if isinstance(op, Operation)]
        products = sum(map(multiplications, convolutions)) / (hardware.atomic_c * hardware.atomic_k)
        passes = WIDE_PASSES * elements(layer.sums) / hardware.sdp_elements_per_cycle
        found.append(_Wide(tuple(output_names(each.op)[0] for each in values), products + passes))
    return found


def _first(layers: Sequence[_Wide], count: int) -> Sequence[_Wide]:
    if not 0 < count <= len(layers):
        raise XonncError(
            f"wide layers: {count}; this model has {len(layers)}: convolutions with an activation by a "
            "lookup table that convolutions read, also split, added or joined with other channels"
        )
    return layers[:count]


def _widened(ranges: Ranges, layers: Iterable[_Wide]) -> dict[str, Range]:
    """Return the ranges of the values of layers, which are wide."""
    names = [name for layer in layers for name in layer.values if name in ranges]
    return {name: replace(ranges[name], is_wide=True) for name in names}


def _select_wide(
    module: ModuleOp,
    ranges: Ranges,
    layers: Sequence[_Wide],
    samples: Sequence[Sample],
    target: str,
    budget: float,
) -> list[_Wide]:
    """Return the layers that are worth being wide, as measured on samples."""
    if not budget >= 1:
        raise XonncError(f"wide budget {budget:g}: the time relative to that without wide layers, from 1")
    hardware = load_target(target)

    def quantized(chosen: Collection[int]) -> ModuleOp:
        twin, found = module.clone(), {**ranges, **_widened(ranges, [layers[index] for index in chosen])}
        separate_output_branches(twin, found)
        quantize(twin, found, DisposablePool(), hardware)
        return twin

    compared = samples[:MAX_COMPARED]
    branches, narrow = output_branches(module, ranges), export_proto(quantized(()))
    # The biases of both are those for quantized weights: only the errors of a layer are between them.
    alone = NoiseOfOutputs(without_pairs(narrow), branches, compared, open_model)
    shares = [alone(without_pairs(narrow, layer.values)) for layer in layers]
    noise = NoiseOfOutputs(export_proto(module), branches, compared, open_model)

    def error(chosen: Collection[int]) -> float:
        return noise(with_quantized_weights(export_proto(quantized(chosen))))

    def cost(chosen: Collection[int]) -> float:
        return network_milliseconds(quantized(chosen), target, new_context())

    found = select_wide_layers(shares, [layer.cycles for layer in layers], error, cost, budget)
    return [layers[index] for index in found.layers]


def measure_ranges(
    module: ModuleOp,
    samples: Sequence[Sample],
    method: str = DEFAULT_METHOD,
    step: Callable[[int, int, str], None] | None = None,
    executor: Executor | None = None,
) -> Ranges:
    """
    Measure the ranges of all float tensors of a module by running it as native code.

    Tensors without a name are given one.

    Parameters:
        module: the simplified module.
        samples: inputs by name, one mapping for each sample.
        method: how samples become ranges, one of `xonnc.runtime.calibration.METHODS`.
        step: called with the samples done, their number, and a label.
        executor: runs the samples; if `None`, threads of this process do.

    Returns: the ranges by tensor name.

    Raises: `XonncError` if the model does not run.

    Example:
        >>> ranges = measure_ranges(module, [{"x": array}])
    """
    name_values(module)
    model = export_proto(module)
    outputs = {output.name for output in model.graph.output}
    for info in model.graph.value_info:
        if info.type.tensor_type.elem_type in FLOATS and info.name not in outputs:
            model.graph.output.append(info)
    names = [output.name for output in model.graph.output]
    run = open_model(model) if executor is None else WorkerModel(model)
    return calibrate(run, names, samples, method, step, _scores(module), executor)


def select_float(
    module: ModuleOp,
    ranges: Ranges,
    samples: Sequence[Sample],
    accuracy: float,
    step: Callable[[int, int, str], None] | None = None,
    target: str = "nv_small",
) -> FloatSelection:
    """
    Return the nodes that should stay in float, for an accuracy of INT8 on NVDLA.

    The model runs with integers simulated in float, on `MAX_COMPARED` samples.

    Parameters:
        module: the module that the ranges were measured on.
        ranges: the ranges, from `calibrate_module`.
        samples: inputs by name, one mapping for each sample.
        accuracy: the lowest cosine similarity that an output may have with the float model's.
        step: called with the models measured, the most there may be, and a label.
        target: the NVDLA that runs the model: its FP16 takes nodes in float, else the CPU.

    Returns: the nodes, which `mark_float` marks, and the accuracy with and without them.

    Raises: `XonncError` if the model does not run, or for an accuracy that is not above 0 and at most 1.

    Example:
        >>> select_float(module, ranges, samples, 0.99).nodes
        ('head',)
    """
    require_accuracy(accuracy)
    hardware = load_target(target)

    def quantized(twin: ModuleOp) -> onnx.ModelProto:
        floats = {name for op in computing_ops(twin) if stays_float(op) for name in output_names(op)}
        quantize(twin, ranges, DisposablePool(), hardware)
        return with_quantized_weights(export_proto(twin), floats)

    quantizer = Quantizer(ranges, quantized, lambda exact: export_proto(equalized(exact, ranges)))
    compared = samples[:MAX_COMPARED]
    cost = FloatCosts(
        module, target, new_context(), lambda twin: quantize(twin, ranges, DisposablePool(), hardware)
    )
    return select_float_nodes(module, quantizer, compared, accuracy, open_model, cost, step)


def require_accuracy(accuracy: float) -> None:
    """
    Refuse an accuracy that is no cosine similarity to aim at.

    Parameters:
        accuracy: the number given.

    Raises: `XonncError` unless it is above 0 and at most 1.
    """
    if not 0 < accuracy <= 1:
        raise XonncError(f"accuracy {accuracy:g}: a cosine similarity, above 0 and at most 1, such as 0.99")


class WorkerModel:
    """A model that the process that runs it compiles; it is sent to workers as ONNX."""

    def __init__(self, model: onnx.ModelProto) -> None:
        """
        Parameters:
            model: the model.
        """
        self._model = model
        self._run: RunModel | None = None

    def __call__(self, feeds: Sample) -> Sequence[Array]:
        """
        Run the model on one thread: each worker has a sample of its own.

        Parameters:
            feeds: arrays by input name.

        Returns: the outputs in order.

        Raises: `XonncError` for an invalid model.

        Example:
            >>> outputs = WorkerModel(model)({"x": array})
        """
        if self._run is None:
            self._run = open_model(self._model, 1)
        return self._run(feeds)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without compiled code, which other processes cannot use."""
        return {"_model": self._model, "_run": None}


def open_model(model: onnx.ModelProto, threads: int | None = None) -> RunModel:
    """
    Compile a model to run it on samples.

    Parameters:
        model: the model.
        threads: threads of a run (default: one for each processor, at most `MAX_THREADS`).

    Returns: a function from arrays by input name to the outputs in order.

    Raises: `XonncError` for an invalid model.

    Example:
        >>> outputs = open_model(model)({"x": array})
    """
    return _runner(_open_session(model, threads))


def open_parts(model: onnx.ModelProto) -> Callable[[Sequence[str]], RunModel]:
    """
    Compile a model once, to run parts of it on samples.

    Parameters:
        model: the model, of static shapes.

    Returns: a function from names of outputs to one that computes these from the inputs they depend on.

    Raises: `XonncError` for an invalid model.

    Example:
        >>> outputs = open_parts(model)(["y"])({"x": array})
    """
    session = _open_session(model, profile=True)

    def part(names: Sequence[str]) -> RunModel:
        found = session.with_outputs(names)
        inputs = {spec.name for spec in found.inputs}
        run = _runner(found)
        return lambda feeds: run({name: array for name, array in feeds.items() if name in inputs})

    return part


def _open_session(model: onnx.ModelProto, threads: int | None = None, profile: bool = False) -> Session:
    # Not cached: these models are read once.
    threads = threads or min(os.cpu_count() or 1, MAX_THREADS)
    options = CompileOptions(resolve_processor("cpu"), threads, profile, level=1)
    return open_session(model, options, cache=False)


def _runner(session: Session) -> RunModel:
    def run(feeds: Sample) -> list[Array]:
        return cast("list[Array]", session.run(None, feeds))

    return run


def _scores(module: ModuleOp) -> dict[str, float]:
    """
    Return the names of tensors read by a softmax alone, and how far below the maximum a score still matters.
    """
    found: dict[str, float] = {}
    for value, depth in logits_of(module):
        if isinstance(value, OpResult) and (names := output_names(value.op)):
            found[names[0]] = depth
    return found


def input_shapes(module: ModuleOp) -> dict[str, tuple[int, ...]]:
    """
    Return the static shapes of a network's inputs by name.

    Parameters:
        module: a module with one function.

    Raises: `XonncError` if the shape of an input is dynamic.

    Example:
        >>> input_shapes(module)
        {'x': (1, 3, 224, 224)}
    """
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    shapes: dict[str, tuple[int, ...]] = {}
    for name, argument in zip(argument_names(function), function.body.block.args, strict=True):
        shape = static_shape(argument.type)
        if shape is None:
            raise XonncError(f"input '{name}': {argument.type}; calibrating takes sizes that are known")
        shapes[name] = shape
    return shapes


def read_samples(
    path: Path,
    shapes: Mapping[str, tuple[int, ...]],
    types: Mapping[str, np.dtype[Any]] = MappingProxyType({}),
) -> list[Sample]:
    """
    Read calibration samples.

    Parameters:
        path: a `.npz` file with one array for each input, a `.npy` file for a single input, or a folder of
            such files. The first axis of an array may count samples.
        shapes: the shapes of the inputs by name, from `input_shapes`.
        types: the element types of inputs that are not float32.

    Returns: the samples, each a mapping from input names to arrays.

    Raises: `XonncError` for a missing file or input, or for arrays of other shapes or types.

    Example:
        >>> samples = read_samples(Path("images.npz"), {"x": (1, 3, 224, 224)})
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".npy", ".npz"))
        if not files:
            raise XonncError(f"{path}: no .npy or .npz files in it")
        return [sample for file in files for sample in read_samples(file, shapes, types)]
    if not path.exists():
        raise XonncError(f"{path}: no such file or folder")
    record_input(path)
    arrays = read_arrays(path)
    if len(arrays) == len(shapes) == 1:
        arrays = dict(zip(shapes, arrays.values(), strict=True))
    missing = [name for name in shapes if name not in arrays]
    if missing:
        raise XonncError(f"{path}: no array for input '{missing[0]}'; it has {', '.join(arrays) or 'none'}")
    split = {
        name: [each.astype(types.get(name, np.float32)) for each in _split(path, name, arrays[name], shape)]
        for name, shape in shapes.items()
    }
    counts = {len(samples) for samples in split.values()}
    if len(counts) != 1:
        raise XonncError(f"{path}: {' and '.join(map(str, sorted(counts)))} samples for different inputs")
    return [dict(zip(split, together, strict=True)) for together in zip(*split.values(), strict=True)]


def samples_of(
    given: Samples,
    shapes: Mapping[str, tuple[int, ...]],
    types: Mapping[str, np.dtype[Any]] = MappingProxyType({}),
) -> Sequence[Sample]:
    """
    Return samples: those given, or those of a file or folder.

    Parameters:
        given: samples, or the path of a file or folder of them.
        shapes: the shapes of the inputs by name.
        types: the element types of inputs that are not float32.

    Raises: `XonncError` as `read_samples` does.
    """
    if isinstance(given, str | os.PathLike):
        return read_samples(Path(given), shapes, types)
    if not isinstance(cast("object", given), Sequence) or not all(map(_is_sample, given)):
        raise XonncError("samples are a file, a folder, or a list of dictionaries of arrays by input name")
    return given


def _is_sample(given: object) -> bool:
    return isinstance(given, Mapping)


def _split(path: Path, name: str, array: Array, shape: tuple[int, ...]) -> list[Array]:
    if array.dtype.kind not in "fiub":
        raise XonncError(f"{path}: input '{name}': elements of type {array.dtype}; samples are numbers")
    if array.shape == shape:
        return [array]
    if array.shape[1:] in (shape, shape[1:]) and (array.shape[1:] == shape or shape[0] == 1):
        return [each.reshape(shape) for each in array]
    raise XonncError(
        f"{path}: input '{name}': an array of {list(array.shape)}; samples are {list(shape)}, one or many"
    )
