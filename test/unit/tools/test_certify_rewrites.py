"""`xonnc certify-rewrites` from its command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xonnc.fuzzing.certification import smt
from xonnc.tools.driver import main

ARGUMENTS = ["certify-rewrites", "--no-z3", "-n", "2"]


def test_certificates_are_reported_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    assert main([*ARGUMENTS, "--rule", "FuseTransposePattern", "-o", str(page)]) == 0
    assert "1 of 1 rules (100.0 %) have a proof" in capsys.readouterr().out
    assert "| `FuseTransposePattern` | same terms | same bits | 8 |" in page.read_text()


def test_certificates_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--rule", "shape-related", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["table"] for one in found} == {"shape-related"}
    assert not any(one["wrong"] for one in found)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--rule", "FuseTransposePatern"], 2, "no such rule or table; did you mean 'FuseTransposePattern'?"),
        (["-n", "0"], 1, "--count 0: at least one instance is needed"),
        (["--seed", "-1"], 1, "--seed -1: seeds are 0 and above"),
    ],
)
def test_bad_arguments(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ARGUMENTS, *arguments]) == code
    assert message in capsys.readouterr().err


def test_without_z3(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(smt, "is_installed", lambda: False)
    assert main(["certify-rewrites"]) == 1
    assert "pip install 'xonnc[certify]', or give --no-z3" in capsys.readouterr().err
