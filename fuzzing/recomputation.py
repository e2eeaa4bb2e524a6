"""Outputs that an engine computes from values which native code gives inside a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np
import onnx
from onnx import helper

from xonnc.errors import XonncError
from xonnc.fuzzing.random_models import Array, Feeds
from xonnc.native import compile_native
from xonnc.runtime.verification.backward_slice import backward_slice
from xonnc.runtime.verification.reference_engines import Engine, Outputs
from xonnc.runtime.verification.tolerance import disagreement

SELECTING = ("ArgMax", "ArgMin", "TopK")
"""Operators that rounding error leads to another of nearly equal elements."""


def from_lost_nan(
    model: onnx.ModelProto, feeds: Feeds, operators: Collection[str], output: str, by_reference: bool
) -> Outputs | None:
    """
    Return an output that an engine computes from the results of `operators` by native code.

    `None` if these are all finite, so that the engine lost no NaN, or if there is nothing to compute.
    """
    names = [name for node in model.graph.node if node.op_type in operators for name in node.output if name]
    try:
        values = _native_values(model, feeds, names)
        if all(array.dtype.kind != "f" or np.isfinite(array).all() for array in values.values()):
            return None
        return _rest(model, feeds, values, output, by_reference)
    except XonncError:
        return None


def from_ties(model: onnx.ModelProto, feeds: Feeds, output: str, by_reference: bool) -> Outputs | None:
    """
    Return an output that an engine computes from what operators select of, by native code.

    `None` if the engine has other values there, beyond rounding error, or if there is nothing to compute.
    """
    made = {name for node in model.graph.node for name in node.output}
    selecting = (node for node in model.graph.node if node.op_type in SELECTING)
    names = list(dict.fromkeys(node.input[0] for node in selecting if node.input[0] in made))
    if not names:
        return None
    try:
        values = _native_values(model, feeds, names)
        expected = Engine(_with_outputs(model, names), by_reference).run(feeds)
        if disagreement(expected, values, list):
            return None
        return _rest(model, feeds, values, output, by_reference)
    except XonncError:
        return None


def from_results(
    model: onnx.ModelProto,
    feeds: Feeds,
    operators: Collection[str],
    output: str,
    by_reference: bool,
    may_be: Callable[[Array, Array], bool],
) -> Outputs | None:
    """
    Return an output that an engine computes from the results of `operators` by native code.

    `None` if there are none inside the model, or if `may_be` denies that one of them may be what native code
    gives where the engine, from the same operands, gives something else.
    """
    by_node = [
        [name for name in node.output if name]
        for node in model.graph.node
        if node.op_type in operators and output not in node.output
    ]
    if not by_node:
        return None
    try:
        values = _native_values(model, feeds, [name for names in by_node for name in names])
        known: dict[str, Array] = {}
        for names in by_node:
            engine = Engine(_with_outputs(_fed(model, known), names), by_reference)
            expected = engine.run({**feeds, **known})
            if not all(may_be(expected[name], values[name]) for name in names):
                return None
            known |= {name: values[name] for name in names}
        return _rest(model, feeds, known, output, by_reference)
    except XonncError:
        return None


def _rest(
    model: onnx.ModelProto, feeds: Feeds, values: Feeds, output: str, by_reference: bool
) -> Outputs | None:
    if not values or output in values:
        return None
    rest = backward_slice(_fed(model, values), output)
    return Engine(rest, by_reference).run({**feeds, **values})


def _native_values(model: onnx.ModelProto, feeds: Feeds, names: Collection[str]) -> Feeds:
    """Values inside a model, by native code."""
    if not names:
        return {}
    found = compile_native(_with_outputs(model, names), cache=False).run(None, feeds)
    return dict(zip(names, map(np.asarray, found), strict=True))


def _with_outputs(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return probe


def _fed(model: onnx.ModelProto, values: Feeds) -> onnx.ModelProto:
    """The model with some values as inputs, without the nodes that compute them."""
    fed = onnx.ModelProto()
    fed.CopyFrom(model)
    remaining = [node for node in model.graph.node if values.keys().isdisjoint(node.output)]
    del fed.graph.node[:]
    fed.graph.node.extend(remaining)
    fed.graph.input.extend(
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in values.items()
    )
    described = [each for each in fed.graph.value_info if each.name not in values]
    del fed.graph.value_info[:]
    fed.graph.value_info.extend(described)
    return fed
