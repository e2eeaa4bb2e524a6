"""
Quantize ONNX models to INT8: QDQ models, which any runtime takes.

    xonnc.quantize("model.onnx", "images.npz").write("quantized.onnx")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xonnc.argument_types import checks_arguments
from xonnc.calibration import (
    MAX_COMPARED,
    Samples,
    measure_ranges,
    open_model,
    require_accuracy,
    samples_of,
)
from xonnc.contexts import new_context
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.interface_names import argument_names
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import element_type, is_ranked, numpy_dtype
from xonnc.errors import XonncError, suggest
from xonnc.executors.executor import Executor
from xonnc.formats.html_tables import html_table
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.model_summary import summarize
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import is_quantized
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops, mark_float
from xonnc.lowering.onnx_to_dla.quantization.keep_float import keep_float as mark_named
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values
from xonnc.lowering.placement.float_costs import FloatCosts
from xonnc.lowering.qdq.insert_qdq_onnx import QdqScheme, has_quantized_weights, insert_qdq, linear_ops
from xonnc.lowering.qdq.qdq_params import ACTIVATION_TYPES, ActivationType
from xonnc.lowering.quantization_statistics.float_selection import (
    FloatSelection,
    Quantizer,
    select_float_nodes,
)
from xonnc.lowering.quantization_statistics.quantization_error import cosine
from xonnc.runtime.calibration import DEFAULT_METHOD, METHODS
from xonnc.simplifier import SimplifiedModel, simplify
from xonnc.targets import DEFAULT_TARGET
from xonnc.transforms.onnx_cse_with_node_name import merge

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class QuantizedLayer:
    """An operator with constant weights: Conv, Gemm or MatMul."""

    node: str
    operator: str
    is_quantized: bool


@dataclass(frozen=True)
class OutputAgreement:
    """The comparison of an output of the quantized model with that of the float model."""

    output: str
    cosine: float
    """The cosine similarity over all samples."""
    largest_error: float
    """The largest difference, relative to the largest value of the float model's output."""


@dataclass(frozen=True)
class QuantizedModel:
    """A quantized model, with the ranges that it was quantized with."""

    model: SimplifiedModel
    ranges: Ranges
    layers: Sequence[QuantizedLayer]
    agreement: Sequence[OutputAgreement]
    """By output; empty without samples."""
    selection: FloatSelection | None = None
    """The nodes kept in float for the accuracy asked for, if one was."""

    def proto(self) -> onnx.ModelProto:
        """Return the model as one `ModelProto`."""
        return self.model.proto()

    def write(self, path: str | os.PathLike[str]) -> list[Path]:
        """
        Write the model.

        Parameters:
            path: the file, or `-` for standard output.

        Returns: the files written.

        Raises: `XonncError` if a file cannot be written.
        """
        return self.model.write(Path(path))

    def _repr_html_(self) -> str:
        rows = [(line.output, f"{line.cosine:.6f}", f"{line.largest_error:.2g}") for line in self.agreement]
        header = ["output", "cosine", "largest error"]
        return html_table("Agreement with the float model", header, rows)


@checks_arguments
def quantize(
    model: str | Path | onnx.ModelProto,
    calibrate: Samples | Callable[[ModuleOp], Ranges],
    *,
    method: str = DEFAULT_METHOD,
    activations: ActivationType = "uint8",
    per_tensor: bool = False,
    keep_float: Sequence[str] = (),
    accuracy: float | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    strict: bool = False,
    step: Callable[[int, int, str], None] | None = None,
    executor: Executor | None = None,
) -> QuantizedModel:
    """
    Quantize a float model to INT8, with QuantizeLinear and DequantizeLinear around what runs in integers.

    Conv, Gemm and MatMul with constant weights are quantized, and what follows them up to the next operator
    without an integer kernel. The ranges are measured by running the float model on samples as native code.

    Parameters:
        model: the path of the model, or the model in memory, which is not changed.
        calibrate: samples, a file or folder of them, or a function from the simplified module to ranges.
        method: how samples become ranges: `mse`, `minmax`, `percentile` or `entropy`.
        activations: `uint8` or `int8` with a zero point, or `symmetric`: `int8` with zero point 0.
        per_tensor: whether weights have one scale in all, not one per output channel.
        keep_float: names of nodes that stay in float.
        accuracy: the lowest cosine similarity that an output may have with the float model's on the samples,
            such as 0.99; nodes are kept in float until it is reached.
        input_shapes: the shapes of samples in a file, for inputs with dynamic shapes; a dynamic batch is 1.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.
        step: called with the samples done, their number, and a label.
        executor: runs the samples; if `None`, threads of this process do.

    Returns: the quantized model, with how it agrees with the float model on the samples.

    Raises:
        InvalidModelError: for an invalid model.
        XonncError: for a model that has QDQ already or nothing to quantize, an unknown node, method or type,
            or samples that do not fit.

    Example:
        >>> xonnc.quantize("model.onnx", "images.npz", keep_float=["last"]).write("quantized.onnx")
    """
    for name, what, known in (
        (method, "calibration method", METHODS),
        (activations, "type of activations", ACTIVATION_TYPES),
    ):
        if name not in known:
            hint = suggest(name, known) or f"; there are {', '.join(known)}"
            raise XonncError(f"no {what} '{name}'{hint}")
    found = simplify(model, inline_functions=True, fold_overridable=True, strict=strict)
    source = Path(model).name if isinstance(model, str | os.PathLike) else model.graph.name
    if is_quantized(found.module):
        raise XonncError(f"{source}: is quantized already: it has QuantizeLinear or DequantizeLinear")
    if not linear_ops(found.module):
        raise XonncError(f"{source}: nothing to quantize: no Conv, Gemm or MatMul with constant weights")
    name_values(found.module)
    samples: Sequence[Mapping[str, Array]] = ()
    if callable(calibrate):
        ranges = calibrate(found.module)
    else:
        shapes = sample_shapes(found.module, input_shapes or {})
        samples = samples_of(calibrate, shapes, _sample_types(found.module))
        if not samples:
            raise XonncError(f"{source}: no samples to calibrate with")
        ranges = measure_ranges(found.module, samples, method, step, executor)
    exact = export_proto(found.module) if samples else None
    scheme = QdqScheme(activations, per_tensor)
    mark_named(found.module, keep_float)
    selection = None
    if accuracy is not None:
        require_accuracy(accuracy)
        if not samples:
            raise XonncError(
                f"{source}: an accuracy of {accuracy:g} is measured on samples; give them to calibrate"
            )
        selection = _select_float(found.module, ranges, samples[:MAX_COMPARED], scheme, accuracy, step)
    layers = linear_ops(found.module)
    insert_qdq(found.module, ranges, DisposablePool.of(new_context()), scheme)
    agreement = () if exact is None else _compare(exact, export_proto(found.module), samples[:MAX_COMPARED])
    merge(found.module)
    found = replace(found, after=summarize(found.module))
    named = [_layer(op) for op in layers if isinstance(op, OnnxOp)]
    return QuantizedModel(found, ranges, named, agreement, selection)


def _select_float(
    module: ModuleOp,
    ranges: Ranges,
    samples: Sequence[Mapping[str, Array]],
    scheme: QdqScheme,
    accuracy: float,
    step: Callable[[int, int, str], None] | None,
) -> FloatSelection:
    """Mark the nodes to keep in float for the accuracy."""

    def quantized(twin: ModuleOp) -> onnx.ModelProto:
        insert_qdq(twin, ranges, DisposablePool(), scheme)
        return export_proto(twin)

    quantizer = Quantizer(ranges, quantized, export_proto)
    cost = FloatCosts(module, DEFAULT_TARGET, new_context(), None)
    found = select_float_nodes(module, quantizer, samples, accuracy, open_model, cost, step)
    ops = computing_ops(module)
    mark_float([ops[index] for index in found.indices])
    return found


def sample_shapes(module: ModuleOp, given: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """
    Return the shapes of samples by input name: those of the inputs, with batch 1 where it is dynamic.

    Parameters:
        module: a module with one function.
        given: shapes of inputs with other dynamic dimensions.

    Raises: `XonncError` for other dynamic dimensions, or unknown names of inputs.
    """
    arguments = _arguments(module)
    for name in given:
        if name not in arguments:
            raise XonncError(f"no input '{name}'{suggest(name, arguments)}; there are {', '.join(arguments)}")
    shapes: dict[str, tuple[int, ...]] = {}
    for name, argument in arguments.items():
        shape = tuple(given.get(name, argument.type.get_shape() if is_ranked(argument.type) else (-1, -1)))
        if shape[:1] == (DYNAMIC_INDEX,):
            shape = (1, *shape[1:])
        if DYNAMIC_INDEX in shape:
            raise XonncError(
                f"input '{name}': {argument.type}; samples in a file need a shape: "
                f"--input-shape {name}:1,…, or input_shapes"
            )
        shapes[name] = shape
    return shapes


def _sample_types(module: ModuleOp) -> dict[str, np.dtype[Any]]:
    return {
        name: numpy_dtype(element)
        for name, value in _arguments(module).items()
        if (element := element_type(value.type)) is not None
    }


def _arguments(module: ModuleOp) -> dict[str, SSAValue]:
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    return dict(zip(argument_names(function), function.body.block.args, strict=True))


def _layer(op: OnnxOp) -> QuantizedLayer:
    return QuantizedLayer(describe(op), op.OP_TYPE, has_quantized_weights(op))


def _compare(
    exact: onnx.ModelProto, quantized: onnx.ModelProto, samples: Sequence[Mapping[str, Array]]
) -> list[OutputAgreement]:
    """Compare the outputs of two models on samples, as native code."""
    runs = open_model(exact), open_model(quantized)
    pairs = [[run(sample) for run in runs] for sample in samples]
    found: list[OutputAgreement] = []
    for index, output in enumerate(exact.graph.output):
        expected, actual = (
            np.concatenate([np.ravel(pair[side][index]) for pair in pairs]).astype(np.float64)
            for side in (0, 1)
        )
        # Data-dependent shapes may differ.
        if expected.size == actual.size:
            found.append(
                OutputAgreement(output.name, cosine(expected, actual), _largest_error(expected, actual))
            )
    return found


def _largest_error(expected: Array, actual: Array) -> float:
    reach = float(np.abs(expected).max(initial=0.0)) or 1.0
    return float(np.abs(expected - actual).max(initial=0.0)) / reach
