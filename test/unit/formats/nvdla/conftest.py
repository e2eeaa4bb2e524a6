from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from golden_vectors import VECTORS

from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import read_loadable


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of the golden vectors."""
    return VECTORS


@pytest.fixture(scope="session")
def vector(vectors: Path) -> Callable[[str], Loadable]:
    """Reads the loadable of a vector, `nv_small/conv_k1_int8` for example."""
    return lambda name: read_loadable(vectors / name / "loadable.nvdla")
