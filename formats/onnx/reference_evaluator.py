"""Evaluation of models with the reference evaluator of the onnx package, for constant folding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import erf
from typing import Any, Protocol, TypeAlias, TypeGuard, cast

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.errors import XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.reference_loop import loop
from xonnc.formats.onnx.reference_operators import CORRECTED
from xonnc.formats.onnx.reference_padding import pad
from xonnc.formats.onnx.schemas import schema_of
from xonnc.formats.onnx.tensors import AnyArray

RuntimeValue: TypeAlias = "AnyArray | tuple[AnyArray, ...] | None"
"""A tensor, a sequence of tensors, or an empty optional."""

FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""
Exceptions of the reference evaluator: it validates nothing, so any exception of Python and NumPy, and those
of Pillow for an image that it cannot decode.
"""


@dataclass(frozen=True)
class CustomOperator:
    """An operator from outside of the onnx package."""

    domain: str
    name: str
    compute: Callable[[Sequence[AnyArray | None], dict[str, object], int], Sequence[AnyArray]]
    """From operands, attributes and the number of outputs to the outputs."""
    since: int = 1
    """The version of the domain that it is of."""


_ADDED: dict[tuple[str, str], dict[int, CustomOperator]] = {}


def register_operator(operator: CustomOperator) -> None:
    """Let the evaluator compute an operator that the onnx package does not have."""
    _ADDED.setdefault((operator.domain, operator.name), {})[operator.since] = operator


def added_operators(model: onnx.ModelProto) -> list[type]:
    """Return classes of the operators that the evaluator lacks or computes wrongly in a model's versions."""
    return [
        *_registered_operators(model),
        *_later_versions(model),
        *_old_axes_operators(model),
        *_old_batch_normalization(model),
        _implementation(ERF),
        _implementation(LP_NORMALIZATION),
        _implementation(PAD),
        _attention(min(max(_default_opset(model), 23), 25)),
        *_corrected(model),
        loop(),
        _tf_idf(),
        *([_old_roi_align()] if _default_opset(model) < 16 else []),
    ]


def _registered_operators(model: onnx.ModelProto) -> list[type]:
    """Return the classes of registered operators for the evaluator, in the versions that a model imports."""
    opsets = {each.domain: each.version for each in model.opset_import}
    found: list[type] = []
    for (domain, _), versions in _ADDED.items():
        known = [since for since in versions if since <= opsets.get(domain, 0)]
        # The package itself has the operators of other domains.
        if known:
            found.append(_implementation(versions[max(known)]))
    return found


class _ReferenceEvaluator(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


def program_of(module: ModuleOp) -> Callable[[Sequence[RuntimeValue]], Sequence[RuntimeValue]]:
    """
    Return a module as a function from its inputs to its outputs.

    Raises `XonncError` if the evaluator lacks an operator; the function raises it where evaluation fails.
    """
    return _program_of(export_proto(module))


def program_of_model(content: bytes) -> Callable[[Sequence[RuntimeValue]], Sequence[RuntimeValue]]:
    """Return a serialised model as a function, as `program_of`."""
    return _program_of(onnx.load_model_from_string(content))


def _program_of(model: onnx.ModelProto) -> Callable[[Sequence[RuntimeValue]], Sequence[RuntimeValue]]:
    names = [value.name for value in model.graph.input]
    reference = reference_of(model)

    def run(inputs: Sequence[RuntimeValue]) -> Sequence[RuntimeValue]:
        found = reference(
            {name: _given(given_value) for name, given_value in zip(names, inputs, strict=True)}
        )
        return [_taken(value) for value in found]

    return run


@cache
def _implementation(operator: CustomOperator) -> type:
    """The class by which the reference evaluator knows an operator."""
    base = import_module("onnx.reference.op_run").OpRun

    def run(self: Any, *arrays: AnyArray | None, **attributes: object) -> tuple[AnyArray, ...]:
        node: onnx.NodeProto = self.onnx_node
        given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        defaults = _defaults(node, self.run_params["opsets"].get(node.domain, 1))
        return tuple(operator.compute(arrays, {**attributes, **defaults, **_plain(given)}, len(node.output)))

    return type(operator.name, (base,), {"op_domain": operator.domain, "_run": run})


def _defaults(node: onnx.NodeProto, opset: int) -> dict[str, object]:
    """Return the default values of attributes in an opset; the evaluator knows those of the newest."""
    schema = schema_of(node.domain, node.op_type, opset)
    values = {} if schema is None else {name: each.default_value for name, each in schema.attributes.items()}
    return _plain(
        {
            name: onnx.helper.get_attribute_value(value)
            for name, value in values.items()
            if value.type != onnx.AttributeProto.UNDEFINED
        }
    )


@cache
def _attention(opset: int) -> type:
    """Return Attention of the evaluator, with causal masks for each of the queries that share a mask."""
    base = getattr(import_module("onnx.reference.ops.op_attention"), f"Attention_{opset}")

    def run(self: Any, *arrays: AnyArray | None, **attributes: object) -> tuple[AnyArray, ...]:
        queries, mask = arrays[0], arrays[3] if len(arrays) > 3 else None
        if queries is not None and mask is not None and mask.ndim >= 2:
            shape = (*mask.shape[:-2], queries.shape[-2], mask.shape[-1])
            arrays = (*arrays[:3], np.broadcast_to(mask, shape), *arrays[4:])
        return base._run(self, *arrays, **attributes)

    return type("Attention", (base,), {"op_domain": "", "_run": run})


@cache
def _old_roi_align() -> type:
    """Return RoiAlign before opset 16, which has no half pixels unless it is told to."""
    base = import_module("onnx.reference.ops.op_roi_align").RoiAlign

    def run(self: Any, *arrays: AnyArray, **attributes: object) -> tuple[AnyArray, ...]:
        return base._run(
            self, *arrays, **{**attributes, "coordinate_transformation_mode": "output_half_pixel"}
        )

    return type("RoiAlign", (base,), {"op_domain": "", "_run": run})


@cache
def _tf_idf() -> type:
    """Return TfIdfVectorizer with weights of the n-grams, not of the outputs as in the evaluator."""
    base = import_module("onnx.reference.ops.op_tfidf_vectorizer").TfIdfVectorizer

    def initialize(self: Any, *arguments: object) -> None:
        base.__init__(self, *arguments)
        if self.weights_:
            by_output = [1.0] * self.output_size_
            for target, weight in zip(self.ngram_indexes, self.weights_, strict=True):
                by_output[target] = weight
            self.weights_ = by_output

    return type("TfIdfVectorizer", (base,), {"op_domain": "", "__init__": initialize})


def _later_versions(model: onnx.ModelProto) -> list[type]:
    """
    Implementations of old operator versions that the evaluator lacks, by the class of a later version.

    It lacks DequantizeLinear before opset 19, which only added element types, and Scatter, which opset 11
    renamed.
    """
    opset = _default_opset(model)
    return [
        type(name, (getattr(import_module(module), class_name),), {"op_domain": ""})
        for name, versions, module, class_name in (
            (
                "DequantizeLinear",
                range(10, 19),
                "onnx.reference.ops.op_dequantize_linear",
                "DequantizeLinear_25",
            ),
            ("Scatter", range(9, 11), "onnx.reference.ops.op_scatter_elements", "ScatterElements"),
        )
        if opset in versions
    ]


def _corrected(model: onnx.ModelProto) -> list[type]:
    """Operators that are computed here in the opset of a model."""
    opset = _default_opset(model)
    return [
        _implementation(CustomOperator("", name, compute))
        for name, opsets, compute in CORRECTED
        if opset in opsets
    ]


def _old_axes_operators(model: onnx.ModelProto) -> list[type]:
    """
    Squeeze and Unsqueeze before opset 13, where axes became an operand.

    Those of the evaluator change one axis after the other, so that unsorted and negative axes are taken to be
    axes of the intermediate results.
    """
    return [_implementation(each) for each in OLD_AXES] if _default_opset(model) < 13 else []


def _old_batch_normalization(model: onnx.ModelProto) -> list[type]:
    """
    BatchNormalization of opsets 7 to 13 with one output, which is the inference mode.

    That of the evaluator updates the statistics by those of the batch, as in training.
    """
    return [_implementation(BATCH_NORMALIZATION)] if 7 <= _default_opset(model) < 14 else []


def _batch_normalization(
    operands: Sequence[AnyArray | None], attributes: dict[str, object], outputs: int
) -> Sequence[AnyArray]:
    if outputs > 1:
        raise ValueError("BatchNormalization in training mode, before opset 14")
    x, *parameters = (np.asarray(each) for each in operands)
    if attributes.get("spatial", 1):
        axes = tuple(axis for axis in range(max(x.ndim, 2)) if axis != 1)
        parameters = [np.expand_dims(each, axes) for each in parameters]
    scale, bias, mean, variance = parameters
    epsilon = cast("float", attributes.get("epsilon", 1e-5))
    return [(scale * (x - mean) / np.sqrt(variance + epsilon) + bias).astype(x.dtype)]


def _squeeze(
    operands: Sequence[AnyArray | None], attributes: dict[str, object], _outputs: int
) -> Sequence[AnyArray]:
    data = np.asarray(operands[0])
    axes = _axes(attributes.get("axes", ()))
    return [np.squeeze(data, axis=axes or None)]


def _unsqueeze(
    operands: Sequence[AnyArray | None], attributes: dict[str, object], _outputs: int
) -> Sequence[AnyArray]:
    return [np.expand_dims(np.asarray(operands[0]), _axes(attributes["axes"]))]


def _erf(
    operands: Sequence[AnyArray | None], _attributes: dict[str, object], _outputs: int
) -> Sequence[AnyArray]:
    data = np.asarray(operands[0])
    results = [erf(value) for value in data.astype(np.float64).reshape(-1).tolist()]
    return [np.array(results, np.float64).reshape(data.shape).astype(data.dtype)]


ERF = CustomOperator("", "Erf", _erf)
"""The error function; that of the evaluator rounds doubles to 32 bits."""

PAD = CustomOperator("", "Pad", pad)
"""Pad; that of the evaluator fails where pads are negative."""


def _lp_normalization(
    operands: Sequence[AnyArray | None], attributes: dict[str, object], _outputs: int
) -> Sequence[AnyArray]:
    x = np.asarray(operands[0])
    axis, p = cast("int", attributes.get("axis", -1)), attributes.get("p", 2)
    sizes = np.abs(x.astype(np.result_type(x, np.float32)))
    total = np.sum(sizes if p == 1 else sizes * sizes, axis=axis, keepdims=True)
    norm = total if p == 1 else np.sqrt(total)
    return [np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)).astype(x.dtype)]


LP_NORMALIZATION = CustomOperator("", "LpNormalization", _lp_normalization)
"""LpNormalization; that of the evaluator adds numbers with their signs, and squares of 16 bits in 16 bits."""


def _axes(values: object) -> tuple[int, ...]:
    return tuple(cast("Sequence[int]", values))


BATCH_NORMALIZATION = CustomOperator("", "BatchNormalization", _batch_normalization)

OLD_AXES = (CustomOperator("", "Squeeze", _squeeze), CustomOperator("", "Unsqueeze", _unsqueeze))


def _default_opset(model: onnx.ModelProto) -> int:
    return next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 1)


def _plain(attributes: Mapping[str, Any]) -> dict[str, object]:
    """Attributes of a node as Python values."""
    found: dict[str, object] = {}
    for name, value in attributes.items():
        if isinstance(value, bytes):
            found[name] = value.decode()
        elif isinstance(value, onnx.TensorProto):
            found[name] = onnx.numpy_helper.to_array(value)
        elif isinstance(value, Sequence):
            items = cast("Sequence[object]", value)
            found[name] = [each.decode() if isinstance(each, bytes) else each for each in items]
        else:
            found[name] = value
    return found


def reference_of(model: onnx.ModelProto) -> Callable[[Mapping[str, object]], list[object]]:
    """Return a model as a function of its inputs by name; errors as `program_of`."""
    try:
        reference: _ReferenceEvaluator = import_module("onnx.reference").ReferenceEvaluator(
            model, new_ops=added_operators(model)
        )
    except FAILURES as error:
        raise _failed(error) from error

    def run(feeds: Mapping[str, object]) -> list[object]:
        try:
            with np.errstate(all="ignore"):
                return list(reference.run(None, feeds))
        except FAILURES as error:
            raise _failed(error) from error

    return run


def _given(value: RuntimeValue) -> object:
    """Copy an input: operators of the reference evaluator modify their inputs."""
    if isinstance(value, tuple):
        return [np.array(array) for array in value]
    return None if value is None else np.array(value)


def _taken(value: object) -> RuntimeValue:
    if value is None:
        return None
    if _is_list(value):
        return tuple(_array(each) for each in value)
    return _array(value)


def _array(value: object) -> AnyArray:
    if not _is_array(value):
        raise XonncError(f"the reference evaluator returned a {type(value).__name__}; a tensor is required")
    array = np.asarray(value)
    return array.astype(np.object_) if array.dtype.kind == "U" else array


def _is_array(value: object) -> TypeGuard[AnyArray]:
    return isinstance(value, np.ndarray | np.generic)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _failed(error: Exception) -> XonncError:
    text = " ".join(str(error).split())
    return XonncError(f"the reference evaluator fails: {type(error).__name__}: {text[:200]}")
