from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import read_loadable

VECTORS = Path(__file__).resolve().parents[5] / "shared" / "vectors" / "nvdla"


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of the golden vectors."""
    if not VECTORS.is_dir():
        pytest.skip(f"{VECTORS}: the golden vectors are not there")
    return VECTORS


@pytest.fixture(scope="session")
def vector(vectors: Path) -> Callable[[str], Loadable]:
    """Reads the loadable of a vector, `nv_small/conv_k1_int8` for example."""
    return lambda name: read_loadable(vectors / name / "loadable.nvdla")
