"""Reading a loadable that must be sound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from xonnc.errors import RefusalError, XonncError
from xonnc.formats.nvdla.checks.loadable_check import check_loadable, other_targets, read_checked
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.nvdla.writer import write_loadable
from xonnc.targets import load_target, target_names


def test_a_sound_file_is_read(vectors: Path):
    path = vectors / "nv_small" / "conv_k1_int8" / "loadable.nvdla"
    assert read_checked(path, load_target("nv_small")) == read_loadable(path)


def test_all_problems_are_one_error(vectors: Path, tmp_path: Path):
    loadable = read_loadable(vectors / "nv_small" / "conv_k1_int8" / "loadable.nvdla")
    memories = [replace(memory, domain=1) for memory in loadable.memories]
    path = tmp_path / "sram.nvdla"
    write_loadable(replace(loadable, memories=memories), path)
    with pytest.raises(RefusalError) as caught:
        read_checked(path, load_target("nv_small"))
    assert caught.value.reasons == [
        f"{path}: memory {index}: domain 1; the runtime allocates domain 0 (DRAM) only"
        for index in range(len(memories))
    ]


def test_a_damaged_file_is_an_error_of_the_reader(tmp_path: Path):
    path = tmp_path / "a.nvdla"
    path.write_bytes(b"nothing")
    with pytest.raises(XonncError, match="7 bytes: not an NVDLA loadable"):
        read_checked(path, load_target("nv_small"))


def test_other_targets_leave_out_the_one_that_is_asked_for(vectors: Path):
    loadable = read_loadable(vectors / "nv_full" / "conv_k3p1_int8" / "loadable.nvdla")
    fitting = {name for name in target_names() if not check_loadable(loadable, load_target(name))}
    assert len(fitting) > 1
    for name in target_names():
        assert set(other_targets(loadable, load_target(name))) == fitting - {name}
