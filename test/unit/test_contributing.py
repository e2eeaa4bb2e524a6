"""The recipes of CONTRIBUTING.md work on a copy of the tree."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(link.name for link in (ROOT / "src/xonnc").iterdir() if link.is_symlink())
"""Folders that an editable install links into the package."""


class CodeBlock(NamedTuple):
    """A fenced block: the language, what follows it on the line, and the text."""

    language: str
    info: str
    text: str


class Recipe(NamedTuple):
    """A section of CONTRIBUTING.md that ends in a command."""

    title: str
    blocks: list[CodeBlock]

    @property
    def command(self) -> list[str]:
        """The command that runs the recipe's test."""
        (block,) = [block for block in self.blocks if block.language == "console"]
        return shlex.split(block.text.removeprefix("$ "))


def _recipes() -> list[Recipe]:
    """Return the sections of CONTRIBUTING.md that have a command to run."""
    _, *sections = (ROOT / "CONTRIBUTING.md").read_text().split("\n## ")
    recipes: list[Recipe] = []
    for section in sections:
        found = re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        blocks = [CodeBlock(language, info.strip(), text) for language, info, text in found]
        recipes.append(Recipe(section.splitlines()[0], blocks))
    return recipes


RECIPES = _recipes()


def _patch(tree: Path, text: str) -> None:
    """Apply a diff without line numbers: its context stands once in the file that its first line names."""
    header, *lines = text.splitlines()
    path = tree / header.removeprefix("--- ")
    before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    source = path.read_text()
    assert source.count(before) == 1, (
        f"CONTRIBUTING.md: {path.name} does not hold these lines once:\n{before}"
    )
    _write(path, source.replace(before, after))


def _write(path: Path, text: str) -> None:
    """Write a file; its compiled form, whose time stamp may be the same, goes."""
    path.write_text(text)
    shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)


def _run(tree: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment on the packages of the copied tree."""
    program = str(Path(sys.executable).parent / command[0])
    paths = os.pathsep.join([str(tree / "src"), str(tree)])
    environment = os.environ | {"PYTHONPATH": paths, "XONNC_CACHE": "off"}
    return subprocess.run(
        [program, *command[1:]], cwd=tree, env=environment, capture_output=True, text=True, timeout=300
    )


def _same_function(source: str, quoted: str, name: str) -> str:
    """Return the text of a function in `source` that CONTRIBUTING.md quotes; docstrings may differ."""
    (expected,) = ast.parse(quoted).body
    assert isinstance(expected, ast.FunctionDef)
    for found in ast.parse(source).body:
        if isinstance(found, ast.FunctionDef) and found.name == expected.name:
            lines = source.splitlines(keepends=True)
            first = min(found.lineno, *(each.lineno for each in found.decorator_list))
            text = "".join(lines[first - 1 : found.end_lineno])
            for function in (found, expected):
                function.body = function.body[1 if ast.get_docstring(function) else 0 :]
            assert ast.dump(found) == ast.dump(expected), (
                f"CONTRIBUTING.md quotes {name} as it was; it is\n{text}"
            )
            return text
    pytest.fail(f"CONTRIBUTING.md: {name} has no function {expected.name}")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the sources and tests, without the test data."""
    root = tmp_path_factory.mktemp("tree")
    for folder in (*PACKAGES, "src", "test/lit", "test/unit"):
        shutil.copytree(
            ROOT / folder,
            root / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "Output"),
        )
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def test_there_are_five_recipes():
    assert len(RECIPES) == 5


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.title.replace(" ", "-") for recipe in RECIPES])
def test_a_recipe_works(recipe: Recipe, tree: Path):
    removed: list[tuple[Path, str]] = []
    for language, info, text in recipe.blocks:
        if language == "diff":
            _patch(tree, text)
        elif info.startswith("in "):
            path = tree / info.removeprefix("in ")
            source = path.read_text()
            _write(path, source.replace(_same_function(source, text, path.name), ""))
            removed.append((path, source))
        elif language != "console":
            assert not (ROOT / info).exists(), f"{info} is there: the recipe has to write another test"
            (tree / info).write_text(text)
    if removed:
        assert _run(tree, recipe.command).returncode, "the test passes without the code of the recipe"
    for path, source in removed:
        _write(path, source)
    done = _run(tree, recipe.command)
    assert done.returncode == 0, done.stdout + done.stderr
