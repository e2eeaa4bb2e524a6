"""Test-case reduction: greedily apply edits that keep the failure."""

from __future__ import annotations

import re
from collections.abc import Callable

from xonnc.errors import XonncError
from xonnc.fuzzing.differential import DIFFERS, INTERFACE, LevelFailure, Original
from xonnc.fuzzing.edits import EDITS, Edit, ReductionCase
from xonnc.fuzzing.failures import failure_of

MAX_CANDIDATES = 3000
"""Most candidates to try."""

StillFails = Callable[[ReductionCase], bool]


def reduced(
    case: ReductionCase, still_fails: StillFails, max_candidates: int = MAX_CANDIDATES
) -> ReductionCase:
    """The smallest case found for which `still_fails` holds; the case itself if no edit applies."""
    search = _ReductionSearch(still_fails, max_candidates)
    changed = True
    while changed:
        changed = False
        for edit in EDITS:
            smaller = search.exhausted(edit, case)
            changed |= smaller is not case
            case = smaller
    return case


class _ReductionSearch:
    """Greedy search with a budget of candidates."""

    def __init__(self, still_fails: StillFails, max_candidates: int):
        self.still_fails = still_fails
        self.tries = max_candidates

    def exhausted(self, edit: Edit, case: ReductionCase) -> ReductionCase:
        """Apply an edit until no candidate of it fails."""
        found: ReductionCase | None = case
        while found is not None:
            case, found = found, self._first(edit, found)
        return case

    def _first(self, edit: Edit, case: ReductionCase) -> ReductionCase | None:
        for candidate in edit(case):
            if self.tries <= 0:
                return None
            self.tries -= 1
            if candidate.model.graph.output and self.still_fails(candidate):
                return candidate
        return None


def reduced_failure(case: ReductionCase, failure: LevelFailure) -> tuple[ReductionCase, LevelFailure]:
    """
    A smaller case with the same kind of failure at the same level, and its failure.

    An error must stay the same but for names and sizes: edits make invalid models with errors of their own.
    """

    def still_fails(candidate: ReductionCase) -> bool:
        found = _failure(candidate, failure.level)
        return found is not None and found.kind == failure.kind and _error(found) == _error(failure)

    smaller = reduced(case, still_fails)
    return smaller, _failure(smaller, failure.level) or failure


def _error(failure: LevelFailure) -> str:
    """The text of an error without its names and numbers; empty for wrong outputs, which edits change."""
    return "" if failure.kind in (DIFFERS, INTERFACE) else re.sub(r"\w*\d\w*", "", failure.detail)


def _failure(case: ReductionCase, level: str) -> LevelFailure | None:
    try:
        return failure_of(Original(case.model, case.feeds), level)
    except XonncError:
        return None
