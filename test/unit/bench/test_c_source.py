"""C source of operators on edge values; `bench/edge_values.py` has all of them."""

from __future__ import annotations

from shutil import which
from types import SimpleNamespace

import numpy as np
import pytest

from bench.c_source import comparison
from bench.c_source.comparison import c_disagreements
from xonnc.errors import XonncError
from xonnc.fuzzing.edge_cases import is_valid, variants
from xonnc.fuzzing.edge_templates import TEMPLATES
from xonnc.fuzzing.random_models import Array, Feeds

FIRST = {template.operator: template for template in reversed(TEMPLATES)}

needs_c = pytest.mark.skipif(which("cc") is None, reason="needs a C compiler")


@needs_c
def test_all_types_agree():
    relu = FIRST["Relu"]
    assert not list(c_disagreements([relu, *filter(is_valid, variants(relu))]))


@needs_c
def test_one_without_c_source_leaves_the_others():
    """The sizes of what Unique gives are found at run time."""
    assert not list(c_disagreements([FIRST["Unique"], FIRST["Neg"]]))
    assert not list(c_disagreements([FIRST["Unique"]]))


def test_wrong_programs_are_found(monkeypatch: pytest.MonkeyPatch):
    def opened(_: object) -> object:
        return SimpleNamespace(run=sevens)

    def sevens(_: Feeds) -> list[Array]:
        return [np.full((4, 5), 7, np.float32)]

    monkeypatch.setattr(comparison, "open_model", opened)
    found = list(c_disagreements([FIRST["Neg"]]))
    assert "Neg, zeros: C source gives 7.0 at 0, not -0.0, which is by native code" in found
    assert len(found) == 10


def test_refusals_are_found(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise XonncError("no")

    monkeypatch.setattr(comparison, "compile_artifact", refuse)
    assert list(c_disagreements([FIRST["Neg"]])) == ["Neg: C source: no"]
