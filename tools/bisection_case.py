"""A model, inputs for which a form of it is wrong, and the judgement of that form."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import onnx

from xonnc.compiler import InternalCompilerError
from xonnc.errors import XonncError
from xonnc.rewriting.decision_limit import Decision, limiting_decisions
from xonnc.runtime.verification.comparison import Tolerance, compare_values, like_expected
from xonnc.runtime.verification.narrowest_float import narrowest_float
from xonnc.runtime.verification.trial_inputs import Feeds
from xonnc.simplifier import simplify
from xonnc.verification_models import FP16_COSINE, open_proto


@dataclass(frozen=True)
class Case:
    """A model, inputs for which a form of it is wrong, and the tolerance."""

    model: onnx.ModelProto
    feeds: Feeds
    tolerance: Tolerance
    form: str = "native"
    """The engine that is wrong: `simplified`, `native`, `c` or `nvdla`."""
    target: str | None = None
    min_cosine: float | None = None
    """The least cosine similarity, instead of the tolerance; for NVDLA by default that of FP16."""

    def expected(self) -> Sequence[object]:
        """The outputs of the reference."""
        return open_proto(self.model).run(self.feeds)

    def with_model(self, model: onnx.ModelProto, form: str | None = None) -> Case:
        """The case of another model, or of another engine."""
        return replace(self, model=model, form=form or self.form)

    def is_wrong(self, limit: int | None, expected: Sequence[object] | None = None) -> bool:
        """Whether a form compiled with at most `limit` decisions gives other outputs than the reference."""
        expected = self.expected() if expected is None else expected
        try:
            with limiting_decisions(limit):
                outputs = run_form(self)
        except XonncError:
            # Without some decisions it may be impossible to compile, which is no wrong result.
            return False
        except InternalCompilerError:
            # The checks of a loadable have found what would be wrong.
            return True
        return any(self.differs(a, b) for a, b in zip(expected, outputs, strict=True))

    def decisions(self, limit: int | None) -> Sequence[Decision]:
        """The decisions made in compiling this form, at most `limit`."""
        with limiting_decisions(limit) as decisions, suppress(InternalCompilerError):
            run_form(self)
        return decisions.made

    def differs(self, expected: object, found: object) -> bool:
        """Whether a value of this form differs from the expected one."""
        is_exact = self.form != "nvdla"
        tolerance = replace(self.tolerance, narrowest=narrowest_float([self.model]))
        made = compare_values(expected, found if is_exact else like_expected(expected, found), tolerance)
        if is_exact and self.min_cosine is None:
            return not made.passed
        least = FP16_COSINE if self.min_cosine is None else self.min_cosine
        return bool(made.mismatch) or not made.cosine >= least


def run_form(case: Case) -> Sequence[object]:
    """The outputs of the form of a case: compiled code, or the simplified model in the reference."""
    if case.form == "simplified":
        return open_proto(simplify(case.model).proto()).run(case.feeds)
    target = case.target if case.form in ("native", "nvdla") else None
    return open_proto(case.model, case.form, target=target).run(case.feeds)
