"""
Bisection of a wrong result: the pass and the decision of the compiler that make it, and a reduced model.

Simplification is bisected first, with the reference running the simplified model, then native code of the
simplified model, then C source or a loadable if that is wrong. The search is over the number of decisions
allowed (`rewriting/decision_limit.py`).

If code is wrong without any, a kernel is, and the first wrong value names its node; or values share memory
wrongly, and the value that needs memory of its own names it. The kernels are interpreted after each stage
(`bisection_stages.py`) to tell which pass makes them wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xonnc.errors import XonncError
from xonnc.fuzzing.case_reduction import reduced
from xonnc.fuzzing.edits import ReductionCase
from xonnc.fuzzing.validity import invalidity
from xonnc.rewriting.decision_limit import Decision
from xonnc.simplifier import simplify
from xonnc.tools.bisection_case import Case
from xonnc.tools.bisection_stages import CONVERT, PLAN, first_wrong_pass, open_code
from xonnc.transforms.simplify_onnx import pass_of_rule
from xonnc.verification_models import open_proto
from xonnc.verifier import value_names, with_outputs

MAX_CANDIDATES = 400
"""Most candidates of the reduction."""

FUSE, LAYOUT = "fuse-onnx", "assign-layout"
NODE_BY_NODE = (FUSE, LAYOUT)
"""Passes that are switched off to compute each value by a kernel of its own."""


@dataclass(frozen=True)
class Culprit:
    """The criterion for a wrong result."""

    pass_name: str
    what: str
    """The rule, the kind of fusion, or the operator whose kernel is wrong."""
    node: str
    decisions: int
    """The number of decisions up to this one; 0 if the result is wrong without any."""
    form: str
    """The engine that is wrong: `simplified`, `native`, `c` or `nvdla`."""


def bisect(case: Case) -> Culprit | None:
    """
    Find what makes the result of the case's form wrong; `None` if neither it nor a form before it is.

    The simplified model comes before any code, native code before C source.
    """
    simplifying = case.with_model(case.model, "simplified")
    if simplifying.is_wrong(None):
        return _guilty_decision(simplifying)
    if case.form == "simplified":
        return None
    simplified = simplify(case.model).proto()
    for form in ("native", "c") if case.form == "c" else (case.form,):
        for model in (simplified, case.model):
            each = case.with_model(model, form)
            if each.is_wrong(None):
                return _guilty_decision(each)
    return None


def _guilty_decision(case: Case) -> Culprit:
    expected = case.expected()
    if case.is_wrong(0, expected):
        return _wrong_without_decisions(case)
    low, high = 0, len(case.decisions(None))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if case.is_wrong(middle, expected) else (middle, high)
    last = case.decisions(high)[-1]
    if case.form in ("native", "c") and last.pass_name in NODE_BY_NODE:
        return _wrong_after(case, expected, last, high)
    return Culprit(pass_of_rule(last.what) or last.pass_name, last.what, last.node, high, case.form)


def _wrong_without_decisions(case: Case) -> Culprit:
    if case.form == "simplified":
        return Culprit("import and export", "round trip", "", 0, case.form)
    if case.form == "nvdla":
        return _first_wrong_layer(case)
    return _first_wrong_kernel(case, NODE_BY_NODE) or _wrong_memory(case)


def _wrong_after(case: Case, expected: Sequence[object], last: Decision, limit: int) -> Culprit:
    """What is wrong with the kernels that a decision leads to, or the decision itself."""
    if last.pass_name == LAYOUT:
        found = _first_wrong_kernel(case, (FUSE,))
        if found is not None:
            return found
    stage = first_wrong_pass(case, expected, limit=limit)
    pass_name = last.pass_name if stage in (None, CONVERT) else stage
    return Culprit(pass_name, last.what, last.node, limit, case.form)


def _first_wrong_kernel(case: Case, disabled: Sequence[str]) -> Culprit | None:
    """
    The first node whose value in compiled code is wrong; `None` if all are right.

    Each is computed by a kernel of its own and, as an output, has memory of its own.
    """
    names = value_names(case.model)
    model = with_outputs(case.model, names)
    found = open_code(model, case.form, disabled).run(case.feeds)
    for name, a, b in zip(names, open_proto(model).run(case.feeds), found, strict=True):
        if case.differs(a, b):
            part = case.with_model(with_outputs(case.model, [name]))
            stage = first_wrong_pass(part, [a], disabled=disabled) or CONVERT
            return _of_value(case, stage, name)
    return None


def _wrong_memory(case: Case) -> Culprit:
    """The node whose value, if it has memory of its own, makes the outputs right."""
    outputs = [output.name for output in case.model.graph.output]
    for name in (name for name in value_names(case.model) if name not in outputs):
        apart = case.with_model(with_outputs(case.model, [*outputs, name]))
        if not apart.is_wrong(0):
            return _of_value(case, PLAN, name, "shared memory")
    return Culprit(CONVERT, "unknown kernel", "", 0, case.form)


def _first_wrong_layer(case: Case) -> Culprit:
    """The first node whose value on NVDLA is wrong, by binary search: later values depend on it."""
    names = value_names(case.model)
    low, high = 0, len(names)
    while high - low > 1:
        middle = (low + high) // 2
        part = case.with_model(with_outputs(case.model, [names[middle - 1]]))
        low, high = (low, middle) if part.is_wrong(0) else (middle, high)
    return _of_value(case, "convert-onnx-to-dla", names[high - 1])


def _of_value(case: Case, pass_name: str, name: str, what: str | None = None) -> Culprit:
    """The culprit for a wrong value: the node that computes it."""
    node = next(node for node in case.model.graph.node if name in node.output)
    return Culprit(pass_name, what or node.op_type, node.name or name, 0, case.form)


def reduced_case(case: Case, seconds: float, step: Callable[[int], None]) -> Case:
    """A smaller model that is still wrong, searched for at most so many seconds."""
    end, tries = time.monotonic() + seconds, 0

    def still_wrong(candidate: ReductionCase) -> bool:
        nonlocal tries
        tries += 1
        step(candidate.nodes)
        if time.monotonic() > end or not candidate.feeds or invalidity(candidate.model):
            return False
        try:
            return replace(case, model=candidate.model, feeds=candidate.feeds[0]).is_wrong(None)
        except XonncError:
            return False

    smaller = reduced(ReductionCase(case.model, (case.feeds,)), still_wrong, MAX_CANDIDATES)
    return replace(case, model=smaller.model, feeds=smaller.feeds[0])
