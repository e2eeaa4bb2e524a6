"""Times of the parts of a simplification."""

from __future__ import annotations

import pytest

from xonnc.rewriting.timeline import recording, timed


def never() -> int:
    raise AssertionError("counted, although nothing is recorded")


def test_spans_are_nested():
    with recording() as spans, timed("outer"):
        with timed("inner", lambda: 3):
            sum(range(1000))
        with pytest.raises(KeyError), timed("failing"):
            raise KeyError
    assert [(span.name, span.nodes) for span in spans] == [("inner", 3), ("failing", None), ("outer", None)]
    inner, failing, outer = spans
    assert outer.start <= inner.start <= inner.start + inner.seconds <= failing.start
    assert inner.seconds + failing.seconds <= outer.seconds
    assert inner.cpu_seconds >= 0


def test_nothing_is_recorded_unasked():
    with timed("part", never):
        pass
    with recording() as spans:
        pass
    assert spans == []
