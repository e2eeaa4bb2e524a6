"""The processor at hand: caches as Linux describes them, in whatever state a virtual machine leaves that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from xonnc.native_compilation import CompileOptions, resolve_processor
from xonnc.runtime.native import host_processor
from xonnc.runtime.native.host_processor import caches_of, host_core
from xonnc.targets.cores import load_core


def described(folder: Path, *caches: tuple[str, str, str, str, str]) -> Path:
    for number, cache in enumerate(caches):
        index = folder / f"index{number}"
        index.mkdir()
        names = ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
        for name, text in zip(names, cache, strict=True):
            if text:
                (index / name).write_text(f"{text}\n")
    return folder


def test_data_caches_are_read(tmp_path: Path):
    folder = described(
        tmp_path,
        ("1", "Data", "48K", "12", "64"),
        ("1", "Instruction", "32K", "8", "64"),
        ("2", "Unified", "2M", "16", "64"),
        ("3", "Unified", "61440K", "0", ""),
        ("4", "Unified", "1G", "16", "64"),
    )
    assert caches_of(folder) == {
        "l1_bytes": 48 << 10,
        "l1_ways": 12,
        "l2_bytes": 2 << 20,
        "l2_ways": 16,
        "l3_bytes": 60 << 20,
        "line_bytes": 64,
    }


@pytest.mark.parametrize(
    ("size", "expected"),
    [("512", 512), ("48K", 48 * 1024), ("2M", 2 * 1024**2), ("1G", 1024**3), ("0K", 0)],
)
@pytest.mark.parametrize("level", ["1", "2", "3"])
def test_units_of_sizes(tmp_path: Path, level: str, size: str, expected: int):
    assert caches_of(described(tmp_path, (level, "Data", size, "1", "1"))) == {
        f"l{level}_bytes": expected,
        f"l{level}_ways": 1,
        "line_bytes": 1,
    }


def test_what_is_not_understood_is_left_out(tmp_path: Path):
    assert caches_of(tmp_path / "absent") == {}
    assert caches_of(described(tmp_path, ("1", "Data", "large", "8", "64"), ("", "", "", "", ""))) == {}


def test_caches_at_hand_replace_the_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    described(tmp_path, ("2", "Unified", "4M", "16", "64"))
    core = core_on(tmp_path, "znver4", monkeypatch)
    assert (core.name, core.l1_bytes, core.l2_bytes) == ("znver4", 32 << 10, 4 << 20)


def test_caches_that_contradict_each_other_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    described(tmp_path, ("1", "Data", "4M", "8", "64"), ("2", "Unified", "1M", "16", "64"))
    assert core_on(tmp_path, "znver4", monkeypatch) == load_core("znver4")


def test_an_unknown_processor_has_the_usual_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert core_on(tmp_path, "i486", monkeypatch) == load_core("generic")


def core_on(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host_processor, "CACHES", folder)
    monkeypatch.setattr(host_processor, "host_name", lambda: name)
    host_core.cache_clear()
    try:
        return host_core(load_core("generic"))
    finally:
        host_core.cache_clear()


def test_code_of_one_core_is_not_taken_for_another():
    target = resolve_processor("portable")
    other = replace(target, core=replace(target.core, l2_bytes=1 << 21))
    assert str(CompileOptions(target)) != str(CompileOptions(other))


def test_only_the_target_cpu_is_for_the_processor_at_hand():
    assert resolve_processor("cpu").core == host_core(resolve_processor("cpu").core)
    assert resolve_processor("portable").core == load_core("generic")
