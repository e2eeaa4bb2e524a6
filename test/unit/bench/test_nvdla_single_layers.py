"""The table of single layers: cases that agree, and those that do not."""

from __future__ import annotations

import pytest

from bench import nvdla_single_layers
from bench.nvdla_single_layers import main, measured
from bench.nvdla_zoo import Configuration
from oracles.nvdla.random_networks import NetworkRecipe
from oracles.nvdla.sweep import Outcome


def test_a_row_for_each_layer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.argv", ["nvdla_single_layers.py", "conv", "square", "--cases", "2"])
    assert main() == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    cells = {row[1].strip(): [cell.strip() for cell in row[2:6]] for row in rows}
    assert cells == {"conv": ["2 of 2"] * 4, "square": ["2 of 2", "–", "–", "–"]}


def test_cases_that_differ_are_failures_and_refused_ones_are_none(monkeypatch: pytest.MonkeyPatch):
    def outcome_of(recipe: NetworkRecipe, target: str) -> Outcome:
        kinds = {0: "refused", 1: "agrees", 2: "differs"}
        return Outcome(kinds.get(recipe.seed, "agrees"), "3 of 9 integers, by up to 1")

    monkeypatch.setattr(nvdla_single_layers, "outcome_of", outcome_of)
    found = measured("conv", Configuration("nv_small", "INT8"), 3, 0)
    assert str(found) == "2 of 3"
    assert found.failure.startswith("nv_small INT8: int8 seed 2 ")
    assert found.failure.endswith("conv:2: 3 of 9 integers, by up to 1")


def test_an_unknown_layer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.argv", ["nvdla_single_layers.py", "convolution"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "no layer convolution; there are conv, depthwise, " in capsys.readouterr().err
