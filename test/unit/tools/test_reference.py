"""The generated pages of the documentation are what the code says."""

from __future__ import annotations

import pytest

from xonnc.tools.pass_reference import passes
from xonnc.tools.reference import ROOT, generators, operators


@pytest.mark.parametrize("name", sorted(generators()))
def test_a_page_is_up_to_date(name: str):
    assert (ROOT / "docs" / name).read_text() == generators()[name](), "run: python -m xonnc.tools.reference"


def test_every_pass_has_a_lit_file_named_as_it():
    files = {path.stem for path in (ROOT / "test" / "lit").rglob("*.mlir")}
    assert sorted(set(passes()) - files) == []


def test_operators_name_their_versions():
    assert operators()["Relu"] == ("onnx.Relu", "onnx.ReluV1")
