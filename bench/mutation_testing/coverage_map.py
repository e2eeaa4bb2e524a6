"""Tests by covered line, from the database that pytest-cov writes with `--cov-context=test`."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from pathlib import Path, PurePosixPath

from coverage import CoverageData


class CoverageMap:
    """The tests that cover each line of a checkout, without excluded tests."""

    def __init__(self, database: Path, root: Path, left_out: Container[str] = ()):
        self._data = CoverageData(str(database))
        self._data.read()
        self._root = root
        self._left_out = left_out
        self._lines: dict[str, dict[int, list[str]]] = {}
        self._files = {self._relative(file): file for file in self._data.measured_files()}

    def _relative(self, file: str) -> str:
        """The path in the checkout: of code imported through a link of `src/xonnc`, the real one."""
        path = Path(file).resolve()
        return path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else file

    def tests(self, path: str, line: int) -> list[str]:
        """
        Node ids of the tests that cover a line, the nearest test file first.

        A line outside functions runs once, at import time, in the context of no test or of an arbitrary one:
        return the tests that cover any line of the file.
        """
        if path not in self._files:
            return []
        if path not in self._lines:
            self._lines[path] = self._data.contexts_by_lineno(self._files[path])
        contexts = set(self._lines[path].get(line, []))
        if contexts and line not in self._lines_of_functions(path):
            contexts = {context for each in self._lines[path].values() for context in each}
        # A test's id may contain the bar that separates it from its phase.
        tests = {context.rpartition("|")[0] for context in contexts if context}
        return by_distance(path, {test for test in tests if test not in self._left_out})

    def _lines_of_functions(self, path: str) -> set[int]:
        """Lines in bodies of functions."""
        tree = ast.parse((self._root / path).read_text())
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        return {line for each in functions for line in range(each.body[0].lineno, (each.end_lineno or 0) + 1)}


def by_distance(path: str, tests: set[str]) -> list[str]:
    """Sort tests by distance: the mirror test file first, then its folder, then others."""
    return sorted(tests, key=lambda test: (distance(path, test.split("::")[0]), test))


def distance(path: str, test_file: str) -> int:
    """0 for the mirror test file, else 1 plus the path distance of the folders."""
    if test_file == mirror(path):
        return 0
    ours = _folders(PurePosixPath(mirror(path)).parent)
    theirs = _folders(PurePosixPath(test_file).parent)
    shared = 0
    for left, right in zip(ours, theirs, strict=False):
        if left != right:
            break
        shared += 1
    return 1 + len(ours) - shared + len(theirs) - shared


def _folders(path: PurePosixPath) -> Sequence[str]:
    return path.parts


def mirror(path: str) -> str:
    """The test file that mirrors a source file: `lowering/a.py` has `test/unit/lowering/test_a.py`."""
    pure = PurePosixPath(path.removeprefix("src/xonnc/"))
    return (PurePosixPath("test/unit") / pure.parent / f"test_{pure.name}").as_posix()
