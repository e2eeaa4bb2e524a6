"""Reference engines of random models: onnxruntime, or the reference evaluator where that fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from xonnc.errors import XonncError
from xonnc.formats.onnx.reference_evaluator import added_operators
from xonnc.formats.onnx.topological_order import describe
from xonnc.runtime.reference import open_session
from xonnc.runtime.verification.backward_slice import walk_nodes
from xonnc.runtime.verification.trial_inputs import Array, Feeds

Outputs = Mapping[str, Array]


class UnreliableReferenceError(XonncError):
    """The reference evaluator is known to be wrong for an operator of the model."""


RUN: Callable[..., list[Any] | dict[str, Any]] = vars(ReferenceEvaluator)["run"]
"""By name, because its type is only known in part."""


class Engine:
    """A model ready to run: in onnxruntime with its optimisations off, or in the reference evaluator."""

    def __init__(self, model: onnx.ModelProto, by_reference: bool = False):
        self.outputs = [output.name for output in model.graph.output]
        self.by_reference = by_reference
        if by_reference:
            self.evaluator = _evaluator(model)
            nodes = walk_nodes(model)
            self.pools = [f"{describe(node)} (MaxPool)" for node in nodes if node.op_type == "MaxPool"]
        else:
            self.session, self.errors = open_session(model.SerializeToString(), "the model", threads=1)

    def run(self, feeds: Feeds) -> Outputs:
        """The outputs by name; `XonncError` if the model does not take the inputs."""
        if self.by_reference:
            if self.pools and not all(map(_is_finite, feeds.values())):
                raise UnreliableReferenceError(
                    f"{self.pools[0]}: ONNX's reference evaluator leaves NaN out of a maximum"
                )
            values = _run(self.evaluator, feeds)
        else:
            try:
                values = self.session.run(None, feeds)
            except self.errors as error:
                raise XonncError(" ".join(str(error).split())) from None
        try:
            return {name: np.asarray(value) for name, value in zip(self.outputs, values, strict=True)}
        except ValueError as error:
            raise XonncError(f"an output is a sequence of tensors of several shapes: {error}") from None


def engine_for(model: onnx.ModelProto) -> Engine:
    """onnxruntime if it has all kernels, else the reference evaluator; `XonncError` if neither takes it."""
    try:
        return Engine(model)
    except XonncError:
        return Engine(model, by_reference=True)


REFERENCE_FAULTS = {
    "AveragePool": "takes NaN to be padding",
    "LpPool": "takes NaN to be padding",
    "MaxPool": "finds too many windows between pads, and elements between dilated windows",
}
"""Operators that the reference evaluator computes wrongly, and how."""


RECURRENT = ("GRU", "LSTM", "RNN")
LENGTHS = 4
"""The operand of recurrent operators that says how long each sequence is."""

NAN_FAULTS = {
    False: ("LRN", "LpPool", "MaxPool", "ReduceMax", "ReduceMin", "Resize", "Upsample", *RECURRENT),
    True: ("Gemm", "MaxPool"),
}
"""
Operators that give NaN or something else by where it lies, in onnxruntime and (`True`) in the
reference evaluator.

For onnxruntime `MaxPool` of [1, NaN] and of [NaN, 1] is 1, but of [[2, NaN], [1, NaN]] NaN; `ReduceMax` of
[1, NaN, 2] is 2, of [NaN, 1, 2] NaN; `LRN` takes from its sums what leaves a window, and from inf on all
are NaN; gates of recurrences are bounded, so that NaN becomes 1; `Resize` multiplies elements by weights of
0, so that infinities beside a sample become NaN. Numpy's `dot` of [[inf]] and [[0]] is [[0]], of [[inf, 1]]
and [[0], [0]] it is [[NaN]].
"""


def _is_finite(array: Array) -> bool:
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def _has_plain_windows(node: onnx.NodeProto) -> bool:
    """Whether the windows of a pooling node lie within its operand, without gaps."""
    for attribute in node.attribute:
        match attribute.name:
            case "auto_pad" if attribute.s not in (b"NOTSET", b"VALID"):
                return False
            case "pads" if any(attribute.ints):
                return False
            case "dilations" if any(dilation != 1 for dilation in attribute.ints):
                return False
            case "ceil_mode" if attribute.i:
                return False
            case _:
                pass
    return True


def _evaluator(model: onnx.ModelProto) -> ReferenceEvaluator:
    nodes = list(walk_nodes(model))
    for node in nodes:
        fault = REFERENCE_FAULTS.get(node.op_type)
        if node.op_type == "MaxPool" and _has_plain_windows(node):
            fault = None
        if node.op_type == "Gemm" and any(each.name == "beta" and each.f == 0 for each in node.attribute):
            fault = "takes any C where beta is 0"
        if node.op_type in RECURRENT and len(node.input) > LENGTHS and node.input[LENGTHS]:
            fault = "takes all sequences to be of one length"
        if fault is not None:
            where = f"{describe(node)} ({node.op_type})"
            raise UnreliableReferenceError(f"{where}: ONNX's reference evaluator {fault}")
    try:
        return ReferenceEvaluator(model, new_ops=added_operators(model))
    except REFERENCE_ERRORS as error:
        raise XonncError(f"the reference evaluator does not take it: {error}") from None


def _run(evaluator: ReferenceEvaluator, feeds: Feeds) -> list[Any]:
    try:
        with np.errstate(all="ignore"):
            found = RUN(evaluator, None, dict(feeds))
    except REFERENCE_ERRORS as error:
        raise XonncError(f"the reference evaluator does not run it: {error}") from None
    return list(found.values()) if isinstance(found, dict) else found


REFERENCE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Exceptions of the reference evaluator: each operator fails in its own way."""
