"""
Tiles that were measured to be faster than the computed ones, in `tiles.json` of the cache folder.

The file holds for each processor, by its core and the version of xonnc, tiles by kernel. It is read only if
it is this user's alone, as compiled programs are.
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
"""Of a tile, on each side: more is a damaged file."""


def tiles_file() -> Path | None:
    """The file; `None` if nothing is to be kept."""
    folder = cache_folder()
    return None if folder is None else folder / NAME


def read_tiles(processor: CpuTarget) -> Mapping[str, Tile]:
    """The measured tiles of a processor, by kernel; none, with a warning, of a file that is not trusted."""
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
    Adds measured tiles to the file; `None` forgets that of a kernel. Gives the file.

    Raises `XonncError` if nothing can be kept.
    """
    path = tiles_file()
    if path is None:
        raise XonncError("XONNC_CACHE is off, so that tiles cannot be kept; name a folder in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            held = _read(path)
            known = dict(_tiles(held.get(tuning_key(processor), {})))
        except ValueError:
            held, known = {}, {}
        known |= {name: tile for name, tile in tiles.items() if tile is not None}
        kept = {name: list(tile) for name, tile in sorted(known.items()) if tiles.get(name, tile) is not None}
        text = json.dumps({**held, tuning_key(processor): kept}, indent=1)
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
    """What tiles of a processor are valid for."""
    numbers = (str(getattr(processor.core, name)) for name in RANGES)
    return " ".join([version("xonnc"), processor.name, processor.core.name, *numbers])


def _read(path: Path) -> dict[str, Any]:
    try:
        with private_folder(path.parent), private_file(path) as file:
            held = json.loads(file.read())
    except FileNotFoundError:
        return {}
    match held:
        case {**items}:
            return {str(name): value for name, value in items.items()}
        case _:
            raise ValueError("it is no table of tiles")


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
            raise ValueError("it is no table of tiles")
    return found
