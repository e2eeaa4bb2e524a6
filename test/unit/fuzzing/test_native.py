"""Random models as native code, against what runs them and with wrong inputs mixed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.fuzzing.campaign import trial
from xonnc.fuzzing.differential import CRASHES, DIFFERS, DOES_NOT_RUN, Original
from xonnc.fuzzing.generate import sample
from xonnc.fuzzing.native import LACKS, NATIVE, TAKES_WRONG, native_failure
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

SEEDS = 48
PARTS = 4

SEED = 0
"""A model without failures, to plant some in."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_differs_and_nothing_crashes(part: int) -> None:
    found = [trial(seed, [NATIVE]) for seed in range(part, SEEDS, PARTS)]
    wrong = [(one.seed, failure) for one in found for failure in one.failures if failure.kind != LACKS]
    assert not [f"seed {seed}: {failure}" for seed, failure in wrong]
    assert sum(not one.failures for one in found) > 0.6 * len(found)


def plant(monkeypatch: pytest.MonkeyPatch, run: Callable[..., object]) -> None:
    monkeypatch.setattr(Session, "run", run)


def raising(error: Exception) -> Callable[..., object]:
    def run(*_: object) -> object:
        raise error

    return run


def other(session: Session, names: object, feeds: Mapping[str, object]) -> Sequence[object]:
    return [np.full([size or 1 for size in port.shape or ()], 77, np.float32) for port in session.outputs]


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (raising(ValueError("nowhere")), CRASHES),
        (raising(XonncError("no room")), DOES_NOT_RUN),
        (raising(XonncError("the reference evaluator fails: no kernel")), LACKS),
        (other, DIFFERS),
    ],
)
def test_kinds_of_failures(monkeypatch: pytest.MonkeyPatch, run: Callable[..., object], kind: str) -> None:
    drawn = sample(SEED)
    original = Original(drawn.model, drawn.feeds)
    assert native_failure(original) is None
    plant(monkeypatch, run)
    failure = native_failure(original)
    assert failure is not None
    assert failure.kind == kind


def test_wrong_inputs_that_are_taken_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = sample(SEED)
    original = Original(drawn.model, drawn.feeds)
    original.runs = original.runs[:1]
    good = compile_native(drawn.model).run(None, drawn.feeds[0])

    def take(*_: object) -> object:
        return good

    plant(monkeypatch, take)
    failure = native_failure(original)
    assert failure is not None
    assert failure.kind == TAKES_WRONG
