"""Memory of mapped files given back after it was read."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from xonnc.dialects.onnx.elements.buffers import LARGE, let_go

STATUS = Path("/proc/self/status")
SIZE = 8 * LARGE


def mapped_megabytes() -> float:
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("RssFile")]
    return int(line.split()[1]) / 1024


@pytest.fixture
def mapped(tmp_path: Path) -> mmap.mmap:
    path = tmp_path / "weights"
    path.write_bytes(np.arange(SIZE, dtype=np.uint32).astype(np.uint8).tobytes())
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@pytest.mark.skipif(not STATUS.exists(), reason="memory is counted by Linux's /proc")
@pytest.mark.parametrize("offset", [0, 13, mmap.PAGESIZE])
def test_pages_go_and_come_again(offset: int, mapped: mmap.mmap):
    array = np.frombuffer(mapped, np.uint8)[offset:]
    expected = np.arange(offset, SIZE, dtype=np.uint32).astype(np.uint8)
    assert np.array_equal(array, expected)
    before = mapped_megabytes()
    let_go(array[::-1])
    assert mapped_megabytes() < before - 7
    assert np.array_equal(array, expected)


def test_other_memory_stays(mapped: mmap.mmap):
    for array in (np.ones(LARGE, np.uint16), np.frombuffer(mapped, np.uint8)[:9], np.ones(0)):
        copy = array.copy()
        let_go(array)
        assert np.array_equal(array, copy)
