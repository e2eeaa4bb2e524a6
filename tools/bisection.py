"""
Bisection of a wrong result: the pass and the decision of the compiler that make it, and a reduced model.

Simplification is bisected first, with the reference running the simplified model, then native code of the
simplified model. The search is over the number of decisions allowed (`rewriting/decision_limit.py`). If
native code is wrong without any, a kernel is: the first wrong value names its node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import onnx

from xonnc.errors import XonncError
from xonnc.fuzzing.case_reduction import reduced
from xonnc.fuzzing.edits import ReductionCase
from xonnc.fuzzing.validity import invalidity
from xonnc.rewriting.decision_limit import Decision, limiting_decisions
from xonnc.runtime.verification.comparison import Tolerance, compare_values
from xonnc.runtime.verification.trial_inputs import Feeds
from xonnc.simplifier import simplify
from xonnc.transforms.simplify_onnx import pass_of_rule
from xonnc.verification_models import open_proto
from xonnc.verifier import value_names, with_outputs

MAX_CANDIDATES = 400
"""Most candidates of the reduction."""

NODE_BY_NODE = ("fuse-onnx", "assign-layout")
"""Passes that are switched off to compute each value by a kernel of its own."""


@dataclass(frozen=True)
class Culprit:
    """What makes a result wrong."""

    pass_name: str
    what: str
    """The rule, the kind of fusion, or the operator whose kernel is wrong."""
    node: str
    decisions: int
    """The number of decisions up to this one; 0 if the result is wrong without any."""
    is_native: bool
    """Whether native code is wrong, not the simplified model."""


@dataclass(frozen=True)
class Case:
    """A model, inputs for which a form of it is wrong, and the tolerance."""

    model: onnx.ModelProto
    feeds: Feeds
    tolerance: Tolerance

    def expected(self) -> Sequence[object]:
        """The outputs of the reference."""
        return open_proto(self.model).run(self.feeds)

    def is_wrong(self, limit: int | None, is_native: bool, expected: Sequence[object] | None = None) -> bool:
        """Whether a form compiled with at most `limit` decisions gives other outputs than the reference."""
        expected = self.expected() if expected is None else expected
        try:
            with limiting_decisions(limit):
                outputs = run_form(self.model, self.feeds, is_native)
        except XonncError:
            # Without some decisions it may be impossible to compile, which is no wrong result.
            return False
        pairs = zip(expected, outputs, strict=True)
        return not all(compare_values(a, b, self.tolerance).passed for a, b in pairs)


def run_form(model: onnx.ModelProto, feeds: Feeds, is_native: bool) -> Sequence[object]:
    """The outputs of native code, or of the simplified model in the reference."""
    made = open_proto(model, "native") if is_native else open_proto(simplify(model).proto())
    return made.run(feeds)


def bisect(case: Case) -> Culprit | None:
    """Find what makes the result of the simplified model or of native code wrong; `None` if neither is."""
    if case.is_wrong(None, is_native=False):
        return _guilty_decision(case, is_native=False)
    simplified = Case(simplify(case.model).proto(), case.feeds, case.tolerance)
    if simplified.is_wrong(None, is_native=True):
        return _guilty_decision(simplified, is_native=True)
    return _guilty_decision(case, is_native=True) if case.is_wrong(None, is_native=True) else None


def _guilty_decision(case: Case, is_native: bool) -> Culprit:
    expected = case.expected()
    with limiting_decisions(None) as decisions:
        run_form(case.model, case.feeds, is_native)
    is_wrong = partial(case.is_wrong, is_native=is_native, expected=expected)
    if is_wrong(0):
        return _wrong_kernel(case) if is_native else Culprit("import and export", "round trip", "", 0, False)
    low, high = 0, len(decisions.made)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_wrong(middle) else (middle, high)
    with limiting_decisions(high) as decisions:
        run_form(case.model, case.feeds, is_native)
    last: Decision = decisions.made[-1]
    return Culprit(pass_of_rule(last.what) or last.pass_name, last.what, last.node, high, is_native)


def _wrong_kernel(case: Case) -> Culprit:
    """The first node whose native value is wrong, each computed by a kernel of its own."""
    from xonnc.native import compile_native

    names = value_names(case.model)
    model = with_outputs(case.model, names)
    session = compile_native(model, cache=False, disable_pass=NODE_BY_NODE)
    expected, found = open_proto(model).run(case.feeds), session.run(None, case.feeds)
    for name, a, b in zip(names, expected, found, strict=True):
        if not compare_values(a, b, case.tolerance).passed:
            node = next(node for node in case.model.graph.node if name in node.output)
            return Culprit("convert-onnx-to-krnl", node.op_type, node.name or name, 0, True)
    return Culprit("convert-onnx-to-krnl", "unknown kernel", "", 0, True)


def reduced_case(case: Case, is_native: bool, seconds: float, step: Callable[[int], None]) -> Case:
    """A smaller model that is still wrong, searched for at most so many seconds."""
    end, tries = time.monotonic() + seconds, 0

    def still_wrong(candidate: ReductionCase) -> bool:
        nonlocal tries
        tries += 1
        step(candidate.nodes)
        if time.monotonic() > end or not candidate.feeds or invalidity(candidate.model):
            return False
        try:
            return Case(candidate.model, candidate.feeds[0], case.tolerance).is_wrong(None, is_native)
        except XonncError:
            return False

    smaller = reduced(ReductionCase(case.model, (case.feeds,)), still_wrong, MAX_CANDIDATES)
    return Case(smaller.model, smaller.feeds[0], case.tolerance)
