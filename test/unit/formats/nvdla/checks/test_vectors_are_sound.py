"""The golden vectors run on the reference stack: the checks have nothing to say about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.targets import load_target


@pytest.mark.parametrize("configuration", ["nv_full", "nv_large", "nv_small"])
def test_nothing_is_found(configuration: str, vectors: Path):
    target = load_target(configuration)
    files = sorted((vectors / configuration).glob("*/loadable.nvdla"))
    assert len(files) > 15
    found = {file.parent.name: list(map(str, check_loadable(read_loadable(file), target))) for file in files}
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_a_file_for_another_configuration_is_refused(vectors: Path):
    small = load_target("nv_small")
    files = sorted((vectors / "nv_full").glob("conv_*/loadable.nvdla"))
    assert len(files) > 15
    assert all(check_loadable(read_loadable(file), small) for file in files)


def test_what_a_small_core_lacks(vectors: Path):
    found = {
        name: {
            problem.reason
            for problem in check_loadable(
                read_loadable(vectors / "nv_full" / name / "loadable.nvdla"), load_target("nv_large")
            )
        }
        for name in ("bdma_1", "rubik_contract_int8", "emu_power")
    }
    assert "op_type 0 (BDMA); nv_large has no such engine" in found["bdma_1"]
    assert "op_type 5 (RUBIK); nv_large has no such engine" in found["rubik_contract_int8"]
    assert "src_precision FP16; nv_large computes in int8" in found["emu_power"]
