"""Makes a failing model small: edits are kept as long as what remains still fails."""

from __future__ import annotations

from collections.abc import Callable

from xonnc.errors import XonncError
from xonnc.fuzzing.differential import Failure, Original
from xonnc.fuzzing.edits import EDITS, Case, Edit
from xonnc.fuzzing.verdict import failure_of

MOST_TRIES = 3000
"""Candidates tried at most; with what is left after so many, a person goes on."""

StillFails = Callable[[Case], bool]


def reduced(case: Case, still_fails: StillFails, most_tries: int = MOST_TRIES) -> Case:
    """The smallest case found by edits that `still_fails` holds for; the case itself if there is none."""
    search = _Search(still_fails, most_tries)
    changed = True
    while changed:
        changed = False
        for edit in EDITS:
            smaller = search.exhausted(edit, case)
            changed |= smaller is not case
            case = smaller
    return case


class _Search:
    """Counts candidates, so that the search ends."""

    def __init__(self, still_fails: StillFails, most_tries: int):
        self.still_fails = still_fails
        self.tries = most_tries

    def exhausted(self, edit: Edit, case: Case) -> Case:
        """The case after an edit was applied until it finds nothing more."""
        found: Case | None = case
        while found is not None:
            case, found = found, self._first(edit, found)
        return case

    def _first(self, edit: Edit, case: Case) -> Case | None:
        for candidate in edit(case):
            if self.tries <= 0:
                return None
            self.tries -= 1
            if candidate.model.graph.output and self.still_fails(candidate):
                return candidate
        return None


def reduced_failure(case: Case, failure: Failure) -> tuple[Case, Failure]:
    """A smaller case that fails in the same way at the same level, and how it fails."""

    def still_fails(candidate: Case) -> bool:
        found = _failure(candidate, failure.level)
        return found is not None and found.kind == failure.kind

    smaller = reduced(case, still_fails)
    return smaller, _failure(smaller, failure.level) or failure


def _failure(case: Case, level: str) -> Failure | None:
    try:
        return failure_of(Original(case.model, case.feeds), level)
    except XonncError:
        return None
