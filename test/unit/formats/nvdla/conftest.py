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
    """Reader of the loadable of a golden vector by name, such as `nv_small/conv_k1_int8`."""
    return lambda name: read_loadable(vectors / name / "loadable.nvdla")
