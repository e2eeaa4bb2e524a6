"""Every golden vector bit for bit in exact mode, and within the stated tolerance in fast mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from golden_vectors import ALL, FEW, VECTORS

from oracles.golden import GoldenCase, golden_cases, run_case, summary
from xonnc.runtime.nvdla.simulator import Mode


def cases() -> list[GoldenCase]:
    return golden_cases(VECTORS)


ENGINES = sorted({(case.engine, case.config) for case in cases()})


def test_all_cases_are_listed():
    found = cases()
    if VECTORS == ALL:
        assert len(found) == 544
        assert sum(case.core for case in found) == 174
    assert len({(case.engine, case.config, case.precision) for case in found}) == 42


def test_the_repository_holds_some_of_each_kind():
    few = golden_cases(FEW)
    assert len({(case.engine, case.config, case.precision) for case in few}) == 42
    assert all((case.folder / "loadable.nvdla").is_file() for case in few)


@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize(("engine", "config"), ENGINES)
def test_engine(engine: str, config: str, mode: Mode):
    chosen = [case for case in cases() if (case.engine, case.config) == (engine, config)]
    mismatches = {case.name: list(map(str, run_case(case, mode))) for case in chosen}
    assert {name: found for name, found in mismatches.items() if found} == {}


def test_a_wrong_recorded_output_is_a_mismatch(tmp_path: Path):
    source = next(case for case in cases() if case.name == "nv_small/sdp_identity_int8")
    for file in source.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    recorded = np.fromfile(tmp_path / "output_0.bin", np.uint8)
    recorded[0] ^= 1
    recorded.tofile(tmp_path / "output_0.bin")
    case = GoldenCase(tmp_path, source.config, source.precision, source.engine, source.core)
    (mismatch,) = run_case(case, "exact")
    assert (mismatch.output, mismatch.wrong, mismatch.first) == (0, 1, (0, 0, 0))
    assert f"1 of {mismatch.elements} elements differ, first at (0, 0, 0)" in str(mismatch)


def test_summary_counts_by_engine_and_configuration():
    a, b = (c for c in cases() if c.name in ("nv_small/sdp_identity_int8", "nv_small/sdp_ocvt_int8"))
    assert summary([(a, True), (b, False)]) == {("sdp", "nv_small int8"): (1, 2)}
