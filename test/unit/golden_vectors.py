"""Location of the golden NVDLA vectors: all of them beside the repository, or the subset in `test/data`."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ALL = ROOT.parent / "shared" / "vectors" / "nvdla"

FEW = ROOT / "test" / "data" / "nvdla"

VECTORS = ALL if ALL.is_dir() else FEW
