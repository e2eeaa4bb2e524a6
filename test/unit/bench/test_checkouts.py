"""The comparison of two checkouts: ratios, tables, and a run of this checkout against itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.checkouts import BEFORE, Comparison, compare, main, table
from bench.kernels import build_model, matmul_case
from bench.latency.peers import BASELINE, XONNC

ROOT = Path(__file__).resolve().parents[3]


def row(name: str, now: float, before: float, other: float) -> Comparison:
    return Comparison(name, False, {XONNC: [now] * 20, BEFORE: [before] * 20, BASELINE: [other] * 20})


def test_ratios_are_of_minima_and_of_tenth_percentiles():
    found = Comparison("a", False, {XONNC: [0.001, *[0.003] * 99], BASELINE: [0.002] * 100})
    assert found.ratios(XONNC, BASELINE) == pytest.approx((0.5, 1.5))
    assert "\\*" in table([Comparison("a", False, found.seconds | {BEFORE: [0.002] * 100})])


def test_the_mean_leaves_out_stress_tests_and_failures():
    failed = Comparison("b", False, {}, {BEFORE: "no answer"})
    lines = table([row("a", 1, 2, 4), row("chain5k", 1, 100, 100), failed]).splitlines()
    assert lines[2] == "| a | 1000.00 | 2000.00 | 4000.00 | 0.25 (0.25) | 0.50 (0.50) | 0.50 (0.50) |"
    assert lines[4].startswith("| b | before: no answer |")
    assert lines[-1] == "| geometric mean of 1 | | | | 0.25 (0.25) | 0.50 (0.50) | 0.50 (0.50) |"
    assert "mean" not in table([failed])


def test_tables_of_earlier_measurements_go_to_the_page(tmp_path: Path):
    page, file = tmp_path / "page.md", tmp_path / "rows.json"
    file.write_text(json.dumps([vars(row("a", 1, 2, 4))]))
    assert main(["--read", str(file), "--title", "A machine", "--text", "Words.", "--page", str(page)]) == 0
    assert page.read_text().startswith("## A machine, one thread\n\nWords.\n\n| network | ms |")


def test_a_checkout_against_itself(tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(build_model(matmul_case(8, 16, 16)).SerializeToString())
    found = compare("a", path, ROOT, 0.1, is_kernel=True)
    assert found.failures == {}
    assert set(found.seconds) == {XONNC, BEFORE, BASELINE}
    assert all(each > 0 for times in found.seconds.values() for each in times)
