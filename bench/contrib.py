"""
Contrib operators of onnxruntime: every operator and element type, on random cases, against onnxruntime.

    python bench/contrib.py [--match '^Q'] [--cases 50] [--page docs/contrib-operators.md]

Cases are the operator's own random samples. All cases of a type are nodes of one model, which is imported,
folded, compiled, compiled for dynamic shapes, and compiled ahead of time. Results are compared with those of
onnxruntime, or with the NumPy reference where onnxruntime has no kernel on CPUs or takes no such arrays.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.contrib_page import Row, update
from xonnc.artifacts import compile_artifact
from xonnc.contexts import new_context
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.native import compile_native
from xonnc.plugins import bundled
from xonnc.plugins.operators import OperatorSpec, bind
from xonnc.plugins.registration import run_reference
from xonnc.runtime.native.library import Library
from xonnc.runtime.reference import open_session
from xonnc.simplifier import simplify
from xonnc.tools.plugin_checks import NodeSample, opsets_of, with_absent
from xonnc.transforms.shape_inference_onnx import infer_shapes

Array = npt.NDArray[Any]

OTHER_CASES = 3
"""Number of cases of further types, and of those for folding, dynamic shapes and compiling ahead of time."""

TOLERANCES = {"float64": 1e-4, "float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-1}
"""Largest difference, absolute and relative to the largest value of the result."""

OPERATOR_TOLERANCES = {"DynamicQuantizeLSTM": 2e-2, "DynamicQuantizeMatMul": 2e-2}
"""
Where operands are quantized dynamically: a tie may be rounded either way, and onnxruntime's LSTM quantizes
the parts of a batch that its threads take each for itself.
"""

QUANTIZED = ("uint8", "int8", "uint16", "int16", "int4", "uint4")
"""Element types of quantized results."""

EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 60.0, -60.0)
"""Values that some cases of elementwise operators and of data movement have."""

WITH_EDGES = frozenset(
    (
        "Affine Crop DynamicSlice ExpandDims GatherND ImageScaler ParametricSoftplus QuickGelu SampleOp Scale"
        " ScaledSiLU ScaledTanh Trilu UnfoldTensor"
    ).split()
)


@dataclass
class Group:
    """The cases of one operator and element type."""

    spec: OperatorSpec
    dtype: str
    cases: list[NodeSample] = field(default_factory=list[NodeSample])
    expected: list[Sequence[Array]] = field(default_factory=list[Sequence[Array]])

    def first(self, number: int) -> Group:
        """The same with the first cases only."""
        return Group(self.spec, self.dtype, self.cases[:number], self.expected[:number])


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the operators; exit 1 if a result differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--match", default="", help="a regular expression for the operators' names")
    parser.add_argument("--cases", type=int, default=50, help="random cases of each operator")
    parser.add_argument("--page", type=Path, help="the page to update, after each operator")
    args = parser.parse_args(argv)
    rows: list[Row] = []
    for spec in sorted(bundled.load("microsoft").operators, key=lambda each: each.name):
        if not re.search(args.match, spec.name):
            continue
        start = time.perf_counter()
        found = [measure(group) for group in groups_of(spec, args.cases)]
        rows += found
        for row in found:
            print(f"{row.operator} {row.dtype}: {row.cells()} ({row.note})", flush=True)
        print(f"  {time.perf_counter() - start:.1f} s", flush=True)
        if args.page is not None:
            update(args.page, found)
    failed = [row for row in rows if row.is_failure]
    print(f"{len(rows)} operators and types, {sum(row.cases for row in rows)} cases, {len(failed)} failed")
    return 1 if failed else 0


def groups_of(spec: OperatorSpec, number: int) -> list[Group]:
    """Draw the cases of an operator, by the element type of the first operand."""
    drawn: list[tuple[list[Array | None], dict[str, Any]]] = []
    samples = spec.function("samples")
    assert samples is not None
    for seed in count():
        rng = np.random.default_rng(seed)
        for operands, attributes in samples(rng):
            if spec.name in WITH_EDGES and seed % 3 == 1:
                set_edges(operands, rng)
            drawn.append((operands, attributes))
        if len(drawn) >= number:
            break
    by_type: dict[str, Group] = {}

    def add(operands: Sequence[Array | None], attributes: dict[str, Any]) -> None:
        given = with_absent(spec, operands)
        results = run_reference(spec, bind(spec, spec.name, given, attributes), given, 1)
        dtype = next(each.dtype.name for each in given if each is not None)
        group = by_type.setdefault(dtype, Group(spec, dtype))
        group.cases.append(NodeSample(given, attributes, results))

    for operands, attributes in drawn[:number]:
        add(operands, attributes)
    floats = [each for each in drawn if each[0][0] is not None and each[0][0].dtype == np.float32]
    for dtype in further_types(spec, set(by_type)):
        for operands, attributes in floats[:OTHER_CASES]:
            add([cast(spec, index, each, dtype) for index, each in enumerate(operands)], attributes)
    return list(by_type.values())


def set_edges(operands: Sequence[Array | None], rng: np.random.Generator) -> None:
    """Set elements of the first operand to edge values, if it is float."""
    first = operands[0]
    if first is not None and first.dtype.kind == "f" and first.size:
        indices = rng.integers(0, first.size, min(first.size, 3))
        first.reshape(-1)[indices] = rng.choice(EDGES, len(indices))


def further_types(spec: OperatorSpec, have: set[str]) -> list[np.dtype[Any]]:
    """The float types that the type variable of a float32 operand allows, besides those in `have`."""
    if "float32" not in have:
        return []
    for port in spec.inputs:
        allowed = spec.variables.get(port.types) if isinstance(port.types, str) else None
        if allowed and not isinstance(allowed, str | type) and np.float32 in allowed:
            named = [np.dtype(each) for each in allowed]
            return [each for each in named if each.name in TOLERANCES and each.name not in have]
    return []


def cast(spec: OperatorSpec, index: int, operand: Array | None, dtype: np.dtype[Any]) -> Array | None:
    """Cast a float32 operand whose type variable allows `dtype`."""
    port = spec.inputs[min(index, len(spec.inputs) - 1)]
    allowed = spec.variables.get(port.types) if isinstance(port.types, str) else None
    if operand is None or operand.dtype != np.float32 or not allowed or isinstance(allowed, str | type):
        return operand
    return operand.astype(dtype) if dtype in [np.dtype(each) for each in allowed] else operand


def model_of(
    group: Group, constants: Callable[[int], bool], is_dynamic: bool = False, has_widths: bool = False
) -> onnx.ModelProto:
    """
    A model with one node for each case; operands are inputs, or constants where `constants` says so.

    With `is_dynamic`, dimensions of inputs are symbolic; with `has_widths`, all but the last of each.
    """
    nodes: list[onnx.NodeProto] = []
    inputs: list[onnx.ValueInfoProto] = []
    outputs: list[onnx.ValueInfoProto] = []
    weights: list[onnx.TensorProto] = []
    for number, case in enumerate(group.cases):
        names = [f"x{number}_{index}" if each is not None else "" for index, each in enumerate(case.operands)]
        while names and not names[-1]:
            names.pop()
        for index, (name, each) in enumerate(zip(names, case.operands, strict=False)):
            if each is None:
                continue
            if constants(index):
                weights.append(numpy_helper.from_array(each, name))
                continue
            shape: list[str | int] = [*each.shape]
            if is_dynamic:
                shape[: len(shape) - has_widths] = [
                    f"{name}_{axis}" for axis in range(len(shape) - has_widths)
                ]
            kind = helper.np_dtype_to_tensor_dtype(each.dtype)
            inputs.append(helper.make_tensor_value_info(name, kind, shape))
        results = [f"y{number}_{index}" for index in range(len(case.results))]
        spec = group.spec
        nodes.append(
            helper.make_node(spec.name, names, results, f"n{number}", domain=spec.domain, **case.attributes)
        )
        outputs += [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), None)
            for name, each in zip(results, case.results, strict=True)
        ]
    graph = helper.make_graph(nodes, "cases", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=opsets_of(group.spec), ir_version=8)


def feeds_of(group: Group, constants: Callable[[int], bool]) -> dict[str, Array]:
    """The inputs of `model_of`."""
    return {
        f"x{number}_{index}": each
        for number, case in enumerate(group.cases)
        for index, each in enumerate(case.operands)
        if each is not None and not constants(index)
    }


def never(index: int) -> bool:
    """No operand is constant."""
    return False


def after_first(index: int) -> bool:
    """All operands but the first are constant."""
    return index > 0


def always(index: int) -> bool:
    """All operands are constant."""
    return True


def measure(group: Group) -> Row:
    """Measure one operator and element type."""
    row = Row(
        group.spec.name, group.dtype, len(group.cases), " ".join(group.spec.doc.split("\n\n")[0].split())
    )
    row.peer = attempt(row, lambda: expect(group))
    few = group.first(OTHER_CASES)
    row.imported = attempt(row, lambda: check_import(few))
    row.folded = attempt(row, lambda: check_fold(few))
    row.native = attempt(row, lambda: check_native(group, few, row))
    row.dynamic = either(row, lambda constants: check_dynamic(few, constants))
    if row.dynamic == "no":
        row.dynamic = attempt(row, lambda: check_dynamic(few, never, has_widths=True))
    row.ahead = either(row, lambda constants: check_ahead(few, constants))
    return row


def expect(group: Group) -> str:
    """Set the expected results; return who computed them."""
    group.expected = [case.results for case in group.cases]
    if group.dtype == "bfloat16" or "int4" in group.dtype:
        # onnxruntime's Python interface takes no such arrays.
        return "ref"
    try:
        session, _ = open_session(model_of(group, never).SerializeToString(), "cases")
        found: Sequence[Any] = session.run(None, feeds_of(group, never))
    except Exception:  # onnxruntime's errors have no base class of their own
        return "ref"
    results = iter(found)
    group.expected = [[next(results) for _ in case.results] for case in group.cases]
    for case, expected in zip(group.cases, group.expected, strict=True):
        require_equal(group, case.results, expected, "the reference")
    return "ort"


def attempt(row: Row, check: Callable[[], str]) -> str:
    """The outcome of a check: what it returns, or `no`; failures are noted."""
    try:
        return check()
    except (XonncError, AssertionError, RuntimeError) as error:
        row.note = row.note or str(error)[:300]
        return "no"


def either(row: Row, check: Callable[[Callable[[int], bool]], object]) -> str:
    """Whether a check passes with all operands as inputs, else with all but the first as constants."""
    why = ""
    for constants, outcome in ((never, "yes"), (after_first, "constants")):
        try:
            check(constants)
            return outcome
        except (XonncError, AssertionError, RuntimeError) as error:
            why = why or str(error)[:300]
    row.note = row.note or why
    return "no"


def require_equal(group: Group, found: Sequence[Array], expected: Sequence[Array], what: str) -> int:
    """Require results to agree; return the number of elements that differ by one quantization step."""
    steps = 0
    for one, other in zip(found, expected, strict=True):
        if one.dtype != other.dtype or one.shape != other.shape:
            raise XonncError(f"{what}: {one.dtype}{list(one.shape)}, not {other.dtype}{list(other.shape)}")
        first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
        tolerance = OPERATOR_TOLERANCES.get(group.spec.name, TOLERANCES.get(group.dtype, 1e-4))
        if one.dtype.name in QUANTIZED:
            # A tie may be rounded either way.
            tolerance = 1.0 if any(port.name.endswith("scale") for port in group.spec.inputs) else 0.0
            steps += int(np.count_nonzero(first != second))
        finite = np.abs(second[np.isfinite(second)])
        bound = tolerance if one.dtype.kind in "iub" else tolerance * max(1.0, float(finite.max(initial=0)))
        if not np.allclose(first, second, 0, bound, equal_nan=True):
            largest = float(np.nanmax(np.abs(first - second)))
            raise XonncError(f"{what}: differs by {largest:.3g}, more than {bound:.3g}")
    return steps


def check_results(group: Group, found: Sequence[Any], what: str) -> int:
    """Require the results of all cases to agree; return the number of elements that differ by one step."""
    results = iter(np.asarray(each) for each in found)
    steps = 0
    for number, (case, expected) in enumerate(zip(group.cases, group.expected, strict=True)):
        own = [next(results) for _ in case.results]
        steps += require_equal(group, own, expected, f"{what}, case {number}")
    return steps


def check_import(group: Group) -> str:
    """Require an op class of its own, and types that shape inference finds, for dynamic shapes too."""
    for is_dynamic in (False, True):
        module = import_proto(model_of(group, never, is_dynamic), new_context())
        infer_shapes(module)
        ops = [op for op in module.walk() if type(op) is group.spec.kind]
        if len(ops) != len(group.cases):
            raise XonncError(f"import: {len(ops)} of {len(group.cases)} nodes have an op class")
    return "yes"


def check_fold(group: Group) -> str:
    """Require the model to be constant after simplification."""
    proto = simplify(model_of(group, always)).proto()
    values = {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}
    for node in proto.graph.node:
        # Equal results are one constant, of which the others are an Identity.
        if node.op_type not in ("Constant", "Identity"):
            raise XonncError(f"fold: {node.op_type} is left")
        is_copy = node.op_type == "Identity"
        values[node.output[0]] = (
            values[node.input[0]] if is_copy else numpy_helper.to_array(node.attribute[0].t)
        )
    check_results(group, [values[each.name] for each in proto.graph.output], "fold")
    return "yes"


def check_native(group: Group, few: Group, row: Row) -> str:
    """Compile all cases and compare."""
    session = compile_native(model_of(group, never), cache=False)
    row.steps = check_results(group, session.run(None, feeds_of(group, never)), "native")
    if not session.host_calls():
        return "yes"
    session = compile_native(model_of(few, after_first), cache=False)
    check_results(few, session.run(None, feeds_of(few, after_first)), "native")
    return "host" if session.host_calls() else "constants"


def check_dynamic(group: Group, constants: Callable[[int], bool], has_widths: bool = False) -> str:
    """Compile with symbolic dimensions and compare."""
    session = compile_native(model_of(group, constants, True, has_widths), cache=False)
    check_results(group, session.run(None, feeds_of(group, constants)), "dynamic shapes")
    if calls := session.host_calls():
        raise XonncError(f"dynamic shapes: {', '.join(sorted(set(calls)))} on the host")
    return "widths"


def check_ahead(group: Group, constants: Callable[[int], bool]) -> None:
    """Compile to a shared library, load it and compare."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.so"
        compile_artifact(model_of(group, constants), path)
        found = Library(path).run(None, feeds_of(group, constants))
    check_results(group, found, "ahead of time")


if __name__ == "__main__":
    raise SystemExit(main())
