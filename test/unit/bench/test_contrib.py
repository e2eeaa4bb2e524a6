"""The table of contrib operators: measured, read back, and complete in the documentation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench import contrib, contrib_models
from bench.contrib_page import MODELS, read_rows
from xonnc.plugins import bundled
from xonnc.plugins.operators import OperatorSpec

PAGE = Path(__file__).resolve().parents[3] / "docs" / "contrib-operators.md"


def test_operators_are_measured_and_rows_are_replaced(tmp_path: Path):
    page = tmp_path / "page.md"
    assert contrib.main(["--match", "^(Scale|Trilu)$", "--cases", "4", "--page", str(page)]) == 0
    page.write_text(page.read_text() + MODELS + "kept\n")
    before = read_rows(page.read_text())
    assert {row.operator for row in before} == {"Scale", "Trilu"}
    # onnxruntime's Python interface takes no bfloat16.
    assert {row.peer for row in before if "bfloat16" in row.dtype} == {"ref"}
    assert ("Trilu", "ort") in {(row.operator, row.peer) for row in before}
    assert all(row.cells() == "yes | yes | yes | yes | yes" for row in before if row.operator == "Scale")
    assert contrib.main(["--match", "^Scale$", "--cases", "8", "--page", str(page)]) == 0
    after = {(row.operator, row.dtype): row.cases for row in read_rows(page.read_text())}
    assert after["Scale", "float32, float16"] == 11
    assert page.read_text().endswith(f"{MODELS}kept\n")


def test_models_that_are_not_measured_keep_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def row(name: str, model: Any, rounds: int) -> str:
        return f"| {name} | measured {rounds} |"

    monkeypatch.setattr(contrib_models, "row_of", row)
    monkeypatch.setattr(contrib_models, "MODELS", dict.fromkeys(("a", "b b", "c"), dict[str, str]))
    page = tmp_path / "page.md"
    head = f"operators{MODELS}{contrib_models.HEAD}"
    page.write_text(f"{head}| gone | 1 |\n| c | 2 |\n| b b | 3 |\n")
    assert contrib_models.main(["--match", "^(a|c)$", "--rounds", "4", "--page", str(page)]) == 0
    assert page.read_text() == f"{head}| a | measured 4 |\n| b b | 3 |\n| c | measured 4 |\n"
    # The text above the table may have changed; a page may have no such section.
    page.write_text(f"operators{MODELS}earlier text\n| c | 2 |\n")
    for rest in ("| c | 2 |\n", ""):
        assert contrib_models.main(["--match", "b", "--page", str(page)]) == 0
        assert page.read_text() == f"{head}| b b | measured 7 |\n{rest}"
        page.write_text("operators")


def test_no_model_matches(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        contrib_models.main(["--match", "resnet19"])
    assert "--match resnet19: there are resnet18 static QOperator, " in capsys.readouterr().err


def test_the_page_has_the_section_of_the_models():
    section = PAGE.read_text().partition(MODELS)[2]
    assert section.startswith(contrib_models.HEAD)
    assert [
        line.split("|")[1].strip() for line in section.removeprefix(contrib_models.HEAD).splitlines()
    ] == [*contrib_models.MODELS]


def test_results_that_differ_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    compute = contrib.run_reference

    def wrong(spec: OperatorSpec, bound: Any, arrays: Sequence[Any], count: int) -> Sequence[Any]:
        return [each + 1 for each in compute(spec, bound, arrays, count)]

    monkeypatch.setattr(contrib, "run_reference", wrong)
    assert contrib.main(["--match", "^Scale$", "--cases", "1"]) == 1
    assert "the reference: differs by 1, more than 0.00" in capsys.readouterr().out


def test_the_page_has_every_operator_without_failures():
    rows = read_rows(PAGE.read_text())
    assert {row.operator for row in rows} == {spec.name for spec in bundled.load("microsoft").operators}
    assert not [row for row in rows if row.is_failure]
