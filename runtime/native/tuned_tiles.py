"""
Tile sizes that were measured to be faster than the computed ones, in `tiles.json` of the cache folder.

The file maps each processor, with its core and the version of xonnc, to tiles by kernel. It is trusted under
the same conditions as compiled programs (`private_files.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.runtime.native.cache import cache_folder
from xonnc.runtime.native.private_files import (
    UntrustedFileError,
    private_file,
    private_folder,
    require_private,
    warn,
)
from xonnc.targets.cores import RANGES
from xonnc.targets.cpu import CpuTarget

Tile = tuple[int, int]

NAME = "tiles.json"

MAX_TILE_EXTENT = 4096
"""Limit for each extent of a tile; a larger one indicates a damaged file."""


def tiles_file() -> Path | None:
    """Return the path of the file; `None` if the cache is disabled."""
    folder = cache_folder()
    return None if folder is None else folder / NAME


def read_tiles(processor: CpuTarget) -> Mapping[str, Tile]:
    """Return the measured tiles of a processor by kernel; none, with a warning, for an untrusted file."""
    path = tiles_file()
    if path is None:
        return {}
    try:
        return _tiles(_read(path).get(tuning_key(processor), {}))
    except (UntrustedFileError, ValueError) as reason:
        warn(f"{path}: {reason}" if isinstance(reason, ValueError) else str(reason))
        return {}


def save_tiles(processor: CpuTarget, tiles: Mapping[str, Tile | None]) -> Path:
    """
    Add measured tiles to the file and return its path; `None` removes the tile of a kernel.

    Raises `XonncError` if the cache is disabled or cannot be written.
    """
    path = tiles_file()
    if path is None:
        raise XonncError("XONNC_CACHE is off, so that tiles cannot be kept; name a folder in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            data = _read(path)
            known = dict(_tiles(data.get(tuning_key(processor), {})))
        except ValueError:
            data, known = {}, {}
        known |= {name: tile for name, tile in tiles.items() if tile is not None}
        saved = {
            name: list(tile) for name, tile in sorted(known.items()) if tiles.get(name, tile) is not None
        }
        text = json.dumps({**data, tuning_key(processor): saved}, indent=1)
        with private_folder(path.parent):
            require_private(path)
            with atomic_write(path, mode=0o600) as file:
                file.write(text.encode())
    except UntrustedFileError as reason:
        raise XonncError(f"{reason}; XONNC_CACHE names another folder") from None
    except OSError as error:
        raise XonncError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def tuning_key(processor: CpuTarget) -> str:
    """Return the key of a processor: version of xonnc, names, and properties of the core."""
    numbers = (str(getattr(processor.core, name)) for name in RANGES)
    return " ".join([version("xonnc"), processor.name, processor.core.name, *numbers])


def _read(path: Path) -> dict[str, Any]:
    try:
        with private_folder(path.parent), private_file(path) as file:
            data = json.loads(file.read())
    except FileNotFoundError:
        return {}
    match data:
        case {**items}:
            return {str(name): value for name, value in items.items()}
        case _:
            raise ValueError("it is not a table of tiles")


def _tiles(table: Any) -> Mapping[str, Tile]:
    found: dict[str, Tile] = {}
    match table:
        case {**items}:
            for name, tile in items.items():
                match tile:
                    case [int(rows), int(columns)] if (
                        0 < rows <= MAX_TILE_EXTENT and 0 < columns <= MAX_TILE_EXTENT
                    ):
                        found[str(name)] = rows, columns
                    case _:
                        raise ValueError(f"the tile of '{name}' is two numbers from 1 to {MAX_TILE_EXTENT}")
        case _:
            raise ValueError("it is not a table of tiles")
    return found
