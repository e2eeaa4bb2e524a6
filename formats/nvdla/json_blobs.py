"""
Blobs of a loadable that carry JSON, for what the format has no field.

No memory object uses them: NVIDIA's runtime loads such a blob and ignores it
(docs/internals/nvdla-hardware.md §1.2).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import Interface
from xonnc.formats.nvdla.loadable import Blob, Loadable

EntryT = TypeVar("EntryT")


def json_blob(name: str, table: Mapping[str, object]) -> Blob:
    """Return the blob that carries a table."""
    return Blob(name=name, data=json.dumps(table).encode(), interface=Interface.NONE)


def read_json_blob(
    loadable: Loadable, name: str, entry_of: Callable[[Mapping[str, Any]], EntryT]
) -> dict[str, EntryT]:
    """
    Return the entries of a table; empty if the blob is missing, as it is from other compilers. Raises
    `XonncError` if it is damaged, for which `entry_of` may raise `ValueError`.
    """
    blob = loadable.by_name.get(name)
    if blob is None:
        return {}
    try:
        table = json.loads(bytes(blob.data))
        return {key: entry_of(entry) for key, entry in table.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise XonncError(f"blob '{name}' is damaged: {error}") from None
