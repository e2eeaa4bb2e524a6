"""Models run by the reference evaluator of the onnx package, for the folding of constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Protocol, TypeAlias, TypeGuard

import numpy as np
import onnx
from xdsl.dialects.builtin import ModuleOp

from xonnc.errors import XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.tensors import AnyArray

RuntimeValue: TypeAlias = "AnyArray | tuple[AnyArray, ...] | None"
"""What a value is when a model runs: a tensor, a sequence of tensors, or an optional that is empty."""

FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What operators of the reference raise: it checks nothing, so whatever Python and numpy raise."""


class _ReferenceEvaluator(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


def program_of(module: ModuleOp) -> Callable[[Sequence[RuntimeValue]], Sequence[RuntimeValue]]:
    """
    The model that `module` is, as a function from its inputs to its outputs.

    Both raise `XonncError`: here where the reference does not know an operator, the function where it fails
    or gives what is no tensor.
    """
    return _program_of(export_proto(module))


def program_of_model(content: bytes) -> Callable[[Sequence[RuntimeValue]], Sequence[RuntimeValue]]:
    """The same of a model in a file's bytes."""
    return _program_of(onnx.load_model_from_string(content))


def _program_of(model: onnx.ModelProto) -> Callable[[Sequence[RuntimeValue]], Sequence[RuntimeValue]]:
    names = [value.name for value in model.graph.input]
    reference = reference_of(model)

    def run(inputs: Sequence[RuntimeValue]) -> Sequence[RuntimeValue]:
        found = reference({name: _given(held) for name, held in zip(names, inputs, strict=True)})
        return [_taken(value) for value in found]

    return run


def reference_of(model: onnx.ModelProto) -> Callable[[Mapping[str, object]], list[object]]:
    """The model as a function of its inputs by name; both raise `XonncError` as `program_of` says."""
    try:
        reference: _ReferenceEvaluator = import_module("onnx.reference").ReferenceEvaluator(model)
    except FAILURES as error:
        raise _failed(error) from error

    def run(feeds: Mapping[str, object]) -> list[object]:
        try:
            with np.errstate(all="ignore"):
                return list(reference.run(None, feeds))
        except FAILURES as error:
            raise _failed(error) from error

    return run


def _given(held: RuntimeValue) -> object:
    """Copies: operators of the reference write into what they are given."""
    if isinstance(held, tuple):
        return [np.array(array) for array in held]
    return None if held is None else np.array(held)


def _taken(value: object) -> RuntimeValue:
    if value is None:
        return None
    if _is_list(value):
        return tuple(_array(each) for each in value)
    return _array(value)


def _array(value: object) -> AnyArray:
    if not _is_array(value):
        raise XonncError(f"the reference evaluator gives a {type(value).__name__}, which is no tensor")
    array = np.asarray(value)
    return array.astype(np.object_) if array.dtype.kind == "U" else array


def _is_array(value: object) -> TypeGuard[AnyArray]:
    return isinstance(value, np.ndarray | np.generic)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _failed(error: Exception) -> XonncError:
    text = " ".join(str(error).split())
    return XonncError(f"the reference evaluator fails: {type(error).__name__}: {text[:200]}")
