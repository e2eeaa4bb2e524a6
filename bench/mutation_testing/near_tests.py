"""Test files near a source file, without running them: by what their text and that of other sources names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from bench.mutation_testing.coverage_map import distance, mirror
from hatch_build import packages

DEFINITION = re.compile(r"^(?:class|def) ([A-Za-z]\w{4,})|^([A-Z][A-Z_]{4,})\b", re.MULTILINE)

NUMBERS_OF_RULES = "test/unit/transforms/test_rule_numbers.py"
"""Runs every rule on generated instances of its pattern, and names none."""

OF_THE_TREE = ("test_architecture.py", "test_vocabulary.py", "test_contributing.py", "test_docs_site.py")
"""Tests that read all files: no mutant concerns them, and they take long."""


def near_tests(root: Path, path: str) -> list[str]:
    """
    Test files that import a module or name it or what it defines, then those that import a module that does,
    then those of its mirror folder.
    """
    texts = _texts(root)
    module = re.escape(_module(path))
    users = [_module(user) for user, text in _sources(root).items() if re.search(rf"{module}\b", text)]
    names = [one or other for one, other in DEFINITION.findall((root / path).read_text())]
    own = mirror(path)
    folder = own.rpartition("/")[0]
    groups = [
        [test for test, text in texts.items() if test == own or re.search(rf"{module}\b", text)],
        [NUMBERS_OF_RULES] if path.startswith("transforms/rules/") else [],
        [test for test, text in texts.items() if _names_any(text, (Path(path).stem, *names))],
        [test for test, text in texts.items() if users and _names_any(text, users)],
        [test for test in texts if test.rpartition("/")[0] == folder],
    ]
    ordered = [
        test for group in groups for test in sorted(group, key=lambda test: (distance(path, test), test))
    ]
    return [test for test in dict.fromkeys(ordered) if Path(test).name not in OF_THE_TREE]


def _module(path: str) -> str:
    return "xonnc." + path.removeprefix("src/xonnc/").removesuffix(".py").replace("/", ".")


def _names_any(text: str, names: Sequence[str]) -> bool:
    return re.search(rf"\b(?:{'|'.join(map(re.escape, names))})\b", text) is not None


@cache
def _texts(root: Path) -> dict[str, str]:
    """The text of every unit test file, by path."""
    files = sorted((root / "test" / "unit").rglob("test_*.py"))
    return {file.relative_to(root).as_posix(): file.read_text() for file in files}


@cache
def _sources(root: Path) -> dict[str, str]:
    """The text of every source file of the packages, by path."""
    folders = [*(package.name for package in packages(root)), "src/xonnc"]
    files = [
        file
        for folder in folders
        for file in sorted((root / folder).glob("*.py" if folder == "src/xonnc" else "**/*.py"))
    ]
    return {file.relative_to(root).as_posix(): file.read_text() for file in files}
