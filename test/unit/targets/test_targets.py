"""Targets: the numbers of docs/internals/nvdla-hardware.md §3.1, and what is wrong with a description."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from xonnc.errors import XonncError
from xonnc.targets import NvdlaTarget, load_target, target_names

MINIMAL = """
description = "a test"
precisions = ["int8"]
atomic_c = 8
atomic_k = 8
memory_atom_bytes = 8
cbuf_banks = 32
cbuf_entries = 512
cbuf_entry_bytes = 8
"""


def described(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def error(path: Path | str) -> str:
    with pytest.raises(XonncError) as caught:
        load_target(str(path))
    return str(caught.value)


def test_names():
    assert {"nv_full", "nv_large", "nv_small"} <= set(target_names())
    assert target_names() == sorted(target_names())


@pytest.mark.parametrize("name", target_names())
def test_every_target_that_comes_with_the_compiler(name: str):
    target = load_target(name)
    assert target.name == name
    assert target.description
    # A bank is whole entries of whole atoms, and 16-bit types need an atom that holds two elements.
    assert target.cbuf_entry_bytes % target.memory_atom_bytes == 0
    assert target.memory_atom_bytes & (target.memory_atom_bytes - 1) == 0


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("nv_full", (64, 32, 32, 16, 256, 128, 512 * 1024, 32)),
        ("nv_large", (64, 32, 32, 16, 512, 64, 512 * 1024, 1)),
        ("nv_small", (8, 8, 8, 32, 512, 8, 128 * 1024, 1)),
        ("nv_small_256", (32, 8, 8, 32, 128, 32, 128 * 1024, 1)),
        ("nv_small_256_full", (32, 8, 8, 32, 128, 32, 128 * 1024, 1)),
        ("nv_medium_512", (32, 16, 16, 32, 512, 32, 512 * 1024, 1)),
        ("nv_medium_1024_full", (32, 32, 32, 32, 512, 32, 512 * 1024, 1)),
    ],
)
def test_numbers_of_the_specification(name: str, numbers: tuple[int, ...]):
    target = load_target(name)
    assert numbers == (
        target.atomic_c,
        target.atomic_k,
        target.memory_atom_bytes,
        target.cbuf_banks,
        target.cbuf_entries,
        target.cbuf_entry_bytes,
        target.cbuf_bytes,
        target.batch,
    )


def test_engines_of_the_specification():
    def features(name: str) -> tuple[object, ...]:
        t = load_target(name)
        return t.precisions, t.sdp_y, t.rubik, t.bdma, t.winograd, t.weight_compression

    assert features("nv_full") == (("int8", "int16", "fp16"), True, True, True, True, True)
    assert features("nv_large") == (("int8",), True, False, False, False, False)
    for name in ("nv_small", "nv_small_256", "nv_medium_512"):
        assert features(name) == (("int8",), False, False, False, False, False)
    for name in ("nv_small_256_full", "nv_medium_1024_full"):
        assert features(name) == (("int8",), True, False, False, False, False)


@pytest.mark.parametrize(
    ("name", "rates", "bits", "latency"),
    [
        ("nv_full", (16, 4, 8, 8), 512, 1200),
        ("nv_large", (16, 4, 8, 8), 256, 1024),
        ("nv_medium_1024_full", (8, 2, 4, 4), 256, 1024),
        ("nv_medium_512", (4, 1, 2, 2), 128, 256),
        ("nv_small_256_full", (2, 1, 1, 1), 64, 64),
        ("nv_small_256", (1, 1, 1, 1), 64, 64),
        ("nv_small", (1, 1, 1, 1), 64, 64),
    ],
)
def test_rates_of_the_specification(name: str, rates: tuple[int, ...], bits: int, latency: int):
    t = load_target(name)
    found = (
        t.sdp_elements_per_cycle,
        t.sdp_y_elements_per_cycle,
        t.pdp_elements_per_cycle,
        t.cdp_elements_per_cycle,
    )
    assert (found, t.memory_bits, t.memory_latency_cycles) == (rates, bits, latency)


def test_memory_is_as_fast_as_its_bandwidth_or_its_interface():
    assert load_target("nv_full").bytes_per_cycle == 10
    assert replace(load_target("nv_small"), dram_gb_per_s=100.0).bytes_per_cycle == 8
    assert replace(load_target("nv_small"), clock_mhz=500.0).bytes_per_cycle == 2


def test_a_description_of_ones_own(tmp_path: Path):
    target = load_target(str(described(tmp_path, MINIMAL + "sdp_y = true\nclock_mhz = 500\n")))
    assert target == NvdlaTarget(
        name="mine",
        description="a test",
        precisions=("int8",),
        atomic_c=8,
        atomic_k=8,
        memory_atom_bytes=8,
        cbuf_banks=32,
        cbuf_entries=512,
        cbuf_entry_bytes=8,
        sdp_y=True,
        clock_mhz=500.0,
    )
    assert isinstance(target.clock_mhz, float)


def test_a_description_may_name_itself(tmp_path: Path):
    assert load_target(str(described(tmp_path, 'name = "mine_256"\n' + MINIMAL))).name == "mine_256"


@pytest.mark.parametrize(("name", "near"), [("nv_smal", "nv_small"), ("nvfull", "nv_full")])
def test_an_unknown_name_suggests_a_near_one(name: str, near: str):
    text = error(name)
    assert text.startswith(
        f"no target '{name}'; did you mean '{near}'? There are {', '.join(target_names())}"
    )
    assert ".toml file" in text


def test_an_unknown_name_far_from_all():
    text = error("tpu")
    assert text.startswith("no target 'tpu'")
    assert "did you mean" not in text
    assert ", ".join(target_names()) in text


@pytest.mark.parametrize("name", ["", "../targets/nv_full", "/etc/passwd", "nv_full/..", "a\0b"])
def test_a_name_that_is_a_path_is_no_target(name: str):
    assert error(name).startswith(f"no target '{name}'")


def test_a_missing_file(tmp_path: Path):
    assert error(tmp_path / "a.toml") == f"{tmp_path}/a.toml: no such target file"


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = described(tmp_path, MINIMAL)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    assert error(path) == f"{path}: cannot be read: Permission denied"


def test_a_file_that_is_no_toml(tmp_path: Path):
    path = described(tmp_path, "atomic_c = = 3")
    assert error(path).startswith(f"{path}: Invalid value (at line 1")


def test_a_file_that_is_no_text(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe")
    assert error(path).startswith(f"{path}: 'utf-8' codec can't decode byte 0xff")


def test_a_missing_property(tmp_path: Path):
    path = described(tmp_path, MINIMAL.replace("atomic_c = 8\n", "").replace("cbuf_banks = 32\n", ""))
    assert error(path) == f"{path}: atomic_c, cbuf_banks must be given"


def test_an_unknown_property(tmp_path: Path):
    path = described(tmp_path, MINIMAL + "cbuf_bank = 3\n")
    assert error(path) == f"{path}: no property 'cbuf_bank'; did you mean 'cbuf_banks'?"
    path = described(tmp_path, MINIMAL + "qqq = 3\n")
    assert error(path) == f"{path}: no property 'qqq'"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("batch = 0", "batch = 0; it is an integer above 0"),
        ("batch = -3", "batch = -3; it is an integer above 0"),
        ("batch = 1.5", "batch = 1.5; it is an integer above 0"),
        ("batch = true", "batch = True; it is an integer above 0"),
        ('batch = "2"', "batch = '2'; it is an integer above 0"),
        ("clock_mhz = 0", "clock_mhz = 0; it is a number above 0"),
        ("clock_mhz = inf", "clock_mhz = inf; it is a number above 0"),
        ("clock_mhz = nan", "clock_mhz = nan; it is a number above 0"),
        ("clock_mhz = [1]", "clock_mhz = [1]; it is a number above 0"),
        ("sdp_y = 1", "sdp_y = 1; it is true or false"),
        ("name = 3", "name = 3; it is text"),
    ],
)
def test_a_value_of_the_wrong_kind(tmp_path: Path, line: str, message: str):
    path = described(tmp_path, MINIMAL + line)
    assert error(path) == f"{path}: {message}"


@pytest.mark.parametrize("value", ["[]", '["int4"]', '["int8", "int4"]', '["int8", 3]', '"int8"', "[[]]"])
def test_precisions_of_the_wrong_kind(tmp_path: Path, value: str):
    path = described(tmp_path, MINIMAL.replace('["int8"]', value))
    text = error(path)
    assert text.startswith(f"{path}: precisions = ")
    assert text.endswith("; it is a list of int8, int16, fp16")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("memory_atom_bytes = 12", "memory_atom_bytes = 12; it is 8, 16, 32 or 64"),
        ("cbuf_entry_bytes = 12", "cbuf_entry_bytes = 12; it is 1, 2 or 4 times memory_atom_bytes = 8"),
        ("cbuf_entry_bytes = 64", "cbuf_entry_bytes = 64; it is 1, 2 or 4 times memory_atom_bytes = 8"),
        ("cbuf_banks = 33", "cbuf_banks = 33; descriptors count up to 32"),
        ("memory_bits = 12", "memory_bits = 12; it is whole bytes"),
        ("cvsram_bits = 12", "cvsram_bits = 12; it is whole bytes"),
        ("cvsram_bytes = -1", "cvsram_bytes = -1; it is an integer, 0 for none"),
    ],
)
def test_values_that_contradict_each_other(tmp_path: Path, line: str, message: str):
    key = line.partition(" ")[0]
    kept = [each for each in MINIMAL.splitlines() if not each.startswith(key)]
    path = described(tmp_path, "\n".join([*kept, line]))
    assert error(path) == f"{path}: {message}"


@pytest.mark.parametrize("name", ["atomic_c", "atomic_k"])
@pytest.mark.parametrize("value", [1, 2, 9, 256, 1 << 60])
def test_a_core_takes_a_power_of_two(name: str, value: int, tmp_path: Path):
    path = described(tmp_path, MINIMAL.replace(f"{name} = 8", f"{name} = {value}"))
    assert error(path) == f"{path}: {name} = {value}; it is one of 4, 8, 16, 32, 64, 128"


def test_everything_wrong_is_told_at_once(tmp_path: Path):
    path = described(tmp_path, MINIMAL.replace("atomic_c = 8\n", "") + "batch = 0\nrubic = true\n")
    assert error(path).splitlines() == [
        f"{path}: batch = 0; it is an integer above 0",
        f"{path}: no property 'rubic'; did you mean 'rubik'?",
        f"{path}: atomic_c must be given",
    ]
