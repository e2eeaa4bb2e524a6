"""Each pass, each option of it and each option of onnx-mlir stands in a lit test."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from xonnc.tools.pass_reference import options, passes
from xonnc.tools.peer_flags import PEER_FLAGS, PeerFlag

LIT = Path(__file__).resolve().parents[2] / "lit"

PASS_OPTIONS = [(name, option) for name, found in passes().items() for option in options(found)]


@cache
def run_lines() -> tuple[tuple[str, str], ...]:
    """The RUN lines of all lit tests with the names of their files."""
    return tuple(
        (path.stem, match[1])
        for path in sorted(LIT.rglob("*.mlir"))
        for match in re.finditer(r"RUN:(.*)", path.read_text())
    )


@pytest.mark.parametrize("name", passes())
def test_a_pass_has_a_file_of_its_own_that_runs_it(name: str):
    found = [line for stem, line in run_lines() if stem == name]
    assert any(re.search(rf"--{name}\b|--{name.removesuffix('-onnx')}\b", line) for line in found)


@pytest.mark.parametrize(("name", "option"), PASS_OPTIONS, ids=lambda value: str(value))
def test_an_option_of_a_pass_is_in_a_test(name: str, option: str):
    given = re.compile(rf"--{name}=(?:[^'|]*|'[^']*)\b{option}\b")
    assert any(given.search(line) for _, line in run_lines()), f"no RUN line has --{name}='{option}=…'"


@pytest.mark.parametrize(
    "flag",
    [flag for flag in PEER_FLAGS if "onnx-opt" in flag.by and not flag.is_own],
    ids=lambda flag: flag.name,
)
def test_an_option_of_onnx_mlir_is_in_a_test(flag: PeerFlag):
    for spelling in flag.spellings:
        given = re.compile(rf"(?<![\w-])--?{spelling}(?![\w-])")
        found = [stem for stem, line in run_lines() if given.search(line)]
        # `-j4` has its value attached.
        found += [
            stem for stem, line in run_lines() if spelling == "j" and re.search(r"(?<![\w-])-j\d", line)
        ]
        assert found, f"no RUN line has --{spelling}"


def test_what_a_flag_sets_is_there():
    wrong = [
        f"{flag.name}: {name}='{option}'"
        for flag in PEER_FLAGS
        for name, option in flag.sets
        if name not in passes() or option not in options(passes()[name])
    ]
    assert not wrong
