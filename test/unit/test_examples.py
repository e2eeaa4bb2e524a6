"""The programs in `examples` run, and print what they are about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"

PRINTS = {
    "build.py": "y = [[1. 2. 3.]\n [1. 2. 3.]]",
    "nvdla.py": "y: (1, 4, 8, 8) float32 from 0.0 to 1.0",
    "quantize.py": "y: cosine 0.99",
    "session.py": "every value: ['a', 'y']",
}


def test_every_example_is_run():
    assert set(PRINTS) == {path.name for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", PRINTS)
def test_examples(name: str):
    done = subprocess.run([sys.executable, str(FOLDER / name)], capture_output=True, text=True, check=True)
    assert PRINTS[name] in done.stdout
