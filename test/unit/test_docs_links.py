"""Relative links of the documentation lead to files and anchors that exist; the index has every page."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.rglob("*.md")),
]

FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"(`+).+?\1", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
EXTERNAL = ("http://", "https://", "mailto:")
CITATION = re.compile(r"(docs/internals/[\w-]+\.md)((?:[\s#*]*[(,]?[\s#*]*(?:and |to )?§\d+(?:\.\d+)?)+)")


def _slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    plain = re.sub(r"<[^>]*>", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


@cache
def _anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page: explicit ones and those of headings."""
    text = FENCED.sub("", page.read_text())
    anchors = set(re.findall(r'<a id="([^"]+)"', text))
    for heading in re.findall(r"^#{1,6} +(.*)$", text, re.MULTILINE):
        slug, number = _slug(heading), 0
        while (slug if not number else f"{slug}-{number}") in anchors:
            number += 1
        anchors.add(slug if not number else f"{slug}-{number}")
    return frozenset(anchors)


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path):
    dead: list[str] = []
    for target in LINK.findall(INLINE_CODE.sub("`", FENCED.sub("", page.read_text()))):
        if target.startswith(EXTERNAL):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        is_missing = not file.exists() or not file.is_relative_to(ROOT)
        if is_missing or (anchor and file.suffix == ".md" and anchor not in _anchors(file)):
            dead.append(target)
    assert not dead, f"{_name(page)} links to {', '.join(dead)}"


def test_every_page_is_in_the_index():
    linked = {
        (DOCS / target.partition("#")[0]).resolve()
        for target in LINK.findall((DOCS / "README.md").read_text())
    }
    missing = [_name(page) for page in PAGES if page not in linked and page != DOCS / "README.md"]
    assert not missing, f"docs/README.md does not list {', '.join(missing)}"


def test_cited_sections_exist():
    """Sections of docs/internals that the sources cite have an anchor there."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.toml", "*.mlir", "*.ll"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    missing: list[str] = []
    for file in (ROOT / name for name in listed.stdout.splitlines()):
        for page, sections in CITATION.findall(file.read_text()) if file.is_file() else ():
            known = _anchors(ROOT / page) if (ROOT / page).is_file() else frozenset[str]()
            missing += [
                f"{_name(file)}: {page} §{number}"
                for number in re.findall(r"§(\d+(?:\.\d+)?)", sections)
                if f"s{number}" not in known
            ]
    assert not missing, "\n".join(missing)


PATH = re.compile(r"`((?:[\w.-]+/)+[\w.*-]*)`")
"""A path in code style, from the root of the repository."""


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_named_paths_exist(page: Path):
    tops = {path.name for path in ROOT.iterdir() if path.is_dir()}
    named = [path for path in PATH.findall(FENCED.sub("", page.read_text())) if path.split("/")[0] in tops]
    missing = [path for path in named if not any(ROOT.glob(path.rstrip("/")))]
    assert not missing, f"{_name(page)} names {', '.join(missing)}"
