"""Measured tiles on disk: kept by processor, read only from a file that is this user's alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from xonnc.errors import XonncError
from xonnc.runtime.native.private_files import warn
from xonnc.runtime.native.tuned_tiles import read_tiles, save_tiles, tuning_key
from xonnc.targets.cpu import load_cpu

PROCESSOR = load_cpu("avx2")
TILES = {"conv 1x1 64->64 56x56 f32": (6, 2), "gemm 128x768x768 f32": (4, 24)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XONNC_CACHE", str(tmp_path / "cache"))
    warn.cache_clear()
    return tmp_path / "cache"


def test_tiles_are_kept_and_added_to(folder: Path):
    assert read_tiles(PROCESSOR) == {}
    assert save_tiles(PROCESSOR, TILES) == folder / "tiles.json"
    assert read_tiles(PROCESSOR) == TILES
    assert (folder / "tiles.json").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    save_tiles(PROCESSOR, {"gemm 128x768x768 f32": None, "gemm 1x1x1 f32": (1, 8)})
    assert read_tiles(PROCESSOR) == {"conv 1x1 64->64 56x56 f32": (6, 2), "gemm 1x1x1 f32": (1, 8)}


def test_tiles_are_of_one_processor(folder: Path):
    other = replace(PROCESSOR, core=replace(PROCESSOR.core, l2_bytes=1 << 21))
    assert tuning_key(other) != tuning_key(PROCESSOR)
    save_tiles(PROCESSOR, TILES)
    assert read_tiles(other) == {}
    save_tiles(other, {"gemm 1x1x1 f32": (1, 8)})
    assert read_tiles(PROCESSOR) == TILES


def test_nothing_is_kept_without_a_cache(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XONNC_CACHE", "off")
    assert read_tiles(PROCESSOR) == {}
    with pytest.raises(XonncError, match="XONNC_CACHE is off, so that tiles cannot be kept"):
        save_tiles(PROCESSOR, TILES)


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XONNC_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(XonncError, match=r"tiles.json: cannot be written: Not a directory|Not a directory"):
        save_tiles(PROCESSOR, TILES)


@pytest.mark.parametrize("name", ["tiles.json", "."])
def test_what_others_may_write_to_is_not_read(folder: Path, name: str):
    save_tiles(PROCESSOR, TILES)
    (folder / name).chmod(0o777)
    with pytest.warns(UserWarning, match="others may write to it"):
        assert read_tiles(PROCESSOR) == {}
    with pytest.raises(XonncError, match="others may write to it; XONNC_CACHE names another folder"):
        save_tiles(PROCESSOR, TILES)


def test_a_link_is_not_followed(folder: Path, tmp_path: Path):
    save_tiles(PROCESSOR, TILES)
    (folder / "tiles.json").rename(tmp_path / "elsewhere.json")
    (folder / "tiles.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.warns(UserWarning, match="symbolic links"):
        assert read_tiles(PROCESSOR) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[", "Expecting value"),
        ("[]", "it is not a table of tiles"),
        ('{"KEY": [1]}', "it is not a table of tiles"),
        ('{"KEY": {"conv": [0, 1]}}', "the tile of 'conv' is two numbers from 1 to 4096"),
        ('{"KEY": {"conv": [1, 5000]}}', "the tile of 'conv' is two numbers from 1 to 4096"),
        ('{"KEY": {"conv": [1]}}', "the tile of 'conv' is two numbers from 1 to 4096"),
        ('{"KEY": {"conv": ["8", 1]}}', "the tile of 'conv' is two numbers from 1 to 4096"),
    ],
)
def test_a_damaged_file_is_not_believed_and_is_replaced(folder: Path, text: str, reason: str):
    save_tiles(PROCESSOR, {})
    (folder / "tiles.json").write_text(text.replace("KEY", tuning_key(PROCESSOR)))
    with pytest.warns(UserWarning, match=reason):
        assert read_tiles(PROCESSOR) == {}
    save_tiles(PROCESSOR, TILES)
    assert read_tiles(PROCESSOR) == TILES
    assert list(json.loads((folder / "tiles.json").read_text())) == [tuning_key(PROCESSOR)]
