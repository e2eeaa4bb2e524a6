"""
Consistency checks of plug-in operators on generated samples.

The types that `infer` gives, what `decompose` and native code compute, and the results of `reference` must
agree. Samples are drawn from the declaration; an operator that takes only some shapes or attributes has a
function `samples(rng)` that gives pairs of operands and attributes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper

from xonnc.contexts import new_context
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.reference_evaluator import program_of
from xonnc.plugins.declarations import AttributeDeclaration, ParameterDeclaration
from xonnc.plugins.operators import Array, OperatorSpec, bind
from xonnc.plugins.registration import run_reference
from xonnc.rewriting.conversion import convert
from xonnc.transforms.decompose_onnx import Decompose
from xonnc.transforms.rules import decompose_convolution
from xonnc.transforms.shape_inference_onnx import infer_shapes
from xonnc.transforms.shapes.inference_context import UNKNOWN

PARAMETERS = {"infer": 1, "reference": 1, "decompose": 2}
"""The minimum number of parameters of the bodies."""

SHAPES: Sequence[tuple[int, ...]] = ((2, 3), (4,), (1, 5, 2), (), (0, 3), (3, 1, 2, 2))
"""Shapes of drawn operands; all operands of a sample have the same."""

OPSET = 21
"""The standard opset of sample models: the reference evaluator lacks older forms of some operators."""

RELATIVE, ABSOLUTE = 1e-4, 1e-5
"""The tolerance of results: native code fuses and reorders operations."""

FP16 = 4e-3, 4e-3
"""Relative and absolute tolerance of results computed in float16 by a few layers."""

LAYERS_TARGET = "nv_full"
"""The target whose simulator runs the `layers` of an operator."""

MAX_SIMULATED = 4
"""The number of samples that the simulator runs, which takes its time."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of an operator."""

    operator: str
    check: str
    outcome: str
    """`ok`, `-` where there is nothing to check, else what is wrong."""
    note: str = ""
    """Why there is nothing to check, where that is not obvious."""

    @property
    def is_failure(self) -> bool:
        """Whether the check failed."""
        return self.outcome not in ("ok", "-")


@dataclass(frozen=True)
class NodeSample:
    """Operands and attributes of one node, and the results of `reference` for them."""

    operands: Sequence[Array | None]
    attributes: dict[str, Any]
    results: Sequence[Array]


def check_operator(spec: OperatorSpec) -> Iterator[CheckResult]:
    """Return the results of the checks of an operator."""
    name = f"{spec.name}-{spec.since}"
    problem = _signatures(spec)
    yield CheckResult(name, "signature", problem or "ok")
    if problem:
        return
    if spec.function("reference") is None:
        yield CheckResult(name, "reference", "-")
        yield CheckResult(name, "infer", "-")
        return
    samples, why = _samples(spec)
    if not samples:
        hint = "no sample is taken; write samples(rng), which gives pairs of operands and attributes"
        yield CheckResult(name, "reference", f"{hint} ({why})")
        return
    yield CheckResult(name, "reference", "ok")
    yield CheckResult(name, "infer", _first(samples, lambda each: _check_infer(spec, each), spec, "infer"))
    yield CheckResult(
        name, "decompose", _first(samples, lambda each: _check_decompose(spec, each), spec, "decompose")
    )
    yield CheckResult(name, "lookup", _first(samples, lambda each: _check_lookup(spec, each), spec, "lookup"))
    if spec.function("layers") is not None:
        yield CheckResult(name, "layers", _check_layers(spec, samples))
    can_run = spec.function("decompose") is not None or spec.function("infer") is not None
    yield CheckResult(
        name, "native", _first(samples, lambda each: _check_native(spec, each), spec) if can_run else "-"
    )


def _first(
    samples: Sequence[NodeSample], check: Callable[[NodeSample], str], spec: OperatorSpec, needed: str = ""
) -> str:
    """Return the first problem that a check finds with a sample."""
    if needed and spec.function(needed) is None:
        return "-"
    for sample in samples:
        try:
            problem = check(sample)
        except XonncError as error:
            problem = str(error)
        if problem:
            return f"{_shown(sample)}: {problem}"
    return "ok"


def _signatures(spec: OperatorSpec) -> str:
    for name, least in PARAMETERS.items():
        body = spec.function(name)
        if body is None:
            continue
        parameters = inspect.signature(body).parameters.values()
        variadic = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
        if len(parameters) < least and not variadic:
            needed = "the node and the builder" if name == "decompose" else "the node"
            return f"{name} takes {len(parameters)} parameters; the first of them are {needed}"
    for declared in spec.attributes:
        if declared.default is not None and not _is_of_kind(declared):
            return (
                f"attribute '{declared.name}' is a {declared.kind}, its default {declared.default!r} is not"
            )
    return ""


def _is_of_kind(declared: AttributeDeclaration[Any]) -> bool:
    default = declared.default
    if declared.kind in ("INTS", "FLOATS", "STRINGS"):
        return isinstance(default, list | tuple)
    kinds: dict[str, tuple[type, ...]] = {
        "INT": (int,),
        "FLOAT": (float, int),
        "STRING": (str,),
        "TENSOR": (np.ndarray,),
    }
    return isinstance(default, kinds[declared.kind])


def _samples(spec: OperatorSpec) -> tuple[list[NodeSample], str]:
    """Return samples that `reference` accepts, and the last reason for a rejection."""
    rng = np.random.default_rng(0)
    own = spec.function("samples")
    drawn = own(rng) if own is not None else _drawn(spec, rng)
    found: list[NodeSample] = []
    why = ""
    for operands, attributes in drawn:
        given = with_absent(spec, operands)
        count = _result_count(spec)
        bound = bind(spec, spec.name, given, attributes, outputs=[None] * count)
        try:
            results = run_reference(spec, bound, given, 1)
        except XonncError as error:
            why = str(error)
            if own is not None:
                return [], why
            continue
        found.append(NodeSample(given, dict(attributes), results))
    return found, why


def _result_count(spec: OperatorSpec) -> int:
    """Return the number of results of a drawn node: two of a variadic group, if it may have so many."""
    return sum(
        1 if port.count != "variadic" else max(port.at_least, min(2, port.at_most or 2))
        for port in spec.outputs
    )


def with_absent(spec: OperatorSpec, operands: Sequence[Array | None]) -> list[Array | None]:
    """Return the operands of a node, with `None` for trailing absent ones."""
    fixed = sum(port.count != "variadic" for port in spec.inputs)
    return [*operands, *[None] * (fixed - len(operands))]


def _drawn(
    spec: OperatorSpec, rng: np.random.Generator
) -> Iterator[tuple[list[Array | None], dict[str, Any]]]:
    attributes = {
        each.onnx_name: each.choices[0] if each.choices else _example(each)
        for each in spec.attributes
        if each.is_required
    }
    choices = [{**attributes, each.onnx_name: choice} for each in spec.attributes for choice in each.choices]
    for dtype in _dtypes(spec):
        for index, shape in enumerate(SHAPES):
            operands: list[Array | None] = []
            for port in spec.inputs:
                own = _own_dtype(port) or dtype
                count = (
                    1
                    if port.count != "variadic"
                    else max(port.at_least, min(2 + index % 2, port.at_most or 3))
                )
                operands += [_array(shape, own, rng) for _ in range(count)]
            yield operands, attributes
            if index == 0:
                yield from ((operands, each) for each in choices)


def _example(declared: AttributeDeclaration[Any]) -> Any:
    return {"INT": 1, "FLOAT": 0.5, "STRING": "a", "INTS": [1], "FLOATS": [0.5], "STRINGS": ["a"]}.get(
        declared.kind, np.ones(1, np.float32)
    )


def _dtypes(spec: OperatorSpec) -> Sequence[np.dtype[Any]]:
    for allowed in spec.variables.values():
        if not isinstance(allowed, str | type):
            return [np.dtype(each) for each in allowed][:4]
    return [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)]


def _own_dtype(port: ParameterDeclaration) -> np.dtype[Any] | None:
    allowed = port.types
    if isinstance(allowed, str):
        return None
    return np.dtype(allowed if isinstance(allowed, type) else next(iter(allowed)))


def _array(shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "iu":
        return rng.integers(0, 4, shape).astype(dtype)
    return np.asarray(rng.normal(size=shape)).astype(dtype)


def sample_model(spec: OperatorSpec, sample: NodeSample, is_dynamic: bool = False) -> onnx.ModelProto:
    """Return a model of one node; with `is_dynamic`, all dimensions of its inputs are symbolic."""
    names = [f"x{index}" if operand is not None else "" for index, operand in enumerate(sample.operands)]
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{index}" for index in range(len(sample.results))]
    node = onnx.helper.make_node(spec.name, names, outputs, "node", domain=spec.domain, **sample.attributes)
    inputs = [
        _value(name, operand, is_dynamic)
        for name, operand in zip(names, sample.operands, strict=False)
        if operand is not None
    ]
    results = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(operand.dtype), None)
        for name, operand in zip(outputs, sample.results, strict=True)
    ]
    graph = onnx.helper.make_graph([node], "sample", inputs, results)
    return onnx.helper.make_model(graph, opset_imports=opsets_of(spec), ir_version=8)


def opsets_of(spec: OperatorSpec) -> list[onnx.OperatorSetIdProto]:
    """Return the opsets of a model with an operator."""
    newest = OPSET if spec.domain or spec.until is None else min(OPSET, spec.until - 1)
    opsets = [onnx.helper.make_opsetid("", newest)]
    if spec.domain:
        opsets.append(onnx.helper.make_opsetid(spec.domain, spec.since))
    return opsets


def _value(name: str, array: Array, is_dynamic: bool) -> onnx.ValueInfoProto:
    shape = [f"{name}_{axis}" if is_dynamic else size for axis, size in enumerate(array.shape)]
    return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), shape)


def _check_infer(spec: OperatorSpec, sample: NodeSample) -> str:
    from xonnc.dialects.onnx.types import element_type, is_ranked, numpy_dtype

    for is_dynamic in (False, True):
        module = import_proto(sample_model(spec, sample, is_dynamic), new_context())
        infer_shapes(module)
        op = next(op for op in module.walk() if type(op) is spec.kind)
        for result, array in zip(op.results, sample.results, strict=False):
            element = element_type(result.type)
            if element is None or numpy_dtype(element) != array.dtype:
                return f"infer gives {result.type}, reference an array of {array.dtype}"
            if not is_ranked(result.type):
                continue
            shape = result.type.get_shape()
            if len(shape) != array.ndim or any(
                a not in (UNKNOWN, b) for a, b in zip(shape, array.shape, strict=True)
            ):
                return f"infer gives {result.type}, reference an array of shape {list(array.shape)}"
    return ""


def _check_decompose(spec: OperatorSpec, sample: NodeSample) -> str:
    context = new_context()
    module = import_proto(sample_model(spec, sample), context)
    infer_shapes(module)
    # Transposed convolutions are kept: what they decompose to is no ONNX operator.
    rules = Decompose().rules().without(tuple(decompose_convolution.RULES))
    convert(module, context, rules, pass_name=Decompose.name)
    if any(type(op) is spec.kind for op in module.walk()):
        return "the operator was not replaced"
    results = program_of(module)([operand for operand in sample.operands if operand is not None])
    return compared("decompose", [np.asarray(each) for each in results], sample.results)


def _check_lookup(spec: OperatorSpec, sample: NodeSample) -> str:
    lookup = spec.function("lookup")
    assert lookup is not None
    (operand,) = sample.operands
    assert operand is not None
    bound = bind(spec, spec.name, [operand], sample.attributes)
    found = np.asarray(lookup(bound, operand.astype(np.float64)))
    return compared("lookup", [found.astype(operand.dtype)], sample.results)


def _check_layers(spec: OperatorSpec, samples: Sequence[NodeSample]) -> str:
    """Compare NVDLA's simulator with `reference`, on samples that the target takes."""
    from xonnc.dla_model import compile_for_dla

    agreed, refusal = 0, ""
    for sample in samples:
        if any(operand is None or operand.dtype != np.float32 for operand in sample.operands):
            continue
        compiled = compile_for_dla(sample_model(spec, sample), LAYERS_TARGET)
        if compiled.package.whole is None:
            refusal = refusal or "; ".join(node.reason for node in compiled.package.cpu_nodes)
            continue
        feeds = {f"x{index}": operand for index, operand in enumerate(sample.operands)}
        found = [np.asarray(each, np.float32) for each in compiled.run(None, feeds)]
        problem = compared("layers", found, sample.results, tolerance=FP16)
        if problem:
            return f"{_shown(sample)}: {problem}"
        agreed += 1
        if agreed == MAX_SIMULATED:
            break
    return "ok" if agreed else f"{LAYERS_TARGET} takes no sample: {refusal or 'none is of float32'}"


def _check_native(spec: OperatorSpec, sample: NodeSample) -> str:
    from xonnc.native import compile_native

    session = compile_native(sample_model(spec, sample))
    feeds = {f"x{index}": operand for index, operand in enumerate(sample.operands) if operand is not None}
    return compared("native code", session.run(None, feeds), sample.results)


def compared(
    what: str,
    found: Sequence[Any],
    expected: Sequence[Array],
    other_name: str = "reference",
    tolerance: tuple[float, float] = (RELATIVE, ABSOLUTE),
) -> str:
    """Return how results differ from the expected ones; nothing if they do not."""
    for index, (one, other) in enumerate(zip(found, expected, strict=False)):
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{what} gives {one.dtype}{list(one.shape)}, {other_name} {other.dtype}{list(other.shape)}"
        both = one.astype(np.float64), other.astype(np.float64)
        if not np.allclose(*both, *tolerance, equal_nan=True):
            largest = float(np.nanmax(np.abs(both[0] - both[1])))
            return f"output {index} of {what} and {other_name} differ by {largest:.3g}"
    return ""


def _shown(sample: NodeSample) -> str:
    operands = ", ".join(
        "none" if each is None else f"{each.dtype}{list(each.shape)}" for each in sample.operands
    )
    attributes = "".join(f", {name}={value!r}" for name, value in sample.attributes.items())
    return f"({operands}{attributes})"
