"""
The documentation site: `make docs` renders README, `docs/` and the contributors' pages with Sphinx.

The pages are plain Markdown that also reads well in a repository browser. What Sphinx needs besides, the
navigation and the targets of links, is derived from them when they are read.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version as installed_version
from pathlib import Path, PurePosixPath
from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Text
from sphinx.application import Sphinx

project = "xonnc"
author = "the authors of xonnc"
release = version = installed_version("xonnc")

root_doc = "docs/README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*.md", "docs/**/*.md"]
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = "xonnc"
html_static_path: list[str] = []
html_additional_pages = {"index": "start.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = "$ "

ROOT = Path(__file__).resolve().parents[2]

_ANCHOR = re.compile(r'^(#+ .*?)?<a id="([^"]+)"></a>', re.MULTILINE)
_LINK = re.compile(r"\[([^]]*)\]\(((?!https?:)[^)#]*)(?:#([^)]+))?\)")
_SECTION = re.compile(r"^## (.+?)\n\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_PAGE = re.compile(r"\]\(([^)#:]+\.md)\)")


@cache
def _anchors(page: Path) -> frozenset[str]:
    """Return the ids of the HTML anchors of a page."""
    return frozenset(match[2] for match in _ANCHOR.finditer(page.read_text()))


def _label(page: Path, anchor: str) -> str:
    """Return the name of an anchor as a target, unique among all pages."""
    return f"{page.stem}-{anchor}".lower().replace(".", "-")


def _targets(page: Path, text: str) -> str:
    """Turn HTML anchors into targets, which Sphinx can check, and links to them into references."""

    def link(match: re.Match[str]) -> str:
        words, path, anchor = match.groups()
        linked = (page.parent / path).resolve() if path else page
        if linked.is_dir():
            # A repository browser lists the folder; a site has no such page.
            return words
        if anchor and linked.suffix == ".md" and anchor in _anchors(linked):
            return f"[{words}](#{_label(linked, anchor)})"
        return match[0]

    text = _ANCHOR.sub(lambda match: f"({_label(page, match[2])})=\n{match[1] or ''}", text)
    return _LINK.sub(link, text)


def _navigation(text: str) -> str:
    """Return hidden tables of contents with the pages that each section of the start page links to."""
    blocks: list[str] = []
    listed: set[str] = set()
    for section in _SECTION.finditer(text):
        pages = [page for page in _PAGE.findall(section[2]) if page not in listed]
        listed.update(pages)
        names = "\n".join(str(PurePosixPath(page).with_suffix("")) for page in pages)
        blocks.append(f"```{{toctree}}\n:hidden:\n:caption: {section[1]}\n\n{names}\n```")
    return "\n\n".join(blocks)


def _prepare(app: Sphinx, name: str, content: list[str]) -> None:
    content[0] = _targets(ROOT / f"{name}.md", content[0])
    if name == root_doc:
        content[0] += "\n" + _navigation(content[0])


class MlirLexer(RegexLexer):
    """Colours of MLIR's textual form, which Pygments does not know."""

    name = "MLIR"
    tokens: ClassVar = {
        "root": [
            (r"//.*", Comment.Single),
            (r'"(?:[^"\\]|\\.)*"', String),
            (r"[%@^#!][\w$.-]+", Name.Variable),
            (r"\b(?:module|func|loc|attributes|tensor|memref|vector|none)\b", Keyword),
            (r"\b[a-z_]\w*\.[\w.]+", Name.Function),
            (r"-?\d[\w.+-]*", Number),
            (r"[\w.$-]+", Name),
            (r"\s+", Text),
            (r".", Punctuation),
        ]
    }


def setup(app: Sphinx) -> None:
    """Register the preparation of pages and the lexer."""
    app.add_lexer("mlir", MlirLexer)
    app.connect("source-read", _prepare)
