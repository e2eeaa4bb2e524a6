"""
The store of results: an SQLite file, by the digest of what each result depends on.

SQLite comes with Python and commits each result by itself, so that a crash loses the running cases alone. A
file of columns (Parquet) or DuckDB, which reads SQLite files, suits the analysis of many results better than
their collection.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from xonnc.errors import XonncError
from xonnc.executors.executor import Outcome
from xonnc.tools.sweep.measure import Figures

_TABLE = (
    "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, status TEXT NOT NULL, "
    "message TEXT NOT NULL, figures TEXT NOT NULL)"
)


@dataclass(frozen=True)
class StoredResult:
    """The result of a case: `done`, `refused` with the message, or `lost` with its workers."""

    status: str
    message: str
    figures: Figures


class ResultStore:
    """Results by key, in a file; a context manager that closes it."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; raise `XonncError` if it is none of these."""
        try:
            self._connection = sqlite3.connect(path)
            self._connection.execute(_TABLE)
        except sqlite3.Error as error:
            raise XonncError(f"{path}: not a store of results: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def add(self, key: str, outcome: Outcome[Figures]) -> None:
        """Write the outcome of a case."""
        status = "lost" if outcome.is_lost else "refused" if outcome.error else "done"
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)",
                (key, status, outcome.error, json.dumps(outcome.result or {})),
            )

    def results(self, keys: Collection[str]) -> dict[str, StoredResult]:
        """Return the results of those keys that have one."""
        with closing(self._connection.execute("SELECT * FROM results")) as rows:
            return {
                key: StoredResult(status, message, json.loads(figures))
                for key, status, message, figures in rows
                if key in keys
            }
